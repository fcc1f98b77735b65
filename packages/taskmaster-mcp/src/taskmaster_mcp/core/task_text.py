"""A task as the text file that people and editors read (TM-83)."""

from collections.abc import Iterator, Mapping
from typing import Final

from taskmaster_mcp.core.items import ProjectItem
from taskmaster_mcp.core.tags import is_name, name_tag_after

__all__ = ["is_generated", "name_file", "parse_file_name", "render_markdown", "render_text"]

_MARKS: Final = {"done": "✓", "in-progress": "⧖", "blocked": "⛔", "cancelled": "✗", "deferred": "⏸"}
"""Marks behind a dependency, by its status."""


def name_file(number: int, tag: str, ending: str) -> str:
    """Return the name of the file of a task: ``task_001.txt``, in other tags than master ``task_001_TAG.txt``."""
    return f"task_{number:03}{_suffix(tag)}.{ending}"


def parse_file_name(name: str, tag: str) -> int | None:
    """Return the number of the task whose file in ``tag`` has this name, or None."""
    stem, _, ending = name.rpartition(".")
    digits = stem.removeprefix("task_").removesuffix(_suffix(tag))
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        return None
    number = int(digits)
    return number if ending in ("txt", "md") and name_file(number, tag, ending) == name else None


def is_generated(data: bytes, number: int) -> bool:
    """Return whether a file begins as one that was generated for the task."""
    return data.split(b"\n", 1)[0].strip() == b"# Task ID: %d" % number


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
            f"## {subtask.number}. {subtask.title} [{subtask.status}]",
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
