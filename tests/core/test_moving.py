"""The commands that take tasks from other tools and give them back, on each server (MV-1 to MV-6)."""

from __future__ import annotations

import itertools
import json
from functools import partial
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typing_extensions import override

from task_core.cli.moving.commands import Watched
from task_core.cli.moving.plan import ForeignList, NoPlace, make_plan
from task_core.models import utc_now
from task_core.moving import Arrival, read_moment
from task_core.store import open_store
from task_core.warning_list import WarningList
from task_formats.record import Contents, ForeignTask
from taskmaster_mcp.core.items import ProjectItem, TagTasks
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.moving import TasksMover
from tasks_v1_mcp.settings import TasksSettings
from tests.core.command_line import Command, Ended, Terminal, fields
from tests.servers import SERVERS, ServerRecord

each_server = pytest.mark.parametrize("record", SERVERS, ids=lambda record: record.name)

ISSUES: list[dict[str, Any]] = [
    {
        "id": "bd-a",
        "title": "Alpha",
        "description": "The text",
        "status": "in_progress",
        "priority": 0,
        "labels": ["x", "y"],
        "created_at": "2026-01-02T03:04:05Z",
    },
    {"id": "bd-b", "title": "Beta", "status": "awaiting", "priority": 2, "due_at": "2026-03-04T00:00:00Z"},
    {"id": "bd-c", "title": "Gamma", "status": "closed", "close_reason": "it was done", "estimated_minutes": 30},
    {"id": "bd-d", "title": "Delta", "status": "blocked", "acceptance_criteria": "- one\n- two", "notes": "a plan"},
    {"id": "bd-e", "title": "Eps", "status": "in_progress", "design": "line 1\nline 2"},
    {"id": "bd-t", "title": "Gone", "status": "tombstone"},
]
EDGES = [("bd-b", "bd-a", "parent-child"), ("bd-c", "bd-a", "parent-child"), ("bd-d", "bd-c", "parent-child")]
EDGES += [("bd-b", "bd-c", "blocks"), ("bd-d", "bd-zz", "blocks"), ("bd-d", "bd-a", "blocks")]


def issues(folder: Path, *more: dict[str, Any]) -> str:
    """Write the issues, and return the path of their file."""
    lines = []
    for issue in (*ISSUES, *more):
        edges = [{"issue_id": a, "depends_on_id": b, "type": kind} for a, b, kind in EDGES if a == issue["id"]]
        full = {"issue_type": "task", "created_at": "2026-02-03T04:05:06Z", **issue, "dependencies": edges}
        lines.append(json.dumps(full) + "\n")
    path = folder / "issues.jsonl"
    path.write_text("".join(lines), "utf-8")
    return str(path)


def take(command: Command, record: ServerRecord, path: str, *words: str) -> Ended:
    return command(record, "import", "--from", "beads", path, *words)


def listed(command: Command, record: ServerRecord) -> dict[str, tuple[str, str]]:
    """Return the id and the status of each task, by its title."""
    lines = [line.split("\t") for line in command(record, "list", "--all").out.splitlines()]
    return {text.partition("\\u{a}")[0]: (name, status) for name, status, text, *_ in lines}


STATUSES = {
    "heartbeat": ["Running", "Pending", "Complete", "Pending", "Running"],
    "hierarchy": ["todo", "todo", "todo", "todo", "in_progress"],
    "tasks-v1": ["in_progress", "pending", "done", "pending", "in_progress"],
    "taskmaster": ["in-progress", "pending", "done", "blocked", "in-progress"],
}


