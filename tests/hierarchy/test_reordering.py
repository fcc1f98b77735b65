"""The order of the roots that a person changes in the document is news like any other change (EN-20)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hierarchy_mcp.codec import CODEC
from hierarchy_mcp.settings import HierarchySettings
from task_core.store import open_store
from task_core.warning_list import WarningList


@pytest.mark.requirement("EN-20", "ST-5")
def test_roots_with_another_place_are_among_the_changes(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    trees: dict[str, object] = {
        name: {"id": name, "name": name, "tasks": [{"id": f"{name}1", "name": "x"}]} for name in "abcd"
    }

    def write(order: str) -> None:
        path.write_text(json.dumps([trees[name] for name in order]), "utf-8")

    write("abcd")
    store = open_store(HierarchySettings(file_path=path), CODEC, WarningList())
    token = store.changes(None, 9).token
    for order, moved in (("cbad", "bc"), ("cbad", ""), ("cbda", "d")):
        write(order)
        found = store.changes(token, 9)
        assert ("".join(sorted(name for name, _ in found.records)), found.reset) == (moved, False)
        token = found.token
