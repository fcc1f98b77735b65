"""Lists in Markdown, as people keep them in TODO.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from task_formats.decoding import text_of
from task_formats.fields import STATES, normalize, one_line
from task_formats.id_register import IdRegister
from task_formats.record import ForeignTask, Problem, Reading, SourceFile, Writing
from task_formats.round_trip import find_differences

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from task_formats.record import State

__all__ = ["NAME", "find", "read", "signs", "write"]

NAME: Final = "todo-md"

_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*")
_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})")
_ITEM: Final = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[(.?)\](?:[ \t]+|$))?(.*)")
_BOX: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[.?\](?:[ \t]|$)")
_ID: Final = re.compile(r"[ \t]*<!-- id: (\S+) -->[ \t]*$")
_STRUCK: Final = re.compile(r"~~(.+)~~")
_MARKS: Final[dict[str, State]] = {
    **dict.fromkeys(("", " "), "open"),
    **dict.fromkeys(("x", "X"), "done"),
    "/": "active",
    **dict.fromkeys(("-", "~"), "cancelled"),
}
_EMOJI: Final[dict[str, State]] = {
    **dict.fromkeys("✅☑✔", "done"),
    **dict.fromkeys("🚧🔄⏳🏃", "active"),
    **dict.fromkeys("❌🚫", "cancelled"),
    **dict.fromkeys("⏸🔒", "blocked"),
    **dict.fromkeys("⬜☐🔲📋", "open"),
}
_BOXES: Final[dict[State, str]] = {"done": "x", "active": "/", "cancelled": "-"}
_DONE_WORDS: Final = frozenset({"完成", "已完成", "完了", "✅"})


def find(path: Path) -> list[Path]:
    """Return the file, or the ``TODO.md`` of a folder in any case."""
    if path.is_file():
        return [path]
    return sorted(it for it in path.glob("*.md") if it.name.lower() in {"todo.md", "todos.md"})[:1]


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return what shows a list in Markdown."""
    lines = [line for file in files for line in text_of(file)[0].split("\n")]
    found = {
        "the name TODO.md": any(PurePosixPath(file.name).name.lower() in {"todo.md", "todos.md"} for file in files),
        "boxes": any(_BOX.match(line) for line in lines),
        "a list": any(_ITEM.fullmatch(line) for line in lines),
    }
    names = tuple(name for name, holds in found.items() if holds)
    return names if found["the name TODO.md"] else ()


def read(files: Sequence[SourceFile]) -> Reading:
    """Read the files; no input raises an error.

    In a file with boxes only these are tasks, and a box below another one is a subtask; in a file without any, each
    item at the margin is a task. Headings are labels, or states: what is under "Done" is done.
    """
    problems: list[Problem] = []
    tasks: list[ForeignTask] = []
    ids = IdRegister(problems)
    for file in files:
        text, found = text_of(file)
        problems += found
        reader = _ListReader(file.name, ids, has_boxes=bool(re.search(f"^{_BOX.pattern}", text, re.MULTILINE)))
        reader.read(text.split("\n"))
        problems += reader.problems
        tasks += [item.task() for item in reader.items]
    return Reading(tuple(tasks), tuple(problems))


@dataclass
class _ListItem:
    id: str
    title: str
    state: State
    status: str
    indent: int
    place: str
    parent: str | None
    labels: tuple[str, ...]
    lines: list[str] = field(default_factory=list)

    def task(self) -> ForeignTask:
        return ForeignTask(
            id=self.id,
            title=self.title,
            text="\n".join(self.lines).strip("\n"),
            state=self.state,
            status=self.status,
            labels=self.labels,
            parent=self.parent,
            place=self.place,
        )


