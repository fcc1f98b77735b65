"""Edits of one entry or section in the text of a file, which leave every other character as it is."""

__all__: list[str] = []
