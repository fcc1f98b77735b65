"""Claims: one agent holds a task, and no other agent changes it meanwhile (AG-11 to AG-16)."""

__all__: list[str] = []
