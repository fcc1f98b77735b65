"""The settings of this server, read once from the environment (source: requirements 4.3 and 6.1)."""

import os
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import override

from heartbeat_mcp.errors import NOT_COUNTED, NoHeartbeatFile
from task_core.bootstrap import find_in_project
from task_core.cli.settings import FilePath, FolderPath, StoreServerSettings
from task_core.store import Engine

__all__ = ["HeartbeatSettings", "find_list", "locate_archive"]

_NAME: Final = "HEARTBEAT.md"

_STORE: Final = "heartbeat_state.json"


class HeartbeatSettings(StoreServerSettings):
    """The places of the files, and the time for which finished tasks stay."""

    store_variable = "heartbeat_state_path"
    searched = _NAME
    in_project = (("heartbeat_file_path", _NAME),)
    personal = frozenset({"heartbeat_file_path", "workspace_path"})

    heartbeat_file_path: Annotated[
        FilePath | None,
        Field(
            title="HEARTBEAT.md",
            description="Absolute path of HEARTBEAT.md; default: the nearest one from the client's folder upwards, "
            "within its repository. Not needed with TASK_STORE.",
        ),
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
        text = name.strip().lstrip("#").strip()
        if not text or not name.isprintable():
            raise PydanticCustomError("section", "the heading must be one line of text")
        return text

    @model_validator(mode="after")
    def _check_files(self) -> Self:
        if self.heartbeat_state_path and self.is_searching:
            raise ValueError("Set HEARTBEAT_FILE_PATH: HEARTBEAT_STATE_PATH is the store of one HEARTBEAT.md.")
        if self.missing:
            return self
        file = self.file
        files = [file, file and file.with_name(f"{file.name}.bak"), self.address.path, self.archive_path]
        taken = [os.path.realpath(path) for path in files if path]
        if len({*taken}) < len(taken):
            raise PydanticCustomError(
                "apart",
                "HEARTBEAT_STATE_PATH: the store, its archive, HEARTBEAT.md and its backup must be different files",
            )
        return self

    @property
    def is_searching(self) -> bool:
        """True if no setting names a list, so that it is the one of the project."""
        return not self.heartbeat_file_path and not self.task_store

    @property
    def file(self) -> Path | None:
        """HEARTBEAT.md: the one that is set, or else the one of the current project; None if the list needs none."""
        return find_list() if self.is_searching else self.heartbeat_file_path

    @property
    @override
    def has_own_list(self) -> bool:
        return self.is_searching and self.file is not None

    @override
    def located(self) -> Self:
        return self.model_copy(update={"heartbeat_file_path": self.file}) if self.is_searching else self

    @property
    @override
    def missing(self) -> str:
        if not self.is_searching or self.file:
            return ""
        return (
            "Set HEARTBEAT_FILE_PATH: neither the current folder nor one above it in its repository has a HEARTBEAT.md "
            f"{NOT_COUNTED}. The command 'install' sets it for your clients. Or set TASK_STORE, for a list without the "
            "file."
        )

    @property
    @override
    def document_path(self) -> Path | None:
        """The path of the JSON document if TASK_STORE is not set; without a file it raises ``NoHeartbeatFile``."""
        if self.heartbeat_state_path or self.task_store:
            return self.heartbeat_state_path
        if (file := self.file) is None:
            raise NoHeartbeatFile
        real = Path(os.path.realpath(file))
        is_usual = real.name.casefold() == "heartbeat.md"
        return real.with_name(_STORE if is_usual else f"{real.stem}_state.json")

    @property
    def archive_path(self) -> Path | None:
        """The path of the archive beside a document (HB-7); in a database, archived tasks stay where they are."""
        engine, path, _ = self.address
        return locate_archive(path) if path and engine is Engine.JSON else None


def find_list(start: str = "") -> Path | None:
    """Return HEARTBEAT.md as ``find_in_project`` does, unless its store is a link, which could point anywhere too."""
    found = find_in_project(_NAME, start)
    return Path(found) if found and not Path(found).with_name(_STORE).is_symlink() else None


def locate_archive(document: Path) -> Path:
    """Return where the archive of the document at a path is (HB-7)."""
    is_usual = document.name == _STORE
    return document.with_name("heartbeat_archive.jsonl" if is_usual else f"{document.stem}_archive.jsonl")
