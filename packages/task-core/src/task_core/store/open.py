"""The one place that chooses the engine of a store, by its address (EN-17)."""

import os
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Final, NamedTuple, Self, cast

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings
from typing_extensions import override

from task_core.bootstrap import advise_installing, find_plugin
from task_core.claims.session_files import SessionFiles
from task_core.history.changes import HISTORY_DAYS
from task_core.models import Clock, RecordT, utc_now
from task_core.store.claim_register import CLAIM_SECONDS, ClaimRegister
from task_core.store.codec import Codec
from task_core.store.database import Database, MemoryDatabase
from task_core.store.document import DocumentDatabase
from task_core.store.store import Store
from task_core.warning_list import WarningList

__all__ = [
    "Address",
    "Engine",
    "StoreSettings",
    "absolute_path",
    "find_server_engine",
    "open_store",
    "path_of_file",
]

_FORMS: Final = "'json:/absolute/path', 'sqlite:/absolute/path', 'postgresql://user@host/database' or 'memory:'"


def absolute_path(text: str | Path) -> Path:
    """Return the absolute path that a setting names; ``~`` and ``~user`` are home folders.

    A relative path raises ``ValueError``: it would depend on the folder in which a client starts the server.
    """
    path = Path(os.path.expanduser(text))  # noqa: PTH111 - pathlib raises RuntimeError for an unknown user
    if b"\0" in os.fsencode(path):  # which raises ``ValueError`` for what no path can hold
        raise ValueError("write a path without NUL characters")
    if not path.is_absolute():
        meant = "/path/to/it" if str(path).startswith("~") else os.path.abspath(path)  # noqa: PTH100 - without links
        raise ValueError(f"write an absolute path such as '{meant}'")
    return path


def path_of_file(text: str | Path) -> Path:
    """Return the absolute path of a file in a folder that exists; it raises ``ValueError`` as ``absolute_path``."""
    path = absolute_path(text)
    if not (path.name and path.parent.is_dir()):
        raise ValueError("name a file in a folder that exists")
    return path


class Engine(StrEnum):
    """The engines that can keep a store."""

    JSON = "json"
    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"
    MEMORY = "memory"


