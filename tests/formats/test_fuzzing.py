"""Files that nobody wrote on purpose: no reader stops, and everything is a task, counted or named (MV-8)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_formats.formats import FORMATS
from task_formats.record import SourceFile

TEXTS = {
    "claude-tasks": json.dumps(
        [{"id": "1", "subject": "a", "status": "pending", "blocks": ["2"], "blockedBy": []}, {"content": "b"}]
    ),
    "github": json.dumps(
        [{"number": 1, "title": "a", "labels": [{"name": "x"}], "parent": {"number": 2}, "url": "/issues/"}]
    ),
    "taskmaster": json.dumps({"a": {"tasks": [{"id": 1, "title": "b", "subtasks": [{"id": 1}], "dependencies": [1]}]}}),
    "todo-md": "# T\r\n- [ ] a <!-- id: 1 -->\r\n  ```\r\n  b\r\n  ```\r\n## Done\r\n* [] ~~c~~\r\n1. ✅ d\r\n",
    "todo-txt": "(A) 2026-01-02 a +b @c due:2026-01-03 id:1\r\nx 2026-01-02 2026-01-01 d pri:B\r\n",
}


@st.composite
def broken(draw: st.DrawFn, name: str) -> bytes:
    """Return a good file with some bytes replaced, cut out, doubled or strange."""
    data = TEXTS[name].encode()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 8)))
        more = draw(st.sampled_from([b"", data[start:end] * 2, b"\xff", b"\x00", b"\xef\xbb\xbf", b"\r", b"[", b"{}"]))
        data = data[:start] + more + data[end:]
    return data


@pytest.mark.requirement("MV-8")
@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=50)
@given(st.data())
def test_a_damaged_file_is_read_or_named(name: str, data: st.DataObject) -> None:
    files = [SourceFile("x", data.draw(broken(name) | st.binary(max_size=60)))]
    found = FORMATS[name].read(files)
    assert found == FORMATS[name].read(files)
    assert all(task.id and task.title.strip() and "\n" not in task.title for task in found.tasks)
    assert len({task.id for task in found.tasks}) == len(found.tasks)
    assert all(it.place.split(":")[0] == "x" for it in (*found.tasks, *found.problems))
    if name.startswith("todo"):
        written = FORMATS[name].write(found.tasks)
        assert len(FORMATS[name].read(written.files).tasks) == len(found.tasks)
    else:
        assert found.tasks or found.problems or found.left_out or files[0].data.strip() in {b"[]", b""}
    FORMATS[name].signs(files)


STARTS = st.sampled_from(["", "- ", "- [ ] ", "  - [x] ", "    ", "1. ", "## ", "# ", "> ", "- [?] ", "```", "\t* "])


@pytest.mark.requirement("MV-8")
@settings(max_examples=50)
@given(st.lists(st.none() | STARTS, max_size=12))
def test_every_line_of_a_markdown_list_is_in_a_task_counted_or_named(starts: list[str | None]) -> None:
    lines = ["" if start is None else f"{start}word{number}." for number, start in enumerate(starts)]
    found = FORMATS["todo-md"].read([SourceFile("x", "\n".join(lines).encode())])
    held = "\n".join(f"{it.title} {it.text} {it.status} {it.labels}" for it in found.tasks)
    named = "\n".join(it.text for it in found.problems)
    missing = [line for number, line in enumerate(lines) if line and f"word{number}." not in f"{held}\n{named}"]
    more = sum(
        int(text.split(" more line")[0].rpartition("and ")[2]) for text in named.split("\n") if " more line" in text
    )
    assert len(missing) == found.left_out.get("headings", 0) + more
