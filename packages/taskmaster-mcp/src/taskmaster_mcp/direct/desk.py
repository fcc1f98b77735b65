"""What all direct functions share: settings, open projects, cache, operations, and what they return (TM-2)."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, NamedTuple, ParamSpec

from task_core.errors import TaskError
from task_core.models import Clock
from task_core.store import Store
from task_core.store.document import DocumentDatabase
from task_core.warning_list import WarningList
from taskmaster_mcp.codec import CODEC, KIND
from taskmaster_mcp.core.items import JsonObject
from taskmaster_mcp.direct.cache import Cache
from taskmaster_mcp.direct.operations import Operations
from taskmaster_mcp.errors import BadValue, TaskmasterError
from taskmaster_mcp.project.project import Project
from taskmaster_mcp.project.root import ProjectFiles, find_root, locate_tasks
from taskmaster_mcp.refusals import translate_error
from taskmaster_mcp.settings import TaskmasterSettings

__all__ = ["Desk", "DirectResult", "Where", "direct"]

P = ParamSpec("P")

_MAX_PROJECTS: Final = 16
"""Projects that stay open; the one not used for longest is closed."""


class Where(NamedTuple):
    """Which project and which tag a call is about, as far as it says so."""

    project_root: str | None = None
    file: str | None = None
    tag: str | None = None


class Desk:
    """Opens projects on demand, keeps them open, and fills in what calls leave out."""

    def __init__(self, settings: TaskmasterSettings, warnings: WarningList, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.cache = Cache()
        self.operations = Operations(clock)
        self.warnings = warnings
        self._start: str | None = None
        self._guard = threading.Lock()
        self._projects: OrderedDict[tuple[Path, Path], Project] = OrderedDict()

    def project(self, where: Where) -> Project:
        """Return the project of a call (TM-13, TM-16).

        Raises:
            TaskError: the root or the file is not one that can be.
        """
        settings = self.settings
        chosen = where.project_root or settings.task_master_project_root
        if not chosen and self._start == "":
            raise BadValue("projectRoot", "the client does not say in which folder it works: give the project's")
        root = find_root(chosen, settings.taskmaster_roots, self._start)
        path = locate_tasks(root, where.file)
        with self._guard:
            project = self._projects.get((root, path)) or self._open(root, path)
            self._projects[root, path] = project
            self._projects.move_to_end((root, path))
            if len(self._projects) > _MAX_PROJECTS:
                self._projects.popitem(last=False)  # its files are closed once no call uses it any more
        return project

    def open(self, where: Where) -> tuple[Project, str]:
        """Return the project of a call, and its tag; it raises what ``project`` does."""
        project = self.project(where)
        return project, self.tag(where, project)

    def tag(self, where: Where, project: Project) -> str:
        """Return the tag that a call is about (TM-31)."""
        return where.tag or self.settings.taskmaster_tag or project.current_tag()

    def work_in(self, folder: str | None) -> None:
        """Take the project around ``folder``, or else the current one, for calls that name none (TM-13).

        If it is empty, because the client does not say, such calls fail: work must not get into another project.
        """
        self._start = folder

    def close(self) -> None:
        """End every wait for a store."""
        with self._guard:
            for project in self._projects.values():
                project.store.close()
        self.operations.close()

    def _open(self, root: Path, path: Path) -> Project:
        settings = self.settings
        database = DocumentDatabase(path, CODEC, self.warnings, self.clock, fsync=settings.task_fsync)
        store = Store(database, KIND, clock=self.clock, lock_seconds=settings.task_lock_timeout)
        return Project(ProjectFiles(root, fsync=settings.task_fsync), path, store, self.warnings, self.clock)


@dataclass(frozen=True)
class DirectResult:
    """What a direct function returns: data, or an error."""

    data: JsonObject = field(default_factory=dict)
    error: TaskmasterError | None = None
    from_cache: bool = False


def direct(
    function: Callable[Concatenate[Desk, P], DirectResult],
) -> Callable[Concatenate[Desk, P], DirectResult]:
    """Make a direct function of ``function``: what it raises becomes its result."""

    @wraps(function)
    def call(desk: Desk, *args: P.args, **kwargs: P.kwargs) -> DirectResult:
        try:
            return function(desk, *args, **kwargs)
        except TaskError as error:
            return DirectResult(error=translate_error(error))

    return call
