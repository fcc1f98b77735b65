"""Claims: tasks that one agent holds, which no other changes meanwhile (AG-11 to AG-16)."""

__all__: list[str] = []
