"""From a document into a database and back: the same bytes, for every document that is known here (EN-18)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from task_core.cli.commands import CommandFailed, Commands
from task_core.document_file.source import Source
from task_core.errors import TaskError
from task_core.store import open_store
from task_core.store.collection import Node
from task_core.warning_list import WarningList
from tests.postgres import store_url, what_postgres_lacks
from tests.stores.kinds import DAMAGED, NEWER, READ
from tests.stores.shops import SHOPS, WORK, Shop, each_shop
from tests.stores.test_kinds import each
from tests.stores.test_mutations import edits, sample
from tests.tool_client import ToolFailed

DATABASES = ("sqlite", *(["postgresql"] if what_postgres_lacks() is None else []))
ENGINES = ("json", *DATABASES)


def commands(shop: Shop, folder: Path, engine: str) -> Commands:
    """Return the commands over a store of this engine in ``folder``, or of a tenant with its name."""
    values: dict[str, object] = {"task_store": f"{engine}:{folder.resolve() / f'store.{engine}'}", "task_fsync": False}
    if engine == "postgresql":
        values |= {"task_store": store_url(), "task_tenant": str(folder)}
    return Commands(shop.record.settings_type.model_validate(values), shop.record.codec)


def moved(shop: Shop, data: bytes, engine: str) -> bytes:
    """Return what comes out of a new store of this engine once a document went in."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:  # the clean-up of a server may still be at work
        folder = Path(name)
        (folder / "in.json").write_bytes(data)
        over = commands(shop, folder, engine)
        over.run("import", str(folder / "in.json"))
        over.run("export", str(folder / "out.json"))
        out = (folder / "out.json").read_bytes()
        if engine == "json" and out != shop.record.codec.document({}, {}):
            assert (folder / "store.json").read_bytes() == out
        return out


def moves_around(shop: Shop, data: bytes) -> bytes:
    """Return a document as it is written, which comes out of every engine byte for byte."""
    written = through = moved(shop, data, "json")
    for engine in (*DATABASES, "json"):
        through = moved(shop, through, engine)
        assert through == written
    return written


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for shop in SHOPS:
        for name in shop.record.settings_type.model_fields:
            monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.requirement("EN-18", "ST-1", "L2")
@each_shop
def test_what_is_read_moves_to_a_database_and_back_with_every_byte(tmp_path: Path, shop: Shop) -> None:
    codec, written = shop.record.codec, b""
    for _, data, _ in each(READ, shop, tmp_path):
        written = moved(shop, data, "json")
        assert codec.decode(Source("in", data)).blocks == codec.decode(Source("out", written)).blocks
        assert moved(shop, data, "sqlite") == written
    assert moves_around(shop, written) == written


@pytest.mark.requirement("EN-18", "ST-3")
@pytest.mark.parametrize("engine", ENGINES)
@each_shop
def test_what_is_damaged_or_newer_is_not_moved(tmp_path: Path, shop: Shop, engine: str) -> None:
    file, over = tmp_path / "in.json", commands(shop, tmp_path, engine)
    for kind in (DAMAGED["a comma too many"], DAMAGED["two tasks with one id"], NEWER["the next version"]):
        file.write_bytes(kind.make(shop))
        with pytest.raises(CommandFailed, match=r"in\.json"):
            over.run("import", str(file))
    assert {entry.name for entry in tmp_path.iterdir()} == {"in.json"}


def worked_on(shop: Shop, path: Path) -> Iterator[bytes]:
    """Yield what the server has written after each of many calls."""
    server = shop.build(path)
    path.write_bytes(shop.data(*shop.tasks_in(sample(shop))))
    for task_id in ("a", "b"):
        real: dict[str, JsonValue] = {"ID": task_id}
        for tool, arguments in WORK[shop.name]:
            given = {name: real.get(str(value), value) for name, value in arguments.items() if value != "CURSOR"}
            with suppress(ToolFailed):  # what it answers is up to the task
                shop.call(server, tool, **given)
            yield path.read_bytes()
        shop.create(server, "new")


@pytest.mark.requirement("EN-18", "ST-1")
@each_shop
def test_what_a_server_wrote_comes_back_byte_for_byte(tmp_path: Path, shop: Shop) -> None:
    documents = {*worked_on(shop, tmp_path / "store.json")}
    assert len(documents) > 3
    as_written = [data for data in documents if data.startswith(shop.record.codec.head)]
    assert len(as_written) >= len(documents) - 1
    for data in as_written[-2:]:
        assert moves_around(shop, data) == data


@pytest.mark.requirement("EN-18", "P2")
@each_shop
@settings(max_examples=5)
@given(draw=st.data())
def test_what_was_edited_in_haste_and_is_read_moves_with_every_byte(shop: Shop, draw: st.DataObject) -> None:
    data = draw.draw(edits(shop))
    try:
        shop.record.codec.decode(Source("edited", data))
    except TaskError:
        assume(False)  # noqa: FBT003 - that is what it takes
    moves_around(shop, data)


@pytest.mark.requirement("EN-18", "EN-5")
@pytest.mark.parametrize("engine", DATABASES)
@each_shop
def test_a_client_goes_on_in_the_database_with_the_same_ids(tmp_path: Path, shop: Shop, engine: str) -> None:
    path = tmp_path / "store.json"
    shop.create(shop.build(path), "one")
    shop.create(shop.build(path), "two")
    over = commands(shop, tmp_path, engine)
    over.run("import", str(path))
    ids = [node.id for node in nodes(shop, tmp_path, engine)]
    assert ids == [node.id for node in nodes(shop, tmp_path, "json")]
    with pytest.raises(CommandFailed, match="not empty"):
        over.run("import", str(path))


def nodes(shop: Shop, folder: Path, engine: str) -> list[Node]:
    store = open_store(commands(shop, folder, engine).settings, shop.record.codec, WarningList())
    try:
        with store.read() as records:
            return records.nodes()
    finally:
        store.close()
