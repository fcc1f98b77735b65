"""The open projects of a server, with the settings, the cache and the operations that all direct functions share."""

import threading
from collections import OrderedDict
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final
from weakref import WeakSet

from task_core.models import Clock
from task_core.warning_list import WarningList
from taskmaster_mcp.core.items import TagTasks
from taskmaster_mcp.direct.cache import Cache
from taskmaster_mcp.direct.operations import Operations
from taskmaster_mcp.errors import BadValue
from taskmaster_mcp.project.project import Project
from taskmaster_mcp.project.root import ProjectFiles, find_root, locate_tasks
from taskmaster_mcp.project.tag_store import TagStore
from taskmaster_mcp.settings import TaskmasterSettings
from taskmaster_mcp.toolsets import name_sets

__all__ = ["ProjectRegistry", "Target"]

_MAX_PROJECTS: Final = 16
"""Projects that stay open; the one not used for longest is closed."""


class ProjectRegistry:
    """Opens projects on demand, keeps them open, and fills in what calls leave out."""

    def __init__(self, settings: TaskmasterSettings, warnings: WarningList, clock: Clock) -> None:
        self.settings = settings
        self.offered = settings.offered_tools
        self.clock = clock
        self.cache = Cache()
        self.operations = Operations(clock)
        self.warnings = warnings
        self._start: str | None = None
        self._guard = threading.Lock()
        self._projects: OrderedDict[tuple[Path, Path], Project] = OrderedDict()
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
            project = self._projects.get((root, path)) or self._open(root, path)
            self._projects[root, path] = project
            self._projects.move_to_end((root, path))
            if len(self._projects) > _MAX_PROJECTS:
                self._projects.popitem(last=False)  # its files are closed once no call uses it any more
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

    def _open(self, root: Path, path: Path) -> Project:
        settings = self.settings
        store = TagStore(
            path,
            self.warnings,
            self.clock,
            fsync=settings.task_fsync,
            lock_seconds=settings.task_lock_timeout,
            history_days=settings.task_history_days,
            claim_seconds=settings.task_claim_seconds,
        )
        project = Project(ProjectFiles(root, fsync=settings.task_fsync), path, store, self.warnings, self.clock)
        self._in_use.add(project)
        return project


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
        return self.project.tasks(self.tag)

    def change(self) -> AbstractContextManager[TagTasks]:
        """Open a transaction on the tag, which is saved at the end if it was changed."""
        return self.project.change(self.tag)