@pytest.mark.requirement("MV-1", "MV-2", "MV-4")
@each_server
def test_tasks_of_another_tool_are_added_once_and_undo_takes_them_back(
    command: Command, record: ServerRecord, tmp_path: Path
) -> None:
    path = issues(tmp_path)
    before = Path(path).read_bytes()
    dry = take(command, record, path, "--dry-run")
    assert (dry.code, listed(command, record)) == (0, {})
    ended = take(command, record, path, "--yes")
    assert (ended.code, ended.err) == (0, "")
    assert "Beads: 5 tasks" in ended.out
    assert "awaiting becomes" in ended.out
    assert "unknown: --map 'awaiting=STATE'" in ended.out
    assert "tombstone" in ended.out
    assert "Imported 5 tasks. To take that back: undo 1" in ended.out
    found = listed(command, record)
    assert [found[name][1] for name in ("Alpha", "Beta", "Gamma", "Delta", "Eps")] == STATUSES[record.name]
    again = take(command, record, path)
    assert again.code == 0
    assert "Nothing was imported: nothing is new." in again.out
    more = take(command, record, issues(tmp_path, {"id": "bd-f", "title": "Zeta", "status": "open"}), "--yes")
    assert "Imported 1 task." in more.out
    assert {name: it for name, it in listed(command, record).items() if name != "Zeta"} == found
    for number in ("2", "1"):
        assert command(record, "undo", number, "--yes").code == 0
    assert listed(command, record) == {}
    issues(tmp_path)
    assert Path(path).read_bytes() == before


@pytest.mark.requirement("MV-3")
@each_server
def test_nothing_of_a_task_is_lost(command: Command, record: ServerRecord, tmp_path: Path) -> None:
    take(command, record, issues(tmp_path), "--yes")
    found = listed(command, record)
    shown = {name: command(record, "show", found[name][0]).out for name in found}
    for name, words in {
        "Alpha": ["The text", "x", "y", "critical", "bd-a"],
        "Beta": ["awaiting", "2026-03-04T00:00:00Z"],
        "Gamma": ["it was done", "30"],
        "Delta": ["one", "two", "a plan", "bd-zz", "blocked"],
        "Eps": ["line 1", "line 2"],
    }.items():
        assert [word for word in words if word not in shown[name]] == []


@pytest.mark.requirement("MV-3")
@pytest.mark.parametrize("name", ["heartbeat", "hierarchy"])
def test_more_criteria_than_a_call_may_give_are_kept(command: Command, name: str, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == name)
    many = "\n".join(f"- criterion {number}" for number in range(250))
    take(command, record, issues(tmp_path, {"id": "bd-m", "title": "Many", "acceptance_criteria": many}), "--yes")
    task_id, _ = listed(command, record)["Many"]
    assert "criterion 249" in command(record, "show", task_id).out


@pytest.mark.requirement("MV-5")
def test_trees_have_siblings_in_order_one_active_leaf_and_the_status_of_their_subtasks(
    command: Command, tmp_path: Path
) -> None:
    record = next(it for it in SERVERS if it.name == "hierarchy")
    out = take(command, record, issues(tmp_path), "--yes").out
    lines = [line.split("\t") for line in command(record, "list").out.splitlines()]
    places = [(name, status, depth) for name, status, _, _, depth in lines]
    assert places == [
        ("bd-a", "todo", "0"),
        ("bd-c", "todo", "1"),
        ("bd-d", "todo", "2"),
        ("bd-b", "todo", "1"),
        ("bd-e", "in_progress", "0"),
    ]
    assert "bd-c is todo, as its subtasks say, not closed" in out
    assert "bd-d waits for bd-a, which is in another place" in out


@pytest.mark.requirement("MV-5")
def test_what_is_deeper_than_a_subtask_stays_below_the_task(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "taskmaster")
    out = take(command, record, issues(tmp_path), "--yes").out
    lines = [line.split("\t") for line in command(record, "list").out.splitlines()]
    assert [name for name, *_ in lines] == ["1", "1.1", "1.2", "1.3", "2"]
    assert "bd-d becomes a subtask of bd-a" in out
    assert "bd-d does not wait for bd-a" in out
    assert fields(command(record, "show", "1.1").out)["dependencies"] == '["1.2"]'


