"""What the official conformance suite may find has its reason in the baseline."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.packaging.projects import ROOT

BASELINE: Final[dict[str, Any]] = json.loads((ROOT / "inspector" / "conformance_baseline.json").read_text("utf-8"))


def test_everything_that_may_fail_names_its_checks_and_its_reason() -> None:
    incomplete = [name for name, entry in BASELINE["failing"].items() if not (entry["checks"] and entry["reason"])]
    assert incomplete == []


def test_what_passes_without_showing_anything_has_a_reason_and_may_not_fail() -> None:
    assert [name for name, reason in BASELINE["worthless"].items() if not reason] == []
    assert BASELINE["worthless"].keys().isdisjoint(BASELINE["failing"])
