"""A list in a database is shown in one HEARTBEAT.md, the first that showed it (EN-19)."""

from __future__ import annotations

import errno
import json
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from heartbeat_mcp.mirror.owner import make_owner, parse_owners
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.errors import StoreWriteFailed
from task_core.models import utc_now
from task_core.store import Engine
from tests.core.faults import Fault, watched
from tests.doctor_report import report
from tests.heartbeat.parts import parts_of
from tests.heartbeat.shared_list import Place, Team
from tests.postgres import ON_POSTGRES, needs_postgres

pytestmark = pytest.mark.requirement("EN-19")


@pytest.fixture(params=["sqlite", ON_POSTGRES])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Team:
    return Team(tmp_path, request.param)


def test_a_second_file_is_neither_written_nor_read_and_one_warning_says_where_the_list_is_shown(team: Team) -> None:
    home = team.place("home")
    home.create("feed the cat")
    office = team.place("office")
    office.file.write_text("# Mine\n\n## TODO\n- buy milk\n", "utf-8")
    before = office.text
    office.create("water the plants")
    assert office.listed() == ["feed the cat", "water the plants"]
    office.finish(office.create("call Ann"))
    assert office.text == before
    (warning,) = office.warned()
    place = f"home/HEARTBEAT.md on {socket.gethostname()}"
    assert warning.startswith(f"This list is shown in {place}, the first file that showed it, so this server neither ")
    assert "Unset HEARTBEAT_FILE_PATH here; or, to show the list in this file, " in warning
    assert str(team.folder) not in warning
    assert home.listed() == ["feed the cat", "water the plants"]
    assert "water the plants" in home.text
    assert "call Ann" not in home.text
    assert home.warned() == []


@pytest.fixture
def near(tmp_path: Path) -> Team:
    """A list in SQLite, which all servers reach on one machine."""
    return Team(tmp_path, "sqlite")


def is_shown_in(place: Place, request: str) -> bool:
    """Return whether the place shows a task that is created in it, and how often that is reported."""
    place.create(request)
    is_refused = any("This list is shown in " in warning for warning in place.warned())
    is_shown = place.file.exists() and request in place.text
    assert is_shown is not is_refused
    return is_shown


def test_the_first_file_keeps_the_list_when_its_server_has_ended(team: Team) -> None:
    team.place("home").create("feed the cat")
    assert not is_shown_in(team.place("office"), "water the plants")
    assert is_shown_in(team.place("home"), "buy milk")
    assert "water the plants" in team.place("home").text


@pytest.mark.requirement("HB-9")
def test_a_file_that_is_gone_gives_the_list_to_the_next_one(near: Team) -> None:
    home, office = near.place("home"), near.place("office")
    home.create("feed the cat")
    office.file.write_text("# Mine\n\n## TODO\n- buy milk\n", "utf-8")
    assert office.parts.file.is_current() is False
    assert not is_shown_in(office, "water the plants")
    assert office.parts.file.is_current()
    home.file.unlink()
    assert not office.parts.file.is_current()
    assert office.listed() == ["feed the cat", "water the plants", "buy milk"]
    assert all(request in office.text for request in office.listed())
    (taken_in,) = office.warned()
    assert taken_in.startswith("Lines added to HEARTBEAT.md by hand are now tasks: ")
    assert not is_shown_in(home, "call Ann")


def test_a_file_that_was_moved_with_its_folder_keeps_the_list_and_its_receipts(near: Team) -> None:
    home = near.place("home")
    cat = home.create("feed the cat")
    home.write("- buy milk")
    home.file.parent.rename(near.folder / "flat")
    flat = near.place("flat")
    flat.file.write_text(flat.text.replace(f"[Pending] {cat}", f"[x] {cat}"), "utf-8")
    assert flat.listed() == ["buy milk"]
    (warning,) = flat.warned()
    assert warning.endswith(f"Statuses set in HEARTBEAT.md by hand were applied: {cat} (Complete).")
    assert is_shown_in(flat, "water the plants")


def test_what_the_new_file_had_of_the_list_from_earlier_is_put_aside_where_it_differs(near: Team) -> None:
    home = near.place("home")
    cat = home.create("feed the cat")
    office = near.place("office")
    office.file.write_text(home.text.replace("Raw User Request: feed", "Raw User Request: never feed"), "utf-8")
    home.create("buy milk")
    home.file.unlink()
    assert office.listed() == ["feed the cat", "buy milk"]
    (warning,) = office.warned()
    assert warning.startswith(f"Your edit to {cat} (raw user request: 'never feed the cat') in HEARTBEAT.md was")
    assert "never feed the cat" in office.file.with_name("HEARTBEAT.md.bak").read_text("utf-8")


def rename_machine(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: name)


