"""Files of todo.txt: one task a line (https://github.com/todotxt/todo.txt)."""

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from task_formats.decoding import text_of
from task_formats.fields import Fields, IdRegister, one_line
from task_formats.losses import find_differences
from task_formats.record import Contents, ForeignTask, Priority, Remark, SourceFile, Writing

__all__ = ["find", "read", "signs", "write"]

_DATE = r"\d{4}-\d\d-\d\d"
_LINE: Final = re.compile(rf"(?:(x) (?:({_DATE}) )?|\(([A-Z])\) )?(?:({_DATE}) )?(.+)", re.ASCII)
_LABEL: Final = re.compile(r"[+@]\S+")
_KEY: Final = re.compile(r"([A-Za-z][\w-]*):([^\s/:][^\s]*)")
_MARKS: Final = re.compile(rf"(?:x |\([A-Z]\) |{_DATE} (?!\d\d:))|.*(?:^| )[+@]\w")
_PRIORITIES: Final[dict[str, Priority]] = {"A": "critical", "B": "high", "C": "medium", "D": "low"}
_LETTERS: Final = {name: letter for letter, name in _PRIORITIES.items()}


def find(path: Path) -> list[Path]:
    """Return the file, or ``todo.txt`` and ``done.txt`` of a folder."""
    if path.is_file():
        return [path]
    return [place for name in ("todo.txt", "done.txt") if (place := path / name).is_file()]


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return what shows a file of todo.txt."""
    lines = [line for file in files for line in text_of(file)[0].split("\n") if line.strip()]
    marked = sum(bool(_MARKS.match(line)) for line in lines)
    names = {PurePosixPath(file.name).name.lower() for file in files}
    found = {
        "the name todo.txt or done.txt": bool(names & {"todo.txt", "done.txt"}),
        "a date, a priority, +project or @context in most lines": marked * 2 > len(lines),
        "no Markdown bullets": bool(lines) and not any(line.lstrip().startswith(("- ", "* ")) for line in lines),
    }
    return tuple(name for name, holds in found.items() if holds) if marked * 2 > len(lines) else ()


def read(files: Sequence[SourceFile]) -> Contents:
    """Read the files; no input raises an error."""
    problems = [problem for file in files for problem in text_of(file)[1]]
    ids = IdRegister(problems)
    tasks = [
        _task(line.strip(), f"{file.name}:{number}", ids, problems)
        for file in files
        for number, line in enumerate(text_of(file)[0].split("\n"), 1)
        if line.strip()
    ]
    return Contents(tuple(tasks), tuple(problems))


def _task(line: str, place: str, ids: IdRegister, problems: list[Remark]) -> ForeignTask:
    match = _LINE.fullmatch(line)
    done, ended, letter, created, text = match.groups() if match else (None, None, None, None, line)
    words = text.split()
    rest: dict[str, str] = {}
    kept: list[str] = []
    for word in reversed(words):  # the last of equal keys counts, so one that is added has effect
        found = _KEY.fullmatch(word)
        if found and found[1] not in rest:
            rest[found[1]] = found[2]
        else:
            kept.insert(0, word)
    title = " ".join(_without_outer_labels(kept) or kept or [it for it in words if it[:3] != "id:"]) or text
    fields, dates = (Fields(it, place, problems) for it in (rest, {"created": created, "closed": ended}))
    if not letter and re.fullmatch("[A-Z]", rest.get("pri", "")):
        letter = fields.text("pri")
    own = fields.text("id")
    return ForeignTask(
        id=ids.claim(own, place) if own else ids.name(title, place),
        title=title,
        state="done" if done else "open",
        priority=_PRIORITIES.get(letter or ""),
        labels=tuple(dict.fromkeys(filter(_LABEL.fullmatch, words))),
        created=dates.time("created"),
        closed=dates.time("closed"),
        due=fields.time("due"),
        rest={**dates.rest(), **fields.rest()} | ({"priority": letter} if letter and letter not in _PRIORITIES else {}),
        place=place,
    )


def _without_outer_labels(words: Sequence[str]) -> Sequence[str]:
    """Return the words without the labels at both ends; one within the sentence is a part of it."""
    said = [number for number, word in enumerate(words) if not _LABEL.fullmatch(word)]
    return words[said[0] : said[-1] + 1] if said else ()


def write(tasks: Sequence[ForeignTask]) -> Writing:
    """Return one file with a line for each task, which has its id as ``id:ID``."""
    text = "".join(f"{_line(task)}\n" for task in tasks)
    file = SourceFile("", text.encode())
    return Writing((file,), tuple(find_differences(tasks, read([file]).tasks)))


def _line(task: ForeignTask) -> str:
    is_done = task.state in {"done", "cancelled"}
    letter = _LETTERS.get(task.priority or "", "")
    rest = dict(task.rest)
    if not letter and re.fullmatch("[A-Z]", rest.get("priority", "")):
        letter = rest.pop("priority")
    created, closed, due = ((text or "")[:10] for text in (task.created, task.closed, task.due))
    title = one_line(task.title)
    said = {*title.split()}
    labels = [label if _LABEL.fullmatch(label) else f"@{'_'.join(label.split())}" for label in task.labels]
    first = next((number for number, label in enumerate(labels) if label in said), 0)
    parts = ["x", closed] if is_done else [f"({letter})" if letter else ""]
    parts += [created if created and (closed or not is_done) else "", *labels[:first], title]
    parts += [label for label in labels[first:] if label not in said]
    parts += [f"pri:{letter}" if letter and is_done else "", f"due:{due}" if due else ""]
    parts += [f"{name}:{value}" for name, value in rest.items() if _KEY.fullmatch(f"{name}:{value}")]
    parts += [f"id:{task.id}" if _KEY.fullmatch(f"id:{task.id}") else ""]
    return " ".join(filter(None, parts))
