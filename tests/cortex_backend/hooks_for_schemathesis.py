"""What schemathesis must do before it sends valid data: number its keys, and invent neither versions nor users.

A cursor, a version, a key and the e-mail of a user are strings that only an earlier answer can give, or that no earlier
request may have had; the description cannot say so, and a valid request with an invented one is refused rightly
(CX-22, CX-24, CX-25).
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
    """Leave out the cursor and the version, number the key, and add a member who exists."""
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    (case.query or {}).pop("cursor", None)
    if case.operation.path.endswith("/members") and isinstance(case.body, dict) and "email" in case.body:
        case.body["email"] = "viewer@example.com"
    for name in [*(case.headers or {})]:
        if name.lower() == "if-match":
            del case.headers[name]
        elif name.lower() == "idempotency-key":
            case.headers[name] = f"judge-{next(_numbers)}"
