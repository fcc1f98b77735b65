"""The rules as plain functions on plain values."""

__all__: list[str] = []
