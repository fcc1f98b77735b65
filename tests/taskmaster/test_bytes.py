"""Bytes that nobody changed stay as they are, however the file is laid out (TM-18, TM-20)."""

from __future__ import annotations

import pytest

from tests.taskmaster.conftest import Object, ServedProject

EMPTY = '{"tasks": [], "metadata": {}}'


@pytest.mark.requirement("TM-18", "TM-20")
@pytest.mark.parametrize(
    ("before", "tool", "arguments", "kept"),
    [
        pytest.param(
            '\ufeff{\n  "master": {"tasks": [{"id": 1}]}\n}',
            "set_task_status",
            {"id": "1", "status": "done"},
            ['\ufeff{\n  "master": {"tasks": [{"id": 1'],
            id="the mark of the encoding",
        ),
        pytest.param(
            '{ "master": {"tasks": [{"id": 1}]}\n, "b": 1\n}\n',
            "set_task_status",
            {"id": "1", "status": "done"},
            ['{ "master": {"tasks": [{"id": 1', '\n, "b": 1\n}\n'],
            id="space before a comma",
        ),
        pytest.param(
            '{\n "m": '
            + EMPTY
            + ',\n "f": {"tasks": [{"id": 1, "title": "caf\\u00e9", "n": 1.50}], "metadata": {}}\n}',
            "rename_tag",
            {"oldName": "f", "newName": "g"},
            ['{\n "m": ' + EMPTY + ',\n "g": {"tasks": [{"id": 1, "title": "caf\\u00e9", "n": 1.50}], "metadata": {'],
            id="tasks of a renamed tag",
        ),
        pytest.param(
            '{"master": {"tasks": [\n  {"id": 1, "title": "caf\\u00e9", "n": 1.50},\n  {"id": 2, "x": 1E3}\n]}}',
            "move_task",
            {"from": "1", "to": "9"},
            ['{"master": {"tasks": [\n  {"id": 2, "x": 1E3},\n  {"id": 9, "title": "caf\\u00e9", "n": 1.50,'],
            id="fields of a renumbered task",
        ),
    ],
)
async def test_what_is_not_changed_keeps_its_bytes(
    project: ServedProject, before: str, tool: str, arguments: Object, kept: list[str]
) -> None:
    project.write(before)
    await project.call(tool, **arguments)
    found = project.path.read_text()
    assert found.startswith(kept[0])
    assert all(text in found for text in kept)


@pytest.mark.requirement("TM-20")
@pytest.mark.parametrize("empty", ["{}", "{ }\n", "{\n}\n"])
async def test_an_empty_document_becomes_one_with_lines(project: ServedProject, empty: str) -> None:
    project.write(empty)
    for title in ("a", "b"):
        await project.call("add_task", title=title)
        text = project.path.read_text()
        assert text.startswith('{\n  "master": {\n    "tasks": [\n')
        assert text.rstrip().removesuffix("}").rstrip(" ").endswith("\n  }\n")
