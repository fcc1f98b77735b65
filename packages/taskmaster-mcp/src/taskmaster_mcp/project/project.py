"""One project: its files, its tags, and transactions on them (TM-16, TM-17, TM-31, TM-32)."""

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from task_core.document_file.source import Source
from task_core.errors import StoreDamaged, StoreUnreadable, TaskError
from task_core.files import FileIdentity, describe, identify
from task_core.models import Clock
from task_core.store import StoreSettings
from task_core.text import escape_invisible, nearest
from task_core.warning_list import WarningList
from taskmaster_mcp.codec import MASTER, TagDocument, is_tag
from taskmaster_mcp.core.items import JsonObject, TagTasks
from taskmaster_mcp.core.stored_words import format_stamp
from taskmaster_mcp.core.tags import is_name
from taskmaster_mcp.errors import FileMissing, LimitExceeded, TagNotFound
from taskmaster_mcp.project.json_text import DEFAULT, change_text, detect_layout
from taskmaster_mcp.project.root import FOLDER, ProjectFiles, find_above
from taskmaster_mcp.project.tag_store import TagStore

__all__ = ["Project", "check_tag_count", "list_entries", "put_tag", "rename_tag"]

_MAX_TAGS: Final = 200
"""Tags of a project, for new ones (TM-87)."""

_MAX_BYTES: Final = 32_000_000
"""Bytes of the tasks file, beyond which it does not grow (TM-87)."""

_SLUG: Final = re.compile(r"[^a-z0-9-]")


class Project:
    """One project; its methods raise a ``TaskError``."""

    def __init__(self, root: Path, path: Path, settings: StoreSettings, warnings: WarningList, clock: Clock) -> None:
        self.files = ProjectFiles(root, fsync=settings.task_fsync)
        self.root = root
        self.path = path
        self.store = TagStore(path, settings, warnings, clock)
        self._warnings = warnings
        self._clock = clock
        self.folder = root / FOLDER
        self.generating = threading.Lock()
        """held while task files are written, so that the latest tasks are the last to be"""

    @property
    def now(self) -> str:
        """The present moment, as the document has it."""
        return format_stamp(self._clock())

    # Files beside the tasks

    def state(self) -> JsonObject:
        """Return what ``state.json`` holds, empty if there is none."""
        return self._object_in(self.folder / "state.json")

    def config(self) -> JsonObject:
        """Return the ``global`` part of ``config.json``, empty if there is none or it is damaged."""
        found = self._sound_object_in(self.folder / "config.json").get("global")
        return found if isinstance(found, dict) else {}

    def report_path(self, tag: str) -> Path:
        """Return where the complexity report of a tag is, or would be (TM-42)."""
        places = self._report_places(tag)
        return next((place for place in places if place.is_file()), places[0])

    def _report_places(self, tag: str) -> list[Path]:
        slug = _SLUG.sub("-", tag.lower())[:50]
        ends = [""] if tag == MASTER else dict.fromkeys([f"_{slug}", f"_{tag}" if is_name(tag) else f"_{slug}"])
        folders = (self.folder / "reports", self.root / "scripts")
        return [folder / f"task-complexity-report{end}.json" for folder in folders for end in ends]

    def report(self, tag: str) -> JsonObject:
        """Return the complexity report of a tag, empty if there is none."""
        return self._object_in(self.report_path(tag))

    def entries(self, tag: str) -> dict[str, JsonObject]:
        """Return what the complexity report of a tag says about tasks, by their ids; nothing if it is damaged."""
        rows = list_entries(self._sound_object_in(self.report_path(tag)))
        return {str(row.get("taskId")): row for row in reversed(rows)}

    def scores(self, tag: str) -> JsonObject:
        """Return the complexity of the tasks of a tag by their ids."""
        rows = self.entries(tag).items()
        return {task_id: row["complexityScore"] for task_id, row in rows if "complexityScore" in row}

    def revision(self, tag: str) -> tuple[str | FileIdentity | None, ...]:
        """Return the state of everything that an answer about a tag depends on (TM-75)."""
        self.check_exists()
        paths = (self.folder / "state.json", self.folder / "config.json", *self._report_places(tag))
        # The tasks by what a snapshot would show: a file may be replaced before its change is shown here.
        token = self.store.changes(None, 0).token
        try:
            return token, *map(identify, paths)
        except OSError as error:
            raise StoreUnreadable(Path(error.filename).name, describe(error)) from error

    def set_current_tag(self, name: str) -> None:
        """Make ``name`` the current tag in ``state.json``, in which all else stays.

        The caller holds the lock of the project.
        """
        path, state = self.folder / "state.json", self.state()
        new = {**state, "currentTag": name, "lastSwitched": self.now}
        data = DEFAULT.text(new)
        with suppress(FileNotFoundError, ValueError):  # ValueError: it is blank
            text = self.files.read(path).decode()
            start, end = text.index("{"), text.rindex("}") + 1
            data = text[:start] + change_text(text[start:end], state, new, detect_layout(text)) + text[end:]
        self.files.write(path, data.encode())

    def _object_in(self, path: Path) -> JsonObject:
        try:
            source = Source(path.name, self.files.read(path))
        except FileNotFoundError:
            return {}
        if not source.data.strip():
            return {}
        value = source.value()
        if not isinstance(value, dict):
            raise source.wrong((), "an object")
        return value

    def _sound_object_in(self, path: Path) -> JsonObject:
        """Do the same for a file without which all else works: if it is damaged, that is a warning."""
        cause = f"damaged {path.name}"
        try:
            value = self._object_in(path)
        except StoreDamaged as damage:
            found = damage.details
            place = f"line {found['line']}, column {found['column']}: found {found['found']}"
            self._warnings.add(
                cause, f"{path.name} is damaged ({place}), so it is not used. Ask the user to repair it."
            )
            return {}
        self._warnings.settle(cause)
        return value

    # Tags

    def current_tag(self) -> str:
        """Return the tag for calls that name none, if the settings do not either (TM-31).

        That is the only tag there is where Task Master's files say ``master``, as they do from the start.
        """
        named = [found for found in (self.state().get("currentTag"), self.config().get("defaultTag")) if found]
        chosen = next((found for found in named if isinstance(found, str)), MASTER)
        if chosen == MASTER:
            with suppress(TaskError), self.store.read() as members:
                return members.tags[0] if len(members.tags) == 1 else MASTER
        return chosen

    @property
    def above(self) -> Path | None:
        """The project above this folder, which the search for one does not reach from it (TM-13)."""
        return find_above(self.root.parent, Path(os.path.realpath(Path.home())), crosses_borders=True)

    def check_exists(self) -> None:
        """Raise ``FileMissing`` if there is neither a ``.taskmaster`` nor a tasks file (TM-17)."""
        if not (self.folder.is_dir() or self.path.is_file()):
            path = escape_invisible(str(self.above or ""))  # whole: a shortened path helps nobody
            other = f"There is one above it: '{path}'. To use that, give it as projectRoot. " if path else ""
            raise FileMissing(
                f"'{self.root.name}' has no Task Master project. {other}Call initialize_project to create one."
            )

    def read(self) -> AbstractContextManager[TagDocument]:
        """Open a snapshot of the document."""
        self.check_exists()
        return self.store.read()

    def tag(self, members: TagDocument, name: str) -> TagTasks:
        """Return the tasks of a tag, or raise ``TagNotFound``; ``master`` of a document without tags is empty."""
        if (member := members.members.get(name)) and is_tag(member.value):
            return TagTasks(name, json.loads(member.text))
        tags = members.tags
        if name == MASTER and not tags:
            return TagTasks(name, {})
        raise TagNotFound(name, tags, nearest(name, tags))

    def transaction(self) -> AbstractContextManager[TagDocument]:
        """Open a transaction on the whole document; it holds the lock of the project."""
        self.check_exists()
        self.files.make_folder(self.path.parent)
        return self.store.transaction()

    @contextmanager
    def change(self, name: str) -> Iterator[TagTasks]:
        """Open a transaction on one tag, which is saved at the end if it was changed."""
        with self.transaction() as work:
            tasks = self.tag(work, name)
            yield tasks
            self.save(work, tasks)

    def save(self, work: TagDocument, tasks: TagTasks) -> None:
        """Put a changed tag back into the document."""
        tasks.finish(self._clock)
        if tasks.is_changed:
            put_tag(work, tasks.tag, tasks.value)


