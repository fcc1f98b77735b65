"""The document of this server: an object of tags, and of other members that are kept (TM-18 to TM-21)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from pydantic import JsonValue
from typing_extensions import override

from task_core.claims.claim import Claim
from task_core.document_file import DocumentFormat, Rewritten
from task_core.document_file.source import Source
from task_core.files import ProcessLock
from task_core.history.changes import Change, Step
from taskmaster_mcp.core.items import ProjectItem, TagTasks
from taskmaster_mcp.project.json_text import DEFAULT, JsonPart, detect_layout, split_members
from taskmaster_mcp.project.lock import ProjectLock

__all__ = ["CODEC", "MASTER", "TagDocument", "TagsFormat", "is_tag"]

MASTER: Final = "master"
"""The tag that every project has."""

_TAG: Final = "a tag: an object with a list of tasks"

_TAG_LIST: Final = f'{_TAG}; write {{"tasks": […]}} around this list'


@dataclass
class TagDocument:
    """The members of a tasks file by their keys, in order, and the text around them; without an argument, no file.

    For claims, its tasks are ``ChangedTasks``, each of them ``TAG:ID`` (AG-11).
    """

    members: dict[str, JsonPart] = field(default_factory=dict)
    head: str = "{"
    tail: str = "\n}"
    gap: str = ""
    """the text between the last member and the tail, if there is a member"""
    token: str = field(default="", compare=False)
    """the state of the file when a transaction began"""
    changed: frozenset[str] = field(default=frozenset(), compare=False)
    """the members that a transaction has changed; none, as only one that begins is asked"""
    claims: list[Claim] = field(default_factory=list, compare=False)
    """the claims on open tasks in a transaction"""
    history: list[Change] = field(default_factory=list, compare=False)
    """the change that a transaction makes, once it ends"""
    taken: list[Step] = field(default_factory=list, compare=False)
    """the claims that a transaction has taken over, for the history"""
    _indexes: dict[JsonPart, dict[str, ProjectItem]] = field(default_factory=dict, compare=False, repr=False)
    """the items by their ids, for each text of a tag that claims have asked about"""

    kept_claims = "[]"
    ended = ()

    def __len__(self) -> int:
        return len(self.members)

    def copy(self, token: str) -> Self:
        """Return a copy for a transaction that begins in the state ``token``."""
        return type(self)({**self.members}, self.head, self.tail, self.gap, token)

    @property
    def tags(self) -> list[str]:
        """The names of the tags."""
        return [member.key for member in self.members.values() if is_tag(member.value)]

    @property
    def data(self) -> bytes:
        """The document as it is written."""
        gap = self.gap if self.members else ""
        return "".join([self.head, ",".join(it.whole for it in self.members.values()), gap, self.tail]).encode()

    def keep_claims(self, text: str) -> None:
        """Do nothing: session files have the claims."""

    def note_steps(self, steps: Sequence[Step]) -> None:
        """Keep in the history what was done to claims."""
        self.taken += steps

    def is_open(self, task_id: str) -> bool:
        """Return whether there is a task or subtask with this id on which work is left."""
        item = self._find(task_id)
        return item is not None and not item.is_settled

    def above(self, task_id: str) -> list[str]:
        """Return the id of the task that a subtask belongs to."""
        item = self._find(task_id)
        return [f"{task_id.removesuffix(item.id)}{item.parent.id}"] if item and item.parent else []

    def _find(self, task_id: str) -> ProjectItem | None:
        for tag in self.tags:
            if task_id.startswith(f"{tag}:"):
                member = self.members[tag]
                if member not in self._indexes:
                    self._indexes[member] = TagTasks(tag, member.value).index()
                if found := self._indexes[member].get(task_id.removeprefix(f"{tag}:")):
                    return found
        return None


class TagsFormat(DocumentFormat):
    """Reads and writes ``tasks.json`` of Task Master, in any layout; a document without tags is ``master``."""

    head = b"{"
    is_private = False
    noun = "tag"

    @override
    def lock(self, path: Path) -> ProcessLock:
        return ProjectLock.of(path)

    @override
    def rewrite(self, source: Source | None) -> Rewritten:
        document = self.read(source)
        return Rewritten(document.data, len(document))

    def read(self, source: Source | None) -> TagDocument:
        """Return the members of a document; it raises what ``rewrite`` does."""
        if source is None:
            return TagDocument()
        document = source.value()
        if not isinstance(document, dict):
            cure = f'; write {{"{MASTER}": {{"tasks": …}}}} around this list' if isinstance(document, list) else ""
            raise source.wrong((), f"an object of tags{cure}")
        if "" in document:
            raise source.wrong(("",), "a member with a name")
        text = source.text
        start = text.index("{")
        members, end = split_members(text, start)
        # In an empty document, the bracket that closes it gets a line of its own once there is a member.
        gap = "" if members or text[end:].startswith(("\n", "\r")) else DEFAULT.newline
        if isinstance(document.get("tasks"), list):
            members = _add_master(source, members, document)
        elif MASTER in document and not is_tag(document[MASTER]):
            raise source.wrong((MASTER,), _TAG_LIST if isinstance(document[MASTER], list) else _TAG)
        elif members and not any(is_tag(member.value) for member in members):
            # A document of something else, such as a package.json, must not become one of tasks.
            lists = [key for key, value in document.items() if isinstance(value, list)]
            if lists and len(lists) == len(document):
                raise source.wrong((lists[0],), _TAG_LIST)
            raise source.wrong(("tasks",) if "tasks" in document else (), "a list of tasks, or tags")
        return TagDocument({member.key: member for member in members}, source.bom + text[: start + 1], text[end:], gap)


CODEC: Final = TagsFormat()
"""The format of the document in which the tasks are kept."""


def is_tag(value: JsonValue) -> bool:
    """Return whether a member of the root is a tag."""
    return isinstance(value, dict) and isinstance(value.get("tasks"), list)


def _add_master(source: Source, members: list[JsonPart], document: Mapping[str, JsonValue]) -> list[JsonPart]:
    """Return the members of a document without tags as the first save writes them (TM-19)."""
    if MASTER in document:
        raise source.wrong(("tasks",), f"tasks within a tag: there is a tag '{MASTER}' too")
    own = {key: document[key] for key in ("tasks", "metadata") if key in document}
    master = detect_layout(source.text).member(MASTER, own)
    place = next(place for place, member in enumerate(members) if member.key in own)
    others = [member for member in members if member.key not in own]
    return [*others[:place], master, *others[place:]]
