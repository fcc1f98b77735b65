"""The page: what it shows, what it accepts, and who may see it."""

__all__: list[str] = []
