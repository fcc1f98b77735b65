"""Writer of lists in Markdown."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from task_formats.fields import one_line
from task_formats.losses import find_differences
from task_formats.record import ForeignTask, SourceFile, Writing
from task_formats.todo_md.notation import BOXES, ESCAPED, SIGNS, find_state, follow_fence, take_heading, take_mark
from task_formats.todo_md.reader import read

__all__ = ["write"]


def write(tasks: Sequence[ForeignTask]) -> Writing:
    """Return one file with a box for each task, subtasks below it, its text indented, its id in a comment.

    The labels of a task at the top are the headings above it.
    """
    below: dict[str | None, list[ForeignTask]] = {}
    known = {task.id for task in tasks}
    for task in tasks:
        below.setdefault(task.parent if task.parent in known else None, []).append(task)
    lines: list[str] = []
    labels: tuple[str, ...] = ()
    waiting = [(task, 0) for task in reversed(below.get(None, []))]
    while waiting:
        task, level = waiting.pop()
        if not level and (own := _headings(task)) != labels:
            labels = own
            lines += [f"{'#' * depth} {label}" for depth, label in enumerate(own, 2)] or ["# Tasks"]
        lines += _lines(task, level)
        waiting += [(child, level + 1) for child in reversed(below.get(task.id, []))]
    file = SourceFile("", "".join(f"{line}\n" for line in lines).encode())
    return Writing((file,), tuple(find_differences(tasks, read([file]).tasks)))


def _headings(task: ForeignTask) -> tuple[str, ...]:
    """Return the labels of a task if headings can show all."""
    can_show = len(task.labels) < 6 and all(
        label == one_line(label) and take_heading(f"# {label}") == (1, label) and find_state(label) is None
        for label in task.labels
    )
    return task.labels if can_show else ()


def _lines(task: ForeignTask, level: int) -> list[str]:
    indent = "  " * level
    mark = f" <!-- id: {task.id} -->" if task.id and task.id == one_line(task.id) and "-->" not in task.id else ""
    title = one_line(task.title)
    if task.state not in BOXES or take_mark(title) != (title, None):
        title = f"{SIGNS[task.state]} {title}"
    first = f"{indent}- [{BOXES.get(task.state, ' ')}] {title}{mark}"
    return [first, *(f"{indent}  {line}".rstrip() for line in _escape(task.text))]


def _escape(text: str) -> list[str]:
    r"""Return the lines of a text, with ``\`` before what would be an item, or a fence that stays open."""
    lines = text.split("\n") if text else []
    fences = [*accumulate(lines, follow_fence, initial="")]
    is_closed = not fences[-1]
    escaped: list[str] = []
    for line, fenced in zip(lines, pairwise(fences), strict=True):
        plain = line.lstrip(" \t")
        is_code = is_closed and any(fenced)
        is_mistakable = not is_code and ESCAPED.match(f"\\{plain}")
        escaped.append(f"{line[: len(line) - len(plain)]}\\{plain}" if is_mistakable else line)
    return escaped