def check_tag_count(members: TagDocument) -> None:
    """Raise ``LimitExceeded`` if there can be no further tag."""
    if len(members.tags) >= _MAX_TAGS:
        raise LimitExceeded("Tags of a project", _MAX_TAGS, _MAX_TAGS + 1)


def list_entries(report: JsonObject) -> list[JsonObject]:
    """Return what a complexity report says about tasks, one entry for each."""
    rows = report.get("complexityAnalysis")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def put_tag(work: TagDocument, name: str, value: JsonValue) -> None:
    """Replace the value of a tag, or add the tag at the end; nothing else changes its bytes.

    ``LimitExceeded`` means that the document would grow beyond 32 MB.
    """
    old = work.members.get(name)
    layout = next((member.layout for member in work.members.values()), DEFAULT)
    new = old.with_value(value) if old else layout.member(name, value)
    growth = len(new.whole.encode()) - len(old.whole.encode() if old else b"")
    total = growth + sum(len(member.whole.encode()) for member in work.members.values())
    if growth > 0 and total > _MAX_BYTES:
        raise LimitExceeded("Bytes of the tasks file", _MAX_BYTES, total)
    work.members[name] = new


def rename_tag(work: TagDocument, old: str, new: str, value: JsonValue) -> None:
    """Give a tag another name and value, in its place; what stays in it keeps its bytes."""
    renamed = work.members[old].with_key(new).with_value(value)
    work.members = {it.key: it for it in (renamed if it.key == old else it for it in work.members.values())}
