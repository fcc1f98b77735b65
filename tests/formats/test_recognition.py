"""Recognition of formats: each by two signs or more, and no look-alike (MV-1)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from task_formats.formats import FORMATS, Unreadable, load, recognise

UUID = "3f2b1c9e-1111-4222-8333-444455556666"
SHRIMP = {"id": UUID, "name": "a", "status": "pending", "createdAt": "2026-01-02T03:04:05Z", "implementationGuide": "b"}
BEAD = {"id": "bd-a1", "title": "a", "status": "open", "issue_type": "task", "created_at": "2026-01-02T03:04:05Z"}
ISSUE = {"number": 1, "title": "a", "state": "OPEN", "url": "https://github.example/x/y/issues/1"}
MASTER = {"id": 1, "title": "a", "status": "pending", "subtasks": []}
CONFIG = "project_name: a\nstatuses: [To Do, Done]\n"
BACKLOG = "---\nid: task-1\ntitle: a\nstatus: To Do\n---\n"

SAMPLES: dict[str, dict[str, object]] = {
    "backlog": {"backlog/config.yml": CONFIG, "backlog/tasks/task-1 - a.md": BACKLOG},
    "beads": {".beads/issues.jsonl": json.dumps(BEAD) + "\n"},
    "shrimp": {"shrimp_data/tasks.json": {"tasks": [SHRIMP]}},
    "taskmaster": {".taskmaster/tasks/tasks.json": {"master": {"tasks": [MASTER], "metadata": {}}}},
    "claude-tasks": {"1.json": {"id": "1", "subject": "a", "status": "pending"}, ".lock": ""},
    "todo-md": {"TODO.md": "# A\n- [ ] a\n"},
    "todo-txt": {"todo.txt": "(A) a +b\n", "done.txt": "x 2026-01-02 c\n"},
    "github": {"issues.json": [ISSUE]},
}

LOOK_ALIKES: dict[str, dict[str, object]] = {
    "tasks of an editor": {"tasks.json": {"version": "2.0.0", "tasks": [{"label": "build", "type": "shell"}]}},
    "a scheduler of one's own": {
        "tasks.json": {"tasks": [{"id": 1, "title": "a", "status": "on", "cron": "* * * * *"}]}
    },
    "a package": {"package.json": {"name": "a", "version": "1.0.0", "scripts": {}}},
    "settings": {"settings.json": {"theme": "dark"}},
    "pull requests": {"pulls.json": [{**ISSUE, "url": "https://github.example/x/y/pull/1"}]},
    "another list of issues": {"issues.json": [{"number": 1, "title": "a", "state": "triage"}]},
    "lines of events": {"events.jsonl": '{"id": "bd-a1", "type": "event"}\n'},
    "a log": {"server.log": "2026-01-02 10:00:00 started\n2026-01-02 10:00:01 stopped\n"},
    "prose": {"notes.txt": "Words.\nMore words.\n"},
    "a list in a README": {"README.md": "- [ ] a\n- [x] b\n"},
    "nothing": {"empty.txt": ""},
    "no text": {"TODO.png": "\x00\x01"},
}


def write(folder: Path, files: dict[str, object]) -> None:
    """Write the files, text as it is and everything else as JSON."""
    for name, value in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")


@pytest.mark.requirement("MV-1")
@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_recognised_as_itself_and_read(name: str, tmp_path: Path) -> None:
    write(tmp_path, SAMPLES[name])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    path = tmp_path / "issues.json" if name == "github" else tmp_path
    found, signs, _ = recognise(path)
    assert (found, len(signs) >= 2) == (name, True)
    reading = FORMATS[name].read(load(name, path))
    assert (reading.tasks[0].title, reading.problems) == ("a", ())
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.requirement("MV-1")
@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_look_alike_is_not_recognised(name: str, tmp_path: Path) -> None:
    write(tmp_path, LOOK_ALIKES[name])
    for path in (tmp_path, tmp_path / next(iter(LOOK_ALIKES[name]))):
        with pytest.raises(
            Unreadable, match=r"no two signs of any format \((one sign|none) of .*: choose with --from "
        ):
            recognise(path)


@pytest.mark.requirement("MV-8")
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no file names that are not text")
def test_the_bytes_of_a_name_that_is_not_text_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "tasks" / os.fsdecode(b"task-1 - caf\xe9.md")
    write(tmp_path, {f"tasks/{file.name}": "---\nid: task-1\n---\n"})
    assert FORMATS["backlog"].read(load("backlog", tmp_path)).tasks[0].place == r"tasks/task-1 - caf\udce9.md"


@pytest.mark.requirement("MV-1")
def test_two_formats_in_one_place_are_both_named(tmp_path: Path) -> None:
    write(tmp_path, SAMPLES["taskmaster"] | SAMPLES["todo-md"])
    with pytest.raises(Unreadable, match=r"Task Master .* or TODO.md .*: choose with --from taskmaster\|todo-md$"):
        recognise(tmp_path)


@pytest.mark.requirement("MV-1", "MV-8")
def test_a_path_that_cannot_be_read_is_refused_with_its_reason(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "nothing", "No such file"), (tmp_path / ("a" * 300), "name too long")):
        with pytest.raises(Unreadable, match=reason):
            recognise(path)
        with pytest.raises(Unreadable, match=reason):
            load("github", path)