class Address(NamedTuple):
    """The address of a store: a file at a path, the database that a URL names, or memory."""

    engine: Engine
    path: Path | None = None
    url: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address in ``text``: ``ENGINE:PATH`` with a path as ``path_of_file`` takes it, or a URL.

        It raises ``ValueError``, which says what was expected, if that is none.
        """
        engine, _, rest = text.partition(":")
        if engine not in [*Engine] or bool(rest) == (engine == Engine.MEMORY):
            raise ValueError(f"give {_FORMS}")
        if engine == Engine.POSTGRESQL:
            return cls(Engine.POSTGRESQL, url=text)
        return cls(Engine(engine), path_of_file(rest) if rest else None)

    @override
    def __str__(self) -> str:
        return self.url or f"{self.engine}:{self.path or ''}"


def find_server_engine() -> ModuleType:
    """Return the plugin for stores in a database server, which valid settings with such a store require.

    It has the functions ``check_url``, ``open_pool``, ``open_database``, ``check_store`` and ``migrate_database``.
    """
    return cast("ModuleType", find_plugin(Engine.POSTGRESQL))


class StoreSettings(BaseSettings):
    """Settings of the store; a server names the variable of its document."""

    store_variable: ClassVar[str]
    """The field that names the JSON document where TASK_STORE is not set."""
    makes_folder: ClassVar = False
    """True if the server creates the folder of that document."""

    task_store: str | None = Field(
        title="Store, by its address",
        default=None,
        description="Where to keep the tasks: memory:, json:/path, sqlite:/path (for more than 10,000 tasks), or "
        "postgresql://user@host/database (for several machines).",
    )
    task_tenant: str = Field(
        title="Whose list", default="", max_length=500, description="Whose tasks to use in a database; any text."
    )
    task_fsync: bool = Field(
        title="Sync every change", default=True, description="Flush every change to disk before replying."
    )
    task_history_days: float = Field(
        title="Days of history",
        default=HISTORY_DAYS,
        ge=0,
        allow_inf_nan=False,
        description="Days for which replaced and removed text is kept, so that changes can be undone; 0: not at all.",
    )
    task_claim_seconds: float = Field(
        title="Seconds of a claim",
        default=CLAIM_SECONDS,
        gt=0,
        le=31_536_000,
        allow_inf_nan=False,
        description="Seconds without a call after which others may claim the tasks of an agent that has no process "
        "of its own.",
    )
    task_lock_timeout: float = Field(
        title="Lock timeout",
        default=10.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds to wait while another process holds the store.",
    )

    @property
    def document_path(self) -> Path | None:
        """The path of the JSON document if TASK_STORE is not set; None: in memory."""
        path: Path | None = getattr(self, self.store_variable, None)
        return path

    @property
    def address(self) -> Address:
        """The address of the store."""
        if self.task_store:
            return Address.parse(self.task_store)
        return Address(Engine.JSON, self.document_path) if self.document_path else Address(Engine.MEMORY)

    @cached_property
    def pool(self) -> object:
        """The connections of every store that these settings, or a copy of them with another tenant, open."""
        return find_server_engine().open_pool(self.address.url)

    @field_validator("task_store", check_fields=False)  # a server with one engine only has no such field
    @classmethod
    def _check_address(cls, text: str | None) -> str | None:
        if not text:
            return text
        address = Address.parse(text)
        if address.engine is Engine.POSTGRESQL:
            if find_plugin(address.engine) is None:
                distribution = cls.__module__.partition(".")[0].replace("_", "-")
                raise ValueError(f"install the engine for it: {advise_installing(distribution)}")
            find_server_engine().check_url(address.url)
        return str(address)

    @model_validator(mode="after")
    def _check_one_store(self) -> Self:
        if self.task_store and self.store_variable in self.model_fields_set:
            variable = self.store_variable.upper()
            raise ValueError(f"TASK_STORE and {variable} both name the store: set one of them.")
        if self.task_tenant and self.address.engine not in {Engine.SQLITE, Engine.POSTGRESQL}:
            raise ValueError(
                "TASK_TENANT needs a database: set TASK_STORE to sqlite:/path or postgresql://…, or leave it out."
            )
        return self


def open_store(
    settings: StoreSettings,
    codec: Codec[RecordT],
    warnings: WarningList,
    *,
    clock: Clock = utc_now,
    may_start_anew: bool = False,
    is_patient: bool = False,
) -> Store[RecordT]:
    """Return the store that ``settings`` name; it touches no file before its first use.

    ``LockedFile`` describes ``may_start_anew``. With ``is_patient`` a statement in PostgreSQL may take an hour.
    """
    engine, path, _ = settings.address
    fsync = settings.task_fsync
    database: Database
    if engine is Engine.POSTGRESQL:
        database = find_server_engine().open_database(settings, codec.kind.name, is_patient=is_patient)
    elif path is None:
        database = MemoryDatabase()
    elif engine is Engine.SQLITE:
        from task_core.store.sqlite import SqliteDatabase  # noqa: PLC0415 - imported only if it was chosen

        database = SqliteDatabase(path, fsync=fsync)
    else:
        database = DocumentDatabase(path, codec, warnings, clock, may_start_anew=may_start_anew, fsync=fsync)
    database.history_days = settings.task_history_days
    tenant, wait = settings.task_tenant, settings.task_lock_timeout
    # A database file can have lists of several servers and tenants.
    files = SessionFiles(path, f"{codec.kind.name} {tenant}" if engine is Engine.SQLITE else "") if path else None
    seconds, is_shared = settings.task_claim_seconds, engine is Engine.POSTGRESQL
    claims = ClaimRegister(warnings, files, seconds=seconds, is_shared=is_shared)
    return Store(database, codec.kind, tenant=tenant, clock=clock, lock_seconds=wait, claims=claims)
