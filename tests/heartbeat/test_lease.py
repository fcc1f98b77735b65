"""A list in a database is shown in one HEARTBEAT.md, which has it on lease (EN-19)."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from heartbeat_mcp.mirror.lock import Ownership, SectionLock
from heartbeat_mcp.mirror.owner import Claim, Owner, make_claim
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.errors import StoreWriteFailed
from task_core.files import Wait
from task_core.models import utc_now
from task_core.store import Engine
from task_core.warning_list import WarningList
from tests.core.faults import Fault, watched
from tests.doctor_report import report
from tests.heartbeat.parts import parts_of
from tests.heartbeat.shared_list import Hours, Place, Team

pytestmark = pytest.mark.requirement("EN-19")


@pytest.fixture(params=["sqlite"])
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
    assert warning.startswith(f"This list is shown in home/HEARTBEAT.md on {socket.gethostname()}, so this server ")
    assert "Unset HEARTBEAT_FILE_PATH here, or for the other server" in warning
    assert str(team.folder) not in warning
    assert home.listed() == ["feed the cat", "water the plants"]
    assert "water the plants" in home.text
    assert "call Ann" not in home.text
    assert home.warned() == []


def test_once_the_lease_is_over_the_next_file_takes_over(team: Team) -> None:
    home = team.place("home")
    home.create("feed the cat")
    office = team.place("office")
    office.file.write_text("# Mine\n\n## TODO\n- buy milk\n", "utf-8")
    office.create("water the plants")
    team.let_lease_end()
    office.create("call Ann")
    assert office.listed() == ["feed the cat", "water the plants", "buy milk", "call Ann"]
    assert all(request in office.text for request in office.listed())
    refused, taken_in = office.warned()
    assert refused.startswith("This list is shown in home/HEARTBEAT.md")
    assert taken_in.startswith("Lines added to HEARTBEAT.md by hand are now tasks: ")


def test_an_owner_that_was_away_for_long_learns_that_it_has_lost_the_list(team: Team) -> None:
    home = team.place("home")  # which believes for half a minute that it has the list
    home.create("feed the cat")
    team.let_lease_end()
    team.place("office").create("water the plants")
    home.write("- buy milk")
    before = home.text
    assert home.listed() == ["feed the cat", "water the plants"]
    home.create("call Ann")
    assert home.text == before
    (warning,) = home.warned()
    assert warning.startswith("This list is shown in office/HEARTBEAT.md")


def test_an_owner_that_is_stopped_before_it_writes_its_file_finds_the_list_with_another_and_leaves_it_as_it_is(
    team: Team,
) -> None:
    timer = Hours()
    home = team.place("home", timer)
    home.create("feed the cat")
    before = home.text
    calls_of_a_call: list[str] = []

    def stop() -> None:
        if len(calls_of_a_call) == 1:  # the call began within the lease, and has made its change
            timer.now += 3_600
            team.let_lease_end()
            team.place("office").create("water the plants")
        calls_of_a_call.append("looked at the timer")

    timer.interrupt = stop
    home.create("call Ann")
    assert home.text == before
    (warning,) = home.warned()
    assert warning.startswith("This list is shown in office/HEARTBEAT.md")
    assert home.listed() == ["feed the cat", "call Ann", "water the plants"]


def test_a_list_that_was_lost_is_leased_again(team: Team) -> None:
    home = team.place("home")
    home.create("feed the cat")
    team.lose_list()
    assert home.listed() == ["feed the cat"]
    office = team.place("office")
    office.create("water the plants")
    assert len(office.warned()) == 1
    assert not office.file.exists()


def test_each_time_that_a_file_loses_the_list_is_reported(team: Team) -> None:
    home, office = team.place("home"), team.place("office")
    home.create("feed the cat")
    for place in (office, home, office, home):
        place.create("water the plants")
        place.create("buy milk")
        (warning,) = place.warned()
        assert warning.startswith("This list is shown in ")
        team.let_lease_end()
        place.create("call Ann")
        assert place.warned() == []


def test_two_places_take_turns_and_each_file_is_read_as_its_server_left_it(team: Team) -> None:
    home, office = team.place("home"), None
    cat, plants = home.create("feed the cat"), home.create("water the plants")
    office = team.place("office")
    team.let_lease_end()
    milk = office.create("buy milk")
    office.finish(cat)
    home.file.write_text(home.text.replace(f"[Pending] {plants}", f"[x] {plants}") + "- call Ann\n", "utf-8")
    team.let_lease_end()
    home = team.place("home")
    assert sorted(home.listed()) == ["buy milk", "call Ann"]
    assert [name in home.text for name in (cat, plants, milk)] == [False, False, True]
    (warning,) = home.warned()
    assert warning.startswith("Lines added to HEARTBEAT.md by hand are now tasks: ")
    assert warning.endswith(f"Statuses set in HEARTBEAT.md by hand were applied: {plants} (Complete).")
    assert not home.file.with_name("HEARTBEAT.md.bak").exists()
    home.finish(milk)
    team.let_lease_end()
    office = team.place("office")
    assert office.listed() == ["call Ann"]
    assert milk not in office.text
    assert office.warned() == []


def test_a_bullet_that_was_taken_in_but_not_replaced_is_not_taken_in_again_when_its_file_shows_the_list_again(
    team: Team,
) -> None:
    home = team.place("home")
    home.create("feed the cat")
    home.write("- buy milk")
    home.file.chmod(0o444)
    assert home.listed() == ["feed the cat", "buy milk"]
    team.let_lease_end()
    team.place("office").create("water the plants")
    team.let_lease_end()
    home.file.chmod(0o644)
    assert team.place("home").listed() == ["feed the cat", "buy milk", "water the plants"]


def test_what_a_person_changed_while_another_file_showed_the_list_is_kept_aside(team: Team) -> None:
    home = team.place("home")
    cat = home.create("feed the cat")
    team.let_lease_end()
    team.place("office").create("water the plants")
    home.file.write_text(home.text.replace("Raw User Request: feed", "Raw User Request: never feed"), "utf-8")
    team.let_lease_end()
    home = team.place("home")
    assert home.listed() == ["feed the cat", "water the plants"]
    (warning,) = home.warned()
    assert warning.startswith(f"Your edit to {cat} (raw user request: 'never feed the cat') in HEARTBEAT.md was")
    assert "never feed the cat" in home.file.with_name("HEARTBEAT.md.bak").read_text("utf-8")


def test_the_receipts_of_few_other_files_are_kept(team: Team) -> None:
    for number in range(9):
        team.place(f"place {number}").create(f"task {number}")
        team.let_lease_end()
    with team.place("place 8").parts.store.read() as tasks:
        kept = tasks.fields["other_sections"]
    assert isinstance(kept, dict)
    assert len(kept) == 4
    assert str(team.folder) not in str(kept)


def test_servers_with_the_same_file_share_the_list(team: Team) -> None:
    one, two = team.place("home"), team.place("home")
    for number, place in enumerate((one, two, one, two)):
        place.create(f"task {number}")
    two.write("- buy milk")
    assert one.listed()[4:] == ["buy milk"]
    (taken_in,) = one.warned()
    assert taken_in.startswith("Lines added to HEARTBEAT.md by hand are now tasks: ")
    assert two.warned() == []


def test_the_same_path_on_another_machine_is_another_file(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    home = team.place("home")
    home.create("feed the cat")
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    team.place("home").create("water the plants")
    assert "water the plants" not in home.text
    assert home.listed() == ["feed the cat", "water the plants"]
    assert "water the plants" in home.text


def test_doctor_says_where_the_list_is_shown(team: Team) -> None:
    team.place("home").create("feed the cat")
    variables = {name.upper(): value for name, value in team.settings("office").items()}
    (fault,) = report("heartbeat_mcp", team.folder / "office", variables).of("lease", "WRONG")
    assert fault.startswith("This list is shown in home/HEARTBEAT.md on ")
    home = {name.upper(): value for name, value in team.settings("home").items()}
    for environment in (home, variables | {"AUTO_SYNC_ENABLED": "false"}):
        assert report("heartbeat_mcp", team.folder / "home", environment).of("lease", "WRONG") == []
    team.let_lease_end()
    assert report("heartbeat_mcp", team.folder / "office", variables).of("lease", "WRONG") == []


@pytest.mark.requirement("DOC-1")
def test_doctor_says_nothing_of_a_lease_that_it_cannot_read(tmp_path: Path) -> None:
    team = Team(tmp_path, "sqlite")
    team.place("home").create("feed the cat")
    team.lose_list()
    (tmp_path / "tasks.db").write_text("no database")
    variables = {name.upper(): value for name, value in team.settings("office").items()}
    found = report("heartbeat_mcp", tmp_path / "office", variables)
    assert found.of("lease", "WRONG") == []
    assert "StoreDamaged" in found.of("store", "WRONG")[0]


def ownership_of(place: Place, timer: Hours) -> tuple[Ownership, SectionLock]:
    """Return the ownership of the file as its server knows it, and the lock under which that is checked."""
    lock, claim = SectionLock.beside(place.file), Claim(Owner("", "", ""), f"{socket.gethostname()}:{place.file}")
    return Ownership(lock, claim, place.parts.store, WarningList(), "HEARTBEAT.md", timer), lock


def test_the_lease_is_renewed_once_half_of_it_is_over(team: Team) -> None:
    home, timer = team.place("home"), Hours()
    ownership, lock = ownership_of(home, timer)
    lock.acquire(Wait(1))
    assert ownership.check()
    for seconds, is_renewed in ((29, False), (1, True), (29, False), (3_600, True)):
        timer.now += seconds
        team.let_lease_end()  # which shows whether it is renewed
        assert ownership.renew()
        with home.parts.store.read() as tasks:
            assert bool(tasks.find_leaseholder()) is is_renewed
    lock.release()


@pytest.mark.requirement("ERR-2")
def test_a_lock_file_that_cannot_be_read_is_reported_and_read_again_next_time(team: Team) -> None:
    home = team.place("home")
    ownership, lock = ownership_of(home, Hours())
    lock.acquire(Wait(1))
    with watched(Fault(1, errno.EIO), only={"read"}), pytest.raises(StoreWriteFailed) as caught:
        ownership.check()
    assert "HEARTBEAT.md.lock" in str(caught.value)
    assert ownership.check()
    lock.release()


def test_who_was_refused_asks_again_after_half_a_minute_also_when_it_only_reads(team: Team) -> None:
    team.place("home").create("feed the cat")
    timer = Hours()
    ownership, lock = ownership_of(team.place("office"), timer)
    lock.acquire(Wait(1))
    assert not ownership.check()
    assert ownership.is_foreign
    timer.now += 29
    assert ownership.is_foreign
    timer.now += 1
    assert not ownership.is_foreign
    team.let_lease_end()
    assert ownership.check()
    assert not ownership.is_foreign
    lock.release()


@pytest.mark.parametrize(
    ("store", "is_leased"),
    [("memory:", False), ("json:{}/state.json", False), ("sqlite:{}/tasks.db", True), ("", False)],
)
def test_only_a_list_in_a_database_that_has_a_file_is_leased(tmp_path: Path, store: str, *, is_leased: bool) -> None:
    values = {"heartbeat_file_path": tmp_path / "HEARTBEAT.md", "task_store": store.format(tmp_path) or None}
    settings = HeartbeatSettings.model_validate(values)
    expected = f"{socket.gethostname()}:{tmp_path / 'HEARTBEAT.md'}" if is_leased else ""
    assert make_claim(settings).name == expected
    assert store == "" or make_claim(settings.model_copy(update={"heartbeat_file_path": None})).name == ""


def test_a_path_that_is_no_text_can_be_leased_to(team: Team) -> None:
    place = team.place("caf\udce9")
    place.create("feed the cat")
    assert team.place("office").create("water the plants")
    assert place.warned() == []


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
    owner = make_claim(HeartbeatSettings.model_validate(values)).owner
    assert owner == Owner(place, "ann", "")
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
