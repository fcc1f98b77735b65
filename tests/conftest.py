"""What every test shares: the marker that names the requirements which a test shows."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; `tests/requirements.py` holds the ids that it may name."""
    config.addinivalue_line("markers", "requirement(*ids): the requirements that this test shows")
