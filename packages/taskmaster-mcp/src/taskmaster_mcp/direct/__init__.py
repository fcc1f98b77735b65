"""One function for each tool: it finds the files, checks, caches, calls the rules and never raises (TM-1, TM-2)."""

__all__: list[str] = []
