"""Settings from the environment, typed, read once, and refused with one clear message (CLI-3)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Final, Self, TypeVar

from pydantic import AfterValidator, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from task_core.bootstrap import LOG_LEVELS, BadSettings
from task_core.errors import ECHO_LIMIT
from task_core.store import StoreSettings
from task_core.store.open import absolute_path, path_of_file
from task_core.text import shorten

__all__ = [
    "AbsolutePath",
    "FilePath",
    "FolderPath",
    "ServerSettings",
    "StoreServerSettings",
    "describe_environment",
    "describe_settings",
    "format_setting",
    "hide_passwords",
    "load_settings",
]

SettingsT = TypeVar("SettingsT", bound=BaseSettings)


def _folder(path: Path) -> Path:
    folder = absolute_path(path)
    if not folder.is_dir():
        raise ValueError("name a folder that exists")
    return folder


AbsolutePath = Annotated[Path, AfterValidator(absolute_path)]
"""A path that does not depend on the folder in which the server was started; ``~`` and ``~user`` are expanded."""

FilePath = Annotated[Path, AfterValidator(path_of_file)]
"""An ``AbsolutePath`` of a file, which need not exist, in a folder that does."""

FolderPath = Annotated[Path, AfterValidator(_folder)]
"""An ``AbsolutePath`` of a folder that exists."""

_PASSWORD: Final = re.compile(r"(://[^/:@]*:).*(?=@)|(password=)[^&]*")
"""The password in the address of a database, which no message may show (EN-17)."""


class ServerSettings(BaseSettings):
    """Settings that every server takes from its environment, in upper or lower case; an empty one counts as not set."""

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    searched: ClassVar[str] = ""
    """The file to look for in the project if no setting names the store."""

    in_project: ClassVar[Sequence[tuple[str, str]]] = ()
    """Settings that ``install`` writes, and the path of each in the project, or a file in the user's data folder."""

    greets_in: ClassVar[Mapping[str, str | Sequence[str]]] = {}
    """The project without which the first answers differ from the recorded ones, if there is one: a ``file`` in it, the
    ``setting`` that names its folder, and the ``borders`` of the search for it from the current folder upwards."""

    @property
    def missing(self) -> str:
        """The message if neither a setting nor a file says where the tasks are; the client may still do so."""
        return ""

    @property
    def has_own_list(self) -> bool:
        """True if the current project has a list, and no setting names one."""
        return False

    def located(self) -> Self:
        """Return these settings with the file that is found in the current project, if none of them names the store."""
        return self

    log_level: str = Field(default="WARNING", description=f"Lowest level to log: {', '.join(LOG_LEVELS)}.")

    @field_validator("log_level")
    @classmethod
    def _check_level(cls, name: str) -> str:
        if name.upper() not in LOG_LEVELS:
            raise ValueError("Input should be the name of a level")
        return name.upper()


class StoreServerSettings(ServerSettings, StoreSettings):
    """Settings that every server with a store takes from its environment."""

    model_config = ServerSettings.model_config

    personal: ClassVar[frozenset[str]] = frozenset()
    """Settings that name files of one user, which a server for many users cannot have (HO-1)."""

    extra_sets: ClassVar[Sequence[str]] = ("changes", "history", "brief", "claims")
    """The sets of tools that the following setting adds (AG-1)."""

    task_extra_tools: str | None = Field(
        default=None,
        description="Tools to offer beside those of the server: changes (list_changes), history (task_history, "
        "undo_change), brief, claims (claim_task, release_task), several by comma, or all.",
    )

    @field_validator("task_extra_tools")
    @classmethod
    def _check_extra_tools(cls, words: str | None) -> str | None:
        if unknown := sorted(_split_words(words) - {*cls.extra_sets, "all"}):
            raise ValueError(f"'{unknown[0]}' is not a set of tools")
        return words

    @property
    def extra_tools(self) -> frozenset[str]:
        """The sets of tools to offer beside those of the server."""
        chosen = _split_words(self.task_extra_tools)
        return frozenset(self.extra_sets) if "all" in chosen else chosen


def _split_words(words: str | None) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, (words or "").lower().split(","))))


def load_settings(
    settings_type: type[SettingsT], *, has_client: bool = False, given: Mapping[str, object] | None = None
) -> SettingsT:
    """Return the settings that are ``given``, and the others from the environment, or raise ``BadSettings``.

    With ``has_client``, the client may say where the tasks are.
    """
    try:
        settings = settings_type.model_validate(given or {})
    except OSError as error:
        path = error.filename or "a path"
        raise BadSettings(f"{path} cannot be accessed: {error.strerror}. Fix its folder's permissions.") from None
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        raise BadSettings("\n".join(_sentence(problem, settings_type) for problem in problems)) from None
    if not has_client and isinstance(settings, ServerSettings) and settings.missing:
        raise BadSettings(settings.missing)
    return settings


def describe_settings(settings_type: type[BaseSettings]) -> Iterator[tuple[str, str, str]]:
    """Yield name, description and default of each variable, in the order of definition."""
    for name, field in settings_type.model_fields.items():
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        shown = "not set" if default in (None, "", ()) else f"default {format_setting(default)}"
        yield name.upper(), field.description or "", "required" if field.is_required() else shown


def describe_environment(settings_type: type[BaseSettings]) -> str:
    """Return what ``--help`` says about the variables that ``settings_type`` reads, its own before the shared ones."""
    found = sorted(describe_settings(settings_type), key=lambda it: it[0].lower() in StoreServerSettings.model_fields)
    lines = [f"  {name}\n      {text} ({default})" for name, text, default in found]
    return "\n".join(["environment variables:", *lines])


def format_setting(value: object) -> str:
    """Return ``value`` as a person would write it into a variable."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def hide_passwords(text: str) -> str:
    """Return ``text``, one line, without the passwords in addresses of databases (EN-17)."""
    return _PASSWORD.sub(r"\1\2…", text)


def _sentence(problem: ErrorDetails, settings_type: type[BaseSettings]) -> str:
    name = ".".join(str(step) for step in problem["loc"][:1])
    reason = problem["msg"].removeprefix("Value error, ")
    if name not in settings_type.model_fields:
        return reason
    description = settings_type.model_fields[name].description
    if problem["type"] == "missing":
        return f"Set {name.upper()}: {description}"
    value = shorten(hide_passwords(str(problem["input"])), ECHO_LIMIT)
    return f"{name.upper()} is '{value}': {reason}. Expected: {description}"