@pytest.mark.requirement("MV-4", "MV-6")
def test_archived_tasks_are_not_imported_again_and_are_exported(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASK_RETENTION_DAYS", "0")
    record = next(it for it in SERVERS if it.name == "heartbeat")
    path = issues(tmp_path)
    take(command, record, path, "--yes")
    command(record, "add", "a change archives what is finished")
    assert "Gamma" in (tmp_path / "heartbeat_archive.jsonl").read_text("utf-8")
    assert "Nothing was imported: nothing is new." in take(command, record, path).out
    command(record, "export", "--to", "todo-md", str(tmp_path / "out"))
    assert "- [x] Gamma" in (tmp_path / "out").read_text("utf-8")


@pytest.mark.requirement("MV-2")
def test_tasks_that_were_finished_long_ago_are_kept_so_that_undo_takes_them_back(
    command: Command, tmp_path: Path
) -> None:
    record = next(it for it in SERVERS if it.name == "heartbeat")
    path = issues(tmp_path, {"id": "bd-o", "title": "Old", "status": "closed", "closed_at": "2026-02-05T00:00:00Z"})
    take(command, record, path, "--yes")
    command(record, "add", "a change archives what was finished long ago")
    assert "Old" in listed(command, record)
    ended = command(record, "undo", "1", "--yes")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.requirement("MV-3", "MV-5")
def test_a_task_below_a_subtask_that_was_imported_before_names_it(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "taskmaster")
    take(command, record, issues(tmp_path), "--yes")
    new = {"id": "bd-f", "title": "Zeta", "status": "open", "parent": "bd-b"}
    out = take(command, record, issues(tmp_path, new), "--yes").out
    assert "bd-f becomes a subtask of 1: there is one level of subtasks" in out
    task_id, _ = listed(command, record)["Zeta"]
    assert (task_id, "Parent: bd-b" in command(record, "show", task_id).out) == ("1.4", True)


@pytest.mark.requirement("MV-2")
def test_a_person_is_asked_and_a_pipe_needs_yes(command: Command, tmp_path: Path) -> None:
    record, path = SERVERS[0], issues(tmp_path)
    for typed, code, count in (("\n", 1, 0), ("y\n", 0, 5)):
        ended = command(record, "import", "--from", "beads", path, piped=Terminal(typed))
        assert (ended.code, len(listed(command, record))) == (code, count)
        assert "Import 5 tasks? [y/N]" in ended.err
    ended = command(record, "import", "--from", "beads", issues(tmp_path, {"id": "bd-f", "title": "F"}), piped="")
    assert (ended.code, ended.err) == (1, "Give --yes to import them.\n")


@pytest.mark.requirement("MV-2")
def test_a_long_import_reports_on_a_terminal_how_far_it_is() -> None:
    tasks = [Arrival(ForeignTask(id=name, title="Task"), f"beads:{name}", dict[str, str]()) for name in "abcd"]
    shown = ["Importing: 1 of 4", "Importing: 3 of 4", " " * 17]
    for out, expected in ((Screen(), shown), (StringIO(), list[str]())):
        watched = Watched(tasks, "Importing", out, partial(next, itertools.count(0, 0.25)))
        assert list(watched) == tasks
        assert out.getvalue().split("\r")[:-1] == expected


class Screen(StringIO):
    @override
    def isatty(self) -> bool:
        return True


@pytest.mark.requirement("MV-2", "MV-4")
def test_what_another_program_imports_while_a_person_is_asked_is_not_imported_again(
    command: Command, tmp_path: Path
) -> None:
    record, path = SERVERS[0], issues(tmp_path)

    class Slow(Terminal):
        @override
        def readline(self, size: int = -1, /) -> str:
            take(command, record, path, "--yes")
            return "y\n"

    ended = command(record, "import", "--from", "beads", path, piped=Slow())
    assert "Nothing was imported: nothing is new." in ended.out
    assert len(listed(command, record)) == 5


@pytest.mark.requirement("MV-2", "MV-3")
def test_the_report_as_json_has_everything_and_a_status_of_ones_own_is_mapped(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "tasks-v1")
    words = ("import", "--from", "auto", issues(tmp_path), "--json", "--map", "Awaiting=done", "--yes")
    report = json.loads(command(record, *words).out)
    numbers = [report[name] for name in ("found", "new", "imported", "change")]
    assert (report["format"], numbers) == ("beads", [5, 5, 5, 1])
    assert {"status": "awaiting", "state": "done", "becomes": "done", "tasks": 1} in report["statuses"]
    assert report["without_place"]["estimated_minutes"] == ["bd-c"]
    assert report["left_out"]
    assert len(report["signs"]) >= 2
    assert json.loads(command(record, *words).out)["present"] == 5
    ended = command(record, "import", "--from", "beads", issues(tmp_path), "--map", "odd")
    assert (ended.code, "give STATUS=STATE with one of open, active" in ended.err) == (1, True)


@pytest.mark.requirement("MV-3")
def test_a_text_that_is_too_long_is_kept_whole_in_a_file_that_the_task_names(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "tasks-v1")
    long = {"id": "bd-" + "é" * 120, "title": "t" * 300, "description": "word " * 2_000, "status": "open"}
    out = take(command, record, issues(tmp_path, long), "--yes").out
    assert "1 text too long for a task" in out
    (file,) = tmp_path.rglob("beads-*.md")
    assert ("word " * 2_000).strip() in file.read_text("utf-8")
    name = next(name for text, (name, _) in listed(command, record).items() if text.startswith("ttt"))
    shown = fields(command(record, "show", name).out)
    assert f"{file.parent.name}/{file.name}" in shown["description"]
    assert len(shown["source"]) == 100


@pytest.mark.requirement("MV-3")
def test_a_file_that_cannot_be_written_is_named(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "tasks-v1")
    (tmp_path / "file").touch()
    ended = command(record, "export", "--to", "beads", str(tmp_path / "file" / "out.jsonl"))
    assert (ended.code, "file cannot be written: " in ended.err) == (1, True)
    long = {"id": "漢" * 90, "title": "long", "description": "x" * 5_000, "status": "open"}
    take(command, record, issues(tmp_path, long), "--yes")
    (file,) = tmp_path.rglob("beads-*.md")
    assert len(file.name.encode()) < 200


@pytest.mark.requirement("MV-6")
@each_server
@pytest.mark.parametrize("name", ["beads", "backlog", "todo-md", "todo-txt"])
def test_what_goes_out_comes_back(command: Command, record: ServerRecord, name: str, tmp_path: Path) -> None:
    take(command, record, issues(tmp_path), "--yes")
    before = listed(command, record)
    out = tmp_path / "out"
    ended = command(record, "export", "--to", name, str(out))
    assert (ended.code, ended.err) == (0, "")
    assert f"Exported 5 tasks to {out}." in ended.out
    refused = command(record, "export", "--to", name, str(out))
    assert (refused.code, "already exists: move it away" in refused.err) == (1, True)
    assert command(record, "undo", "1", "--yes").code == 0
    back = command(record, "import", "--from", name, str(out), "--yes")
    assert (back.code, back.err, "Imported 5 tasks" in back.out) == (0, "", True)
    kept = listed(command, record)
    assert kept.keys() == before.keys()
    if name in {"beads", "backlog"} and record.name != "hierarchy":
        assert {text: status for text, (_, status) in kept.items()} == {
            text: status for text, (_, status) in before.items()
        }


@pytest.mark.requirement("MV-6")
def test_the_report_of_an_export_says_what_has_no_place(command: Command, tmp_path: Path) -> None:
    record = SERVERS[0]
    take(command, record, issues(tmp_path), "--yes")
    report = json.loads(command(record, "export", "--to", "todo-txt", str(tmp_path / "out"), "--json").out)
    assert (report["exported"], report["format"]) == (5, "todo-txt")
    assert report["problems"]


@pytest.mark.requirement("MV-1")
@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("import", "--from", "beads", "nothing"), 1, "nothing: No such file or directory: name the file"),
        (("import", "--from", "beads"), 2, "name the path to import from"),
        (("export", "--to", "beads"), 2, "name the path to export to"),
        (("import", "--from", "odd", "x"), 2, "invalid choice"),
        (("import", "--dry-run", "x"), 2, "need the format of another tool"),
        (("import", "--source", "a", "x"), 2, "need the format of another tool"),
        (("import", "--from", "json", "x", "--map", "a=done"), 2, "need the format of another tool"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], code: int, expected: str, command: Command) -> None:
    ended = command(SERVERS[0], *words)
    assert (ended.code, expected in ended.err) == (code, True)


