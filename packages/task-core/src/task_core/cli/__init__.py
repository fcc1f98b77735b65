"""The command line of every server: its options, its settings, its start, and the commands beside serving."""

__all__: list[str] = []
