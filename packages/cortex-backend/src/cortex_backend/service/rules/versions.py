"""The version that a client knows or expects (CX-24)."""

import re
from typing import Final

from cortex_backend.problems import precondition_failed

__all__ = ["check_version", "is_same_version", "make_etag"]

_TAG: Final = re.compile(r'(W/)?"[^"]*"')


def make_etag(version: int) -> str:
    """Return the ``ETag`` of a version."""
    return f'"{version}"'


def is_same_version(header: str | None, version: int) -> bool:
    """Return whether an ``If-None-Match`` has the version, compared weakly as HTTP says."""
    tags = (match[0].removeprefix("W/") for match in _TAG.finditer(header or ""))
    return (header or "").strip() == "*" or make_etag(version) in tags


def check_version(header: str | None, version: int) -> None:
    """Return if an ``If-Match`` has the version or there is none; raise the problem ``PreconditionFailed`` if not."""
    if header is None or header.strip() == "*":
        return
    if make_etag(version) not in (match[0] for match in _TAG.finditer(header)):
        raise precondition_failed(version)
