"""The version that the caller expects (CX-24)."""

import re
from typing import Final, NamedTuple

from cortex_backend.problems import precondition_failed

__all__ = ["Precondition", "is_same_version", "make_etag"]

_TAG: Final = re.compile(r'(W/)?"[^"]*"')


def make_etag(version: int) -> str:
    """Return the ``ETag`` of a version."""
    return f'"{version}"'


def is_same_version(header: str | None, version: int) -> bool:
    """Return whether an ``If-None-Match`` has the version, compared weakly as HTTP says."""
    tags = (match[0].removeprefix("W/") for match in _TAG.finditer(header or ""))
    return (header or "").strip() == "*" or make_etag(version) in tags


class Precondition(NamedTuple):
    """The ``If-Match`` header of a request, or ``None``."""

    header: str | None

    def check(self, version: int) -> None:
        """Return if the version is one of those expected.

        Raises:
            Problem: ``PreconditionFailed`` if it is another one.
        """
        if self.header is None or self.header.strip() == "*":
            return
        if make_etag(version) not in (match[0] for match in _TAG.finditer(self.header)):
            raise precondition_failed(version)
