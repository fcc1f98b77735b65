"""Verifies tokens and derives tenants from them (HO-2, HO-3)."""

import logging
from typing import Final

import jwt
from mcp.server.auth.provider import AccessToken
from pydantic import JsonValue

from task_hosted.service.keys import IssuerKeys

__all__ = ["READ_SCOPE", "TENANT", "WRITE_SCOPE", "TokenReader", "make_tenant"]

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

_log = logging.getLogger(__name__)


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
