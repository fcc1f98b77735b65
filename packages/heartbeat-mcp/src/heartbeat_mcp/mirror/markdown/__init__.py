"""The blocks of a Markdown document (CommonMark), as far as the section and its bullets need them; no tasks."""

__all__: list[str] = []
