"""The files of a project: where they are, how they are read, and how they are written with the least difference."""

__all__: list[str] = []
