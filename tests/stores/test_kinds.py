"""Each kind of file in the place of each server's store: read, recovered or refused, and no byte is lost."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue
from pydantic_core import from_json

from tests.stores.kinds import DAMAGED, NEWER, READ, Kind
from tests.stores.shops import SHOPS, Object, Shop, each_shop, litter
from tests.tool_client import ToolFailed


def each(kinds: Mapping[str, Kind]) -> pytest.MarkDecorator:
    """Run a test with every kind, for each server that has it."""
    cases = [
        pytest.param(shop, kind, id=f"{shop.name}-{name}")
        for name, kind in kinds.items()
        for shop in SHOPS
        if not kind.only or shop.name in kind.only
    ]
    return pytest.mark.parametrize(("shop", "kind"), cases)


def no_pause(_: float) -> None:
    """Stand in for the wait."""


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks damaged is looked at twice, a moment apart; here that moment is over at once."""
    monkeypatch.setattr(time, "sleep", no_pause)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.json"


def warnings_of(answer: Object) -> str:
    warnings = answer.get("warnings", [])
    assert isinstance(warnings, list)
    return " ".join(map(str, warnings))


def is_kept(shop: Shop, old: JsonValue, new: JsonValue) -> bool:
    """Return whether ``new`` has all of the task ``old``; what is a moment may be written in another way."""
    if not (isinstance(old, dict) and isinstance(new, dict)) or not old:
        return old == new
    free = {"id", "status", "ideas", "id_to_index", "completed_at", *shop.stamped}
    if shop.has_roots:
        free |= {"tasks"}
    return all(name in new and (name in free or new[name] == value) for name, value in old.items())


def lost(shop: Shop, old: bytes, new: bytes) -> list[JsonValue]:
    """Return the tasks of the document ``old`` that ``new`` has no more."""
    left = shop.tasks_in(json.loads(new))
    missing = []
    for item in shop.tasks_in(json.loads(old.removeprefix(b"\xef\xbb\xbf"))):
        found = [other for other in left if is_kept(shop, item, other)]
        if found:
            left.remove(found[0])
        else:
            missing.append(item)
    return missing


def beside(shop: Shop, data: bytes) -> Object:
    """Return what stands in a document beside the tasks and what every document has."""
    document = json.loads(data.removeprefix(b"\xef\xbb\xbf"))
    return (
        {} if shop.has_roots else {key: document[key] for key in document.keys() - {"version", "tasks", "id_to_index"}}
    )


@pytest.mark.requirement("L1", "L2", "ST-3", "WARN-1")
@each(READ)
def test_what_can_be_read_is_listed_and_the_rest_is_kept_in_the_file(path: Path, shop: Shop, kind: Kind) -> None:
    data = kind.make(shop)
    path.write_bytes(data)
    server = shop.build(path)
    answer = shop.ask(server)
    shown = shop.texts_in(answer)
    assert set(kind.texts) <= set(shown)
    assert (kind.warned in warnings_of(answer)) if kind.warned else ("warnings" not in answer)
    assert path.read_bytes() == data
    shop.create(server, "new")
    assert lost(shop, data, path.read_bytes()) == []
    assert beside(shop, path.read_bytes()) == beside(shop, data)
    assert shop.texts(shop.build(path)) == sorted([*shown, "new"])
    assert litter(path) == []


@pytest.mark.requirement("L1", "S4", "ST-3", "WARN-1")
@each(DAMAGED)
def test_what_is_damaged_is_copied_aside_and_the_list_begins_anew(path: Path, shop: Shop, kind: Kind) -> None:
    data = kind.make(shop)
    path.write_bytes(data)
    server = shop.build(path)
    answer = shop.ask(server)
    (copy,) = litter(path)
    assert (copy.read_bytes(), stat.S_IMODE(copy.stat().st_mode)) == (data, 0o600)
    assert (answer["tasks"], copy.name in warnings_of(answer)) == ([], True)
    shop.create(server, "new")
    assert shop.ask(after := shop.build(path)).keys().isdisjoint({"warnings"})
    assert (shop.texts(after), litter(path)) == (["new"], [copy])


@pytest.mark.requirement("L1", "ST-3")
@each({name: DAMAGED[name] for name in ("zeros", "UTF-16", "two documents", "a key twice deep down", "null")})
def test_a_task_that_is_created_first_finds_the_damage_too(path: Path, shop: Shop, kind: Kind) -> None:
    data = kind.make(shop)
    path.write_bytes(data)
    answer = shop.create(shop.build(path), "new")
    (copy,) = litter(path)
    assert (copy.read_bytes(), copy.name in warnings_of(answer)) == (data, True)
    assert shop.texts(shop.build(path)) == ["new"]


@pytest.mark.requirement("L2", "ST-4")
@each(NEWER)
def test_what_a_later_server_wrote_is_left_alone(path: Path, shop: Shop, kind: Kind) -> None:
    data = kind.make(shop)
    path.write_bytes(data)
    for server in (shop.build(path), shop.build(path)):
        with pytest.raises(ToolFailed, match=r"^StoreNewer: "):
            shop.ask(server)
        with pytest.raises(ToolFailed, match=r"^StoreNewer: "):
            shop.create(server, "new")
    assert (path.read_bytes(), litter(path)) == (data, [])


@pytest.mark.requirement("L1", "WARN-1")
@pytest.mark.parametrize("data", [b"", b" ", b"\r\n\t\r\n"], ids=["empty", "a blank", "line ends"])
@each_shop
def test_a_blank_store_is_empty_and_says_so(path: Path, shop: Shop, data: bytes) -> None:
    path.write_bytes(data)
    answer = shop.ask(shop.build(path))
    assert (answer["tasks"], "it held nothing" in warnings_of(answer)) == ([], True)
    shop.create(shop.build(path), "new")
    assert (shop.texts(shop.build(path)), litter(path)) == (["new"], [])


@pytest.mark.requirement("S1", "L2")
@each({name: READ[name] for name in ("nested as deep as is read", "a tree with a deep field")})
def test_no_answer_nests_deeper_than_the_readers_of_clients_go(path: Path, shop: Shop, kind: Kind) -> None:
    path.write_bytes(kind.make(shop))
    answer = shop.ask(shop.build(path))
    assert from_json(json.dumps({"result": {"structuredContent": answer}})) == {"result": {"structuredContent": answer}}


@pytest.mark.requirement("L1", "D3")
@each_shop
def test_a_missing_store_is_empty_and_made_by_the_first_task(path: Path, shop: Shop) -> None:
    server = shop.build(path)
    assert shop.ask(server)["tasks"] == []
    assert not path.exists()
    shop.create(server, "new")
    assert (shop.texts(shop.build(path)), litter(path)) == (["new"], [])


@pytest.mark.requirement("L1", "ST-3")
@each_shop
def test_wherever_a_store_is_cut_its_bytes_are_kept(path: Path, shop: Shop) -> None:
    shop.create(shop.build(path), "one")
    shop.create(shop.build(path), "two")
    whole = path.read_bytes()
    end = len(whole.rstrip())
    for length in [*range(1, end, 13), *range(end - 8, end)]:
        path.write_bytes(whole[:length])
        assert shop.ask(shop.build(path))["tasks"] == []
        (copy,) = litter(path)
        assert copy.read_bytes() == whole[:length]
        copy.unlink()
    path.write_bytes(whole[:end])
    assert (shop.texts(shop.build(path)), litter(path)) == (["one", "two"], [])
