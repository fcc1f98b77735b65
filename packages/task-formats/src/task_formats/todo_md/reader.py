"""Reader of lists in Markdown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import Final

from task_formats.decoding import text_of
from task_formats.fields import IdRegister, one_line
from task_formats.record import Contents, ForeignTask, Remark, SourceFile, State
from task_formats.todo_md.notation import (
    BOX,
    EMOJI,
    ESCAPED,
    ID,
    ITEM,
    MARKS,
    find_state,
    follow_fence,
    is_rule,
    take_heading,
    take_mark,
)

__all__ = ["find", "read", "signs"]

_NAMES: Final = frozenset({"todo.md", "todos.md"})


def find(path: Path) -> list[Path]:
    """Return the file, or the ``TODO.md`` of a folder in any case."""
    if path.is_file():
        return [path]
    return sorted(it for it in path.glob("*.md") if it.name.lower() in _NAMES and it.is_file())[:1]


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return what shows a list in Markdown."""
    lines = [line for file in files for line in text_of(file)[0].split("\n")]
    found = {
        "the name TODO.md": any(PurePosixPath(file.name).name.lower() in _NAMES for file in files),
        "boxes": any(BOX.match(line) for line in lines),
        "a list": any(ITEM.fullmatch(line) for line in lines),
    }
    names = tuple(name for name, holds in found.items() if holds)
    return names if found["the name TODO.md"] else ()


def read(files: Sequence[SourceFile]) -> Contents:
    """Read the files; no input raises an error.

    In a file with boxes only these are tasks, and a box below another one is a subtask; in a file without any, each
    item at the margin is a task. Headings are labels, or states: what is under "Done" is done. The title of the file,
    which is its only heading of level 1, is neither. Headings that are in no task are counted.
    """
    problems: list[Remark] = []
    tasks: list[ForeignTask] = []
    ids = IdRegister(problems)
    unused = 0
    for file in files:
        text, undecoded = text_of(file)
        problems += undecoded
        reader = _ListReader(file.name, text.split("\n"), ids)
        reader.read()
        problems += reader.describe_others()
        tasks += (found := [replace(it.task, text="\n".join(it.lines).strip("\n")) for it in reader.items])
        used = {word for task in found for word in (*task.labels, task.status)}
        unused += sum(one_line(heading) not in used for heading in reader.headings)
    unknown = {task.status for task in tasks if task.status and find_state(task.status) is None}
    left_out = {"headings": unused} if unused else {}
    return Contents(tuple(tasks), tuple(problems), left_out, unknown_statuses=frozenset(unknown))


@dataclass
class _ListItem:
    task: ForeignTask
    """without its text"""
    indent: int
    lines: list[str] = field(default_factory=list)


