"""The settings of the backend, read once from the environment (CX-33, CX-35)."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

__all__ = ["BackendSettings", "SettingsError", "describe_settings", "load_settings"]


def _default_url() -> str:
    return f"sqlite:///{Path.home() / '.local' / 'share' / 'cortex' / 'cortex.db'}"


class SettingsError(Exception):
    """A setting, or a file that one names, cannot be used; the message says what to change."""


class BackendSettings(BaseSettings):
    """Settings from the environment; a variable has the name of its field with ``CORTEX_`` before it."""

    model_config = SettingsConfigDict(
        env_prefix="CORTEX_", env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    database_url: Annotated[
        str, Field(description="SQLite (sqlite:////path/to/cortex.db) or PostgreSQL (postgresql://user@host/name).")
    ] = Field(default_factory=_default_url)
    secret_keys: Annotated[
        SecretStr | None,
        Field(description="Keys that sign tokens, by comma, each of 32 bytes or more: the first signs, all verify."),
    ] = None
    secret_file: Annotated[
        Path | None, Field(description="File with such keys, readable by its owner only; default: beside SQLite.")
    ] = None
    trusted_proxies: Annotated[
        tuple[IPv4Network | IPv6Network, ...],
        NoDecode,
        Field(description="Addresses or networks, by comma, whose X-Forwarded-For counts."),
    ] = ()
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"],
        BeforeValidator(str.upper),
        Field(description="Lowest level to log: DEBUG, INFO, WARNING, ERROR, CRITICAL."),
    ] = "WARNING"

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(ip_network(word.strip()) for word in value.split(",") if word.strip())

    @property
    def is_sqlite(self) -> bool:
        """True if the database is an SQLite file."""
        return self.database_url.startswith("sqlite:")

    @property
    def database_file(self) -> Path:
        """The file of SQLite."""
        return Path(self.database_url.removeprefix("sqlite:///"))

    def trusts(self, address: str) -> bool:
        """Return whether ``address`` is one of the proxies whose ``X-Forwarded-For`` counts."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self.trusted_proxies)


def load_settings() -> BackendSettings:
    """Return the settings of the environment; raise ``SettingsError``, which shows no value: it may be secret."""
    try:
        return BackendSettings()
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        raise SettingsError("\n".join(map(_sentence, problems))) from None


def _sentence(problem: ErrorDetails) -> str:
    name = str(problem["loc"][0])
    reason = str(problem["msg"]).removeprefix("Value error, ")
    return f"CORTEX_{name.upper()}: {reason}. Expected: {BackendSettings.model_fields[name].description}"


def describe_settings() -> Iterator[tuple[str, str]]:
    """Yield name and description of each variable, in the order of definition."""
    for name, field in BackendSettings.model_fields.items():
        yield f"CORTEX_{name.upper()}", field.description or ""
