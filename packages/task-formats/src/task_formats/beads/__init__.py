"""Beads: a file with one issue as JSON on each line, which ``bd export`` writes."""

from task_formats.beads.reader import find, read, signs
from task_formats.beads.writer import write

__all__ = ["find", "read", "signs", "write"]
