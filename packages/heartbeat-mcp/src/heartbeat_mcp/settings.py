"""The settings of this server, read once from the environment (source: requirements 4.3 and 6.1)."""

import os
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import override

from task_core.command.settings import FilePath, FolderPath, StoreServerSettings
from task_core.store import Engine

__all__ = ["HeartbeatSettings", "locate_archive"]


class HeartbeatSettings(StoreServerSettings):
    """Where the files are and how long finished tasks stay."""

    store_variable = "heartbeat_state_path"
    personal = frozenset({"heartbeat_file_path", "workspace_path"})

    heartbeat_file_path: Annotated[
        FilePath | None,
        Field(title="HEARTBEAT.md", description="Absolute path of HEARTBEAT.md; required unless TASK_STORE is set."),
    ] = None
    heartbeat_state_path: Annotated[
        FilePath | None,
        Field(
            title="Store",
            description="Absolute path of the document; default: heartbeat_state.json beside HEARTBEAT.md, or "
            "STEM_state.json for a file with another name.",
        ),
    ] = None
    workspace_path: Annotated[
        FolderPath | None,
        Field(title="Workspace", description="Absolute path of the folder that paths in tasks must be in."),
    ] = None
    task_retention_days: Annotated[
        float,
        Field(
            title="Retention in days",
            ge=0,
            allow_inf_nan=False,
            description="Days to keep finished tasks (fractions allowed). 0 archives them at the next clean-up, "
            "at start and every hour.",
        ),
    ] = 7
    auto_sync_enabled: Annotated[
        bool, Field(title="Keep HEARTBEAT.md up to date", description="Keep HEARTBEAT.md up to date.")
    ] = True
    heartbeat_section: Annotated[
        str, Field(title="Section", min_length=1, description="Heading of the section that holds the tasks.")
    ] = "TODO"
    heartbeat_max_chars: Annotated[
        int,
        Field(
            title="Characters in the section", ge=0, description="Maximum characters in the section; 0 for no limit."
        ),
    ] = 0

    @field_validator("heartbeat_file_path")
    @classmethod
    def _refuse_folder(cls, path: Path | None) -> Path | None:
        if path is not None and path.is_dir():
            raise PydanticCustomError("folder", "this is a folder; name the file in it")
        return path

    @field_validator("heartbeat_section")
    @classmethod
    def _check_heading(cls, name: str) -> str:
        if not name.strip() or not name.isprintable():
            raise PydanticCustomError("section", "the heading must be one line of text")
        return name.strip()

    @model_validator(mode="after")
    def _check_some_file(self) -> Self:
        if self.heartbeat_file_path is None and not self.task_store:
            raise ValueError("Set HEARTBEAT_FILE_PATH: Absolute path of HEARTBEAT.md.")
        return self

    @model_validator(mode="after")
    def _check_files_differ(self) -> Self:
        files = [self.heartbeat_file_path, self.backup_path, self.address.path, self.archive_path]
        taken = [os.path.realpath(path) for path in files if path]
        if len({*taken}) < len(taken):
            raise PydanticCustomError(
                "apart",
                "HEARTBEAT_STATE_PATH: the store, its archive, HEARTBEAT.md and its backup must be different files",
            )
        return self

    @property
    def backup_path(self) -> Path | None:
        """Where sections with edits that the store overrode are kept (HB-12)."""
        path = self.heartbeat_file_path
        return path and path.with_name(f"{path.name}.bak")

    @property
    @override
    def document_path(self) -> Path | None:
        """Where the JSON document is if TASK_STORE is not set."""
        if self.heartbeat_state_path or not self.heartbeat_file_path:
            return self.heartbeat_state_path
        real = Path(os.path.realpath(self.heartbeat_file_path))
        is_usual = real.name.casefold() == "heartbeat.md"
        return real.with_name("heartbeat_state.json" if is_usual else f"{real.stem}_state.json")

    @property
    def archive_path(self) -> Path | None:
        """Where archived tasks go: beside a document (HB-7); in a database they stay where they are."""
        engine, path, _ = self.address
        return locate_archive(path) if path and engine is Engine.JSON else None


def locate_archive(document: Path) -> Path:
    """Return where the archive of the document at a path is (HB-7)."""
    is_usual = document.name == "heartbeat_state.json"
    return document.with_name("heartbeat_archive.jsonl" if is_usual else f"{document.stem}_archive.jsonl")
