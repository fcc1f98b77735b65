"""Servers in several places share a list: one that dies or is stopped keeps it until its lease ends (EN-19)."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.heartbeat.shared_list import Team
from tests.postgres import needs_postgres
from tests.wire.line_client import LineClient, Message

pytestmark = [needs_postgres, pytest.mark.requirement("EN-19")]


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path, "postgresql")


def serve(team: Team, name: str) -> LineClient:
    """Return a client of a server in a place."""
    variables = {name.upper(): value for name, value in team.settings(name).items()}
    return LineClient(command=(sys.executable, "-m", "heartbeat_mcp"), environment=variables)


def create(client: LineClient, request: str) -> Message:
    answer: Message = client.call("task_create", raw_user_request=request)["structuredContent"]
    return answer


def test_where_a_server_dies_another_place_shows_the_list_once_its_lease_has_ended(team: Team) -> None:
    office = team.folder / "office" / "HEARTBEAT.md"
    with serve(team, "home") as other:
        create(other, "feed the cat")
        other.process.kill()
        other.process.wait()
    with serve(team, "office") as client:
        (refused,) = create(client, "water the plants")["warnings"]
        assert refused.startswith("This list is shown in home/HEARTBEAT.md on ")
        assert "water the plants" not in (office.read_text("utf-8") if office.exists() else "")
        team.let_lease_end()
        assert "warnings" not in create(client, "call Ann")
    assert all(request in office.read_text("utf-8") for request in ("feed the cat", "water the plants", "call Ann"))


def test_a_server_that_was_stopped_and_goes_on_leaves_its_file_alone_and_takes_nothing_from_it(team: Team) -> None:
    home = team.folder / "home" / "HEARTBEAT.md"
    with serve(team, "home") as client:
        create(client, "feed the cat")
        client.process.send_signal(signal.SIGSTOP)
        team.let_lease_end()
        with serve(team, "office") as other:
            create(other, "water the plants")
        home.write_text(home.read_text("utf-8") + "- buy milk\n", "utf-8")
        before = home.read_text("utf-8")
        client.process.send_signal(signal.SIGCONT)
        (refused,) = create(client, "call Ann")["warnings"]
        tasks = client.call("task_list")["structuredContent"]["tasks"]
    assert refused.startswith("This list is shown in office/HEARTBEAT.md on ")
    assert [task["raw_user_request"] for task in tasks] == ["feed the cat", "water the plants", "call Ann"]
    assert home.read_text("utf-8") == before
