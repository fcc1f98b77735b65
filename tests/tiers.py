"""The tiers of the tests: what each needs besides this process, and so in which part of ``.ci/run`` it runs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["CHROMIUM", "TIERS", "tiers_of"]

TESTS: Final = Path(__file__).parent

CHROMIUM: Final = Path("/usr/bin/chromium")
"""The browser as Debian installs it."""

TIERS: Final = {
    "quick": "needs nothing but this process",
    "process": "starts processes of ours, whose lines coverage does not see; the default run leaves it out",
    "sample": "the default run has it although it starts processes: nothing cheaper shows its requirement",
    "postgresql": "needs PostgreSQL",
    "browser": "needs Chromium; the default run leaves it out",
    "workspace": "checks the workspace itself, so the Python version makes no difference",
    "long": "takes long; the default run leaves it out",
    "by_hand": "the long form of a test whose short form `.ci/run` has; only `hatchw test -m by_hand` runs it",
}
"""Every tier, and what its tests need."""

PLACES: Final = {
    "docs/": "workspace",
    "failover/": "process",
    "packaging/": "workspace",
    "test_architecture.py": "workspace",
    "test_drawings.py": "workspace",
    "test_requirements.py": "workspace",
    "test_supply_chain.py": "workspace",
    "cortex_backend/test_schemathesis.py": "process",
    "cortex_chain/": "process",
    "wire/": "process",
}
"""The tier of the tests in a folder or a file."""

NAMES: Final = {"browser": "browser", "processes": "process"}
"""The tier of the tests in a file with this word in its name."""


@cache
def tiers_of(file: Path) -> frozenset[str]:
    """Return the tiers of the tests in a file; those of a single test are among its markers."""
    path = file.relative_to(TESTS).as_posix()
    by_place = {tier for place, tier in PLACES.items() if path.startswith(place)}
    return frozenset(by_place | {tier for word, tier in NAMES.items() if word in file.stem.split("_")})
