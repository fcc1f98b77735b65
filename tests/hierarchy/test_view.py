"""The tasks as people see them: trees in the order of work, and next the leaf to work on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hierarchy_mcp.settings import HierarchySettings
from hierarchy_mcp.view import open_view
from task_core.errors import TaskNotFound
from task_core.view import View
from tests.hierarchy.conftest import ServedTree, serve_on, tree
from tests.postgres import ON_POSTGRES, share_pool


@pytest.fixture(params=["json", "sqlite", ON_POSTGRES])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> ServedTree:
    return serve_on(request.param, tmp_path)


@pytest.fixture
def shown(kept: ServedTree) -> Iterator[View]:
    where = {"file_path": kept.path} if kept.path else kept.store
    view = open_view(share_pool(HierarchySettings.model_validate(where)))
    yield view
    view.close()


async def plant(served: ServedTree) -> None:
    await served.create(tree("top", tree("a"), tree("b", tree("c"), tree("d"))), tree("other", tree("e")))


async def test_trees_are_listed_depth_first_with_the_status_that_follows_from_their_leaves(
    kept: ServedTree, shown: View
) -> None:
    await plant(kept)
    await kept.finish("a")
    await kept.call("startTask", id="c")
    assert [(line.id, line.status, line.text, line.note, line.depth) for line in shown.lines()] == [
        ("top", "in_progress", "top", "", 0),
        ("a", "done", "a", "", 1),
        ("b", "in_progress", "b", "", 1),
        ("c", "in_progress", "c", "", 2),
        ("d", "todo", "d", "", 2),
        ("other", "todo", "other", "", 0),
        ("e", "todo", "e", "", 1),
    ]
    assert [line.id for line in shown.lines(["in-progress"])] == ["top", "b", "c"]
    assert {line.id for line in shown.lines() if line.status in shown.finished} == {"a"}


async def test_a_task_is_shown_with_its_subtasks_as_its_tool_shows_it(kept: ServedTree, shown: View) -> None:
    await plant(kept)
    assert shown.task("top") == (await kept.call("getTask", id="top"))["task"]
    with pytest.raises(TaskNotFound, match="Did you mean 'other'"):
        shown.task("othe")


async def test_the_next_leaf_is_the_active_one_and_else_the_first_that_is_open(kept: ServedTree, shown: View) -> None:
    assert shown.next() is None
    await plant(kept)
    found = [shown.next()]
    await kept.call("startTask", id="e")
    found.append(shown.next())
    await kept.finish("e", "a")
    found.append(shown.next())
    await kept.finish("c", "d")
    assert [*found, shown.next()] == ["a", "e", "c", None]


async def test_the_next_leaf_is_the_one_that_a_completion_names(kept: ServedTree, shown: View) -> None:
    await plant(kept)
    for leaf in ("a", "c", "d"):
        await kept.call("startTask", id=leaf)
        answer = await kept.call("completeTask", id=leaf, resolution="done")
        assert answer["next_task_id"] == shown.next()
