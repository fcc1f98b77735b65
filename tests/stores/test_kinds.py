"""Each kind of file in the place of each server's store: read or refused, and no byte of it is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import JsonValue
from pydantic_core import from_json

from task_core.errors import StoreDamaged, StoreNewer, TaskError
from task_core.server.app import TaskServer
from task_core.store import Store, open_store
from task_core.store.collection import Node
from task_core.warning_list import WarningList
from tests.stores.kinds import DAMAGED, NEWER, READ, Kind
from tests.stores.shops import Object, Shop, each_shop, litter
from tests.tool_client import ToolFailed

ErrorT = TypeVar("ErrorT", bound=TaskError)


def each(kinds: Mapping[str, Kind], shop: Shop, folder: Path) -> Iterator[tuple[Kind, bytes, Path]]:
    """Yield every kind of file that the server may have, its bytes, and a store with these bytes."""
    for number, (name, kind) in enumerate(kinds.items()):
        if not kind.only or shop.name in kind.only:
            print(name)  # the last one is that which failed
            path = folder / f"{number}" / "store.json"
            path.parent.mkdir()
            path.write_bytes(data := kind.make(shop))
            yield kind, data, path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.json"


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
    """Return what a document holds beside the tasks and what every document has."""
    document = json.loads(data.removeprefix(b"\xef\xbb\xbf"))
    own = {"version", "tasks", "id_to_index", "section", "store_id"}
    return {} if shop.has_roots else {key: document[key] for key in document.keys() - own}


@pytest.mark.requirement("L1", "L2", "ST-3")
@each_shop
def test_what_is_read_is_all_listed_and_all_kept(tmp_path: Path, shop: Shop) -> None:
    for kind, data, path in each(READ, shop, tmp_path):
        server = shop.build(path)
        answer = shop.ask(server)
        shown = shop.texts_in(answer)
        assert set(kind.texts) <= set(shown)
        assert len(shown) == len(shop.tasks_in(json.loads(data.removeprefix(b"\xef\xbb\xbf"))))
        assert "warnings" not in answer
        assert path.read_bytes() == data
        shop.create(server, "new")
        assert lost(shop, data, path.read_bytes()) == []
        assert beside(shop, path.read_bytes()) == beside(shop, data)
        assert shop.texts(server) == sorted([*shown, "new"])
        assert [kept.read_bytes() for kept in litter(path)] == [data]


def refusals(shop: Shop, server: TaskServer, code: str) -> list[Object]:
    """Return the details of the errors that a look at the tasks and a new task are answered with."""
    details: list[Object] = []
    for call in (shop.ask, partial(shop.create, text="new")):
        with pytest.raises(ToolFailed, match=f"^{code}: ") as caught:
            call(server)
        assert len(str(caught.value)) < 1_000
        details.append(caught.value.details)
    return details


def opened(shop: Shop, path: Path) -> Store[Any]:
    """Return the store as the server opens it."""
    settings = shop.record.settings_type.model_validate({"task_store": f"json:{path}", "task_fsync": False})
    return open_store(settings, shop.record.codec, WarningList())


def error_of(store: Store[Any], expected: type[ErrorT]) -> ErrorT:
    """Return the error with which the store refuses to be read and to be changed."""
    with pytest.raises(expected) as caught, store.read():
        pass
    with pytest.raises(expected) as again, store.transaction():
        pass
    assert again.value.details == caught.value.details
    return caught.value


def nodes_of(store: Store[Any]) -> list[Node]:
    with store.read() as records:
        return records.nodes()


@pytest.mark.requirement("L1", "S4", "ST-3", "ERR-2")
@each_shop
def test_what_is_damaged_is_left_as_it_is_until_it_is_fixed(tmp_path: Path, shop: Shop) -> None:
    for _, data, path in each(DAMAGED, shop, tmp_path):
        before = path.stat()
        store = opened(shop, path)
        found = error_of(store, StoreDamaged).details
        assert found.keys() == {"file", "line", "column", "found", "expected"}
        assert found["file"] == "store.json"
        line, column = found["line"], found["column"]
        assert isinstance(line, int)
        assert isinstance(column, int)
        assert (line >= 1, column >= 1, len(str(found["found"])) <= 120) == (True, True, True)
        after = path.stat()
        assert (path.read_bytes(), after.st_ino, after.st_mtime_ns) == (data, before.st_ino, before.st_mtime_ns)
        assert litter(path) == []
        path.write_bytes(READ["a sound one"].make(shop))
        assert len(nodes_of(store)) == 2


@pytest.mark.requirement("L2", "ST-4")
@each_shop
def test_what_a_later_server_wrote_is_left_alone(tmp_path: Path, shop: Shop) -> None:
    for _, data, path in each(NEWER, shop, tmp_path):
        error_of(opened(shop, path), StoreNewer)
        assert (path.read_bytes(), litter(path)) == (data, [])


@pytest.mark.requirement("L1", "L2", "ST-3", "ERR-2")
@each_shop
def test_a_server_refuses_every_call_until_its_store_is_fixed(path: Path, shop: Shop) -> None:
    path.write_bytes(NEWER["the next version"].make(shop))
    server = shop.build(path)
    refusals(shop, server, "StoreNewer")
    path.write_bytes(DAMAGED["a comma too many"].make(shop))
    asked, created = refusals(shop, server, "StoreDamaged")
    assert refusals(shop, shop.build(path), "StoreDamaged") == [asked, created] == [asked] * 2
    path.write_bytes(READ["a sound one"].make(shop))
    assert shop.texts(server) == ["one", "two"]


@pytest.mark.requirement("L1", "ST-5")
@each_shop
def test_a_blank_store_is_empty_once_it_is_at_rest(path: Path, shop: Shop) -> None:
    path.write_bytes(b"\r\n\t\r\n")
    server = shop.build(path)
    refusals(shop, server, "StoreDamaged")
    os.utime(path, (path.stat().st_mtime - 60,) * 2)
    answer = shop.ask(server)
    assert (answer["tasks"], "warnings" in answer, path.read_bytes()) == ([], False, b"\r\n\t\r\n")
    shop.create(shop.build(path), "new")
    assert shop.texts(shop.build(path)) == ["new"]
    assert litter(path) == []


@pytest.mark.requirement("S1", "L2")
@each_shop
def test_no_answer_nests_deeper_than_the_readers_of_clients_go(tmp_path: Path, shop: Shop) -> None:
    deep = {name: READ[name] for name in ("nested as deep as is read", "a tree with a deep field")}
    for _, _, path in each(deep, shop, tmp_path):
        answer = {"result": {"structuredContent": shop.ask(shop.build(path))}}
        assert from_json(json.dumps(answer)) == answer


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
def test_wherever_a_store_is_cut_its_bytes_stay_and_no_task_is_shown(path: Path, shop: Shop) -> None:
    shop.create(shop.build(path), "one")
    shop.create(shop.build(path), "two")
    whole = path.read_bytes()
    end = len(whole.rstrip())
    store, kept = opened(shop, path), litter(path)
    for length in [*range(1, end, 13), *range(end - 8, end)]:
        path.write_bytes(whole[:length])
        error_of(store, StoreDamaged)
        assert (path.read_bytes(), litter(path)) == (whole[:length], kept)
    path.write_bytes(whole[:end])
    assert (len(nodes_of(store)), litter(path)) == (2, kept)
