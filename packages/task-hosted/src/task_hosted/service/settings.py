"""Settings of a hosted server, read only if TASK_AUTH_ISSUER is set (HO-1, HO-4)."""

import re
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, AnyHttpUrl, BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from task_core.server.transports.asgi import PATH

__all__ = ["HostedSettings"]

_LOOPBACK: Final = {"127.0.0.1", "localhost", "::1"}

_HOST: Final = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?", re.ASCII)
_ORIGIN: Final = re.compile(rf"https?://{_HOST.pattern}", re.ASCII)


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    is_plain = parts.hostname and url.isascii() and url.isprintable() and " " not in url
    if not is_safe or not is_plain or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("give an https URL without a query; http is only for this machine")
    return url


def _check_public_url(url: str) -> str:
    if not urlsplit(url).path.endswith(PATH):
        raise ValueError(f"end the URL with {PATH}")
    announced = str(AnyHttpUrl(url))  # what clients ask tokens for
    if url != announced:
        raise ValueError(f"write it as {announced}")
    return url


def _split(text: object) -> object:
    return tuple(filter(None, (word.strip() for word in text.split(",")))) if isinstance(text, str) else text


def _check_each(form: re.Pattern[str], example: str) -> AfterValidator:
    def check(words: tuple[str, ...]) -> tuple[str, ...]:
        for word in words:
            if not form.fullmatch(word):
                raise ValueError(f"'{word}' is not like {example}")
        return words

    return AfterValidator(check)


_Url = Annotated[str, AfterValidator(_check_url)]
_Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]


class HostedSettings(BaseSettings):
    """The issuer, names, limits and quotas of a hosted server."""

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    task_auth_issuer: Annotated[_Url, Field(description="URL of the issuer whose tokens are accepted.")]
    task_public_url: Annotated[
        _Url,
        AfterValidator(_check_public_url),
        Field(description=f"URL at which clients reach the server, which tokens name as audience; ends with {PATH}."),
    ]
    task_allowed_hosts: Annotated[
        _Words,
        Field(min_length=1, description="Values of Host to accept, separated by commas; without a port: with any."),
        _check_each(_HOST, "tasks.example.com or tasks.example.com:8443"),
    ]
    task_allowed_origins: Annotated[
        _Words,
        Field(description="Origins of web pages that may call, separated by commas."),
        _check_each(_ORIGIN, "https://app.example.com"),
    ] = ()
    task_tenant_claim: Annotated[
        str, Field(pattern=r"^[\w:./-]{1,100}$", description="Claim of the token that names the owner of the tasks.")
    ] = "sub"
    task_drain_seconds: Annotated[
        float, Field(ge=0, le=600, description="Seconds to go on serving after SIGTERM while /readyz answers 503.")
    ] = 2.0
    task_calls_per_second: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="Requests per second of one tenant, on each replica.")
    ] = 20.0
    task_calls_burst: Annotated[int, Field(ge=1, description="Requests of one tenant at once, after a pause.")] = 60
    task_calls_in_flight: Annotated[
        int, Field(ge=1, description="Requests of one tenant at a time, on each replica.")
    ] = 8
    task_streams: Annotated[
        int, Field(ge=0, description="Streams of notifications of one tenant, on each replica.")
    ] = 10
    task_quota_tasks: Annotated[int, Field(ge=1, description="Tasks in one tenant's list, in each server.")] = 10_000
    task_quota_bytes: Annotated[int, Field(ge=1, description="Bytes of one tenant's list, in each server.")] = (
        50_000_000
    )
    task_metrics_port: Annotated[
        int | None, Field(ge=1, le=65_535, description="Port of this machine for /metrics.")
    ] = None

    @property
    def path(self) -> str:
        """The path of the public URL, at which the protocol is served."""
        return urlsplit(self.task_public_url).path
