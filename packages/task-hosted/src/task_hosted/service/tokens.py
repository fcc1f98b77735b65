"""Verifies tokens by the public keys of their issuer, and derives tenants from them (HO-2, HO-3)."""

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import jwt
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.server.auth.provider import AccessToken
from pydantic import JsonValue

__all__ = [
    "READ_SCOPE",
    "TENANT",
    "WRITE_SCOPE",
    "IssuerKeys",
    "IssuerUnreachable",
    "TokenReader",
    "make_tenant",
]

READ_SCOPE: Final = "tasks:read"
"""The scope for everything except tools that may change tasks."""

WRITE_SCOPE: Final = "tasks:write"
"""The scope for tools that may change tasks."""

TENANT: Final = "task_core.tenant"
"""The claim under which a verified token names its tenant."""

_LEEWAY_SECONDS: Final = 30
"""Most seconds that the issuer's clock may differ."""

_LATEST: Final = 253_402_300_799
"""The last second of the year 9999, as which any later expiry counts."""

_REQUIRED: Final = ["exp", "iss", "aud", "sub"]

_MAX_TOKEN: Final = 16 * 1024
"""Most characters of a token; longer ones are refused unread."""

_MAX_TENANT: Final = 500
"""Most bytes of a tenant: every key in the database begins with it."""

_ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")
"""The algorithms of accepted signatures."""

_FRESH_SECONDS: Final = 240.0
"""Seconds after which the keys are fetched again in the background."""

_KEPT_SECONDS: Final = 300.0
"""Seconds after which a request waits for new keys, unless the last fetch failed."""

_PAUSE_SECONDS: Final = 30.0
"""Least seconds between two fetches, whatever keys are asked for."""

_FIRST_PAUSE_SECONDS: Final = 1.0
"""Least seconds between two fetches while no key is known, so that nobody can be served."""

_ANSWER_SECONDS: Final = 3.0
"""Seconds to wait for a connection to the issuer, and for each part of its answer."""

_FETCH_SECONDS: Final = 5.0
"""Seconds that a whole fetch may take, even if the issuer sends a byte now and then."""

_MIN_BITS: Final = 2_048
"""Least bits of an RSA key."""

_log = logging.getLogger(__name__)


class IssuerUnreachable(Exception):
    """No key of the issuer is known yet, so no token can be verified."""


def _make_client(url: str) -> jwt.PyJWKClient:
    """Return a client for the document at ``url``; it caches nothing and follows no redirect."""
    return jwt.PyJWKClient(url, cache_jwk_set=False, timeout=_ANSWER_SECONDS, headers={"Accept": "application/json"})


