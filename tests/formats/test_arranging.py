"""Relations put right, and fields without a place (MV-3, MV-5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_formats.arranging import arrange, give_ids_back, sort_by_needs
from task_formats.losses import describe_rest, find_rest
from task_formats.record import ForeignTask


@pytest.mark.requirement("MV-5")
def test_parents_come_first_and_what_leads_nowhere_or_round_becomes_text() -> None:
    tasks = [
        ForeignTask("child", "Child", parent="top", dependencies=("gone", "top")),
        ForeignTask("top", "Top"),
        ForeignTask("a", "A", parent="b", dependencies=("b",)),
        ForeignTask("b", "B", parent="a", dependencies=("a",), rest={"note": "n"}),
        ForeignTask("own", "Own", parent="own", dependencies=("own",)),
        ForeignTask("lost", "Lost", parent="gone", dependencies=("gone",), rest={"dependencies": '["related"]'}),
    ]
    found, changes = arrange(tasks)
    assert [task.id for task in found] == ["top", "child", "b", "a", "own", "lost"]
    by_id = {task.id: task for task in found}
    assert (by_id["child"].dependencies, by_id["child"].rest) == (("top",), {"dependencies": "gone"})
    assert (by_id["b"].parent, by_id["b"].rest) == (None, {"note": "n", "parent": "a", "dependencies": "a"})
    assert by_id["lost"].rest == {"parent": "gone", "dependencies": 'gone, ["related"]'}
    assert changes == {
        "child": ["child does not wait for gone, which is not here"],
        "b": ["b is on the top level: its parent a is below it", "b does not wait for a, which waits for it"],
        "own": ["own is on the top level: its parent own is below it", "own does not wait for own, which waits for it"],
        "lost": [
            "lost is on the top level: its parent gone is not here",
            "lost does not wait for gone, which is not here",
        ],
    }


NAMES = st.sampled_from("abcdef")


@pytest.mark.requirement("MV-5")
@given(st.dictionaries(NAMES, st.tuples(st.none() | NAMES, st.lists(NAMES, max_size=3))))
def test_no_relations_are_left_that_lead_round(drawn: dict[str, tuple[str | None, list[str]]]) -> None:
    tasks = [
        ForeignTask(name, name, parent=parent, dependencies=tuple(needs)) for name, (parent, needs) in drawn.items()
    ]
    found, _ = arrange(tasks)
    assert {task.id for task in found} == {*drawn}
    seen: set[str] = set()
    for task in found:
        assert task.parent is None or task.parent in seen
        seen.add(task.id)
    order = sort_by_needs([*drawn], {task.id: task.dependencies for task in found})
    places = {name: place for place, name in enumerate(order)}
    assert all(places[name] < places[task.id] for task in found for name in task.dependencies)


@pytest.mark.requirement("MV-3")
def test_fields_without_a_place_become_text_under_a_heading() -> None:
    task = ForeignTask(
        "a",
        "A",
        status="hooked",
        priority="low",
        labels=("x", "y"),
        criteria=("one", "two"),
        result="done",
        rest={"labels": "z", "empty": " ", "labelled": "v"},
    )
    rest = find_rest(task, ("status", "result"))
    assert rest == {"priority": "low", "labels": "x, y, z", "criteria": "- one\n- two", "labelled": "v"}
    assert describe_rest(rest, "Beads") == (
        "## From Beads\n\n- priority: low\n- labels: x, y, z\n- labelled: v\n\n### criteria\n\n- one\n- two"
    )
    assert describe_rest({}, "Beads") == ""


@pytest.mark.requirement("MV-3")
@pytest.mark.parametrize(
    ("status", "expected"),
    [("", "cancelled"), ("To Do", "To Do (cancelled)"), ("skipped", "skipped"), ("of my own", "of my own")],
)
def test_a_state_that_the_status_does_not_say_becomes_text(status: str, expected: str) -> None:
    assert find_rest(ForeignTask("a", "A", status=status, state="cancelled"), ()) == {"status": expected}


@pytest.mark.requirement("MV-6")
def test_a_task_that_goes_back_has_the_id_that_it_came_with() -> None:
    tasks = [
        ForeignTask("1", "One", rest={"origin": "beads:bd-1", "k": "v"}),
        ForeignTask("2", "Two", parent="1", dependencies=("1",), rest={"origin": "backlog:task-1"}),
        ForeignTask("3", "Three", rest={"origin": "beads:2"}),
        ForeignTask("4", "Four", rest={"origin": "beads:bd-1"}),
        ForeignTask("5", "Five", rest={"origin": "beads:5"}),
    ]
    assert give_ids_back(tasks, "beads") == [
        ForeignTask("bd-1", "One", rest={"k": "v"}),
        ForeignTask("2", "Two", parent="bd-1", dependencies=("bd-1",), rest={"origin": "backlog:task-1"}),
        ForeignTask("3", "Three", rest={"origin": "beads:2"}),
        ForeignTask("4", "Four", rest={"origin": "beads:bd-1"}),
        ForeignTask("5", "Five"),
    ]