@pytest.mark.requirement("MV-2", "MV-6")
def test_a_folder_that_cannot_be_made_is_named_and_nothing_is_imported(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "tasks-v1")
    (tmp_path / "file").touch()
    ended = command(record, "export", "--to", "todo-md", str(tmp_path / "file" / "out"))
    assert (ended.code, f"{tmp_path / 'file'} cannot be written" in ended.err) == (1, True)
    long = {"id": "bd-l", "title": "Long", "description": "word " * 30_000, "status": "open"}
    folder = tmp_path / f"{record.file}.imported"
    folder.touch()
    ended = take(command, record, issues(tmp_path, long), "--yes")
    assert (ended.code, f"{folder} cannot be written" in ended.err) == (1, True)
    assert command(record, "list", "--all").out == ""


@pytest.mark.requirement("MV-1")
def test_memory_keeps_nothing_that_is_imported(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "tasks-v1")
    ended = command(record, "import", "--from", "beads", issues(tmp_path), is_in_memory=True)
    assert (ended.code, "No list was found" in ended.err) == (2, True)


@pytest.mark.requirement("MV-5")
def test_a_new_subtask_of_a_task_that_was_imported_before_reopens_it(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "hierarchy")
    kept: dict[str, Any] = {"issue_type": "task", "created_at": "2026-02-03T04:05:06Z"}
    first = {"id": "bd-x", "title": "Done", "status": "closed", **kept}
    path = tmp_path / "issues.jsonl"
    path.write_text(json.dumps(first) + "\n", "utf-8")
    take(command, record, str(path), "--yes")
    assert listed(command, record)["Done"][1] == "done"
    edge = {"issue_id": "bd-y", "depends_on_id": "bd-x", "type": "parent-child"}
    actives = [{**first, "id": f"bd-{name}", "title": name, "status": "in_progress"} for name in "yz"]
    actives[0]["dependencies"] = [edge]
    path.write_text("".join(json.dumps(it) + "\n" for it in (first, *actives)), "utf-8")
    out = take(command, record, str(path), "--yes").out
    assert "bd-z is todo: only one task may be in progress" in out
    statuses = {text: status for text, (_, status) in listed(command, record).items()}
    assert statuses == {"Done": "in_progress", "y": "in_progress", "z": "todo"}


