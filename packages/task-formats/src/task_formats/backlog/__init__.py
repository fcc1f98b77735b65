"""Backlog.md: a folder with a configuration and one Markdown file for each task."""

from task_formats.backlog.reader import find, read, signs
from task_formats.backlog.writer import write

__all__ = ["find", "read", "signs", "write"]
