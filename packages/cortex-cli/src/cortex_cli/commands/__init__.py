"""The commands of ``ctx``, one module for each group of them."""

__all__: list[str] = []
