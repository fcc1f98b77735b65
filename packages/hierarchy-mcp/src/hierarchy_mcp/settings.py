"""The settings of this server, read once from the environment (source: requirement 4)."""

from typing import Annotated, Literal

from pydantic import Field

from task_core.cli.settings import FilePath, StoreServerSettings

__all__ = ["HierarchySettings"]


class HierarchySettings(StoreServerSettings):
    """The place of the tasks, and the order of root tasks."""

    store_variable = "file_path"
    in_project = (("file_path", "hierarchy.json"),)

    file_path: Annotated[
        FilePath | None,
        Field(
            title="File of the tasks",
            description="Absolute path of the JSON document with the tasks; default: in memory only.",
        ),
    ] = None
    root_order: Annotated[
        Literal["free", "strict"],
        Field(
            title="Order of root tasks",
            description="free: root tasks are independent; strict: root tasks must be done in order too.",
        ),
    ] = "free"
