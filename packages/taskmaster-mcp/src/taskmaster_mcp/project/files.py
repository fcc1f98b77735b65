"""The text files that are generated for tasks, for people to read (TM-83)."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from task_core.errors import TaskError
from taskmaster_mcp.core.items import ProjectItem, TagTasks
from taskmaster_mcp.core.tags import is_name, name_tag_after
from taskmaster_mcp.project.root import ProjectFiles

__all__ = ["Generated", "detect_ending", "generate_files", "remove_task_files"]

_OTHER: Final = re.compile(r"[^A-Za-z0-9.-]")
"""Characters of an id that are replaced in the name of a file; ``_`` comes before the tag."""

_MAX_NAME: Final = 100
"""Characters of an id in the name of a file."""

_MARKS: Final = {"done": "✓", "in-progress": "⧖", "blocked": "⛔", "cancelled": "✗", "deferred": "⏸"}
"""Marks behind a dependency, by its status."""


class Generated(NamedTuple):
    """The result of generating task files."""

    count: int
    """tasks with a file"""
    written: int
    """files that were new or differed"""
    removed: int
    """files of tasks that are gone"""
    skipped: list[str]
    """names of files that nobody generated, which stay as they are"""


def detect_ending(folder: Path, tag: str) -> str:
    """Return the ending of the files that are generated in ``folder``: ``md`` if there are such files, else ``txt``."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return "md" if any(it.suffix == ".md" and _is_file_name(it.name, tag) for it in paths) else "txt"


def generate_files(
    files: ProjectFiles, tasks: TagTasks, folder: Path, ending: str, report: Callable[[int, int], None]
) -> Generated:
    """Write a file for each task, and remove those of tasks that are gone; files that nobody generated stay."""
    files.make_folder(folder)
    index, render = tasks.index(), _render_markdown if ending == "md" else _render_text
    found = [task for task in tasks.tasks if task.id and index[task.id] == task]
    ids = {task.id for task in found}
    removed = remove_task_files(files, folder, tasks.tag, lambda task_id: task_id not in ids)
    written, skipped = 0, list[str]()
    for done, task in enumerate(found, 1):
        path, data = folder / _name_file(task.id, tasks.tag, ending), render(task, index).encode()
        old = _read_generated(files, path, task.id)
        if old is None:
            skipped.append(path.name)
        elif old != data:
            files.write(path, data)
            written += 1
        report(done, len(found))
    return Generated(len(found), written, removed, skipped)


def remove_task_files(files: ProjectFiles, folder: Path, tag: str, is_gone: Callable[[str], bool]) -> int:
    """Remove the files that were generated for tasks whose ids are gone, no others, and return how many."""
    removed = 0
    for path in folder.iterdir():
        with suppress(OSError, TaskError):
            task_id = _read_id(files.read(path)) if _is_file_name(path.name, tag) else ""
            if task_id and path.name == _name_file(task_id, tag, path.suffix[1:]) and is_gone(task_id):
                path.unlink()
                removed += 1
    return removed


def _read_generated(files: ProjectFiles, path: Path, task_id: str) -> bytes | None:
    """Return the file that was generated for a task, empty if there is none; None if something else is there."""
    try:
        data = files.read(path)
    except FileNotFoundError:
        return b""
    except TaskError:
        return None
    return data if _read_id(data) == task_id else None


def _name_file(task_id: str, tag: str, ending: str) -> str:
    """Return the name of the file of a task: ``task_001.txt``, in other tags than master ``task_001_TAG.txt``."""
    own = f"{int(task_id):03}" if task_id.isdecimal() else _OTHER.sub("-", task_id)[:_MAX_NAME]
    return f"task_{own}{_suffix(tag)}.{ending}"


def _is_file_name(name: str, tag: str) -> bool:
    """Return whether the file of a task in ``tag`` may have this name."""
    stem, _, ending = name.rpartition(".")
    own = stem.removeprefix("task_").removesuffix(_suffix(tag))
    return ending in ("txt", "md") and stem == f"task_{own}{_suffix(tag)}" and bool(own) and not _OTHER.search(own)


def _read_id(data: bytes) -> str:
    """Return the id of the task that a file was generated for, empty if it was not."""
    head, _, task_id = data.split(b"\n", 1)[0].decode("utf-8", "replace").strip().partition(": ")
    return task_id if head == "# Task ID" else ""


def _render_text(task: ProjectItem, index: Mapping[str, ProjectItem]) -> str:
    """Return the file of a task in the older form, ``.txt``."""
    lines = [
        f"# Task ID: {task.id}",
        f"# Title: {task.title}",
        f"# Status: {task.status}",
        f"# Dependencies: {_dependencies(task, index)}",
        f"# Priority: {task.priority}",
        f"# Description: {task.text('description')}",
        *("# Details:", task.text("details"), ""),
        *("# Test Strategy:", task.text("testStrategy")),
    ]
    if task.subtasks:
        lines += ["", "# Subtasks:"]
    for subtask in task.subtasks:
        lines += [
            f"## {subtask.own_id}. {subtask.title} [{subtask.status}]",
            f"### Dependencies: {_dependencies(subtask, index)}",
            f"### Description: {subtask.text('description')}",
            *("### Details:", subtask.text("details"), ""),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _render_markdown(task: ProjectItem, index: Mapping[str, ProjectItem]) -> str:
    """Return the file of a task in the newer form, ``.md``."""
    blocks = [
        f"# Task ID: {task.id}",
        f"**Title:** {task.title}",
        f"**Status:** {task.status}",
        f"**Dependencies:** {_dependencies(task, index)}",
        f"**Priority:** {task.priority}",
        f"**Description:** {task.text('description')}",
        *_texts(task),
    ]
    if task.subtasks:
        blocks.append("## Subtasks")
    for subtask in task.subtasks:
        blocks += [
            f"### {subtask.id}. {subtask.title}",
            f"**Status:** {subtask.status}  \n**Dependencies:** {_dependencies(subtask, index)}  ",
            *filter(None, [subtask.text("description")]),
            *_texts(subtask),
        ]
    return "\n\n".join(blocks) + "\n"


def _suffix(tag: str) -> str:
    return "" if tag == "master" else f"_{tag if is_name(tag) else name_tag_after(tag)}"


def _texts(item: ProjectItem) -> Iterator[str]:
    yield from ("**Details:**", item.text("details")) if item.text("details") else ()
    yield from ("**Test Strategy:**", item.text("testStrategy")) if item.text("testStrategy") else ()


def _dependencies(item: ProjectItem, index: Mapping[str, ProjectItem]) -> str:
    found: list[str] = []
    for target in item.targets:
        mark = _MARKS.get(index[target].status, "") if target in index else ""
        found.append(f"{target} {mark}".rstrip())
    return ", ".join(found) or "None"
