"""Whatever is done to the bytes or the values of a store: no crash, and what is not understood stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from task_core.server.app import TaskServer
from tests.stores.shops import MOMENT, WORK, Object, Shop, each_shop, litter
from tests.tool_client import ToolFailed

SCALARS: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["", "a", "b", "done", "Complete", "Pending", "todo", MOMENT, "9999-12-31T23:59:59-01:00", "1"]),
)
"""Values that may turn up anywhere."""

VALUES: Final = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


def sample(shop: Shop) -> JsonValue:
    """Return a document with something of everything that a store can hold."""
    full = {"status": "todo" if shop.has_roots else "Pending" if shop.name == "heartbeat" else "pending"}
    first = shop.task("a", "one", **full, ideas=["x"], tags=["x"], extra_fields={"k": [1]}, mood={"deep": [1, None]})
    below = shop.task("c", "three", tasks=[shop.task("d", "four")], constraints=["y"], resolution=None)
    return shop.document(first, shop.task("b", "two", tasks=[below], completed_at=None), note={"by": "Ann"})


def places(value: JsonValue, place: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    """Yield the place of every value of a document."""
    yield place
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in members:
        yield from places(inner, (*place, name))


def changed(value: JsonValue, place: tuple[int | str, ...], way: str, new: JsonValue) -> JsonValue:
    """Return a document in which the value at ``place`` was replaced, removed, doubled or given a neighbour."""
    if not place:
        return new if way == "replace" else value
    name, *rest = place
    members: list[tuple[int | str, JsonValue]] = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    made: list[tuple[int | str, JsonValue]] = []
    for key, inner in members:
        if key != name:
            made.append((key, inner))
        elif rest:
            made.append((key, changed(inner, tuple(rest), way, new)))
        else:
            made += {
                "replace": [(key, new)],
                "remove": [],
                "double": [(key, inner)] * 2,
                "add": [(key, inner), (str(new), new)],
            }[way]
    return {str(key): inner for key, inner in made} if isinstance(value, dict) else [inner for _, inner in made]


@st.composite
def edits(draw: st.DrawFn, shop: Shop) -> bytes:
    """Return a document of a few hasty edits, as JSON."""
    document = sample(shop)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(list(places(document))[1:] or [()]))
        document = changed(document, place, draw(st.sampled_from(["replace", "remove", "double", "add"])), draw(VALUES))
    return json.dumps(document, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


@st.composite
def damages(draw: st.DrawFn, shop: Shop) -> bytes:
    """Return the bytes of a document of which some were flipped, cut out, put in or doubled."""
    data = shop.data(*shop.tasks_in(sample(shop)))
    for _ in range(draw(st.integers(1, 3))):
        start, length = draw(st.integers(0, len(data))), draw(st.integers(0, 12))
        piece = data[start : start + length]
        flipped = bytes(byte ^ 1 << draw(st.integers(0, 7)) for byte in piece[:1]) + piece[1:]
        new = draw(st.one_of(st.just(flipped), st.just(b""), st.just(piece * 2), st.binary(max_size=4), PIECES))
        data = data[:start] + new + data[start + length :]
    return data


PIECES: Final = st.sampled_from(
    [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\ud800", b"NaN", b"\0", b"\n", b"-", b"e9"]
)
"""What means something to a reader of JSON."""


@contextmanager
def new_path(data: bytes) -> Iterator[Path]:
    """Yield a store of its own that holds ``data``."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # the clean-up of a server may still be at work
        path = Path(folder, "store.json")
        path.write_bytes(data)
        yield path


def items(shop: Shop, data: bytes) -> list[JsonValue]:
    """Return every task of a document, and what is in the place of one, whatever its level."""
    found: list[JsonValue] = []
    waiting = list(shop.tasks_in(json.loads(data)))
    for item in waiting:
        found.append(item)
        below = item.get("tasks") if isinstance(item, dict) and shop.has_roots else None
        waiting.extend(below if isinstance(below, list) else ())
    return found


def traces(shop: Shop, data: bytes) -> list[str]:
    """Return the text of each task of a document, or of what is in the place of a task, in order."""
    texts = [item.get(shop.text, item) if isinstance(item, dict) else item for item in items(shop, data)]
    return sorted(json.dumps(text, sort_keys=True) for text in texts)


