"""TODO.md and todo.txt, read and written (MV-4, MV-6 to MV-8)."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_formats.formats import FORMATS, recognise
from task_formats.record import ForeignTask, Reading, SourceFile, State

MARKDOWN = """# Project
Some words
and more

## Now
- [ ] Buy milk
  two lines

  ```
  - [ ] not a task
  ```
  - [x] of oats
    - [/] a litre
- [] no space
- plain
* [ ] ✅ ticked by a sign
1. [x] ~~given up~~
- [?] odd

## Done:
- [ ] old
~~~
- [ ] in a fence
~~~

| a | b |
"""


def read(name: str, text: str, file: str = "") -> Reading:
    return FORMATS[name].read([SourceFile(file or name.replace("-", "."), text.encode())])


@pytest.mark.requirement("MV-8")
def test_boxes_are_tasks_and_everything_else_is_text_or_named() -> None:
    found = read("todo-md", MARKDOWN)
    assert [(task.title, task.state, task.labels) for task in found.tasks] == [
        ("Buy milk", "open", ("Now",)),
        ("of oats", "done", ("Now",)),
        ("a litre", "active", ("Now",)),
        ("no space", "open", ("Now",)),
        ("ticked by a sign", "done", ("Now",)),
        ("given up", "cancelled", ("Now",)),
        ("odd", "open", ("Now",)),
        ("old", "done", ()),
    ]
    milk, oats, litre, *_ = found.tasks
    assert (milk.text, oats.parent, litre.parent) == ("two lines\n\n```\n- [ ] not a task\n```", milk.id, oats.id)
    named = [(problem.place, problem.text) for problem in found.problems]
    assert named == [
        ("todo.md:2", "Not a task: Some words"),
        ("todo.md:15", "Not a task: - plain"),
        ("todo.md:26", "Not a task: | a | b |"),
    ]
    assert found.tasks[-1].text.splitlines() == ["~~~", "- [ ] in a fence", "~~~"]


@pytest.mark.requirement("MV-8")
@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("- one\n- two\n  - a detail\n", [("one", ""), ("two", "- a detail")]),
        ("1. first\n2) second\n", [("first", ""), ("second", "")]),
        ("* [ ] a\r\n* [x] b\r\n", [("a", ""), ("b", "")]),
        ("\ufeff- [ ] marked\n", [("marked", "")]),
        ("- [ ] \n- [ ] real\n", [("real", "")]),
        ("only words\n", []),
        ("", []),
    ],
)
def test_lists_of_every_kind_are_read(text: str, titles: list[tuple[str, str]]) -> None:
    found = read("todo-md", text)
    assert [(task.title, task.text) for task in found.tasks] == titles


@pytest.mark.requirement("MV-4")
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("todo-md", "- [ ] a\n- [ ] b\n- [ ] a\n", "# New\n- [ ] c\n- [x] a\n- [ ] b\n- [ ] a\n"),
        ("todo-txt", "a\nb +x\na\n", "c\nx 2026-01-02 a\nb +x\na\n"),
    ],
)
def test_an_id_stays_when_other_lines_come_or_a_task_is_done(name: str, before: str, after: str) -> None:
    old, new = ({task.id for task in read(name, text).tasks} for text in (before, after))
    assert len(old) == 3
    assert old < new


@pytest.mark.requirement("MV-7")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "(A) 2026-01-02 Call mum +family @phone due:2026-01-05 http://x.example/y",
            ForeignTask(
                "",
                "Call mum http://x.example/y",
                priority="critical",
                labels=("+family", "@phone"),
                created="2026-01-02",
                due="2026-01-05",
            ),
        ),
        (
            "x 2026-01-03 2026-01-01 Pay rent rec:1m pri:B due:soon",
            ForeignTask(
                "",
                "Pay rent",
                state="done",
                priority="high",
                created="2026-01-01",
                closed="2026-01-03",
                rest={"rec": "1m", "due": "soon"},
            ),
        ),
        ("(Z) low rec:1w rec:2w", ForeignTask("", "low rec:2w", rest={"rec": "1w", "priority": "Z"})),
        ("x", ForeignTask("", "x")),
        ("+only", ForeignTask("", "+only", labels=("+only",))),
        ("X not done", ForeignTask("", "X not done")),
    ],
)
def test_a_line_of_todo_txt_is_read_by_its_grammar(line: str, expected: ForeignTask) -> None:
    (task,) = read("todo-txt", f"\n{line}\r\n").tasks
    assert replace(task, id="", place="") == expected


STATES: list[State] = ["open", "active", "done", "cancelled"]
TITLES = st.from_regex(r"[A-Za-z][A-Za-z0-9 ,.]{0,20}[a-z]", fullmatch=True)
TEXTS = st.lists(st.from_regex(r"[ -~]{1,20}", fullmatch=True).map(str.strip).filter(bool), max_size=3).map("\n".join)


@pytest.mark.requirement("MV-6")
@given(st.lists(st.tuples(TITLES, TEXTS, st.sampled_from(STATES), st.integers(0, 5)), max_size=5))
def test_markdown_gives_back_what_was_written_or_says_what_it_lacks(
    drawn: list[tuple[str, str, State, int]],
) -> None:
    tasks: list[ForeignTask] = []
    for number, (title, text, state, above) in enumerate(drawn):
        parent = tasks[above % len(tasks)].id if tasks and above else None
        tasks.append(ForeignTask(f"t{number}", " ".join(title.split()), text, state, parent=parent))
    written = FORMATS["todo-md"].write(tasks)
    back = {task.id: task for task in FORMATS["todo-md"].read(written.files).tasks}
    lost = {problem.place for problem in written.problems}
    for task in tasks:
        assert task.id in lost or replace(back[task.id], place="", labels=()) == task


@pytest.mark.requirement("MV-6")
def test_what_a_format_cannot_hold_is_named() -> None:
    task = ForeignTask("t 1", "A title", "text", "blocked", priority="low", labels=("Home",), created="2026-01-02")
    others = [
        ForeignTask("b", "No label"),
        ForeignTask("c", "Ended", state="done", closed="2026-01-02", priority="high"),
    ]
    assert FORMATS["todo-md"].write([task, *others]).files[0].data.decode() == (
        "## Home\n- [ ] A title\n  text\n# Tasks\n- [ ] No label <!-- id: b -->\n- [x] Ended <!-- id: c -->\n"
    )
    written = FORMATS["todo-txt"].write([task, *others])
    assert written.files[0].data.decode() == (
        "(D) 2026-01-02 A title @Home\nNo label id:b\nx 2026-01-02 Ended pri:B id:c\n"
    )
    assert {problem.place for problem in written.problems} == {"t 1"}


@pytest.mark.requirement("MV-8")
@given(st.binary(max_size=60) | st.text("-*[] x~`#\n:+@1.()é", max_size=60).map(str.encode))
def test_no_bytes_stop_a_reader(data: bytes) -> None:
    for name in ("todo-md", "todo-txt"):
        found = FORMATS[name].read([SourceFile("x", data)])
        assert all(task.id and task.title.strip() for task in found.tasks)
        FORMATS[name].write(found.tasks)


@pytest.mark.requirement("MV-1")
@pytest.mark.parametrize(
    ("name", "file", "text"),
    [("todo-md", "TODO.md", "- [ ] a\n"), ("todo-txt", "todo.txt", "(A) a +b\nx 2026-01-02 c\n")],
)
def test_a_list_is_recognised(name: str, file: str, text: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text, "utf-8")
    assert recognise(tmp_path)[0] == name
    assert recognise(tmp_path / file)[0] == name
