"""The public keys of the issuer of tokens, fetched when they are needed and kept for a while (HO-2)."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
from pydantic import BaseModel

__all__ = ["ALGORITHMS", "IssuerKeys", "IssuerUnreachable", "make_client"]

ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")
"""The algorithms of accepted signatures."""

_FRESH_SECONDS: Final = 240.0
"""Seconds after which the keys are fetched again while they are still used."""

_KEPT_SECONDS: Final = 300.0
"""Seconds for which keys are used unless a fetch fails."""

_PAUSE_SECONDS: Final = 30.0
"""Seconds between two fetches, whatever names of keys are asked for."""

_FIRST_PAUSE_SECONDS: Final = 1.0
"""Seconds between two fetches while no key is known, so that nobody can be served."""

_ANSWER_SECONDS: Final = 3.0
"""Seconds that the issuer may let us wait for a connection, and for each part of an answer."""

_FETCH_SECONDS: Final = 5.0
"""Seconds that a fetch may take: an issuer that sends a byte now and then never lets us wait for long."""

_MAX_ANSWER: Final = 256 * 1024
"""Bytes of an answer of the issuer."""

_MIN_BITS: Final = 2_048
"""Bits of an RSA key that is safe."""

_log = logging.getLogger(__name__)


class IssuerUnreachable(Exception):
    """No key of the issuer is known yet, so no token can be verified."""


class _Metadata(BaseModel):
    """What the issuer says of itself (RFC 8414)."""

    issuer: str
    jwks_uri: str


class _JsonWebKeySet(BaseModel):
    """The answer with the keys (RFC 7517)."""

    keys: list[dict[str, Any]]


def make_client() -> httpx2.AsyncClient:
    """Return a client that asks the issuer and nobody else: it follows no redirect and uses no proxy."""
    no_idle_connection = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.AsyncClient(
        timeout=_ANSWER_SECONDS, limits=no_idle_connection, follow_redirects=False, trust_env=False
    )


class IssuerKeys:
    """The keys of one issuer by their names; all requests that wait for them share one fetch."""

    def __init__(
        self, issuer: str, client: httpx2.AsyncClient | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        """``client`` asks the issuer; ``clock`` gives seconds, from any start."""
        self._issuer = issuer
        self._client = client or make_client()
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = self._tried_at = -float("inf")
        self._fetching: asyncio.Future[None] | None = None

    async def find(self, name: str) -> jwt.PyJWK | None:
        """Return the key with this name, or None if the issuer has none such.

        Raises:
            IssuerUnreachable: no key is known yet.
        """
        now = self._clock()
        is_known = name in self._keys
        since_try = now - self._tried_at
        is_wanted = not is_known or now - self._fetched_at >= _FRESH_SECONDS
        if is_wanted and since_try >= (_PAUSE_SECONDS if self._keys else _FIRST_PAUSE_SECONDS):
            if self._fetching is None or self._fetching.done():
                self._fetching = asyncio.ensure_future(self._fetch())
            if not is_known or since_try >= _KEPT_SECONDS:
                await asyncio.wait([self._fetching])
        if not self._keys:
            raise IssuerUnreachable
        return self._keys.get(name)

    async def _fetch(self) -> None:
        try:
            with anyio.fail_after(_FETCH_SECONDS):
                found = await self._ask()
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as error:
            _log.warning("The keys of the issuer cannot be fetched: %s: %s", type(error).__name__, error)
        else:
            self._keys, self._fetched_at = found, self._clock()
        finally:
            self._tried_at = self._clock()

    async def _ask(self) -> dict[str, jwt.PyJWK]:
        answer = _JsonWebKeySet.model_validate_json(await self._get(await self._find_address()))
        keys = {key.key_id: key for key in map(_read_key, answer.keys) if key is not None and key.key_id}
        if not keys:
            raise ValueError(f"{self._issuer} has no key for {', '.join(ALGORITHMS)}")
        return keys

    async def _find_address(self) -> str:
        for url in _metadata_urls(self._issuer):
            try:
                metadata = _Metadata.model_validate_json(await self._get(url))
            except httpx2.HTTPStatusError:
                continue
            if metadata.issuer != self._issuer:
                raise ValueError(f"the metadata at {url} is that of another issuer")
            if not metadata.jwks_uri.startswith(("https://", f"{_origin(self._issuer)}/")):
                raise ValueError(f"the metadata at {url} has keys at an address that is not https")
            return metadata.jwks_uri
        raise ValueError(f"{self._issuer} has no metadata")

    async def _get(self, url: str) -> bytes:
        async with self._client.stream("GET", url, headers={"Accept": "application/json"}) as response:
            if response.status_code != 200:
                raise httpx2.HTTPStatusError(
                    f"{url} answered {response.status_code}", request=response.request, response=response
                )
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > _MAX_ANSWER:
                    raise ValueError(f"{url} answered with more than {_MAX_ANSWER:,} bytes")
        return bytes(body)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _metadata_urls(issuer: str) -> Iterator[str]:
    """Yield where the metadata may be: as RFC 8414 has it, then as OpenID Connect has it, with each place of a path."""
    origin, path = _origin(issuer), urlsplit(issuer).path.rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _read_key(data: dict[str, Any]) -> jwt.PyJWK | None:
    """Return a key that may verify tokens; others, as for encryption or of another algorithm, are left out."""
    if data.get("use", "sig") != "sig" or "d" in data or not isinstance(data.get("kid"), str):
        return None
    try:
        key = jwt.PyJWK(data)
    except (jwt.PyJWTError, ValueError):
        return None
    is_short = key.key_type == "RSA" and key.key.key_size < _MIN_BITS
    return None if is_short or key.algorithm_name not in ALGORITHMS else key
