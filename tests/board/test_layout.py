"""How tasks are laid out: columns and trees, filtered, and no more of them than is asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain

import pytest

from task_board.stores import Snapshot
from task_board.web.layout import PAGE, Filters, Shown, TreeNode, lay_out_columns, lay_out_tree
from task_core.view import Line

STATUSES = ("open", "done")
DONE = frozenset({"done"})
TREE = Snapshot(
    [
        Line("1", "open", "Release", "", 0),
        Line("1.1", "done", "Build", "", 1),
        Line("1.1.1", "done", "Compile", "", 2),
        Line("1.1.1.1", "done", "Link", "", 3),
        Line("1.2", "open", "Ship", "high", 1),
        Line("2", "open", "Party", "", 0),
    ]
)


def listed(number: int, status: str = "open") -> list[Line]:
    return [Line(f"{status}{place}", status, f"Task {place}") for place in range(number)]


def outline(nodes: list[TreeNode]) -> list[object]:
    """Return the ids of nodes, each with those below it if it is open."""
    return [[node.line.id, outline([*node.below])] if node.is_open else node.line.id for node in nodes]


def test_each_status_has_a_column_even_without_tasks_and_one_that_nobody_knows_comes_last() -> None:
    tasks = Snapshot([*listed(2), Line("x", "odd", "Odd")])
    columns = lay_out_columns(tasks, STATUSES, {"done"}, Filters(), Shown())
    assert [(column.status, column.is_finished, column.count) for column in columns] == [
        ("open", False, 2),
        ("done", True, 0),
        ("odd", False, 1),
    ]


def test_a_column_shows_a_page_until_the_user_asks_for_more() -> None:
    tasks = Snapshot([*listed(10_000), *listed(60, "done")])
    for limit, shown in (0, PAGE), (10, PAGE), (150, 150), (99_999, 5_000):
        first, second = lay_out_columns(tasks, STATUSES, (), Filters(), Shown({"open": limit} if limit else {}))
        assert (len(first.lines), first.count) == (shown, 10_000)
        assert (len(second.lines), second.count) == (PAGE, 60)


@pytest.mark.requirement("PE-13")
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (Filters(), [2, 1]),
        (Filters("MILK"), [1, 0]),
        (Filters("buy  milk"), [1, 0]),
        (Filters("d2"), [0, 1]),
        (Filters("nothing"), [0, 0]),
        (Filters("skimmed"), [1, 0]),
        (Filters(priority="medium"), [1, 0]),
        (Filters(topic="home"), [1, 1]),
        (Filters(tag="shop"), [1, 0]),
        (Filters(statuses=["done"]), [1]),
    ],
)
def test_filters_choose_by_words_status_priority_topic_and_tag(filters: Filters, found: list[int]) -> None:
    tasks = Snapshot(
        [
            Line("a", "open", "Buy Milk", priority="medium", topic="home", tags=["shop"], more="Not the skimmed kind"),
            Line("b", "open", "Read mail", "high", priority="high"),
            Line("d2", "done", "Rest", topic="home"),
        ]
    )
    assert [column.count for column in lay_out_columns(tasks, STATUSES, (), filters, Shown())] == found


@pytest.mark.requirement("PE-13")
@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("", ["b", "a", "c"]),
        ("unknown", ["b", "a", "c"]),
        ("priority", ["a", "b", "c"]),
        ("newest", ["c", "b", "a"]),
        ("oldest", ["a", "b", "c"]),
        ("changed", ["a", "c", "b"]),
    ],
)
def test_the_tasks_of_a_column_have_the_order_that_the_user_chose(order: str, ids: list[str]) -> None:
    def at(day: int) -> datetime:
        return datetime(2026, 1, day, tzinfo=UTC)

    tasks = Snapshot(
        [
            Line("b", "open", "B", priority="low", created_at=at(2)),
            Line("a", "open", "A", priority="high", created_at=at(1), changed_at=at(9)),
            Line("c", "open", "C", created_at=at(3), changed_at=at(4)),
        ]
    )
    first, _ = lay_out_columns(tasks, STATUSES, (), Filters(), Shown(), order, ["high", "low"])
    assert [line.id for line in first.lines] == ids


@pytest.mark.requirement("PE-9")
def test_a_node_counts_all_its_subtasks_whatever_the_filter_and_says_whether_work_has_begun() -> None:
    tasks = Snapshot(
        [
            Line("1", "todo", "Release"),
            Line("1.1", "done", "Build", depth=1),
            Line("1.2", "todo", "Ship", depth=1),
            Line("1.2.1", "in_progress", "Pack", depth=2),
            Line("2", "todo", "Party"),
            Line("2.1", "canceled", "Invite", depth=1),
        ]
    )
    for filters in Filters(), Filters("ship"), Filters("pack"):
        nodes, _, _ = lay_out_tree(tasks, {"done", "canceled"}, filters, Shown())
        assert (nodes[0].done, nodes[0].total, nodes[0].has_begun) == (1, 2, True)
        assert [(node.line.id, node.has_begun) for node in nodes[0].below][-1] == ("1.2", True)
    last = lay_out_tree(tasks, {"done", "canceled"}, Filters(), Shown())[0][-1]
    assert (last.done, last.total, last.has_begun) == (1, 1, False)


@pytest.mark.requirement("PE-11")
def test_a_task_waits_for_what_it_needs_until_that_is_finished() -> None:
    tasks = Snapshot(
        [
            Line("1", "done", "Dig"),
            Line("2", "open", "Pour", needs=["1"]),
            Line("3", "open", "Build", needs=["1", "2", "9"]),
            Line("4", "done", "Sleep", needs=["2"]),
        ]
    )
    waiting = {line.id: [task.id for task in tasks.waits_for(line, {"done"})] for line in tasks.lines}
    assert waiting == {"1": [], "2": [], "3": ["2"], "4": []}


def test_a_small_tree_is_open_to_its_third_level() -> None:
    nodes, count, limit = lay_out_tree(TREE, DONE, Filters(), Shown())
    assert outline(nodes) == [["1", [["1.1", ["1.1.1"]], "1.2"]], "2"]
    assert (count, limit) == (2, PAGE)
    assert [(node.count, node.parent) for node in nodes] == [(2, ""), (0, "")]
    assert nodes[0].below[0].parent == "1"


def test_the_user_opens_and_shuts_what_is_below_a_task() -> None:
    nodes, _, _ = lay_out_tree(TREE, DONE, Filters(), Shown(open=["1.1.1"]))
    assert outline(nodes) == [["1", [["1.1", [["1.1.1", ["1.1.1.1"]]]], "1.2"]], "2"]
    nodes, _, _ = lay_out_tree(TREE, DONE, Filters(), Shown(shut=["1"]))
    assert outline(nodes) == ["1", "2"]


def test_a_large_tree_is_shut_and_its_levels_are_pages() -> None:
    lines = [
        line for root in range(200) for line in (Line(f"r{root}", "open", ""), Line(f"c{root}", "open", "", "", 1))
    ]
    nodes, count, _ = lay_out_tree(Snapshot(lines), DONE, Filters(), Shown())
    assert (len(nodes), count, nodes[0].is_open, nodes[0].count) == (PAGE, 200, False, 1)
    nodes, _, _ = lay_out_tree(Snapshot(lines), DONE, Filters(), Shown({"": 150}, open=["r1"]))
    assert len(nodes) == 150
    assert outline(nodes[:2]) == ["r0", ["r1", ["c1"]]]


def test_a_filtered_tree_shows_what_matches_and_what_is_above_it() -> None:
    nodes, _, _ = lay_out_tree(TREE, DONE, Filters("link"), Shown())
    assert outline(nodes) == [["1", [["1.1", [["1.1.1", ["1.1.1.1"]]]]]]]
    assert lay_out_tree(TREE, DONE, Filters(priority="high", statuses=["done"]), Shown())[0] == []


def test_of_two_tasks_with_one_id_the_first_is_meant() -> None:
    tasks = Snapshot([Line("1", "open", "First"), Line("1", "open", "Second"), Line("1.1", "open", "Below", "", 1)])
    line = tasks.line("1")
    assert line is not None
    assert line.text == "First"
    assert tasks.line("2") is None
    assert outline(lay_out_tree(tasks, DONE, Filters(), Shown())[0]) == ["1", ["1", ["1.1"]]]


def test_a_search_that_finds_very_much_in_a_tree_opens_nothing() -> None:
    for number, opened in (39, True), (50, False):
        lines = [
            [Line(f"{root}", "open", "A"), *(Line(f"{root}.{n}", "open", "B", "", 1) for n in range(49))]
            for root in range(number)
        ]
        nodes, count, _ = lay_out_tree(Snapshot([*chain(*lines)]), DONE, Filters("b"), Shown())
        assert ({node.is_open for node in nodes}, count) == ({opened}, number)
