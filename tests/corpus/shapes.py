"""Made-up projects and HEARTBEAT.md files in the shapes that real ones have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from pydantic import JsonValue

__all__ = ["HEARTBEATS", "PROJECTS", "write_corpus"]

Fields = dict[str, JsonValue]


def _item(number: JsonValue, *dependencies: JsonValue, **fields: JsonValue) -> Fields:
    """Return a task, or a subtask."""
    found: Fields = {
        "id": number,
        "title": f"Title {number}",
        "description": "d",
        "status": "pending",
        "priority": "medium",
    }
    return {**found, "dependencies": [*dependencies], **fields}


def _tag(*tasks: JsonValue, **members: JsonValue) -> Fields:
    return {"tasks": [*tasks], "metadata": {"created": "2025-01-01T00:00:00.000Z", "description": "m"}, **members}


def _text(document: object, indent: int | str | None = 2) -> str:
    return json.dumps(document, ensure_ascii=False, indent=indent)


_NESTED: Final[list[JsonValue]] = [_item(1), _item(2, 1), _item(3, "1", 2)]

_USUAL: Final[list[JsonValue]] = [
    _item(1, status="done"),
    _item(2, 1, subtasks=_NESTED),
    _item(3, 2, "2.1", subtasks=[]),
]


def _masters(*tasks: JsonValue) -> str:
    return _text({"master": _tag(*tasks)})


PROJECTS: Final[dict[str, str | bytes]] = {
    "usual": _masters(*_USUAL),
    "compact": _text({"master": _tag(*_USUAL)}, None),
    "tabs": _text({"master": _tag(*_USUAL)}, "\t"),
    "four-blanks": _text({"master": _tag(*_USUAL)}, 4) + "\n",
    "crlf": _masters(*_USUAL).replace("\n", "\r\n"),
    "bom": b"\xef\xbb\xbf" + _masters(*_USUAL).encode(),
    "escaped": json.dumps({"master": _tag(_item(1, title="Grüße 你好 \u2028 😀"), *_USUAL[1:])}),
    "odd-layout": '{"master":{ "tasks" :[\n{"id":1,"title":"a" ,"status":"pending"},{"id":2,"title":"b"}\n\n]}}',
    "blank": "",
    "only-braces": "{}",
    "no-tasks": _masters(),
    "several-tags": _text({"master": _tag(*_USUAL), "feature-x": _tag(*_USUAL), "Löschen & mehr": _tag(_item(1))}),
    "one-other-tag": _text({"work": _tag(*_USUAL)}),
    "tag-is-a-list": _text({"master": _USUAL}),
    "tag-is-an-empty-list": _text({"master": []}),
    "tags-are-lists": _text({"master": [], "backlog": _USUAL}),
    "a-tag-and-a-list": _text({"master": _tag(*_USUAL), "ideas": [1, 2]}),
    "no-tag": _text({"tasks": _USUAL, "metadata": {"projectName": "p", "totalTasks": 3}, "version": "1.0"}),
    "no-tag-and-no-metadata": _text({"tasks": _USUAL}),
    "a-list": _text(_USUAL),
    "other-members": _text({"$schema": "x", "master": _tag(*_USUAL, note=1), "settings": {"a": 1.50}, "list": [1]}),
    "metadata-is-text": _text({"master": {"tasks": _USUAL, "metadata": "none"}}),
    "metadata-counts": _text({"master": _tag(*_USUAL) | {"metadata": {"taskCount": 9, "x": 1}}}),
    "text-numbers": _masters(_item("1"), _item("2", "1", subtasks=[_item("1"), _item("2", "1")]), _item("3", "2.1")),
    "mixed-numbers": _masters(_item(1), _item("2", "1", 1), _item(3, 2, "2")),
    "whole-ids": _masters(_item(1), _item(2, subtasks=[_item("2.1"), _item("2.2", "2.1"), _item(2.3, 2.1)])),
    "slugs": _masters(
        _item("login-page", subtasks=[_item("form"), _item("submit", "form")]), _item("API", "login-page")
    ),
    "prefixed": _masters(
        _item("HAM-1"), _item("HAM-2", "HAM-1", subtasks=[_item("HAM-2.1"), _item("HAM-2.2", "HAM-2.1")])
    ),
    "prefixed-beside-numbers": _masters(_item(1), _item("HAM-1", 1), _item(2, "HAM-1")),
    "decimals": _masters(_item(1), _item(3.1, 1), _item(3.2, 3.1), _item(4, 3.1, "3.2")),
    "decimals-beside-subtasks": _masters(_item(3, subtasks=[_item(2), _item(3)]), _item(3.1, 3), _item(4, 3.1)),
    "decimals-beside-numbers": _masters(_item(1), _item(1.1, 1), _item(1.2, 1.1), _item(2, 1.2, subtasks=[_item(1)])),
    "prefixed-tasks": _masters(_item("HAM-2"), _item("HAM-2.1", "HAM-2"), _item("HAM-2.2", "HAM-2.1")),
    "zero": _masters(_item(0), _item(1, 0), _item(2, "0")),
    "negative": _masters(_item(-1), _item(1, -1)),
    "huge": _masters(_item(1738000000000), _item(20250115123456, 1738000000000)),
    "letters-behind": _masters(_item("1a"), _item("1b", "1a"), _item("10", "1b")),
    "leading-zeros": _masters(_item("001"), _item("002", "001"), _item("003", "002", "1")),
    "ids-with-blanks": _masters(_item("phase 1"), _item(" 2 ", "phase 1"), _item("3: Login", "phase 1")),
    "ids-with-commas": _masters(_item("a,b"), _item("c", "a,b")),
    "ids-with-marks": _masters(_item("#12"), _item("(x)", "#12"), _item("T/1", "(x)")),
    "uuids": _masters(_item("550e8400-e29b-41d4-a716-446655440000"), _item(2, "550e8400-e29b-41d4-a716-446655440000")),
    "three-levels": _masters(_item("1.2.3"), _item("1.2.4", "1.2.3"), _item("1.2", "1.2.4")),
    "deep-subtasks": _masters(_item(1, subtasks=[_item(1, subtasks=[_item(1), _item(2, 1)]), _item(2, 1)])),
    "repeated-ids": _masters(_item(1), _item(1, title="again"), _item(2, 1, subtasks=[_item(1), _item(1)])),
    "no-ids": _masters({"title": "a", "status": "pending"}, {"title": "b"}, _item(1)),
    "null-as-id": _masters(_item(None), _item(None, title=True), _item(1, None, [None])),
    "number-of-a-task": _masters(_item(1), _item(2), _item(3, 1, 2, subtasks=[_item(1, 2), _item(2, 1)])),
    "number-of-a-later-task": _masters(_item(1, subtasks=[_item(1, 4), _item(4, 1)]), _item(4)),
    "both-readings": _masters(_item(1), _item(2), _item(3, subtasks=[_item(1), _item(2), _item(5, 1, "2")])),
    "objects-as-dependencies": _masters(_item(1), _item(2, {"id": 1, "type": "blocks"}), _item(3, [1])),
    "dependencies-as-text": _masters(_item(1), _item(2, dependencies="1"), _item(3, dependencies="1, 2")),
    "dependencies-are-null": _masters(_item(1, dependencies=None), _item(2, 1, subtasks=None)),
    "wrong-dependencies": _masters(_item(1, 1, 9, 2, 2), _item(2, 1), _item(3, "3.1", subtasks=[_item(1, "3")])),
    "other-titles-as-dependencies": _masters(_item(1), _item(2, "Title 1"), _item(3, "Task 2")),
    "other-tag-as-dependency": _text({"master": _tag(_item(1)), "x": _tag(_item(5, 1, "master:1"))}),
    "status-words": _masters(
        *(
            _item(at, status=word)
            for at, word in enumerate(["todo", "In Progress", "Done", "completed", "BLOCKED", "x"])
        )
    ),
    "status-odd": _masters(
        _item(1, status=None), _item(2, status=3), _item(3, status={"a": 1}), {"id": 4, "title": "t"}
    ),
    "priority-odd": _masters(_item(1, priority="P0"), _item(2, priority=1), _item(3, priority="High")),
    "details-are-lists": _masters(_item(1, details=["a", "b"], testStrategy=["c"]), _item(2, details={"steps": [1]})),
    "titles-odd": _masters(
        _item(1, title=None), _item(2, title=["a"]), _item(3, title="a\nb"), _item(4, title="x" * 900)
    ),
    "subtasks-odd": _masters(
        _item(1, subtasks={"a": 1}), _item(2, subtasks=["a", _item(1)]), _item(3, subtasks="none")
    ),
    "tasks-odd": _masters("note", None, 5, [], _item(1)),
    "numbers-odd": '{"master": {"tasks": [{"id": 1, "title": "a", "cost": 1.0, "big": 12345678901234567, "e": 1E5}]}}',
    "more-fields": _masters(_item(1, complexity={"score": 7}, tags=["a"], updatedAt="x", parentId="undefined")),
    "order": _masters(_item(5), _item(2, 5), _item(9, 2), _item(1, 9)),
    "merge-marks": '{\n<<<<<<< HEAD\n"master": {"tasks": []}\n=======\n>>>>>>> x\n}',
    "comma-behind": '{"master": {"tasks": [{"id": 1, "title": "a"},]}}',
    "key-twice": '{"master": {"tasks": []}, "master": {"tasks": [{"id": 1}]}}',
    "comments": '{\n// tasks\n"master": {"tasks": []}}',
    "utf-16": _masters(_item(1)).encode("utf-16"),
    "cut-off": _masters(*_USUAL)[:200],
}
"""The text of ``.taskmaster/tasks/tasks.json`` by the name of the project."""

_OLD: Final = {
    "old-place": _text({"tasks": _USUAL, "metadata": {"projectName": "p"}}, 4),
    "other-program": _text({"version": 2, "tasks": [{"id": "job", "name": "Report", "on": 1}], "types": []}),
    "other-program-with-titles": _text({"tasks": [{"id": 1, "title": "t", "done": False}], "lists": []}),
    "editor-tasks": _text({"version": "2.0.0", "tasks": [{"label": "build", "type": "shell", "command": "make"}]}),
}
"""The text of ``tasks/tasks.json`` in projects without ``.taskmaster``."""

_HEAD: Final = "# Beat\n\nRead the mail.\n\n"

HEARTBEATS: Final[dict[str, str | bytes]] = {
    "usual": f"{_HEAD}## TODO\n- one\n- [ ] two\n- [x] three\n\n## Notes\n- four\n",
    "no-section": _HEAD,
    "blank": "",
    "no-newline": f"{_HEAD}## TODO\n- one",
    "crlf": f"{_HEAD}## TODO\n- one\n- two\n\n## Notes\nx\n".replace("\n", "\r\n"),
    "bom": b"\xef\xbb\xbf" + f"{_HEAD}## TODO\n- one\n".encode(),
    "latin-1": "# Gr\xfc\xdfe\n\n## TODO\n- one\n".encode("latin-1"),
    "labels": f"{_HEAD}## TODO\nDo:\n- water the plants\n\nNever do:\n- delete mail\n\n**Later**\n- rest\n",
    "levels": f"{_HEAD}## TODO\n- one\n\n### Never\n- two\n\n#### Ever\n- three\n",
    "boxes": "## TODO\n- [-] a\n- [~] b\n- [/] c\n- [>] d\n- [?] e\n- ~~f~~\n- [] g\n- [X] h\n",
    "nested": "## TODO\n- [ ] Ship\n  - [x] write\n  - [ ] review\n    - [ ] again\n- [ ] Rest\n  - as notes\n",
    "continued": "## TODO\n- one\n  and more of it\n\n  a paragraph\n- two\n",
    "numbered": "## TODO\n1. one\n2. two\n\n* three\n+ four\n",
    "placeholders": "## TODO\n- Placeholder, append below\n-\n- (none)\n- ...\n",
    "recurring": "## TODO\n- Every 30 minutes: look at the inbox\n- Daily 09:00: weather\n",
    "code": "## TODO\n- run `npm test && echo <ok>`\n- see\n\n```\n- not a task\n## TODO\n```\n",
    "comments": "<!-- ## TODO -->\n## TODO\n<!-- add below -->\n- one\n<!-- - two -->\n",
    "table": "## TODO\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n",
    "quote": "## TODO\n> - quoted\n\n- one\n",
    "bold-heading": "## **TODO**\n- one\n",
    "closed-heading": "## TODO ##\n- one\n",
    "subtitle": "## TODO – list below\n- one\n\n## Done\n- two\n",
    "other-names": "# Beat\n\n## To-Do\n- one\n\n## Active Tasks\n- two\n\n## 待办\n- three\n",
    "level-1": "# TODO\n- one\n",
    "twice": "## TODO\n- one\n\n## TODO\n- two\n",
    "front-matter": "---\ntodo: [a]\n---\n## TODO\n- one\n",
    "entities": "## TODO\n- a &amp; b &lt;c&gt;\n- 1\\. d\n- *e* _f_ **g**\n",
    "links": "## TODO\n- [text](https://example.com/a_b) and <https://example.com>\n- [[note]] #tag @me\n",
    "long": f"## TODO\n- {'word ' * 300}\n",
    "many": "## TODO\n" + "".join(f"- task {number}\n" for number in range(40)),
    "source-form": "## TODO\n- [Pending] cool-apple: Short title\n  - Raw User Request: buy\n  - Status: Pending\n",
    "emoji": "## TODO\n- ✅ one\n- 🔥 two ⏳\n- 买牛奶\n",
    "merge-marks": "## TODO\n<<<<<<< HEAD\n- one\n=======\n- two\n>>>>>>> x\n",
    "tabs": "## TODO\n-\tone\n\t- two\n",
}
"""The text of HEARTBEAT.md by its name."""


def write_corpus(folder: Path) -> int:
    """Write every project and HEARTBEAT.md into ``folder``, and return how many there are."""
    files = {f"{name}/.taskmaster/tasks/tasks.json": text for name, text in PROJECTS.items()}
    files |= {f"{name}/tasks/tasks.json": text for name, text in _OLD.items()}
    files |= {f"heartbeat/{name}.md": text for name, text in HEARTBEATS.items()}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return len(files)
