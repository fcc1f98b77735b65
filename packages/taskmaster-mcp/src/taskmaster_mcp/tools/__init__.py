"""The tools as clients see them: names, arguments, descriptions, and the shape of answers (TM-1)."""

__all__: list[str] = []
