"""The settings of this server, read once from the environment (source: requirement 4)."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError
from typing_extensions import override

from task_core.server.settings import ServerSettings

__all__ = ["HierarchySettings"]


class HierarchySettings(ServerSettings):
    """Where the tasks are kept and whether root tasks have an order."""

    store_variable = "file_path"

    file_path: Annotated[
        Path | None, Field(description="Path of the JSON file with the tasks; when not set, they are in memory only.")
    ] = None
    root_order: Annotated[
        Literal["free", "strict"],
        Field(description="free: root tasks are independent; strict: they too must be done in order."),
    ] = "free"

    @field_validator("file_path")
    @classmethod
    def _in_a_folder(cls, path: Path | None) -> Path | None:
        if path is not None and not path.parent.is_dir():
            raise PydanticCustomError("folder", "a file in a folder that exists was expected")
        return path

    @property
    @override
    def document_path(self) -> Path | None:
        """Where the JSON document is if TASK_STORE is not set; None: in memory."""
        return self.file_path
