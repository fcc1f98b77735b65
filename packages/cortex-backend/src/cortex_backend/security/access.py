"""Access tokens: signed, good for minutes, and checked without asking anybody (CX-30)."""

from collections.abc import Mapping
from datetime import datetime
from secrets import token_urlsafe
from typing import Final, NamedTuple

import jwt

__all__ = ["ACCESS_SECONDS", "AccessTokens", "Claims"]

ACCESS_SECONDS: Final = 15 * 60
"""Seconds that an access token is good for."""

_LEEWAY_SECONDS: Final = 30
"""Seconds by which the clocks of two machines may differ."""

_ALGORITHM: Final = "HS256"
_TYPE: Final = "at+jwt"
_ISSUER: Final = "cortex-backend"
_AUDIENCE: Final = "cortex"
_CLAIMS: Final = ["iss", "aud", "sub", "sid", "iat", "exp", "jti", "gen"]


class Claims(NamedTuple):
    """Claims of a valid access token."""

    user_id: int
    session_id: str
    generation: int


class AccessTokens:
    """Signs access tokens with the first of ``keys``, secrets by name, and accepts those that any of them signed."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = keys

    def sign(self, claims: Claims, now: datetime) -> str:
        """Return a token that is good for ``ACCESS_SECONDS`` from ``now``."""
        issued = int(now.timestamp())
        payload = {
            "iss": _ISSUER,
            "aud": _AUDIENCE,
            "sub": str(claims.user_id),
            "sid": claims.session_id,
            "iat": issued,
            "exp": issued + ACCESS_SECONDS,
            "jti": token_urlsafe(16),
            "gen": claims.generation,
        }
        name, secret = next(iter(self._keys.items()))
        return jwt.encode(payload, secret, _ALGORITHM, {"typ": _TYPE, "kid": name})

    def read(self, token: str, now: datetime) -> Claims | None:
        """Return what ``token`` says, or None if it is not one of ours that is good at ``now``."""
        # The times are checked below, against the clock of the backend.
        options: jwt.types.Options = {"require": _CLAIMS, "verify_exp": False, "verify_iat": False}
        # Reading the name of the key first would parse the token twice, and there are one or two keys.
        for name, secret in self._keys.items():
            try:
                found = jwt.decode_complete(
                    token, secret, algorithms=[_ALGORITHM], audience=_AUDIENCE, issuer=_ISSUER, options=options
                )
            except jwt.PyJWTError:
                continue
            if (found["header"].get("typ"), found["header"].get("kid")) == (_TYPE, name):
                return _claims(found["payload"], now.timestamp())
        return None


def _claims(payload: dict[str, object], seconds: float) -> Claims | None:
    issued, end, generation = payload["iat"], payload["exp"], payload["gen"]
    if not (isinstance(issued, int) and isinstance(end, int) and isinstance(generation, int)):
        return None
    if not issued - _LEEWAY_SECONDS <= seconds < end + _LEEWAY_SECONDS:
        return None
    user, session_id = str(payload["sub"]), payload["sid"]
    if not (user.isdecimal() and isinstance(session_id, str)):
        return None
    return Claims(int(user), session_id, generation)
