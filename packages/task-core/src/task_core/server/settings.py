"""Settings from the environment, typed, read once, and refused with one clear message (CLI-3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from pydantic import Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from task_core.errors import ECHO_LIMIT
from task_core.server.early import LOG_LEVELS, BadSettings
from task_core.text import shorten

__all__ = ["ServerSettings", "described", "load_settings"]

SettingsT = TypeVar("SettingsT", bound="ServerSettings")


class ServerSettings(BaseSettings):
    """What every server takes from its environment; a server adds its own settings in a subclass.

    A variable has the name of its field, in upper or lower case; an empty one counts as not set.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    log_level: str = Field(default="WARNING", description=f"The least level that is logged: {', '.join(LOG_LEVELS)}.")
    task_fsync: bool = Field(default=True, description="Whether a change is on the disk before it is answered.")
    task_lock_timeout: float = Field(
        default=10.0, gt=0, allow_inf_nan=False, description="Seconds to wait for a store that another process holds."
    )

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, name: str) -> str:
        if name.upper() not in LOG_LEVELS:
            raise ValueError("Input should be the name of a level")
        return name.upper()


def load_settings(settings_type: type[SettingsT]) -> SettingsT:
    """Return the settings that the environment gives.

    Raises:
        BadSettings: one is missing or bad.
    """
    try:
        return settings_type()
    except OSError as error:
        path = error.filename or "a path"
        raise BadSettings(f"{path} cannot be looked at: {error.strerror}. Mend the rights of its folder.") from None
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        raise BadSettings("\n".join(_sentence(problem, settings_type) for problem in problems)) from None


def described(settings_type: type[ServerSettings]) -> Iterator[tuple[str, str, str]]:
    """Yield name, description and default of each variable, in the order of definition."""
    for name, field in settings_type.model_fields.items():
        yield name.upper(), field.description or "", _default(field)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    return "not set" if default is None else f"default {_as_written(default)}"


def _as_written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sentence(problem: ErrorDetails, settings_type: type[ServerSettings]) -> str:
    name = ".".join(str(step) for step in problem["loc"][:1])
    reason = problem["msg"].removeprefix("Value error, ")
    if name not in settings_type.model_fields:
        return reason
    description = settings_type.model_fields[name].description
    if problem["type"] == "missing":
        return f"Set {name.upper()}: {description}"
    value = shorten(str(problem["input"]), ECHO_LIMIT)
    return f"{name.upper()} is '{value}': {reason}. Expected: {description}"
