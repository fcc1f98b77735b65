"""Settings from the environment, typed, read once, and refused with one clear message (CLI-3)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from task_core.early import LOG_LEVELS, BadSettings
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
    "describe_settings",
    "format_setting",
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
    """What every server takes from its environment; a server adds its own settings in a subclass.

    A variable has the name of its field, in upper or lower case; an empty one counts as not set.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    log_level: str = Field(default="WARNING", description=f"Lowest level to log: {', '.join(LOG_LEVELS)}.")

    @field_validator("log_level")
    @classmethod
    def _check_level(cls, name: str) -> str:
        if name.upper() not in LOG_LEVELS:
            raise ValueError("Input should be the name of a level")
        return name.upper()


class StoreServerSettings(ServerSettings, StoreSettings):
    """What every server with a store takes from its environment."""

    model_config = ServerSettings.model_config

    personal: ClassVar[frozenset[str]] = frozenset()
    """Settings that name files of one user, which a server for many users cannot have (HO-1)."""

    task_extra_tools: Literal["changes"] | None = Field(
        default=None, description="changes: also offer list_changes, which returns what changed since a token."
    )


def load_settings(settings_type: type[SettingsT]) -> SettingsT:
    """Return the settings that the environment gives, or raise ``BadSettings``."""
    try:
        return settings_type()
    except OSError as error:
        path = error.filename or "a path"
        raise BadSettings(f"{path} cannot be accessed: {error.strerror}. Fix its folder's permissions.") from None
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        raise BadSettings("\n".join(_sentence(problem, settings_type) for problem in problems)) from None


def describe_settings(settings_type: type[BaseSettings]) -> Iterator[tuple[str, str, str]]:
    """Yield name, description and default of each variable, in the order of definition."""
    for name, field in settings_type.model_fields.items():
        yield name.upper(), field.description or "", _default(field)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    return "not set" if default in (None, "", ()) else f"default {format_setting(default)}"


def format_setting(value: object) -> str:
    """Return ``value`` as a person would write it into a variable."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sentence(problem: ErrorDetails, settings_type: type[BaseSettings]) -> str:
    name = ".".join(str(step) for step in problem["loc"][:1])
    reason = problem["msg"].removeprefix("Value error, ")
    if name not in settings_type.model_fields:
        return reason
    description = settings_type.model_fields[name].description
    if problem["type"] == "missing":
        return f"Set {name.upper()}: {description}"
    value = shorten(_PASSWORD.sub(r"\1\2…", str(problem["input"])), ECHO_LIMIT)
    return f"{name.upper()} is '{value}': {reason}. Expected: {description}"
