"""The settings of this server, read once from the environment."""

from typing import Annotated

from platformdirs import user_data_path
from pydantic import Field

from task_core.cli.settings import AbsolutePath, StoreServerSettings

__all__ = ["TasksSettings"]


class TasksSettings(StoreServerSettings):
    """The place of the tasks."""

    store_variable = "tasks_file_path"
    in_project = (("tasks_file_path", "tasks.json"),)
    makes_folder = True

    tasks_file_path: Annotated[
        AbsolutePath,
        Field(
            title="File of the tasks",
            default_factory=lambda: user_data_path("tasks-v1-mcp", appauthor=False) / "tasks.json",
            description="Absolute path of the document; the server creates its folder.",
        ),
    ]
