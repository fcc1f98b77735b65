"""The history of a list: every change with its author and the values that it replaced (AG-3 to AG-5)."""

__all__: list[str] = []
