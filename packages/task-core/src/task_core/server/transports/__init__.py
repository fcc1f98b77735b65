"""Ways to a server: stdio, where the first requests are answered while it loads, and HTTP."""

__all__: list[str] = []
