"""A program in place of ``ctx``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cortex_mcp.ctx_fixture import CtxFixture


@pytest.fixture
def ctx(tmp_path: Path) -> CtxFixture:
    return CtxFixture(tmp_path)
