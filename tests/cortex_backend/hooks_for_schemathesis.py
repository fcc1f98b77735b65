"""What schemathesis must do before it sends valid data: give each request a key of its own, and invent no versions.

A cursor, a version and a key are strings that only an earlier answer can give, or that no earlier request may have had;
the description cannot say so, and a valid request with an invented one is refused rightly (CX-22, CX-24, CX-25).
"""

from __future__ import annotations

from itertools import count
from typing import Any

import schemathesis
from schemathesis import GenerationMode

__all__ = ["make_plausible"]

_numbers = count(1)


@schemathesis.hook("before_call")
def make_plausible(_context: object, case: Any, _kwargs: dict[str, Any]) -> None:  # noqa: ANN401
    """Leave out the cursor and the version, and number the key."""
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    (case.query or {}).pop("cursor", None)
    for name in [*(case.headers or {})]:
        if name.lower() == "if-match":
            del case.headers[name]
        elif name.lower() == "idempotency-key":
            case.headers[name] = f"judge-{next(_numbers)}"