class _ListReader:
    """Reads one file, line by line."""

    def __init__(self, name: str, ids: IdRegister, *, has_boxes: bool) -> None:
        self.items: list[_ListItem] = []
        self.problems: list[Problem] = []
        self._name = name
        self._ids = ids
        self._has_boxes = has_boxes
        self._open: list[_ListItem] = []
        """the last item and those above it"""
        self._heading = ""
        self._fence = ""
        self._is_told = False
        """true within text that a problem names"""

    def read(self, lines: Sequence[str]) -> None:
        """Read the lines of the file."""
        for number, line in enumerate(lines, 1):
            self._read(line, f"{self._name}:{number}")

    def _read(self, line: str, place: str) -> None:
        fence = _FENCE.match(line)
        if self._fence or fence:
            self._fence = self._follow_fence(fence[1] if fence else "")
            self._keep(line, place, is_fenced=True)
            return
        if heading := _HEADING.fullmatch(line):
            self._heading = heading[2] if len(heading[1]) > 1 else ""
            self._open.clear()
            self._is_told = False
            return
        item = _ITEM.fullmatch(line)
        if item and item[3].strip() and self._is_task(item[1], item[2]):
            self._add(_width(item[1]), item[2], item[3].strip(), place)
        else:
            self._keep(line, place)

    def _follow_fence(self, found: str) -> str:
        """Return the fence that is open after a line with the fence ``found``, if it has one."""
        is_end = bool(self._fence) and found.startswith(self._fence)
        return "" if is_end else self._fence or found

    def _is_task(self, blank: str, box: str | None) -> bool:
        return box is not None if self._has_boxes else not blank

    def _add(self, indent: int, box: str | None, text: str, place: str) -> None:
        own = _ID.search(text)
        text = text[: own.start()] if own else text
        state = _MARKS.get(box or "", "open")
        title, said = _take_mark(text)
        state = said or (state if state != "open" else _state_of(self._heading)) or "open"
        self._open = [it for it in self._open if it.indent < indent]
        label = self._heading if self._heading and _state_of(self._heading) is None else ""
        self._open.append(
            _ListItem(
                id=self._ids.claim(own[1], place) if own else self._ids.name(title, place),
                title=title,
                state=state,
                status=box if box and box not in _MARKS else "",
                indent=indent,
                place=place,
                parent=self._open[-1].id if self._open else None,
                labels=(one_line(label),) if label else (),
            )
        )
        self.items.append(self._open[-1])
        self._is_told = False

    def _keep(self, line: str, place: str, *, is_fenced: bool = False) -> None:
        """Keep a line that begins no task: it belongs to the item above it, or a problem names it."""
        if not line.strip():
            if self._open:
                self._open[-1].lines.append("")
            self._is_told = False
        elif self._open and (line[0] in " \t" or (is_fenced and self._open[-1].lines[-1:] != [""])):
            dented = line[min(self._open[-1].indent + 2, len(line) - len(line.lstrip())) :]
            self._open[-1].lines.append(re.sub(r"^\\(?=[-*+\d])", "", dented))
        else:
            self._open.clear()
            if not self._is_told:
                self.problems.append(Problem(place, f"Not a task: {one_line(line)[:80]}"))
            self._is_told = True


def _width(blank: str) -> int:
    return len(blank.expandtabs(4))


def _state_of(heading: str) -> State | None:
    """Return the state that a heading such as "Done" gives what is under it."""
    word = normalize(heading.strip(" *_:"))
    return "done" if word in _DONE_WORDS else STATES.get(word)


def _take_mark(text: str) -> tuple[str, State | None]:
    """Return the title without an emoji at its edge and without strike-through, and the state that these give."""
    plain = text.replace("\ufe0f", "")
    for emoji, state in _EMOJI.items():
        for rest in (plain.removeprefix(emoji), plain.removesuffix(emoji)):
            if rest != plain and rest.strip():
                return rest.strip(), state
    if (struck := _STRUCK.fullmatch(text)) and struck[1].strip():
        return struck[1].strip(), "cancelled"
    return text.strip(), None


def write(tasks: Sequence[ForeignTask]) -> Writing:
    """Return one file with a box for each task, subtasks below it, its text indented, its id in a comment.

    A task with one label is under a heading with that.
    """
    below: dict[str | None, list[ForeignTask]] = {}
    known = {task.id for task in tasks}
    for task in tasks:
        below.setdefault(task.parent if task.parent in known else None, []).append(task)
    lines: list[str] = []
    heading = ""
    waiting = [(task, 0) for task in reversed(below.get(None, []))]
    while waiting:
        task, level = waiting.pop()
        if not level and (label := _label(task)) != heading:
            heading = label
            lines += [f"## {label}" if label else "# Tasks"]
        lines += _lines(task, level)
        waiting += [(child, level + 1) for child in reversed(below.get(task.id, []))]
    file = SourceFile("", "".join(f"{line}\n" for line in lines).encode())
    return Writing((file,), tuple(find_differences(tasks, read([file]).tasks)))


def _label(task: ForeignTask) -> str:
    """Return the label of a task that a heading can show."""
    label = task.labels[0] if len(task.labels) == 1 else ""
    match = _HEADING.fullmatch(f"## {label}")
    return label if match and match[2] == label == one_line(label) and _state_of(label) is None else ""


def _lines(task: ForeignTask, level: int) -> list[str]:
    indent = "  " * level
    mark = f" <!-- id: {task.id} -->" if task.id and not re.search(r"\s|-->", task.id) else ""
    text = [re.sub(r"^(?=[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])", r"\\", line) for line in task.text.split("\n")]
    return [
        f"{indent}- [{_BOXES.get(task.state, ' ')}] {one_line(task.title)}{mark}",
        *(f"{indent}  {line}".rstrip() for line in text if task.text),
    ]
