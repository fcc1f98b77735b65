"""A short storm over a HEARTBEAT.md that a person writes, too."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.wire.shared_storm import shared_storm


@pytest.mark.requirement("HB-9", "HB-12", "HB-18", "D2", "C3", "C5", "ST-2")
def test_servers_killed_while_a_person_writes_the_file_lose_nothing(tmp_path: Path) -> None:
    storm = shared_storm(tmp_path, 4, Random(20260301))
    assert storm.kills
    assert storm.created
