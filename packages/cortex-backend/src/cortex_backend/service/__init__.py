"""The rules of the domain, without HTTP and without SQL."""

__all__: list[str] = []
