"""The frame of direct functions: the open projects, the answers that are kept, and results that never raise.

Answers are kept as long as the files they were made from are the same (TM-1, TM-2, TM-75 to TM-77).
"""

import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Concatenate, Final, NamedTuple, ParamSpec
from weakref import WeakSet

from task_core.bounds import size_of
from task_core.errors import TaskError
from task_core.models import Clock
from task_core.warning_list import WarningList
from taskmaster_mcp.core.items import JsonObject, TagTasks
from taskmaster_mcp.direct.operations import Operations
from taskmaster_mcp.errors import BadValue
from taskmaster_mcp.project.project import Project
from taskmaster_mcp.project.root import find_root, locate_tasks
from taskmaster_mcp.settings import TaskmasterSettings, name_sets

__all__ = ["Cache", "DirectResult", "ProjectRegistry", "Target", "cached", "direct"]

P = ParamSpec("P")

_MAX_ENTRIES: Final = 200

_MAX_BYTES: Final = 16_000_000

_MAX_PROJECTS: Final = 16
"""Projects that stay open; the one not used for longest is closed."""


class _Entry(NamedTuple):
    revision: Hashable
    data: JsonObject
    size: int


class Cache:
    """The answers last used, 200 of them in 16 MB; an answer is never older than its files."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._entries: dict[Hashable, _Entry] = {}
        """the one not used for longest first"""
        self._size = 0
        self._hits = self._misses = self._invalidations = 0

    def get_cached_or_execute(
        self, key: Hashable, revision: Callable[[], Hashable], action: Callable[[], JsonObject]
    ) -> tuple[JsonObject, bool]:
        """Return the answer for ``key``, and whether it was kept; else it is the result of ``action``.

        ``revision`` returns the state of the files. Nobody may change what is returned.
        """
        now = revision()
        with self._guard:
            entry = self._entries.get(key)
            if entry and entry.revision == now:
                self._entries[key] = self._entries.pop(key)
                self._hits += 1
                return entry.data, True
            self._misses += 1
        data = action()
        # If a file changed meanwhile, it is not known which state the answer is of.
        if revision() == now:
            self._keep(key, _Entry(now, data, size_of(data)))
        return data, False

    def statistics(self) -> JsonObject:
        """Return how the cache was used."""
        with self._guard:
            used: JsonObject = {"hits": self._hits, "misses": self._misses, "invalidations": self._invalidations}
            return {**used, "size": len(self._entries), "maxSize": _MAX_ENTRIES, "ttl": None}

    def _keep(self, key: Hashable, entry: _Entry) -> None:
        with self._guard:
            if old := self._entries.pop(key, None):
                self._size -= old.size
                self._invalidations += 1
            self._entries[key] = entry
            self._size += entry.size
            while len(self._entries) > _MAX_ENTRIES or self._size > _MAX_BYTES:
                self._size -= self._entries.pop(next(iter(self._entries))).size


class ProjectRegistry:
    """Opens projects on demand, keeps them open, and fills in what calls leave out."""

    def __init__(self, settings: TaskmasterSettings, warnings: WarningList, clock: Clock) -> None:
        self.settings = settings
        self.offered = settings.offered_tools
        self.cache = Cache()
        self.operations = Operations(clock)
        self.warnings = warnings
        self._clock = clock
        self._start: str | None = None
        self._guard = threading.Lock()
        self._projects: dict[tuple[Path, Path], Project] = {}
        """the one not used for longest first"""
        self._in_use: WeakSet[Project] = WeakSet()
        """those that are open, and those that were closed while a call uses them"""

    def project(self, project_root: str | None = None, file: str | None = None) -> Project:
        """Return the project of a call, which may name its root and its tasks file (TM-13, TM-16)."""
        settings = self.settings
        chosen = project_root or settings.task_master_project_root
        if not chosen and self._start == "":
            raise BadValue("projectRoot", "the client does not say in which folder it works: give the project's")
        root = find_root(chosen, settings.taskmaster_roots, self._start)
        path = locate_tasks(root, file)
        with self._guard:
            project = self._projects.pop((root, path), None) or Project(
                root, path, settings, self.warnings, self._clock
            )
            self._in_use.add(project)
            self._projects[root, path] = project
            if len(self._projects) > _MAX_PROJECTS:
                del self._projects[next(iter(self._projects))]  # its files are closed once no call uses it any more
        return project

    def work_in(self, folder: str | None) -> None:
        """Take the project around ``folder``, or else the current one, for calls that name none (TM-13).

        If it is empty, because the client does not say, such calls fail: work must not get into another project.
        """
        self._start = folder

    def close(self) -> None:
        """End every wait for a store."""
        with self._guard:
            for project in self._in_use:
                project.store.close()
        self.operations.close()


@dataclass
class Target:
    """The project and the tag of one call, each found when it is first needed, and kept then."""

    registry: ProjectRegistry
    project_root: str | None = None
    file: str | None = None
    named_tag: str | None = None
    from_cache: bool = False

    @cached_property
    def project(self) -> Project:
        """The project (TM-13, TM-16)."""
        return self.registry.project(self.project_root, self.file)

    @cached_property
    def tag(self) -> str:
        """The tag (TM-31)."""
        return self.named_tag or self.registry.settings.taskmaster_tag or self.project.current_tag()

    def advise(self, text: str) -> str:
        """Return a message that names tools, each that is not offered with its set."""
        return name_sets(text, self.registry.offered)

    def tasks(self) -> TagTasks:
        """Return the tasks of the tag as they are now."""
        with self.project.read() as members:
            return self.project.tag(members, self.tag)

    def change(self) -> AbstractContextManager[TagTasks]:
        """Open a transaction on the tag, which is saved at the end if it was changed."""
        return self.project.change(self.tag)


@dataclass(frozen=True)
class DirectResult:
    """The result of a direct function: data, or an error."""

    data: JsonObject = field(default_factory=dict)
    error: TaskError | None = None
    from_cache: bool = False


def direct(function: Callable[Concatenate[Target, P], JsonObject]) -> Callable[Concatenate[Target, P], DirectResult]:
    """Make a direct function of ``function``: an error becomes its result."""

    @wraps(function)
    def call(target: Target, *args: P.args, **kwargs: P.kwargs) -> DirectResult:
        try:
            return DirectResult(function(target, *args, **kwargs), from_cache=target.from_cache)
        except TaskError as error:
            return DirectResult(error=error)

    return call


def cached(function: Callable[Concatenate[Target, P], JsonObject]) -> Callable[Concatenate[Target, P], JsonObject]:
    """Keep what ``function`` returns for the same arguments as long as the files of the project stay the same."""

    @wraps(function)
    def call(target: Target, *args: P.args, **kwargs: P.kwargs) -> JsonObject:
        project, tag = target.project, target.tag
        key = (function, project.root, project.path, tag, repr(kwargs))
        data, target.from_cache = target.registry.cache.get_cached_or_execute(
            key, lambda: project.revision(tag), lambda: function(target, *args, **kwargs)
        )
        return data

    return call