class _ListReader:
    """Reads the lines of one file."""

    def __init__(self, name: str, lines: Sequence[str], ids: IdRegister) -> None:
        self.items: list[_ListItem] = []
        self.headings: list[str] = []
        self._name = name
        self._ids = ids
        fences = [*accumulate(lines, follow_fence, initial="")]
        self._lines = [(line, any(fenced)) for line, fenced in zip(lines, pairwise(fences), strict=True)]
        self._open_fence = len(lines) - next((n for n, it in enumerate(reversed(fences)) if not it), 0) + 1
        plain = [line for line, is_fenced in self._lines if not is_fenced]
        self._has_boxes = any(BOX.match(line) for line in plain)
        self._margin = min((_width(line) for line in plain if _find_item(line)), default=0)
        titles = {heading[1] for line in plain if (heading := take_heading(line)) and heading[0] == 1}
        self._has_title = len(titles) == 1
        self._headings: list[tuple[int, str]] = []
        self._open: list[_ListItem] = []
        """the last item and those above it"""
        self._others: list[list[str]] = []
        """the place and the lines of each part that belongs to no task"""
        self._is_in_others = False

    def read(self) -> None:
        """Find the items."""
        for number, (line, is_fenced) in enumerate(self._lines, 1):
            place = f"{self._name}:{number}"
            heading = None if is_fenced else take_heading(line)
            item = None if is_fenced or heading else _find_item(line)
            is_separator = not is_fenced and line[:1] not in {" ", "\t"} and is_rule(line)
            if heading:
                self.headings.append(heading[1])
                self._headings = [*(it for it in self._headings if it[0] < heading[0]), heading]
            if heading or is_separator:
                self._open.clear()
                self._is_in_others = False
            elif item and (item[2] is not None if self._has_boxes else _width(line) <= self._margin):
                self._add(item, place)
            else:
                self._keep(line, place, is_fenced=is_fenced, is_item=not is_fenced and bool(ITEM.fullmatch(line)))

    def describe_others(self) -> list[Remark]:
        """Return the problems with what is not a task."""
        problems: list[Remark] = []
        for place, first, *more in self._others:
            count = f" (and {len(more)} more lines)" if len(more) > 1 else " (and 1 more line)" * len(more)
            problems.append(Remark(place, f"Not a task: {one_line(first)[:80]}{count}"))
        if self._open_fence <= len(self._lines):
            text = "This code fence is never closed, so everything below it is read as code."
            problems.append(Remark(f"{self._name}:{self._open_fence}", text))
        return problems

    def _add(self, item: re.Match[str], place: str) -> None:
        indent, box, text = _width(item[0]), item[2], item[3].strip()
        start = text.rfind("<!-- id: ")
        own = ID.fullmatch(text, start) if start > 0 else None
        title, said = take_mark(text[:start].strip() if own else text)
        heading, heading_state = self._find_heading_state()
        state = said or MARKS.get(box or "") or EMOJI.get(box or "") or "open"
        is_by_heading = state == "open" and not said and heading_state is not None
        self._open = [it for it in self._open if it.indent < indent]
        task = ForeignTask(
            id=self._ids.claim(own[1], place) if own else self._ids.name(title, place),
            title=title,
            state=heading_state if is_by_heading and heading_state else state,
            status=one_line(heading) if is_by_heading else box if box and box not in {*MARKS, *EMOJI} else "",
            labels=self._find_labels(),
            parent=self._open[-1].task.id if self._open else None,
            place=place,
        )
        self._open.append(_ListItem(task, indent))
        self.items.append(self._open[-1])
        self._is_in_others = False

    def _find_heading_state(self) -> tuple[str, State | None]:
        for level, heading in reversed(self._headings):
            state = find_state(heading)
            if state and not (state == "open" and level == 1 and self._has_title):
                return heading, state
        return "", None

    def _find_labels(self) -> tuple[str, ...]:
        found = (heading for level, heading in self._headings if not (level == 1 and self._has_title))
        return tuple(dict.fromkeys(one_line(it) for it in found if it.strip() and find_state(it) is None))

    def _keep(self, line: str, place: str, *, is_fenced: bool, is_item: bool) -> None:
        """Keep a line that begins no task: it belongs to the item above it, or a problem names it."""
        if not line.strip():
            if self._open:
                self._open[-1].lines.append("")
            self._is_in_others = False
            return
        is_apart = is_item or (bool(self._open) and self._open[-1].lines[-1:] == [""])
        if self._open and (line[0] in " \t" or not is_apart):
            while is_apart and not is_fenced and len(self._open) > 1 and _width(line) <= self._open[-1].indent:
                self._open.pop()
            item = self._open[-1]
            dented = line[min(item.indent + 2, len(line) - len(line.lstrip())) :]
            escaped = None if is_fenced else ESCAPED.match(dented)
            item.lines.append(escaped[1] + dented[escaped.end() :] if escaped else dented)
            return
        self._open.clear()
        if not self._is_in_others:
            self._others.append([place])
        self._others[-1].append(line)
        self._is_in_others = True


def _find_item(line: str) -> re.Match[str] | None:
    """Return the match of an item with text; a rule such as ``- - -`` is not one."""
    item = ITEM.fullmatch(line)
    return item if item and item[3].strip() and not is_rule(line) else None


def _width(line: str) -> int:
    blank = line[: len(line) - len(line.lstrip())]
    return len(blank.expandtabs(4))
