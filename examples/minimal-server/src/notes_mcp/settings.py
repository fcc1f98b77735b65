"""The settings of this server: the environment variable NOTES_FILE_PATH, and those that every server has."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from typing_extensions import override

from task_core.cli.settings import FilePath, StoreServerSettings

__all__ = ["NotesSettings"]


class NotesSettings(StoreServerSettings):
    """Where the notes are kept."""

    store_variable = "notes_file_path"

    notes_file_path: Annotated[
        FilePath | None,
        Field(description="Absolute path of the JSON document with the notes; default: in memory only."),
    ] = None

    @property
    @override
    def document_path(self) -> Path | None:
        return self.notes_file_path
