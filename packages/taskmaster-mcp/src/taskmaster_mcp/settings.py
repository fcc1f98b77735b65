"""The settings of this server, read once from the environment."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator
from typing_extensions import override

from task_core.cli.settings import StoreServerSettings
from task_core.errors import TaskError
from taskmaster_mcp.project.root import BORDERS, FOLDER, find_root, locate_tasks
from taskmaster_mcp.toolsets import choose_tools

__all__ = ["TaskmasterSettings"]


class TaskmasterSettings(StoreServerSettings):
    """The tools to offer, and the project and the tag for calls that name none."""

    store_variable = "task_master_project_root"
    in_project = (("task_master_project_root", ""),)
    greets_in: ClassVar[Mapping[str, str | Sequence[str]]] = {
        "file": f"{FOLDER}/tasks/tasks.json",
        "setting": store_variable.upper(),
        "borders": BORDERS,
    }
    # The tasks are in the file of the project, and nowhere else.
    task_store: ClassVar[None] = None  # pyrefly: ignore  # this is a field no longer
    task_tenant: ClassVar[str] = ""  # pyrefly: ignore  # nor is this

    extra_sets = ("history", "brief", "claims")
    task_extra_tools: str | None = Field(
        default=None,
        description="Tools to offer beside those of the server: history (task_history, undo_change), brief, claims "
        "(claim_task, release_task), several by comma, or all.",
    )
    task_master_tools: Annotated[
        str, Field(description="Tools to offer: core, standard, all, or names of tools by comma.")
    ] = "core"
    task_master_project_root: Annotated[
        str | None,
        Field(
            description="Folder of the project for calls that name none; default: the one around the current folder."
        ),
    ] = None
    taskmaster_roots: Annotated[
        str | None, Field(description="Folders that projects may be in, joined as in PATH; default: any.")
    ] = None
    taskmaster_tag: Annotated[
        str | None, Field(description="Tag for calls that name none; default: the current tag of the project.")
    ] = None

    @field_validator("task_master_tools")
    @classmethod
    def _known_tools(cls, words: str) -> str:
        choose_tools(words)
        return words

    @property
    def offered_tools(self) -> frozenset[str]:
        """The tools to offer now, without their aliases: also one that makes a project while there is none (PE-4)."""
        chosen = choose_tools(self.task_master_tools)
        return chosen if self._has_project() else chosen | {"initialize_project"}

    @property
    @override
    def has_own_list(self) -> bool:
        try:
            return self.task_master_project_root is None and self.document_path.exists()
        except (TaskError, OSError):  # there is no project here, or it may not be read
            return False

    @property
    @override
    def document_path(self) -> Path:
        """The tasks file of the usual project."""
        return locate_tasks(find_root(self.task_master_project_root, self.taskmaster_roots))

    def _has_project(self) -> bool:
        try:
            root = find_root(self.task_master_project_root, None)  # one that is not allowed need not be made
            return (root / FOLDER).is_dir() or locate_tasks(root).is_file()
        except (TaskError, OSError):
            return False
