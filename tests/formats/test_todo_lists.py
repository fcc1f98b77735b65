"""TODO.md and todo.txt, read and written (MV-4, MV-6 to MV-8)."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_formats.formats import FORMATS
from task_formats.record import Contents, ForeignTask, SourceFile, State

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


def read(name: str, text: str, file: str = "") -> Contents:
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
    assert (found.tasks[-1].status, found.unknown_statuses) == ("Done:", {"?"})
    milk, oats, litre, *_ = found.tasks
    assert (milk.text, oats.parent, litre.parent) == ("two lines\n\n```\n- [ ] not a task\n```", milk.id, oats.id)
    named = [(problem.place, problem.text) for problem in found.problems]
    assert named == [
        ("todo.md:2", "Not a task: Some words (and 1 more line)"),
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
        ("- [ ] \n- [ ] real\n- [ ]\n", [("real", "")]),
        (" * a\n * b\n", [("a", ""), ("b", "")]),
        ("- a\n* * *\n- b\n---\nwords\n", [("a", ""), ("b", "")]),
        ("- [ ] a\nand more\n\nwords\n", [("a", "and more")]),
        ("- [ ] a\n  - [ ] b\n  - detail of a\n\n  more of a\n", [("a", "- detail of a\n\nmore of a"), ("b", "")]),
        ("- one\n```\n- [ ] code\n```\n", [("one", "```\n- [ ] code\n```")]),
        ("- a\n  ```x``` is code\n  \\1\n- b\n", [("a", "```x``` is code\n\\1"), ("b", "")]),
        ("only words\n", []),
        ("", []),
    ],
)
def test_lists_of_every_kind_are_read(text: str, titles: list[tuple[str, str]]) -> None:
    found = read("todo-md", text)
    assert [(task.title, task.text) for task in found.tasks] == titles


@pytest.mark.requirement("MV-8")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Work\n- a\n# Done\n- b\n## v1\n- c\n", [("open", ("Work",)), ("done", ()), ("done", ("v1",))]),
        ("# My list\n## A ##\n### B\n- a\n## A\n- b\n", [("open", ("A", "B")), ("open", ("A",))]),
        ("# TODO\n- a\n## 已完成\n- b\n## In progress\n- [ ] c\n", [("active", ())]),
        ("# Done\n- a\n", [("done", ())]),
        ("## Done\n- [✅] a\n- [ ] ⏸\ufe0f b\n- [ ] ~~c~~\n", [("done", ()), ("deferred", ()), ("cancelled", ())]),
    ],
)
def test_headings_and_signs_give_states_and_labels(text: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(task.state, task.labels) for task in read("todo-md", text).tasks] == expected


@pytest.mark.requirement("MV-8")
def test_a_fence_that_stays_open_and_a_repeated_id_are_named() -> None:
    found = read("todo-md", "- [ ] a <!-- id: z -->\n  - [ ] b\n- [x] c <!-- id: z -->\n  - [ ] d\n  ```\n- [ ] e\n")
    assert [(task.title, task.parent) for task in found.tasks if task.parent] == [("b", "z"), ("d", "z-2")]
    assert [problem.place for problem in found.problems] == ["todo.md:3", "todo.md:5"]
    twice = read("todo-txt", "a id:1\nb id:1\n")
    assert [task.id for task in twice.tasks] == ["1", "1-2"]
    assert [problem.place for problem in twice.problems] == ["todo.txt:2"]


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
                "Call mum +family @phone http://x.example/y",
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
        ("(Z) low rec:1w rec:2w", ForeignTask("", "low rec:1w", rest={"rec": "2w", "priority": "Z"})),
        ("(A) a pri:B", ForeignTask("", "a", priority="critical", rest={"pri": "B"})),
        (
            "+x Ask @mum about +milk now @home @home",
            ForeignTask("", "Ask @mum about +milk now", labels=("+x", "@mum", "+milk", "@home")),
        ),
        ("x 2026-02-30 a created:z", ForeignTask("", "a", state="done", rest={"closed": "2026-02-30", "created": "z"})),
        ("due:2026-01-02 id:7", ForeignTask("", "due:2026-01-02", due="2026-01-02")),
        ("٢٠٢٦-٠١-٠١ c", ForeignTask("", "٢٠٢٦-٠١-٠١ c")),
        ("x", ForeignTask("", "x")),
        ("+only", ForeignTask("", "+only", labels=("+only",))),
        ("X not done", ForeignTask("", "X not done")),
    ],
)
def test_a_line_of_todo_txt_is_read_by_its_grammar(line: str, expected: ForeignTask) -> None:
    (task,) = read("todo-txt", f"\n{line}\r\n").tasks
    assert replace(task, id="", place="") == expected


@pytest.mark.requirement("MV-8")
@pytest.mark.parametrize("filler", [" ", "\\", "`", "# ", "- ", "~", "<!-- id: "])
def test_a_very_long_line_is_read_as_any_other(filler: str) -> None:
    found = read("todo-md", f"- [ ] a\n  b{filler * 200_000}c\n- [ ] d\n")
    assert [task.title for task in found.tasks] == ["a", "d"]
    assert found.tasks[0].text.endswith(f"{filler}c")


STATES: list[State] = ["open", "active", "blocked", "deferred", "review", "done", "cancelled"]
MARKUP = st.sampled_from(
    ["a", "- [ ] x", "  - [x] y", "\\- [ ] z", "```", "~~~~", "```js", "```b``` c", "    code", "# H", "- d", "---", ""]
)
TITLES = st.sampled_from(["a b", "[x] b", "~~c~~", "✅ d", "d 🔒", "e <!-- id: q -->", "- [ ] f", "# g", "```", "⬜"])


@st.composite
def trees(draw: st.DrawFn) -> list[ForeignTask]:
    tasks: list[ForeignTask] = []
    for number in range(draw(st.integers(0, 5))):
        above = draw(st.none() | st.sampled_from(tasks)) if tasks else None
        tasks.append(
            ForeignTask(
                f"t {number}",
                draw(TITLES),
                "\n".join(draw(st.lists(MARKUP, max_size=5))).strip("\n"),
                draw(st.sampled_from(STATES)),
                parent=above.id if above else None,
                labels=() if above else draw(st.lists(st.sampled_from(["l", "m n", "tag:z"]), unique=True).map(tuple)),
            )
        )
    return tasks


@pytest.mark.requirement("MV-6")
@settings(max_examples=50)
@given(trees())
def test_markdown_gives_back_what_was_written(tasks: list[ForeignTask]) -> None:
    written = FORMATS["todo-md"].write(tasks)
    found = FORMATS["todo-md"].read(written.files)
    assert (written.problems, found.problems) == ((), ())
    back = {task.id: task for task in found.tasks}
    assert len(found.tasks) == len(tasks)
    for task in tasks:
        labels = back[task.id].labels if task.parent else task.labels
        assert replace(back[task.id], place="", labels=labels) == replace(task, labels=labels)


WORDS = st.sampled_from(
    [
        "a",
        "b",
        "+p",
        "@q",
        "rec:1w",
        "rec:2w",
        "due:2026-01-02",
        "due:x",
        "pri:B",
        "pri:high",
        "id:7",
        "id:8",
        "x",
        "e:f",
    ]
)


@pytest.mark.requirement("MV-6")
@settings(max_examples=50)
@given(st.lists(st.lists(WORDS, max_size=6).map(" ".join).map("(Z) 2026-01-02 call {} mum".format), max_size=4))
def test_a_line_of_todo_txt_is_written_as_it_was_read(lines: list[str]) -> None:
    tasks = read("todo-txt", "\n".join(lines)).tasks
    written = FORMATS["todo-txt"].write(tasks)
    assert not written.problems
    back = FORMATS["todo-txt"].read(written.files).tasks
    assert [replace(task, place="") for task in back] == [replace(task, place="") for task in tasks]


@pytest.mark.requirement("MV-6")
def test_what_a_format_cannot_hold_is_named() -> None:
    task = ForeignTask("t 1", "A title", "text", "blocked", priority="low", labels=("Home",), created="2026-01-02")
    others = [
        ForeignTask("b", "No label"),
        ForeignTask("c", "Ended", state="done", closed="2026-01-02", priority="high"),
    ]
    assert FORMATS["todo-md"].write([task, *others]).files[0].data.decode() == (
        "## Home\n- [ ] 🔒 A title <!-- id: t 1 -->\n  text\n"
        "# Tasks\n- [ ] No label <!-- id: b -->\n- [x] Ended <!-- id: c -->\n"
    )
    written = FORMATS["todo-txt"].write([task, *others])
    assert written.files[0].data.decode() == (
        "(D) 2026-01-02 A title @Home\nNo label id:b\nx 2026-01-02 Ended pri:B id:c\n"
    )
    assert {problem.place for problem in written.problems} == {"t 1"}


@pytest.mark.requirement("MV-8")
@settings(max_examples=50)
@given(st.binary(max_size=60) | st.text("-*[] x~`#\n:+@1.()é", max_size=60).map(str.encode))
def test_no_bytes_stop_a_reader(data: bytes) -> None:
    for name in ("todo-md", "todo-txt"):
        found = FORMATS[name].read([SourceFile("x", data)])
        assert all(task.id and task.title.strip() for task in found.tasks)
        FORMATS[name].write(found.tasks)
