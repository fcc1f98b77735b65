"""The settings of this server, read once from the environment (source: requirements 4.3 and 6.1)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import Self

from task_core.server.settings import ServerSettings

__all__ = ["HeartbeatSettings"]


class HeartbeatSettings(ServerSettings):
    """Where the files are and how long finished tasks stay."""

    heartbeat_file_path: Annotated[Path, Field(description="Absolute path of HEARTBEAT.md.")]
    heartbeat_state_path: Annotated[
        Path | None,
        Field(description="Absolute path of the store; when not set, heartbeat_state.json beside HEARTBEAT.md."),
    ] = None
    workspace_path: Annotated[
        Path | None, Field(description="Absolute path of the folder that paths in tasks must lie in.")
    ] = None
    task_retention_days: Annotated[
        float,
        Field(
            ge=0,
            allow_inf_nan=False,
            description="Days that finished tasks stay, fractions too; 0: till the next cleaning, at start and hourly.",
        ),
    ] = 7
    auto_sync_enabled: Annotated[bool, Field(description="Whether HEARTBEAT.md is kept in step with the store.")] = True
    heartbeat_section: Annotated[
        str, Field(min_length=1, description="Text of the heading of the section that holds the tasks.")
    ] = "TODO"
    heartbeat_max_chars: Annotated[
        int, Field(ge=0, description="Most characters that the section may take; 0 is no limit.")
    ] = 0

    @field_validator("heartbeat_file_path", "heartbeat_state_path", "workspace_path")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        if path is not None and not path.is_absolute():
            raise PydanticCustomError("absolute", "an absolute path was expected")
        return path

    @field_validator("heartbeat_file_path", "heartbeat_state_path")
    @classmethod
    def _in_a_folder(cls, path: Path | None) -> Path | None:
        if path is not None and not (path.name and path.parent.is_dir()):
            raise PydanticCustomError("folder", "a file in a folder that exists was expected")
        return path

    @field_validator("workspace_path")
    @classmethod
    def _a_folder(cls, path: Path | None) -> Path | None:
        if path is not None and not path.is_dir():
            raise PydanticCustomError("workspace", "a folder that exists was expected")
        return path

    @field_validator("heartbeat_section")
    @classmethod
    def _one_line(cls, name: str) -> str:
        if not name.strip() or not name.isprintable():
            raise PydanticCustomError("section", "the text of a heading, on one line, was expected")
        return name.strip()

    @model_validator(mode="after")
    def _apart(self) -> Self:
        taken = {os.path.realpath(path) for path in (self.heartbeat_file_path, self.backup_path)}
        for path in (self.state_path, self.archive_path):
            real = os.path.realpath(path)
            if real in taken:
                raise PydanticCustomError(
                    "apart",
                    "HEARTBEAT_STATE_PATH: the store, its archive, HEARTBEAT.md and its backup must be four files",
                )
            taken.add(real)
        return self

    @property
    def backup_path(self) -> Path:
        """Where sections go that the store had authority over (HB-12)."""
        return self.heartbeat_file_path.with_name(f"{self.heartbeat_file_path.name}.bak")

    @property
    def state_path(self) -> Path:
        """Where the store is."""
        return self.heartbeat_state_path or self.heartbeat_file_path.with_name("heartbeat_state.json")

    @property
    def archive_path(self) -> Path:
        """Where cleaned tasks go: beside the store (HB-7)."""
        return self.state_path.with_name("heartbeat_archive.jsonl")
