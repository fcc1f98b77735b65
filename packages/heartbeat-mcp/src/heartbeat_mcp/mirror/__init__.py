"""The section of HEARTBEAT.md that shows the tasks: the only code that touches that file."""

__all__: list[str] = []