class IssuerKeys:
    """The keys of one issuer by their names; all requests that wait for them share one fetch."""

    def __init__(
        self,
        issuer: str,
        make_client: Callable[[str], jwt.PyJWKClient] = _make_client,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``make_client`` returns a client for a document; ``clock`` gives seconds, from any start."""
        self._issuer = issuer
        self._make_client = make_client
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = self._tried_at = -float("inf")
        self._fetching: asyncio.Future[None] | None = None

    async def find(self, name: str) -> jwt.PyJWK | None:
        """Return the key with this name or None; raise ``IssuerUnreachable`` if no key of the issuer is known yet."""
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
                self._keys = await anyio.to_thread.run_sync(self._load, abandon_on_cancel=True)
        except (jwt.PyJWTError, OSError, ValueError, RecursionError) as error:  # a TimeoutError is an OSError
            _log.warning("The keys of the issuer cannot be fetched: %s: %s", type(error).__name__, error)
        else:
            self._fetched_at = self._clock()
        finally:
            self._tried_at = self._clock()

    def _load(self) -> dict[str, jwt.PyJWK]:
        """Return the issuer's current keys that may verify tokens."""
        found = self._make_client(self._find_address()).get_signing_keys()
        keys = {str(key.key_id): key for key in found if _may_verify(key)}
        if not keys:
            raise ValueError(f"{self._issuer} has no key for {', '.join(_ALGORITHMS)}")
        return keys

    def _find_address(self) -> str:
        """Return the address of the keys, from the issuer's metadata (RFC 8414, then OpenID Connect)."""
        problem: jwt.PyJWTError | None = None
        for url in build_oauth_authorization_server_metadata_discovery_urls(self._issuer, self._issuer):
            try:
                metadata = self._make_client(url).fetch_data()
            except jwt.PyJWKClientConnectionError as error:
                problem = error
                continue
            if metadata.get("issuer") != self._issuer:
                raise ValueError(f"the metadata at {url} is that of another issuer")
            address = str(metadata.get("jwks_uri"))
            parts = urlsplit(self._issuer)
            if not address.startswith(("https://", f"{parts.scheme}://{parts.netloc}/")):
                raise ValueError(f"the metadata at {url} has keys at an address that is not https")
            return address
        raise ValueError(f"{self._issuer} has no metadata: {problem}")


def _may_verify(key: jwt.PyJWK) -> bool:
    """Return whether a key may verify tokens: it is public, has a name, an accepted algorithm, and enough bits."""
    is_short = key.key_type == "RSA" and key.key.key_size < _MIN_BITS
    is_private = hasattr(key.key, "private_bytes")
    return isinstance(key.key_id, str) and key.algorithm_name in _ALGORITHMS and not is_short and not is_private


class TokenReader:
    """Verifies tokens of one issuer for one server; the SDK calls this its ``TokenVerifier``.

    The result does not contain the token, so nothing can pass it on.
    """

    def __init__(self, issuer: str, audience: str, tenant_claim: str, keys: IssuerKeys) -> None:
        """Accept tokens for ``audience``, the public URL of the server."""
        self._issuer = issuer
        self._audience = audience
        self._tenant_claim = tenant_claim
        self._keys = keys

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the claims of the token, or None if it is not valid here.

        Raises:
            IssuerUnreachable: no key of the issuer is known yet.
        """
        if len(token) > _MAX_TOKEN:
            return None
        try:
            key = await self._keys.find(str(jwt.get_unverified_header(token).get("kid")))
            return self._read(token, key) if key else None
        # A number may be infinite, and a header may nest too deeply for the parser.
        except (jwt.PyJWTError, ValueError, OverflowError, RecursionError) as error:
            _log.debug("A token was refused: %s", type(error).__name__)
            return None

    def _read(self, token: str, key: jwt.PyJWK) -> AccessToken | None:
        claims = jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            audience=self._audience,
            issuer=self._issuer,
            leeway=_LEEWAY_SECONDS,
            options={"require": _REQUIRED},
        )
        tenant = make_tenant(self._issuer, self._tenant_claim, claims.get(self._tenant_claim))
        if tenant is None:
            return None
        return AccessToken(
            token="",
            client_id=str(claims.get("client_id", claims["sub"])),
            scopes=_read_scopes(claims.get("scope", claims.get("scp"))),
            expires_at=min(int(claims["exp"]), _LATEST)
            + _LEEWAY_SECONDS,  # the SDK checks it once more, without leeway
            resource=self._audience,
            subject=claims["sub"],
            claims={"iss": self._issuer, TENANT: tenant},
        )


def _read_scopes(found: object) -> list[str]:
    names = found.split() if isinstance(found, str) else found
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def make_tenant(issuer: str, claim: str, value: JsonValue) -> str | None:
    """Return the tenant that a claim names, or None if it names none; different claims or values never collide."""
    if not isinstance(value, str) or not value:
        return None
    tenant = f"{issuer} {claim}={value}"  # neither an issuer nor the name of a claim has a blank or an equals sign
    try:
        return tenant if len(tenant.encode()) <= _MAX_TENANT else None
    except UnicodeEncodeError:  # half a character
        return None
