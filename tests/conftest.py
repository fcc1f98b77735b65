"""What every test shares: the marker that names the requirements which a test shows, and no limit of time."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests.postgres import stop_shared_server

# How long an example takes says something about the machine only. What is set for CI stays, such as fixed examples.
settings.register_profile("untimed", parent=settings.default, deadline=None)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; `tests/requirements.py` holds the ids that it may name."""
    config.addinivalue_line("markers", "requirement(*ids): the requirements that this test shows")
    config.addinivalue_line("markers", "long: takes long, and is not run with the lowest versions")


def pytest_runtest_setup() -> None:
    """Begin every test with the usual umask: a command that a test runs in this process leaves its own behind."""
    os.umask(0o022)


def pytest_sessionfinish() -> None:
    """End what the tests of this process shared."""
    stop_shared_server()
