"""Lists in Markdown, as people keep them in TODO.md."""

from task_formats.todo_md.reader import find, read, signs
from task_formats.todo_md.writer import write

__all__ = ["find", "read", "signs", "write"]
