"""Hooks that prepare the data of schemathesis: number its keys, and invent no versions.

A cursor and a version are strings that only an earlier answer can give, no earlier request may have had a key, and a
branch has the id of its task; the description cannot say so, and a valid request with an invented one is refused
rightly (CX-22, CX-24, CX-25, CX-41).
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
    """Leave out the cursor and the version, number the key, and name the task in its branch."""
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    (case.query or {}).pop("cursor", None)
    if isinstance(case.body, dict) and case.body.get("branch_name") is not None:
        case.body["branch_name"] = f"feature/task-{case.path_parameters['task_id']}-x"
    for name in [*(case.headers or {})]:
        if name.lower() == "if-match":
            del case.headers[name]
        elif name.lower() == "idempotency-key":
            case.headers[name] = f"judge-{next(_numbers)}"
