"""The settings of this server, read once from the environment."""

from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError
from typing_extensions import override

from task_core.server.settings import ServerSettings

__all__ = ["TasksSettings"]


def _default_path() -> Path:
    return user_data_path("tasks-v1-mcp", appauthor=False) / "tasks.json"


class TasksSettings(ServerSettings):
    """Where the tasks are kept."""

    store_variable = "tasks_file_path"

    tasks_file_path: Annotated[
        Path, Field(default_factory=_default_path, description="Absolute path of the store; its folder is created.")
    ]

    @field_validator("tasks_file_path")
    @classmethod
    def _absolute(cls, path: Path) -> Path:
        if not path.is_absolute():
            raise PydanticCustomError("absolute", "an absolute path was expected")
        return path

    @property
    @override
    def document_path(self) -> Path:
        """Where the JSON document is if TASK_STORE is not set."""
        return self.tasks_file_path
