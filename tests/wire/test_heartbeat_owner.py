"""Servers in several places share a list: the first keeps it, even when it is killed (EN-19)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.heartbeat.shared_list import Team
from tests.postgres import needs_postgres
from tests.wire.line_client import LineClient, Message

pytestmark = [needs_postgres, pytest.mark.requirement("EN-19")]


def serve(team: Team, name: str) -> LineClient:
    """Return a client of a server in a place."""
    variables = {name.upper(): value for name, value in team.settings(name).items()}
    return LineClient(command=(sys.executable, "-m", "heartbeat_mcp"), environment=variables)


def create(client: LineClient, request: str) -> Message:
    answer: Message = client.call("task_create", raw_user_request=request)["structuredContent"]
    return answer


def test_a_killed_server_keeps_its_list_until_its_file_is_gone(tmp_path: Path) -> None:
    team = Team(tmp_path, "postgresql")
    home, office = (team.folder / name / "HEARTBEAT.md" for name in ("home", "office"))
    with serve(team, "home") as other:
        create(other, "feed the cat")
        other.process.kill()
        other.process.wait()
    with serve(team, "office") as client:
        (refused,) = create(client, "water the plants")["warnings"]
        assert refused.startswith("This list is shown in home/HEARTBEAT.md on ")
        assert "water the plants" not in (office.read_text("utf-8") if office.exists() else "")
        home.unlink()
        assert "warnings" not in create(client, "call Ann")
    assert all(request in office.read_text("utf-8") for request in ("feed the cat", "water the plants", "call Ann"))
