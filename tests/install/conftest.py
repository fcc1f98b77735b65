"""Fixtures of the tests of the commands that install servers."""

from pathlib import Path

import pytest

from tests.install.machine import Machine


@pytest.fixture
def machine(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A user with an empty home and a project."""
    return Machine(tmp_path, capfd, monkeypatch)
