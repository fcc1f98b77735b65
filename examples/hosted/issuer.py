"""A small issuer of tokens for trying a hosted server, and for its tests: whoever asks gets a token for any user.

Start it with ``hatch run issuer``, and ask for a token with::

    curl -d grant_type=client_credentials -d client_id=ada -d resource=http://127.0.0.1:8000/mcp \
        http://127.0.0.1:9000/token

It listens on this machine only. It asks for no password, so nothing that matters may trust it.
"""

from __future__ import annotations

import argparse
import secrets
import socket
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.algorithms import get_default_algorithms
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

__all__ = ["IssuerKey", "TokenIssuer", "build_app", "main"]

SCOPES: Final = "tasks:read tasks:write"
"""The scopes that a token has unless others are asked for."""

LIFETIME: Final = 3_600
"""Seconds for which a token is valid."""

_ALGORITHMS: Final = {RSAPrivateKey: "RS256", EllipticCurvePrivateKey: "ES256", Ed25519PrivateKey: "EdDSA"}


@dataclass(frozen=True)
class IssuerKey:
    """A private key, and the name by which a token says that this one signed it."""

    private: RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey = field(
        default_factory=partial(generate_private_key, SECP256R1())
    )
    name: str = field(default_factory=partial(secrets.token_hex, 4))

    @classmethod
    def read(cls, path: Path) -> IssuerKey:
        """Return the key in a PEM file: RSA, P-256 or Ed25519.

        Raises:
            TypeError: it is of another kind.
        """
        private = load_pem_private_key(path.read_bytes(), password=None)
        if not isinstance(private, tuple(_ALGORITHMS)):
            raise TypeError(f"{path} must hold an RSA, P-256 or Ed25519 key")
        return cls(private, path.stem)

    @property
    def algorithm(self) -> str:
        """The algorithm of its signatures."""
        return next(name for kind, name in _ALGORITHMS.items() if isinstance(self.private, kind))

    def to_jwk(self) -> dict[str, Any]:
        """Return the public key as a set of keys holds it."""
        public: dict[str, Any] = get_default_algorithms()[self.algorithm].to_jwk(
            self.private.public_key(), as_dict=True
        )
        return {**public, "kid": self.name, "alg": self.algorithm, "use": "sig"}


@dataclass(frozen=True)
class TokenIssuer:
    """Makes the tokens of one issuer, whose identifier is its URL."""

    url: str
    key: IssuerKey = field(default_factory=IssuerKey)

    def metadata(self) -> dict[str, Any]:
        """Return what clients and servers must know of it (RFC 8414, OpenID Connect Discovery)."""
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint": f"{self.url}/token",
            "authorization_endpoint": f"{self.url}/authorize",  # there is none, but the SDK's clients look for it
            "grant_types_supported": ["client_credentials"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
            "response_types_supported": ["none"],
            "scopes_supported": SCOPES.split(),
        }

    def sign(self, user: str, audience: str, **claims: object) -> str:
        """Return a token of ``user`` for the server whose public URL is ``audience``; ``claims`` add or replace."""
        now = int(time.time())
        usual = {"iss": self.url, "sub": user, "client_id": user, "aud": audience, "scope": SCOPES}
        moments = {"iat": now, "exp": now + LIFETIME, "jti": secrets.token_hex(8)}
        header = {"kid": self.key.name, "typ": "at+jwt"}
        return jwt.encode({**usual, **moments, **claims}, self.key.private, self.key.algorithm, header)


def build_app(issuer: TokenIssuer) -> Starlette:
    """Return the application that publishes the metadata and the keys of ``issuer``, and hands out its tokens."""

    async def metadata(_: Request) -> JSONResponse:
        return JSONResponse(issuer.metadata())

    async def keys(_: Request) -> JSONResponse:
        return JSONResponse({"keys": [issuer.key.to_jwk()]})

    async def token(request: Request) -> JSONResponse:
        form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
        user, audience, scope = form.get("client_id"), form.get("resource"), form.get("scope") or SCOPES
        if form.get("grant_type") != "client_credentials":
            return JSONResponse({"error": "unsupported_grant_type"}, 400)
        if not (user and audience):
            wanted = "give client_id, the name of a user, and resource, the public URL of the server"
            return JSONResponse({"error": "invalid_request", "error_description": wanted}, 400)
        answer = {"access_token": issuer.sign(user, audience, scope=scope), "token_type": "Bearer", "scope": scope}
        return JSONResponse({**answer, "expires_in": LIFETIME}, headers={"Cache-Control": "no-store"})

    return Starlette(
        routes=[
            Route("/.well-known/oauth-authorization-server", metadata),
            Route("/.well-known/openid-configuration", metadata),
            Route("/keys", keys),
            Route("/token", token, methods=["POST"]),
        ]
    )


def main() -> None:
    """Issue tokens on this machine until a signal comes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=9000, help="port (default: %(default)s)")
    parser.add_argument("--key", type=Path, help="PEM file with the private key (default: a new one)")
    options = parser.parse_args()
    key = IssuerKey.read(options.key) if options.key else IssuerKey()
    with socket.create_server(("127.0.0.1", options.port)) as listener:
        issuer = TokenIssuer(f"http://127.0.0.1:{listener.getsockname()[1]}", key)
        sys.stdout.write(f"Issuing tokens at {issuer.url}\n")
        sys.stdout.flush()
        config = uvicorn.Config(build_app(issuer), log_level="warning", lifespan="off", ws="none")
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
