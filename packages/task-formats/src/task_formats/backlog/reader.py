"""Reader of Backlog.md."""

import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from task_formats.backlog.front_matter import parse_mapping, split_front_matter
from task_formats.backlog.sections import split_body
from task_formats.decoding import text_of
from task_formats.fields import STATES, Fields, IdRegister, normalize, one_line
from task_formats.record import Contents, ForeignTask, Remark, SourceFile, State

__all__ = ["find", "read", "signs"]

_ROOT_CONFIG: Final = "backlog.config.yml"
_CONFIGS: Final = ("config.yml", "config.yaml")
_FOLDERS: Final = ("tasks", "drafts", "completed", "archive", "milestones", "docs", "decisions")
_DIRECTORY = re.compile(r"^backlog_?directory:[ \t]*['\"]?([^'\"\n#]+)", re.MULTILINE | re.IGNORECASE)
_LEFT_OUT: Final = {"milestones": "milestones", "docs": "documents", "decisions": "decisions"}


class _Config(NamedTuple):
    root: str = ""
    """The folder that the paths of the tasks begin with."""
    statuses: tuple[str, ...] = ()
    is_sure: bool = False


def find(path: Path) -> list[Path]:
    """Return the configuration and the Markdown files at ``path``: one file, the folder of Backlog.md, or a project."""
    if path.is_file():
        return [path] if path.suffix.lower() == ".md" else []
    if path.name.lower() in _FOLDERS[:3] and not (path / "tasks").is_dir():
        return _find_markdown(path)
    candidates = [path, path / "backlog", path / ".backlog"]
    config = path / _ROOT_CONFIG
    found = [file for file in (config,) if file.is_file()]
    if found and (match := _DIRECTORY.search(config.read_bytes().decode("utf-8", "replace"))):
        place = PurePosixPath(match[1].strip())
        if not place.is_absolute() and ".." not in place.parts:
            candidates.insert(0, path / place)
    for folder in candidates:
        configs = [file for name in _CONFIGS if (file := folder / name).is_file()]
        if (folder / "tasks").is_dir():
            markdown = [file for name in _FOLDERS for file in _find_markdown(folder / name)]
            return found + configs + markdown
    return []


