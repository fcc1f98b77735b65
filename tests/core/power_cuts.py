"""What a power cut can leave of files: names that were not synced come and go, and unsynced bytes are lost or torn.

``Disk`` follows the calls of ``os`` that the document engine makes. SQLite makes its own, in a known order, so what it
can leave is made from copies of its files: the log is synced before a commit is acknowledged and before a checkpoint
writes pages, and the pages are synced before the log is emptied.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from random import Random
from typing import Final

import pytest

from task_core import durable

__all__ = ["FRAME", "HEADER", "PAGE", "Disk", "lay_out", "mixed_pages", "torn_logs"]

PAGE: Final = 4096
"""Bytes of a page of a database."""

HEADER: Final = 32
"""Bytes before the first frame of its log."""

FRAME: Final = 24 + PAGE
"""Bytes of a frame of its log, which holds a page."""

_SECTOR: Final = 512
"""Bytes that a disk writes as a whole."""

Names = dict[str, int]


class Disk:
    """What is durable of a folder, and what is only written, by the calls that were made in a block of ``watched``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: Names = {}
        self._pending: list[Callable[[Names], object]] = []
        self._synced: dict[int, bytes] = {}
        self._written: dict[int, bytes] = {}
        for entry in folder.iterdir():
            number = entry.stat().st_ino
            self._names[entry.name] = number
            self._synced[number] = self._written[number] = entry.read_bytes()

    def states(self) -> Iterator[dict[str, bytes]]:
        """Yield what a power cut at this moment can leave: content by name."""
        for count in range(len(self._pending) + 1):
            names = dict(self._names)
            for change in self._pending[:count]:
                change(names)
            choices = [[(name, content) for content in self._contents(number)] for name, number in names.items()]
            yield from (dict(state) for state in product(*choices))

    @contextmanager
    def watched(self, at_call: Callable[[], None]) -> Iterator[None]:
        """Follow the calls of the block; ``at_call`` comes after each of them that changes something."""
        with pytest.MonkeyPatch.context() as patch:
            for name in ("open", "write", "fsync", "replace", "link", "unlink"):
                patch.setattr(os, name, self._following(getattr(os, name), getattr(self, f"_{name}"), at_call))
            following = self._following(durable.rename_with, self._rename_with, at_call)
            patch.setattr(durable, "rename_with", following)
            yield

    def _following(
        self, real: Callable[..., object], note: Callable[..., None], at_call: Callable[[], None]
    ) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            result = real(*args, **kwargs)
            note(result, *args)
            at_call()
            return result

        return call

    def _contents(self, number: int) -> list[bytes]:
        synced, written = self._synced[number], self._written[number]
        if synced == written:
            return [written]
        return [synced, written, written[: len(written) // 2], bytes(len(written))]

    def _open(self, descriptor: int, path: str, flags: int = 0, *_: object) -> None:
        if flags & os.O_CREAT:
            number = os.fstat(descriptor).st_ino
            self._synced[number] = self._written[number] = b""
            self._set(path, number)

    def _write(self, size: int, descriptor: int, data: memoryview) -> None:
        self._written[os.fstat(descriptor).st_ino] += bytes(data[:size])

    def _fsync(self, _: None, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if not stat.S_ISDIR(status.st_mode):
            self._synced[status.st_ino] = self._written[status.st_ino]
            return
        for change in self._pending:
            change(self._names)
        self._pending.clear()

    def _replace(self, _: None, source: str | Path, target: str | Path) -> None:
        old, new = Path(source).name, Path(target).name
        self._pending.append(lambda names: names.update({new: names.pop(old)}))

    def _rename_with(self, _: None, flag: int, source: str, target: str) -> None:
        old, new = Path(source).name, Path(target).name
        if flag == durable.NO_REPLACE:
            self._replace(None, source, target)
        else:
            self._pending.append(lambda names: names.update({new: names[old], old: names[new]}))

    def _link(self, _: None, source: Path, target: Path, **__: object) -> None:
        self._set(target, os.stat(source).st_ino)

    def _unlink(self, _: None, path: str | Path) -> None:
        name = Path(path).name
        self._pending.append(lambda names: names.pop(name))

    def _set(self, path: str | Path, number: int) -> None:
        name = Path(path).name
        self._pending.append(lambda names: names.update({name: number}))


def torn_logs(synced: int, log: bytes) -> Iterator[bytes]:
    """Yield what can be left of a log of which only the first ``synced`` bytes are durable."""
    starts = range(HEADER, len(log), FRAME)
    ends = {synced, synced + 1, HEADER, *(start + part for start in starts for part in (0, 24, 24 + PAGE // 2))}
    for end in sorted(end for end in ends if synced <= end < len(log)):
        yield log[:end]
        yield log[:end] + bytes(len(log) - end)
    for start in starts:
        if start >= synced:
            yield log[:start] + bytes(FRAME) + log[start + FRAME :]
            yield log[: start + FRAME - _SECTOR] + bytes(_SECTOR) + log[start + FRAME :]
    yield log


def mixed_pages(old: bytes, new: bytes, rng: Random) -> Iterator[bytes]:
    """Yield what can be in a database of which pages were written and not synced: of each sector the old or new one."""
    for start in range(0, len(new), PAGE):
        yield old[:start] + new[start : start + PAGE] + old[start + PAGE :]
        yield new[:start] + (old[start : start + PAGE] or bytes(PAGE)) + new[start + PAGE :]
        if start >= len(old):
            yield new[:start]
    padded = old.ljust(len(new), b"\0")
    for _ in range(20):
        sides = [rng.choice((padded, new)) for _ in range(0, len(new), _SECTOR)]
        yield b"".join(
            side[start : start + _SECTOR] for start, side in zip(range(0, len(new), _SECTOR), sides, strict=True)
        )


def lay_out(folder: Path, state: Mapping[str, bytes]) -> None:
    """Make the folder hold these files and no others."""
    for entry in folder.iterdir():
        entry.unlink()
    for name, content in state.items():
        (folder / name).write_bytes(content)