def is_newer(data: bytes) -> bool:
    """Return whether a document says that a later server wrote it."""
    try:
        document = json.loads(data)
    except ValueError:
        return False
    version = document.get("version") if isinstance(document, dict) else None
    return type(version) is int and version > 1


def live_with(shop: Shop, data: bytes) -> None:
    """List and create over a store with these bytes, twice each, and check that nothing was lost or changed."""
    with new_path(data) as path:
        server = shop.build(path)
        if (code := refused(shop, server)) is not None:
            event(code)
            assert code == "StoreDamaged" or is_newer(data)
            with pytest.raises(ToolFailed, match=f"^{code}: "):
                shop.create(server, "new")
            assert (path.read_bytes(), litter(path)) == (data, [])
            return
        event("read")
        shown = shop.texts(server)
        shop.create(server, "new")
        assert shop.texts(shop.build(path)) == sorted([*shown, "new"])
        assert [kept.read_bytes() for kept in litter(path)] == [data]
        assert traces(shop, path.read_bytes()) == sorted([*traces(shop, data), '"new"'])


def refused(shop: Shop, server: TaskServer) -> str | None:
    """Return the code of the error that the server answers with when it is asked for its tasks, if it does."""
    try:
        shop.ask(server)
    except ToolFailed as failure:
        code = str(failure).partition(":")[0]
        assert code in {"StoreDamaged", "StoreNewer"}
        return code
    return None


@pytest.mark.requirement("L1", "L2", "ST-3", "P2")
@each_shop
@settings(max_examples=10)
@given(draw=st.data())
def test_edits_and_damaged_bytes_lose_no_task_and_never_break_the_server(shop: Shop, draw: st.DataObject) -> None:
    live_with(shop, draw.draw(edits(shop) | damages(shop)))


def work_on(shop: Shop, server: TaskServer, task_id: JsonValue) -> None:
    """Call every tool for one task; what it answers is up to the task, but it is foreseen."""
    real = {"ID": task_id}
    for tool, arguments in WORK[shop.name]:
        given = {
            name: real.get(str(value), value)
            for name, value in arguments.items()
            if value != "CURSOR" or "CURSOR" in real
        }
        try:
            answer = shop.call(server, tool, **given)
        except ToolFailed as failure:
            answer = {"failed": str(failure)}
        assert not str(answer.get("failed", "")).startswith("InternalError")
        if isinstance(answer.get("next_cursor"), str):
            real["CURSOR"] = answer["next_cursor"]


@pytest.mark.requirement("ST-3", "P2", "ERR-3")
@each_shop
@settings(max_examples=5)
@given(draw=st.data())
def test_every_tool_has_an_answer_over_a_store_that_was_edited_in_haste(shop: Shop, draw: st.DataObject) -> None:
    data = draw.draw(edits(shop).filter(lambda made: not is_newer(made)))
    with new_path(data) as path:
        server = shop.build(path)
        if refused(shop, server):
            work_on(shop, server, "a")
            assert (path.read_bytes(), litter(path)) == (data, [])
            return
        tasks = shop.ask(server)["tasks"]
        assert isinstance(tasks, list)
        for task in tasks:
            assert isinstance(task, dict)
            work_on(shop, server, task["id"])
        shop.ask(shop.build(path))


@pytest.mark.requirement("ST-1", "L2")
@each_shop
@settings(max_examples=5)
@given(extra=st.dictionaries(st.text(max_size=6), VALUES, max_size=4), text=st.text(max_size=30))
def test_fields_beside_ours_come_back_unchanged(shop: Shop, extra: Object, text: str) -> None:
    fields = {f"_{name}": value for name, value in extra.items()}
    with new_path(shop.data(shop.task("a", f"x{text}", **fields))) as path:
        shop.create(shop.build(path), "new")
        first, _ = shop.tasks_in(json.loads(path.read_bytes()))
    assert isinstance(first, dict)
    assert {name: first[name] for name in fields} == fields
    assert first[shop.text] == f"x{text}"
