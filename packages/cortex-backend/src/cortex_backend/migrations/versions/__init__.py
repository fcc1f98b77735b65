"""One module for each step of the schema."""

__all__: list[str] = []
