"""A task as the text file that people and editors read (TM-83)."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from taskmaster_mcp.core.items import ProjectItem
from taskmaster_mcp.core.tags import is_name, name_tag_after

__all__ = ["is_file_name", "name_file", "read_id", "render_markdown", "render_text"]

_OTHER: Final = re.compile(r"[^A-Za-z0-9.-]")
"""Characters of an id that are replaced in the name of a file; ``_`` comes before the tag."""

_MAX_NAME: Final = 100
"""Characters of an id in the name of a file."""

_MARKS: Final = {"done": "✓", "in-progress": "⧖", "blocked": "⛔", "cancelled": "✗", "deferred": "⏸"}
"""Marks behind a dependency, by its status."""


def name_file(task_id: str, tag: str, ending: str) -> str:
    """Return the name of the file of a task: ``task_001.txt``, in other tags than master ``task_001_TAG.txt``."""
    own = f"{int(task_id):03}" if task_id.isdecimal() else _OTHER.sub("-", task_id)[:_MAX_NAME]
    return f"task_{own}{_suffix(tag)}.{ending}"


def is_file_name(name: str, tag: str) -> bool:
    """Return whether the file of a task in ``tag`` may have this name."""
    stem, _, ending = name.rpartition(".")
    own = stem.removeprefix("task_").removesuffix(_suffix(tag))
    return ending in ("txt", "md") and stem == f"task_{own}{_suffix(tag)}" and bool(own) and not _OTHER.search(own)


def read_id(data: bytes) -> str:
    """Return the id of the task that a file was generated for, empty if it was not."""
    head, _, task_id = data.split(b"\n", 1)[0].decode("utf-8", "replace").strip().partition(": ")
    return task_id if head == "# Task ID" else ""


def render_text(task: ProjectItem, index: Mapping[str, ProjectItem]) -> str:
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


def render_markdown(task: ProjectItem, index: Mapping[str, ProjectItem]) -> str:
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
