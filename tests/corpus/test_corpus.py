"""The servers on made-up files of many shapes, and the report on them (TM-18, TM-21, TM-34, TM-61, HB-9, HB-12)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.corpus import heartbeats, snapshots
from tests.corpus.outcomes import Outcome
from tests.corpus.run import main, try_folder
from tests.corpus.shapes import write_corpus

REFUSED = {
    **dict.fromkeys(
        [
            *("a-list", "blank", "comma-behind", "comments", "cut-off", "key-twice", "merge-marks", "utf-16"),
            *("tag-is-a-list", "tag-is-an-empty-list", "tags-are-lists"),
        ],
        "is damaged at line",
    ),
    **dict.fromkeys(["editor-tasks", "other-program", "other-program-with-titles"], "has no Task Master project"),
    "details-are-lists": "'details' of '2' is not text",
    "heartbeat/merge-marks.md": "HEARTBEAT.md has merge conflict markers",
    **dict.fromkeys(["no-ids", "null-as-id"], "Give the id of a task"),
    "subtasks-odd": "'subtasks' of '1' is not a list",
}
"""The files with which something cannot be done, each with words of the reason."""


@pytest.mark.long
@pytest.mark.requirement("TM-18", "TM-21", "TM-33", "TM-34", "TM-61", "HB-9", "HB-12")
async def test_nothing_is_lost_or_changed_elsewhere_whatever_the_shape_of_a_file(tmp_path: Path) -> None:
    count = write_corpus(tmp_path)
    outcomes = {outcome.name: outcome for outcome in await try_folder(tmp_path)}
    assert len(outcomes) == count > 100
    assert {name: it for name, it in outcomes.items() if it.lost or it.outside} == {}
    refused = {name: it.refused for name, it in outcomes.items() if it.refused}
    assert {*refused} == {*REFUSED}, refused
    assert [name for name, words in REFUSED.items() if not all(words in text for text in refused[name])] == []


@pytest.mark.parametrize(
    ("after", "outside", "lost"),
    [
        (b"# A\n\n## TODO\n- [Pending] x-y: buy\n\n## B\n- c\n", 0, 0),
        (b"# A\n\n## TODO\n\n## B\n- c\n", 0, 1),
        (b"# a\n\n## TODO\n- buy\n\n## B\n- c\n", 1, 0),
        (b"# A\n\n## TODO\n- buy\n\n## B\n", 1, 0),
    ],
    ids=["kept", "bullet", "head", "tail"],
)
def test_a_heartbeat_that_lost_a_line_is_reported(after: bytes, outside: int, lost: int) -> None:
    outcome = Outcome("x")
    heartbeats.compare(outcome, b"# A\n\n## TODO\n- buy\n\n## B\n- c\n", after, [])
    assert (len(outcome.outside), len(outcome.lost)) == (outside, lost)


TASKS = '{"a": 1, "master": {"tasks": [\n {"id": 1, "n": 1.0, "details": "d"},\n {"id": 2, "title": "t"}\n]}}'


@pytest.mark.parametrize(
    ("old", "new", "outside", "lost"),
    [
        ('"d"', '"d\\nnote", "updatedAt": "now"', 0, 0),
        ('"d"', '"note"', 0, 1),
        (', "n": 1.0', "", 0, 1),
        ("1.0", "1", 1, 0),
        ('"t"', '"u"', 1, 0),
        ('{"id": 2, "title": "t"}', '{"id": 3, "title": "t"}', 0, 1),
        ('"a": 1', '"a": 2', 1, 0),
        ("\n {", "\n  {", 1, 0),
    ],
)
def test_a_project_that_lost_or_changed_something_is_reported(
    tmp_path: Path, old: str, new: str, outside: int, lost: int
) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(TASKS)
    before = snapshots.read_project(path, tmp_path)
    path.write_text(TASKS.replace(old, new))
    outcome = Outcome("x")
    snapshots.compare(outcome, "call", before, snapshots.read_project(path, tmp_path), {"master task 1": {"details"}})
    assert (len(outcome.outside), len(outcome.lost)) == (outside, lost)


def test_the_report_has_a_row_for_each_file_and_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["corpus", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        main()
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "tasks-old.json").write_text('{"work": {"tasks": [{"id": "a", "title": "t"}]}}')
    (tmp_path / "HEARTBEAT.md").write_text("## TODO\n- buy milk\n")
    assert main() == 0
    assert sorted(line.split() for line in capsys.readouterr().out.splitlines()[1:]) == [
        ["HEARTBEAT.md", "0", "0", "0"],
        ["p/tasks-old.json", "0", "0", "0"],
    ]
