"""The endpoints: HTTP in, HTTP out."""

__all__: list[str] = []
