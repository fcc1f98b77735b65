"""The settings of this server, read once from the environment."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator
from typing_extensions import override

from task_core.cli.settings import StoreServerSettings
from task_core.errors import TaskError
from taskmaster_mcp.project.root import find_root, locate_tasks
from taskmaster_mcp.toolsets import choose_tools

__all__ = ["TaskmasterSettings"]


class TaskmasterSettings(StoreServerSettings):
    """The tools to offer, and the project and the tag for calls that name none."""

    store_variable = "task_master_project_root"
    in_project = (("task_master_project_root", ""),)
    # The tasks are in the file of the project, and nowhere else.
    task_store: ClassVar[None] = None  # pyrefly: ignore  # this is a field no longer
    task_tenant: ClassVar[str] = ""  # pyrefly: ignore  # nor is this
    task_extra_tools: ClassVar[None] = None  # pyrefly: ignore  # nor is this

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
    def tools(self) -> frozenset[str]:
        """The names of the tools that are offered, without their aliases."""
        return choose_tools(self.task_master_tools)

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
