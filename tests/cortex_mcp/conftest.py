"""A program that stands in for ``ctx``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cortex_mcp.stand_in import StandIn


@pytest.fixture
def ctx(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path)