def signs(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return the signs that ``files`` are of Backlog.md."""
    found: list[str] = []
    if (config := _read_config(files, [])).is_sure:
        found.append("a configuration with project_name and statuses")
    tasks = (file for file in _markdown(files) if _kind_of(file.name, config.root) not in _LEFT_OUT)
    for file in tasks:
        text, _ = text_of(file)
        parts = split_front_matter(text, [])
        if parts and {"id", "title", "status"} <= parts.values.keys():
            found.append("front matter with id, title and status")
            if file.name.rpartition("/")[2].lower().startswith(str(parts.values["id"] or "-").lower()):
                found.append("a file that is named for its id")
            break
    return tuple(found)


def read(files: Sequence[SourceFile]) -> Contents:
    """Read the tasks of ``files``: one file each.

    The last status of the configuration is done. Tasks in ``completed`` are done and those in ``archive`` are done or
    cancelled, whatever their status; those in ``drafts`` are deferred.
    """
    problems: list[Remark] = []
    left_out: Counter[str] = Counter()
    unknown: set[str] = set()
    ids = IdRegister(problems, str.casefold)
    config = _read_config(files, problems)
    tasks: list[ForeignTask] = []
    for file in _markdown(files):
        kind = _kind_of(file.name, config.root)
        if kind in _LEFT_OUT:
            left_out[_LEFT_OUT[kind]] += 1
        elif task := _read_task(file, kind, config.statuses, ids, problems):
            tasks.append(task)
            if task.status and task.state == "open" and _state_of(task.status, config.statuses) is None:
                unknown.add(task.status)
    connected = _connect(tasks, ids.suffixed)
    return Contents(connected, tuple(problems), dict(left_out), unknown_statuses=frozenset(unknown))


def _kind_of(name: str, root: str) -> str:
    """Return the folder below ``root`` that a file is in; its files say ``archive/milestones`` for milestones there."""
    folders = name.removeprefix(f"{root}/").lower().split("/")[:-1]
    kind = next((folder for folder in folders if folder in _FOLDERS), "tasks")
    return "milestones" if kind == "archive" and "milestones" in folders else kind


def _find_markdown(folder: Path) -> list[Path]:
    names = (
        os.path.join(place, name)  # noqa: PTH118 - thousands of paths, which are compared as text
        for place, _, files in os.walk(folder)
        for name in files
        if name.lower().endswith(".md")
    )
    return [file for name in sorted(names, key=_natural) if (file := Path(name)).is_file()]


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that puts ``task-9`` before ``task-10``."""
    parts = re.split(r"(\d+)", text.casefold())
    return [(1, int(part), "") if part.isascii() and part.isdigit() else (0, 0, part) for part in parts]


def _markdown(files: Iterable[SourceFile]) -> Iterator[SourceFile]:
    return (file for file in files if file.name.rpartition("/")[2] not in (*_CONFIGS, _ROOT_CONFIG))


def _read_config(files: Sequence[SourceFile], problems: list[Remark]) -> _Config:
    by_name = {file.name.rpartition("/")[2]: file for file in reversed(files)}
    for name in (_ROOT_CONFIG, *_CONFIGS):
        if file := by_name.get(name):
            remarks: list[tuple[int, str]] = []
            text, wrong = text_of(file)
            values = parse_mapping(text, remarks) or {}
            problems += wrong
            problems += [Remark(f"{file.name}:{line}", words) for line, words in remarks]
            fields = Fields(values, file.name, problems)
            folder = fields.text("backlog_directory") or fields.text("backlogDirectory")
            root = folder.strip("/") if name == _ROOT_CONFIG else file.name.rpartition("/")[0]
            return _Config(root, fields.names("statuses"), {"project_name", "statuses"} <= values.keys())
    return _Config()


def _read_task(
    file: SourceFile, kind: str, statuses: Sequence[str], ids: IdRegister, problems: list[Remark]
) -> ForeignTask | None:
    """Read one file; None, with a problem, if it is not a task."""
    text, wrong = text_of(file)
    problems += wrong
    remarks: list[tuple[int, str]] = []
    parts = split_front_matter(text, remarks)
    sections = split_body(parts.body, parts.body_line, remarks) if parts else None
    problems += [Remark(f"{file.name}:{line}", words) for line, words in remarks]
    if parts is None or sections is None:
        return None
    fields = Fields({name: _flat(value) for name, value in parts.values.items()}, file.name, problems)
    found = fields.identify("id", "title", file.name.rpartition("/")[2].removesuffix(".md").partition(" ")[0])
    if not found:
        return None
    status = one_line(fields.text("status"))
    state = _state_of(status, statuses) or "open"
    if kind == "completed":
        state = "done"
    elif kind == "archive" and state != "done":
        state = "cancelled"
    elif kind == "drafts" and state == "open":
        state = "deferred"
    return ForeignTask(
        ids.claim(found[0], file.name),
        found[1],
        sections.text,
        state,
        status,
        fields.priority("priority"),
        fields.names("labels"),
        one_line(fields.text("parent_task_id")) or None,
        fields.names("dependencies"),
        fields.time("created_date"),
        fields.time("updated_date"),
        fields.time("completed_date"),
        fields.time("due_date"),
        tuple(sections.criteria),
        tuple(sections.notes),
        sections.result,
        fields.rest() | sections.rest,
        file.name,
    )


def _state_of(status: str, statuses: Sequence[str]) -> State | None:
    """Return the state for a status, None for one that is not known; no status is open, and so is the first one."""
    word = normalize(status)
    known = STATES.get(word)
    if statuses and word == normalize(statuses[-1]):
        return "cancelled" if known == "cancelled" else "done"
    if known is None and word in ("", *(normalize(each) for each in statuses[:1])):
        return "open"
    return known


def _flat(value: object) -> object:
    """Return a list of plain names as one text with commas."""
    if isinstance(value, list) and all(isinstance(each, str) and "," not in each for each in value):
        return ", ".join(filter(None, map(one_line, value)))
    return value


def _connect(tasks: Sequence[ForeignTask], suffixed: Container[str]) -> tuple[ForeignTask, ...]:
    """Return the tasks with the ids of others as these write them; ids are compared without case and without prefix.

    ``suffixed`` has the ids with a suffix for a repeated one, which is not a number of a task.
    """
    known: dict[str, str] = {}
    for task in tasks:
        known.setdefault(task.id.casefold(), task.id)
    for task in tasks:
        if task.id not in suffixed:
            known.setdefault(task.id.rpartition("-")[2].casefold(), task.id)

    def find(name: str) -> str:
        return known.get(name.casefold(), name)

    dotted = {task.id: known.get(task.id.rpartition(".")[0].casefold()) for task in tasks if "." in task.id[1:]}
    connected: list[ForeignTask] = []
    for task in tasks:
        parent = find(task.parent) if task.parent else dotted.get(task.id)
        dependencies = tuple(dict.fromkeys(map(find, task.dependencies)))
        is_same = (parent, dependencies) == (task.parent, task.dependencies)
        connected.append(task if is_same else replace(task, parent=parent, dependencies=dependencies))
    return tuple(connected)
