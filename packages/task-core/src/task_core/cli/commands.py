"""The commands over a store: ``export``, ``import``, ``migrate``, and ``restore`` (EN-18, ST-6)."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from task_core.cli.program import Program, SideFile
from task_core.cli.view.plain import describe_error
from task_core.document_file import DocumentFormat
from task_core.document_file.generations import list_generations, restore
from task_core.document_file.source import Source
from task_core.durable import replace_file
from task_core.errors import TaskError
from task_core.files import describe, read_file
from task_core.models import utc_now
from task_core.store import Codec, Engine, Store, StoreSettings, open_store
from task_core.store.codec import Decoded
from task_core.store.open import find_server_engine
from task_core.text import pluralize
from task_core.warning_list import WarningList

__all__ = ["CommandFailed", "Commands", "run_store_command"]

T = TypeVar("T")


class CommandFailed(Exception):
    """The command did nothing; the message says why and what to do."""


@dataclass(frozen=True)
class Commands:
    """The commands over the store that ``settings`` name; each raises ``CommandFailed``."""

    settings: StoreSettings
    codec: DocumentFormat
    """the format of the document; only with records, a ``Codec``, can they be moved"""
    side: SideFile | None = None

    def run(self, name: str, file: str | None) -> None:
        """Carry out the command ``export``, ``import``, ``migrate`` or ``restore``; ``file`` is what it takes."""
        if file is not None and not Path(file).name:
            raise CommandFailed(f"'{file}' is not the name of a file")
        try:
            run = {"export": self._export, "import": self._import, "migrate": self._migrate, "restore": self._restore}
            run[name](file)
        except TaskError as error:
            raise CommandFailed(describe_error(error)) from error
        except OSError as error:
            raise CommandFailed(f"{error.filename or file or 'stdout'}: {describe(error)}") from error

    def _export(self, file: str | None) -> None:
        path = None if file is None else Path(file)
        side_path = self.side.path_beside(path) if self.side and path else None
        for place in filter(None, (path, side_path)):
            if os.path.lexists(place):
                raise CommandFailed(f"{place} already exists: move it away, or name another file to export to")
        document, count, beside = self._read_stored()
        if beside and side_path:  # before the document, so that no document is ever without its archive
            replace_file(side_path, beside, over=None).close()
            _say(f"The archived tasks are in {side_path.name}.")
        elif beside:
            _say("The archived tasks were left out; to export them too, name a file.")
        if path is None:
            _print(document)
        else:
            replace_file(path, document, over=None).close()
        _say(f"Exported {pluralize(count, self.codec.noun)} from {self.settings.address}.")

    def _import(self, file: str | None) -> None:
        if file is None:
            raise CommandFailed("name the document to import")
        path = Path(file)
        found = cast("Codec[Any]", self.codec).decode(Source(path.name, read_file(path)[0]))
        if self.settings.address.engine is Engine.MEMORY:
            raise CommandFailed("a store in memory keeps nothing: set TASK_STORE to json:/path or sqlite:/path")
        archived = self._add_records(found, self.side.path_beside(path) if self.side else None)
        for note in found.notes:
            _say(note)
        more = f" and {pluralize(archived, 'archived task')}" if archived else ""
        _say(f"Imported {pluralize(found.count, self.codec.noun)}{more} into {self.settings.address}.")

    def _migrate(self, role: str | None) -> None:
        if self.settings.address.engine is not Engine.POSTGRESQL:
            raise CommandFailed(f"{self.settings.address} needs no migration: it is brought up to date when it is used")
        try:
            _say(find_server_engine().migrate_database(self.settings, role))
        except ConnectionError as error:
            raise CommandFailed(f"{self.settings.address}: {error}") from error

    def _restore(self, file: str | None) -> None:
        engine, path, _ = self.settings.address
        if engine is not Engine.JSON or path is None:
            raise CommandFailed(f"{self.settings.address} keeps no older documents: there is nothing to restore")
        real = Path(os.path.realpath(path))
        if file is None:
            lines = [self._describe(copy) for copy in list_generations(real)]
            _print("\n".join([*(lines or [f"No older documents are kept beside {real.name}."]), ""]).encode())
            return
        if real.is_file() and read_file(real)[0].startswith(b"SQLite format 3\0"):
            raise CommandFailed(f"{real} is a SQLite database, which is not replaced: set the path of a JSON document")
        source = next((copy for copy in list_generations(real) if copy.name == file), Path(file))
        data = read_file(source)[0]
        tasks = pluralize(self.codec.rewrite(Source(source.name, data)).count, self.codec.noun)
        lock, wait = self.codec.lock(path), self.settings.task_lock_timeout
        kept = restore(real, data, lock, wait, utc_now(), is_private=self.codec.is_private)
        was = f" The previous document is kept as {kept.name}." if kept else ""
        _say(f"Restored {real.name} with {tasks} from {source.name}.{was}")

    @contextmanager
    def _store(self) -> Iterator[Store[Any]]:
        codec = cast("Codec[Any]", self.codec)
        store: Store[Any] = open_store(self.settings, codec, WarningList(), is_patient=True)
        try:
            yield store
        finally:
            store.close()

    def _read_stored(self) -> tuple[bytes, int, bytes]:
        """Return the document of what is stored, the number of its records, and the content of the file beside it."""
        codec = cast("Codec[Any]", self.codec)
        with self._store() as store, store.read() as records:
            nodes, fields = records.nodes(), records.fields
        nodes, beside = self.side.take_out_archived(nodes) if self.side else (nodes, b"")
        return codec.document(codec.encode(nodes), fields), len(nodes), beside

    def _add_records(self, decoded: Decoded[Any], beside: Path | None) -> int:
        """Add records to an empty store, with those of the file ``beside``; return the number of the latter."""
        entries = [entry for block in decoded.records.values() for entry in block]
        with self._store() as store, store.transaction() as work:
            if len(work) or work.fields:
                raise CommandFailed(f"{self.settings.address} is not empty: import into a new store")
            for record, parent in _with_progress(entries):
                work.add(record, parent)
            work.set_fields(decoded.fields)
            if self.side and beside and os.path.lexists(beside):  # a link that leads nowhere is an error
                return self.side.add_archived(beside, work)
        return 0

    def _describe(self, copy: Path) -> str:
        status = copy.stat()
        # ``datetime`` has no years after 9999, which a file system may have.
        moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(status.st_mtime))
        try:
            source = Source(copy.name, read_file(copy)[0])
            tasks = pluralize(self.codec.rewrite(source).count, self.codec.noun)
        except (TaskError, OSError):
            tasks = "not a complete document"
        return f"{copy.name}  {moment}  {pluralize(status.st_size, 'byte')}  {tasks}"


def run_store_command(program: Program, settings: StoreSettings, command: str, file: str | None) -> int:
    """Carry out a command over the store that ``settings`` name, and return its exit code: 1 if it fails."""
    try:
        Commands(settings, cast("Any", program.codec)(), program.side(settings)).run(command, file)
    except (CommandFailed, TaskError, KeyboardInterrupt) as error:
        sys.stderr.write(f"{program.name} {command}: {str(error) or 'interrupted'}\n")
        return 1
    return 0


def _with_progress(items: Sequence[T]) -> Iterator[T]:
    """Yield ``items``, and show the progress on a terminal."""
    for number, item in enumerate(items, 1):
        yield item
        if sys.stderr.isatty() and (number % 500 == 0 or number == len(items)):
            bar = "#" * (40 * number // len(items))
            sys.stderr.write(f"\r[{bar:<40}] {number:,} of {len(items):,}" + "\n" * (number == len(items)))


def _print(data: bytes) -> None:
    with open(1, "wb", closefd=False) as stdout:  # its own buffer, so that a failed write is noticed here
        stdout.write(data)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
