"""The checks of ``taskmaster-mcp doctor``, which change nothing (TM-86)."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from task_core.doctor import Check, Finding, check_access, check_folder, note, right, wrong
from task_core.errors import TaskError
from task_core.models import utc_now
from task_core.text import pluralize
from task_core.warning_list import WarningList
from taskmaster_mcp.core.graph import Issue, find_issues
from taskmaster_mcp.direct.registry import ProjectRegistry, Target
from taskmaster_mcp.project.lock import STALE_SECONDS, locate_foreign_lock
from taskmaster_mcp.settings import TaskmasterSettings

__all__ = ["checks"]

_PROGRAMS: Final = frozenset({b"task-master", b"task-master-ai", b"task-master-mcp"})
"""The commands of Task Master."""

_MAX_ISSUES: Final = 20
"""Issues of a tag that are listed; the others are counted."""


def checks(settings: TaskmasterSettings) -> list[Check]:
    """Return the checks of the usual project: the one for calls that name none."""
    found = partial(_inspect, Target(ProjectRegistry(settings, WarningList(), utc_now)))
    return [
        Check("project", partial(found, _check_project)),
        Check("folder", partial(found, lambda target: check_folder(_find_existing(target.project.path.parent)))),
        Check("tasks", partial(found, _check_tasks)),
        Check("locks", partial(found, _check_locks)),
        Check("programs", _check_programs),
    ]


def _inspect(target: Target, inspect: Callable[[Target], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from inspect(target)
    except TaskError as error:
        yield wrong(error.message, "Do what the message says, then run doctor again.")


def _check_project(target: Target) -> Iterator[Finding]:
    project = target.project
    if not project.folder.is_dir() and not project.path.is_file():
        other = f"; there is one above it, {project.above}" if project.above else ""
        cure = f"Set TASK_MASTER_PROJECT_ROOT to {project.above}, or let" if other else "Let"
        yield note(f"{project.root} has no project yet{other}", f"{cure} your agent call initialize_project.")
        return
    yield right(f"the project is {project.root}, its tasks are in {project.path.relative_to(project.root)}")
    yield right(f"calls that name no tag use '{target.tag}'")


def _check_tasks(target: Target) -> Iterator[Finding]:
    project = target.project
    if not project.path.exists():
        yield right(f"{project.path.name} does not exist yet; it is created when needed")
        return
    with project.store.read() as members:
        names = members.tags
        yield right(f"{project.path.name} is complete: {pluralize(len(names), 'tag')}")
        if (tag := target.tag) not in names and names:
            cure = "Choose another with use_tag." if tag == project.current_tag() else "Correct TASKMASTER_TAG."
            yield wrong(f"the tag '{tag}' does not exist", target.advise(cure))
        for name in names:
            yield from _list_issues(target, name, find_issues(project.tag(members, name)))
    yield from check_access(project.path, is_private=False)


def _list_issues(target: Target, tag: str, issues: Sequence[Issue]) -> Iterator[Finding]:
    for issue in issues[:_MAX_ISSUES]:
        cure = "Correct it, or let fix_dependencies remove it." if issue.is_repairable else "Correct it."
        yield note(f"tag '{tag}': {issue.as_json['message']}", target.advise(cure))
    if len(issues) > _MAX_ISSUES:
        yield note(f"tag '{tag}': {len(issues) - _MAX_ISSUES} more such findings")


def _check_locks(target: Target) -> Iterator[Finding]:
    lock = locate_foreign_lock(target.project.path)
    if os.path.lexists(lock):
        age = time.time() - lock.lstat().st_mtime
        if age < STALE_SECONDS:
            yield note(f"{lock.name} is held: Task Master or a server is saving", "Wait a moment.")
        else:
            yield note(f"{lock.name} was abandoned {age:.0f} seconds ago; the next change removes it")
    stale = sorted(path.name for path in _find_existing(lock.parent).glob(f"{lock.name}.stale.*"))
    if stale:
        yield note(f"abandoned locks were left behind: {', '.join(stale)}", "Delete them.")
    if not os.path.lexists(lock) and not stale:
        yield right("no lock is held")


def _check_programs() -> Iterator[Finding]:
    words: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words += path.read_bytes().split(b"\0")[:3]
    if any(word.rpartition(b"/")[2] in _PROGRAMS for word in words):
        yield note(
            "Task Master runs on this machine; it reads before it locks, so it can overwrite what a server saved",
            "Let only one of the two change a project at a time.",
        )
    else:
        yield right("no process of Task Master is seen")


def _find_existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.is_dir())
