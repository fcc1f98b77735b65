"""Whatever is in the place of a store, its lock or its other files: nothing hangs, is followed or is made wider."""

from __future__ import annotations

import os
import secrets
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.core.notes import nobody, open_folder
from tests.stores.shops import SHOPS, Shop, litter
from tests.tool_client import ToolFailed
from tests.wire.line_client import LineClient, Message

Make = Callable[[Path], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the store is to be, in a folder with a file of somebody else."""
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "house").mkdir(0o700)
    return tmp_path / "house" / "store.json"


@pytest.fixture
def shop() -> Shop:
    """Return the server with the simplest document: what files it may touch is up to the engine."""
    return SHOPS[-1]


def victim(path: Path) -> bytes:
    """Return what the file of somebody else holds."""
    return (path.parent.parent / "victim").read_bytes()


def link_to_victim(path: Path) -> None:
    path.symlink_to("../victim")


def link_to_nothing(path: Path) -> None:
    path.symlink_to("../nothing/here")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def link_to_zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_folder(path: Path) -> None:
    path.symlink_to("..")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # the name of a socket has 107 bytes at most
        server.bind(path.name)


def seen(path: Path) -> tuple[int, int, int]:
    status = path.lstat()
    return status.st_ino, status.st_mode, status.st_size


@pytest.mark.requirement("L1", "ST-4", "ERR-1")
@pytest.mark.parametrize(
    "make", [Path.mkdir, os.mkfifo, make_socket, link_to_itself, link_to_zero, link_to_folder, link_to_nothing]
)
def test_what_is_not_a_file_is_refused_by_every_tool_and_left_alone(path: Path, shop: Shop, make: Make) -> None:
    make(path)
    before = seen(path)
    for server in (shop.build(path), shop.build(path)):
        if make is not link_to_nothing:
            with pytest.raises(ToolFailed, match=r"^StoreUnreadable: ") as caught:
                shop.ask(server)
            assert str(path.parent) not in str(caught.value)
        with pytest.raises(ToolFailed, match=r"^Store(Unreadable|WriteFailed): "):
            shop.create(server, "new")
    assert (seen(path), (path.parent.parent / "nothing").exists()) == (before, False)
    assert {file.name for file in litter(path)} <= {"zero.lock"}


@pytest.mark.requirement("H4", "S4", "ST-2")
def test_a_store_behind_links_is_one_store_and_the_links_stay(path: Path, shop: Shop) -> None:
    path.symlink_to("real.json")
    other = path.parent.parent / "alias"
    other.symlink_to("house")
    shop.create(shop.build(path), "one")
    shop.create(shop.build(other / "real.json"), "two")
    assert shop.texts(shop.build(path)) == ["one", "two"]
    assert path.readlink() == Path("real.json")
    assert sorted(file.name for file in path.parent.iterdir()) == [
        *("real.json", "real.json.bak", "real.json.history.jsonl", "real.json.lock", "store.json")
    ]


LOCKS: list[Make] = [Path.mkdir, link_to_victim, link_to_nothing, link_to_itself, make_socket]


@pytest.mark.requirement("C1", "D5", "S4")
@pytest.mark.parametrize("make", LOCKS)
def test_anything_in_place_of_the_lock_is_not_followed_and_stops_no_reader(path: Path, shop: Shop, make: Make) -> None:
    shop.create(shop.build(path), "one")
    lock = path.with_name("store.json.lock")
    lock.unlink()
    make(lock)
    before, data = seen(lock), path.read_bytes()
    server = shop.build(path)
    assert shop.texts(server) == ["one"]
    with pytest.raises(ToolFailed, match=r"^StoreWriteFailed: "):
        shop.create(server, "two")
    assert (seen(lock), path.read_bytes(), victim(path)) == (before, data, b"precious")
    assert litter(path) == []


@pytest.mark.requirement("C1", "S4")
def test_a_file_with_content_in_the_place_of_the_lock_is_not_emptied(path: Path, shop: Shop) -> None:
    shop.create(shop.build(path), "one")
    path.with_name("store.json.lock").write_bytes(b"4711")
    with pytest.raises(ToolFailed, match=r"^StoreWriteFailed: "):
        shop.create(shop.build(path), "two")
    assert (path.with_name("store.json.lock").read_bytes(), shop.texts(shop.build(path))) == (b"4711", ["one"])


@pytest.mark.requirement("S4", "D3")
def test_links_under_the_names_of_temporary_files_are_swept_and_not_followed(path: Path, shop: Shop) -> None:
    for number in range(3):
        link_to_victim(path.with_name(f".store.json.{number:016x}.tmp"))
    path.with_name(".store.json.ffffffffffffffff.tmp").mkdir()
    shop.create(shop.build(path), "one")
    assert (victim(path), shop.texts(shop.build(path))) == (b"precious", ["one"])
    assert [file.name for file in litter(path)] == [".store.json.ffffffffffffffff.tmp"]


@pytest.mark.requirement("S4", "ERR-2")
def test_a_link_under_the_very_name_of_the_next_temporary_file_is_not_followed(
    path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.create(shop.build(path), "one")
    server = shop.build(path)
    shop.create(server, "two")
    monkeypatch.setattr(secrets, "token_hex", "ab".__mul__)
    link_to_victim(path.with_name(f".store.json.{'ab' * 8}.tmp"))
    with pytest.raises(ToolFailed, match=r"^StoreWriteFailed: "):
        shop.create(server, "three")
    assert victim(path) == b"precious"
    assert shop.texts(shop.build(path)) == ["one", "two"]


@pytest.mark.requirement("S4", "ST-6")
def test_links_under_the_names_of_older_documents_are_moved_on_and_not_followed(path: Path, shop: Shop) -> None:
    shop.create(shop.build(path), "one")
    data = path.read_bytes()
    for suffix in (".bak", ".bak.2", ".bak.3"):
        link_to_victim(path.with_name(f"store.json{suffix}"))
    os.utime(path.with_name("store.json.bak"), (0, 0), follow_symlinks=False)
    os.utime(path.parent.parent / "victim", (0, 0))
    shop.create(shop.build(path), "two")
    assert victim(path) == b"precious"
    assert [file.read_bytes() for file in litter(path)] == [data, b"precious", b"precious"]
    assert [file.is_symlink() for file in litter(path)] == [False, True, True]


@pytest.mark.requirement("L1", "ST-4", "D5")
def test_a_store_that_may_not_be_read_is_refused_until_it_may(shop: Shop) -> None:
    with open_folder() as folder:
        path = folder / "store.json"
        shop.create(shop.build(path), "one")
        path.chmod(0)
        path.with_name("store.json.lock").chmod(0o666)
        server = shop.build(path)
        with nobody():
            for call in (shop.ask, partial(shop.create, text="two")):
                with pytest.raises(ToolFailed, match=r"^StoreUnreadable: .*Permission denied"):
                    call(server)
        path.chmod(0o644)
        assert shop.texts(server) == ["one"]
        assert litter(path) == []


@pytest.mark.requirement("D5", "S4", "ERR-2")
def test_a_store_that_may_only_be_read_is_listed_and_not_changed(shop: Shop) -> None:
    with open_folder() as folder:
        path = folder / "store.json"
        shop.create(shop.build(path), "one")
        path.chmod(0o444)
        path.with_name("store.json.lock").chmod(0o666)
        data = path.read_bytes()
        server = shop.build(path)
        with nobody():
            assert shop.texts(server) == ["one"]
            with pytest.raises(ToolFailed, match=r"^StoreWriteFailed: "):
                shop.create(server, "two")
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode), litter(path)) == (data, 0o444, [])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@contextmanager
def running(shop: Shop, path: Path, umask: int) -> Iterator[LineClient]:
    """Run the server as a process of its own, which begins with this umask."""
    environment = {shop.variable: str(path), "HEARTBEAT_FILE_PATH": str(path.with_name("HEARTBEAT.md"))}
    before = os.umask(umask)
    try:
        client = LineClient("legacy", shop.record.module_command, environment)
    finally:
        os.umask(before)
    with client:
        yield client


def create(shop: Shop, client: LineClient, text: str) -> Message:
    result = client.call(shop.record.create, **{shop.text: text})
    assert result["isError"] is False
    content: Message = result["structuredContent"]
    return content


@pytest.mark.process
@pytest.mark.requirement("S4")
def test_under_the_strictest_umask_all_that_is_made_is_for_its_owner_alone(path: Path) -> None:
    shop = SHOPS[0]
    shop.create(shop.build(path), "one")
    with running(shop, path, 0o777) as client:
        create(shop, client, "two")
    made = {file.name: mode(file) for file in path.parent.iterdir()}
    assert made == dict.fromkeys(
        [
            *("HEARTBEAT.md", "HEARTBEAT.md.lock"),
            *("store.json", "store.json.bak", "store.json.history.jsonl", "store.json.lock"),
        ],
        0o600,
    )


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("kept", [0o400, 0o604], ids=oct)
def test_the_mode_of_a_store_is_never_changed(path: Path, shop: Shop, kept: int) -> None:
    shop.create(shop.build(path), "one")
    path.chmod(kept)
    try:
        shop.create(shop.build(path), "two")
    except ToolFailed:
        assert not kept & 0o200
    assert mode(path) == kept


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("kept", [0o2770, 0o700], ids=oct)
def test_a_folder_keeps_its_mode_and_what_is_made_in_it_is_private(path: Path, shop: Shop, kept: int) -> None:
    path.parent.chmod(kept)
    shop.create(shop.build(path), "one")
    assert (mode(path.parent), mode(path), mode(path.with_name("store.json.lock"))) == (kept, 0o600, 0o600)


@pytest.mark.process
@pytest.mark.requirement("S4")
def test_without_a_umask_files_and_folders_that_a_server_makes_are_for_their_owner_alone(
    path: Path, shop: Shop
) -> None:
    path = path.with_name("new") / "deep" / "store.json"
    with running(shop, path, 0) as client:
        create(shop, client, "one")
    assert [mode(path.parent.parent), mode(path.parent)] == [0o700, 0o700]
    names = ("store.json", "store.json.lock", "store.json.history.jsonl")
    assert {file.name: mode(file) for file in path.parent.iterdir()} == dict.fromkeys(names, 0o600)


@pytest.mark.requirement("S3", "WARN-1", "ERR-1")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(b"two words.json", id="blanks"),
        pytest.param("任务 🦊 e\u0301.json".encode(), id="unicode"),
        pytest.param(b"a\nb.json", id="line break"),
        pytest.param(b"\x1b[31m.json", id="escape"),
        pytest.param("a\u202eb.json".encode(), id="direction"),
        pytest.param(b"not-\xff-utf8.json", id="no UTF-8"),
        pytest.param(b"[a-z]*?.json", id="pattern"),
        pytest.param(b"-rf", id="option"),
        pytest.param(b"%s%n{0}.json", id="format"),
        pytest.param(b"x" * 200, id="long"),
    ],
)
def test_a_store_may_have_any_name_and_messages_about_it_can_be_read(path: Path, shop: Shop, name: bytes) -> None:
    path = path.with_name(os.fsdecode(name))
    path.write_bytes(b"damaged")
    server = shop.build(path)
    with pytest.raises(ToolFailed, match=r"^StoreDamaged: ") as caught:
        shop.ask(server)
    assert str(caught.value).isprintable()
    path.unlink()
    shop.create(server, "one")
    shop.create(shop.build(path), "two")
    assert shop.texts(server) == ["one", "two"]
    (kept,) = litter(path)
    assert kept.name == f"{path.name}.bak"
    path.unlink()
    answer = shop.ask(server)
    assert isinstance(answer["warnings"], list)
    assert str(answer["warnings"][0]).isprintable()
    path.mkdir()
    with pytest.raises(ToolFailed, match=r"^StoreUnreadable: ") as caught:
        shop.ask(server)
    assert str(caught.value).isprintable()


@pytest.mark.requirement("D4", "ST-4")
def test_a_folder_that_has_gone_is_not_made_anew_and_its_tasks_come_back_with_it(path: Path, shop: Shop) -> None:
    server = shop.build(path)
    shop.create(server, "one")
    away = path.parent.rename(path.parent.with_name("away"))
    with pytest.raises(ToolFailed, match=r"^StoreWriteFailed: .*its folder does not exist"):
        shop.create(server, "two")
    assert not path.parent.exists()
    away.rename(path.parent)
    shop.create(server, "three")
    assert shop.texts(shop.build(path)) == ["one", "three"]