@pytest.mark.requirement("MV-2")
@pytest.mark.parametrize(
    ("days", "size", "expected"),
    [("0", 10, "No history is kept"), ("90", 60_000, "They are too large for undo to take back")],
)
def test_what_undo_cannot_take_back_is_said(
    days: str, size: int, expected: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASK_HISTORY_DAYS", days)
    record = next(it for it in SERVERS if it.name == "hierarchy")
    more = [{"id": f"bd-{n}", "title": "t", "status": "open", "description": "x" * size} for n in range(20)]
    assert expected in take(command, record, issues(tmp_path, *more), "--yes").out


@pytest.mark.requirement("MV-3")
def test_a_text_that_no_folder_can_take_is_refused() -> None:
    settings = TasksSettings.model_validate({"task_store": "memory:"})
    mover = TasksMover(open_store(settings, CODEC, WarningList()), None, Random(1))
    task = ForeignTask("a", "A", "x" * 5_000, created="odd")
    with mover.transaction() as work, pytest.raises(NoPlace, match="The text of a has more than 4,000 characters"):
        make_plan(ForeignList("beads", "Beads", Contents((task,)), {}), mover, work)
    assert read_moment("odd", utc_now()) is None


@pytest.mark.requirement("MV-3")
def test_task_master_keeps_a_long_text_beside_its_file(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "taskmaster")
    long = {"id": "bd-l", "title": "Long", "description": "word " * 30_000, "status": "open"}
    take(command, record, issues(tmp_path, long), "--yes")
    (file,) = tmp_path.rglob("beads-bd-l-*.md")
    assert file.parent.name == "tasks.json.imported"


@pytest.mark.requirement("MV-4")
@each_server
def test_another_project_with_the_same_ids_is_noticed_and_gets_a_name(
    command: Command, record: ServerRecord, tmp_path: Path
) -> None:
    take(command, record, issues(tmp_path), "--yes")
    path = Path(issues(tmp_path))
    path.write_text(path.read_text("utf-8").replace("Alpha", "Omega"), "utf-8")
    shown = take(command, record, str(path), "--dry-run").out
    assert "bd-a is here as" in shown
    assert shown.count("give the source a name with --source") == 1
    out = take(command, record, str(path), "--source", "other", "--yes").out
    assert "Imported 5 tasks" in out
    assert {"Alpha", "Omega"} <= listed(command, record).keys()


@pytest.mark.requirement("MV-3")
def test_tasks_of_one_time_stay_in_their_order(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "tasks-v1")
    names = [f"n{number}" for number in range(30)]
    more = [{"id": f"bd-{name}", "title": name, "status": "open"} for name in names]
    take(command, record, issues(tmp_path, *more), "--yes")
    found = [name for name in listed(command, record) if name in names]
    assert found in (names, names[::-1])


@pytest.mark.requirement("MV-3", "MV-4")
def test_a_status_that_nothing_has_and_a_name_with_other_characters_are_refused(
    command: Command, tmp_path: Path
) -> None:
    ended = take(command, SERVERS[0], issues(tmp_path), "--map", "awaitng=done", "--yes")
    assert (ended.code, "--map: no task there has the status awaitng" in ended.err) == (1, True)
    refused = take(command, SERVERS[0], issues(tmp_path), "--source", "a:b")
    assert (refused.code, "not 'a:b'" in refused.err) == (2, True)


@pytest.mark.requirement("MV-1")
def test_task_master_indexes_its_tasks_as_often_for_many_as_for_few(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = next(it for it in SERVERS if it.name == "taskmaster")
    index, counts = TagTasks.index, list[int]()

    def count(tasks: TagTasks) -> dict[str, ProjectItem]:
        counts[-1] += 1
        return index(tasks)

    monkeypatch.setattr(TagTasks, "index", count)
    for number in (1, 20):
        counts.append(0)
        more = [{"id": f"bd-{number}-{n}", "title": "t", "status": "open"} for n in range(number)]
        take(command, record, issues(tmp_path, *more), "--yes")
    assert counts[1] <= counts[0]


@pytest.mark.requirement("MV-6")
def test_labels_go_back_to_the_tool_that_they_came_from(command: Command, tmp_path: Path) -> None:
    record = next(it for it in SERVERS if it.name == "heartbeat")
    take(command, record, issues(tmp_path), "--yes")
    out = tmp_path / "out.jsonl"
    command(record, "export", "--to", "beads", str(out))
    found = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [it["labels"] for it in found if it["id"] == "bd-a"] == [["x", "y"]]