def test_a_machine_that_was_renamed_keeps_its_list(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    team.place("home").create("feed the cat")
    rename_machine(monkeypatch, "renamed")
    assert is_shown_in(team.place("home"), "buy milk")
    assert not is_shown_in(team.place("office"), "water the plants")


def test_a_container_with_another_name_each_time_keeps_a_list_in_sqlite_although_the_lock_file_is_lost(
    near: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = near.place("home")
    home.create("feed the cat")
    rename_machine(monkeypatch, "f00d")
    home.file.with_name("HEARTBEAT.md.lock").unlink()
    assert is_shown_in(near.place("home"), "buy milk")


@needs_postgres
def test_the_same_path_on_another_machine_is_another_file_until_the_lock_file_is_copied_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(tmp_path, "postgresql")
    home = team.place("home")
    home.create("feed the cat")
    lock = home.file.with_name("HEARTBEAT.md.lock")
    lock = lock.rename(team.folder / "kept.lock")
    rename_machine(monkeypatch, "elsewhere")
    there = team.place("home")
    there.create("water the plants")
    (warning,) = there.warned()
    assert "or, to show the list in this file, copy HEARTBEAT.md.lock from there to HEARTBEAT.md.lock" in warning
    assert "import it under another TASK_TENANT" in warning
    assert "water the plants" not in there.text
    there.file.with_name("HEARTBEAT.md.lock").write_bytes(lock.read_bytes())
    assert is_shown_in(team.place("home"), "buy milk")


@needs_postgres
def test_a_file_on_another_machine_is_never_known_to_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team(tmp_path, "postgresql")
    home = team.place("home")
    home.create("feed the cat")
    home.file.unlink()
    rename_machine(monkeypatch, "elsewhere")
    assert not is_shown_in(team.place("office"), "water the plants")
    monkeypatch.undo()
    assert is_shown_in(team.place("office"), "buy milk")


def test_a_list_that_was_lost_and_recovered_is_still_shown_in_the_same_file(near: Team) -> None:
    home = near.place("home")
    home.create("feed the cat")
    near.lose_list()
    assert home.listed() == ["feed the cat"]
    assert not is_shown_in(near.place("office"), "water the plants")


def test_an_owner_whose_file_was_away_leaves_it_alone_once_another_file_has_the_list(near: Team) -> None:
    home, office = near.place("home"), near.place("office")
    home.create("feed the cat")
    kept = home.file.rename(near.folder / "kept.md")
    assert is_shown_in(office, "water the plants")
    kept.rename(home.file)
    home.write("- buy milk")
    before = home.text
    assert home.listed() == ["feed the cat", "water the plants"]
    home.create("call Ann")
    assert home.text == before
    (warning,) = home.warned()
    assert warning.startswith("This list is shown in office/HEARTBEAT.md")


def test_a_list_that_an_earlier_version_leased_belongs_to_the_file_that_had_it_last(near: Team) -> None:
    home = near.place("home")
    home.create("feed the cat")
    with closing(sqlite3.connect(near.folder / "tasks.db")) as connection, connection:
        connection.execute("UPDATE lists SET leased = 1")
    home.file.with_name("HEARTBEAT.md.lock").unlink()
    assert not is_shown_in(near.place("office"), "water the plants")
    assert is_shown_in(near.place("home"), "buy milk")


def test_servers_with_the_same_file_share_the_list(team: Team) -> None:
    one, two = team.place("home"), team.place("home")
    for number, place in enumerate((one, two, one, two)):
        place.create(f"task {number}")
    two.write("- buy milk")
    assert one.listed()[4:] == ["buy milk"]
    (taken_in,) = one.warned()
    assert taken_in.startswith("Lines added to HEARTBEAT.md by hand are now tasks: ")
    assert two.warned() == []


def test_doctor_says_where_the_list_is_shown(team: Team) -> None:
    team.place("home").create("feed the cat")
    variables = {name.upper(): value for name, value in team.settings("office").items()}
    (fault,) = report("heartbeat_mcp", team.folder / "office", variables).of("heartbeat", "WRONG")
    assert fault.startswith("This list is shown in home/HEARTBEAT.md on ")
    home = {name.upper(): value for name, value in team.settings("home").items()}
    for environment in (home, variables | {"AUTO_SYNC_ENABLED": "false"}):
        assert report("heartbeat_mcp", team.folder / "home", environment).of("heartbeat", "WRONG") == []
    (team.folder / "home" / "HEARTBEAT.md").unlink()
    faults = report("heartbeat_mcp", team.folder / "office", variables).of("heartbeat", "WRONG")
    assert faults == ["HEARTBEAT.md does not show 1 task of the store"]


@pytest.mark.requirement("DOC-1")
def test_doctor_says_nothing_of_an_owner_that_it_cannot_read(tmp_path: Path) -> None:
    team = Team(tmp_path, "sqlite")
    team.place("home").create("feed the cat")
    team.lose_list()
    (tmp_path / "tasks.db").write_text("no database")
    variables = {name.upper(): value for name, value in team.settings("office").items()}
    found = report("heartbeat_mcp", tmp_path / "office", variables)
    assert found.of("heartbeat", "WRONG") == []
    assert "StoreDamaged" in found.of("store", "WRONG")[0]


@pytest.mark.requirement("ERR-2", "HB-13")
def test_a_lock_file_that_cannot_be_read_is_reported_and_read_again_next_time(near: Team) -> None:
    home = near.place("home")
    home.create("feed the cat")
    with watched(Fault(2, errno.EIO, for_good=True), only={"read"}):
        home.create("buy milk")
    (warning,) = home.warned()
    assert "HEARTBEAT.md.lock" in warning
    home.create("call Ann")
    assert "buy milk" in home.text


@pytest.mark.requirement("EN-19", "ERR-2")
def test_a_first_call_that_fails_writes_nothing_where_the_list_is_not_shown(near: Team) -> None:
    near.place("home").create("feed the cat")
    office = near.place("office")
    office.file.write_text("## TODO\n")
    with watched(Fault(2, errno.EIO), only={"flock"}), pytest.raises(StoreWriteFailed):
        office.create("water the plants")
    (warning,) = office.warned()
    assert ("This list is shown in home/HEARTBEAT.md" in warning, office.text) == (True, "## TODO\n")


@pytest.mark.parametrize(
    ("store", "is_named"),
    [("memory:", False), ("json:{}/state.json", False), ("sqlite:{}/tasks.db", True), ("", False)],
)
def test_only_a_list_in_a_database_is_given_to_a_file(tmp_path: Path, store: str, *, is_named: bool) -> None:
    values = {"heartbeat_file_path": tmp_path / "HEARTBEAT.md", "task_store": store.format(tmp_path) or None}
    settings = HeartbeatSettings.model_validate(values)
    expected = f"{socket.gethostname()}:{tmp_path / 'HEARTBEAT.md'}" if is_named else ""
    assert make_owner(settings).file == expected
    assert store == "" or make_owner(settings.model_copy(update={"heartbeat_file_path": None})).file == ""


def test_a_file_whose_path_is_no_text_can_have_the_list(near: Team) -> None:
    place = near.place("caf\udce9")
    place.create("feed the cat")
    assert is_shown_in(place, "buy milk")
    assert not is_shown_in(near.place("office"), "water the plants")


@pytest.mark.parametrize(
    ("url", "place", "name"),
    [
        (
            "postgresql://ann@db.example/tasks?sslpassword=secret&connect_timeout=2",
            "postgresql://db.example/tasks",
            "tasks",
        ),
        ("postgresql://a,b:5433/x?port=5433", "postgresql://a,b:5433/x?port=5433", "x"),
        ("postgresql:///x?host=%2Ftmp%2Fy", "postgresql:///x?host=%2Ftmp%2Fy", "x"),
        ("postgresql://db.example", "postgresql://db.example", "db.example"),
    ],
)
@pytest.mark.requirement("HB-19", "EN-17")
def test_a_section_names_the_database_without_whoever_connects_to_it(url: str, place: str, name: str) -> None:
    values = {"heartbeat_file_path": "/tmp/HEARTBEAT.md", "task_store": url, "task_tenant": "ann"}  # noqa: S108
    owner = make_owner(HeartbeatSettings.model_validate(values))
    assert owner[:3] == (place, "ann", "")
    assert (owner.name, owner.is_there, owner.is_far) == (name, True, True)


@pytest.mark.requirement("HB-19")
def test_a_section_that_shows_a_list_on_a_server_is_not_another_stores_until_its_lock_file_is_deleted(
    team: Team,
) -> None:
    team.engine, engine = "sqlite", team.engine
    other = team.settings("home")
    team.engine = engine
    home = team.place("home")
    home.create("feed the cat")
    settings = HeartbeatSettings.model_validate({**other, "task_store": f"json:{team.folder}/other.json"})
    place = Place(parts_of(settings, utc_now), home.file)
    place.create("water the plants")
    assert "water the plants" not in home.text
    (warning,) = place.warned()
    cure = "delete HEARTBEAT.md.lock" if engine == Engine.POSTGRESQL else "move tasks.db away"
    assert f"or {cure} if nobody uses" in warning
    if engine == Engine.POSTGRESQL:
        home.file.with_name("HEARTBEAT.md.lock").unlink()
    else:
        (team.folder / "tasks.db").unlink()
    place.create("call Ann")
    assert "water the plants" in place.text


@pytest.mark.requirement("EN-19")
def test_a_line_of_the_lock_file_that_names_no_store_is_ignored() -> None:
    named = {"section": "TODO", "store": "a", "tenant": "", "id": ""}
    lines = [json.dumps(line).encode() for line in (named, {**named, "section": "Later", "store": 1}, "TODO")]
    assert [*parse_owners(b"\n".join(lines))] == ["todo"]
