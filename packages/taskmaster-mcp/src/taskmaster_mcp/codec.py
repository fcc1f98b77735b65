"""The document of this server: an object of tags, and of other members that are kept (TM-18 to TM-21)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from pydantic import JsonValue
from typing_extensions import override

from task_core.files import ProcessLock
from task_core.models import Record
from task_core.store import ROOTS, Codec, Kind
from task_core.store.collection import Node
from task_core.store.document.codec import Decoded
from task_core.store.document.source import Source
from taskmaster_mcp.project.json_text import DEFAULT, Layout, change_text, detect_layout, split_members
from taskmaster_mcp.project.lock import ProjectLock

__all__ = ["CODEC", "KIND", "MASTER", "Member", "TagsCodec", "is_tag"]

MASTER: Final = "master"
"""The tag that every project has."""


class Member(Record):
    """A member of the root of the document; its id is its key."""

    text: str
    """the member as it is written, from the comma before it to the one after it"""
    is_tag: bool = False

    @classmethod
    def new(cls, key: str, value: JsonValue, layout: Layout = DEFAULT) -> Self:
        """Return a member that is not in the document yet."""
        return cls(id=key, text=layout.member(key, value), is_tag=is_tag(value))

    @property
    def value(self) -> Any:  # noqa: ANN401 - JSON; whoever reads it checks what they read
        """A new copy of its value."""
        return json.loads("{" + self.text + "}")[self.id]

    @property
    def layout(self) -> Layout:
        """How its text is laid out."""
        return detect_layout(self.text)

    def with_value(self, value: JsonValue) -> Self:
        """Return the member with another value; what is equal keeps its bytes."""
        text = "{" + self.text + "}"
        [part], _ = split_members(text, 0)
        layout = self.layout
        changed = change_text(text, part, value, layout, layout.indent)
        return self.changed(text=text[1 : part.start] + changed + text[part.end : -1], is_tag=is_tag(value))

    def with_key(self, key: str) -> Self:
        """Return the member with another key."""
        start = len(self.text) - len(self.text.lstrip())
        end = json.JSONDecoder().raw_decode(self.text, start)[1]
        return self.changed(id=key, text=self.text[:start] + json.dumps(key, ensure_ascii=False) + self.text[end:])


KIND: Final = Kind("taskmaster", Member, holds_many=True)
"""What a store must know of the members."""


class TagsCodec(Codec[Member]):
    """Reads and writes ``tasks.json`` of Task Master, in any layout; a document without tags is ``master``."""

    head = b"{"
    own_fields = ("head", "tail", "gap")
    is_private = False
    noun = "tag"

    @override
    def lock(self, path: Path) -> ProcessLock:
        return ProjectLock.of(path)

    @override
    def document(self, blocks: Mapping[str, bytes], fields: Mapping[str, JsonValue]) -> bytes:
        head, tail = str(fields.get("head", "{")), str(fields.get("tail", "\n}"))
        gap = str(fields.get("gap", "")) if blocks else ""
        return b"".join([head.encode(), b",".join(blocks.values()), gap.encode(), tail.encode()])

    @override
    def block(self, nodes: Sequence[Node]) -> bytes:
        return Member.model_validate_json(nodes[0].line).text.encode()

    @override
    def decode_any(self, source: Source) -> Decoded[Member]:
        document = source.value()
        if not isinstance(document, dict):
            raise source.wrong((), "an object of tags")
        if "" in document:
            raise source.wrong(("",), "a member with a name")
        text = source.text
        start = text.index("{")
        parts, _ = split_members(text, start)
        end = parts[-1].end if parts else start + 1
        # The space before a comma belongs to a member; that before the closing bracket stays where it is.
        ends = [part.begin - 1 for part in parts[1:]] + [end]
        members = [
            Member(id=part.key, text=text[part.begin : stop], is_tag=is_tag(part.value))
            for part, stop in zip(parts, ends if parts else [], strict=True)
        ]
        if isinstance(document.get("tasks"), list):
            members = _add_master(source, members, document)
        elif MASTER in document and not is_tag(document[MASTER]):
            raise source.wrong((MASTER,), "a tag: an object with a list of tasks")
        elif members and not any(member.is_tag for member in members):
            # A document of something else, such as a package.json, must not become one of tasks.
            raise source.wrong(("tasks",) if "tasks" in document else (), "a list of tasks, or tags")
        fresh = {member.id: [(member, ROOTS)] for member in members}
        blocks = {member.id: member.text.encode() for member in members}
        # In an empty document, the bracket that closes it gets a line of its own once there is a member.
        gap = "" if parts or text[end:].startswith(("\n", "\r")) else DEFAULT.newline
        return Decoded(blocks, fresh, {"head": source.bom + text[: start + 1], "tail": text[end:], "gap": gap})


CODEC: Final = TagsCodec(KIND)
"""The document in which the tasks are kept."""


def is_tag(value: JsonValue) -> bool:
    """Return whether a member of the root is a tag."""
    return isinstance(value, dict) and isinstance(value.get("tasks"), list)


def _add_master(source: Source, members: list[Member], document: Mapping[str, JsonValue]) -> list[Member]:
    """Return the members of a document without tags as the first save writes them (TM-19)."""
    if MASTER in document:
        raise source.wrong(("tasks",), f"tasks within a tag: there is a tag '{MASTER}' too")
    own = {key: document[key] for key in ("tasks", "metadata") if key in document}
    master = Member.new(MASTER, own, detect_layout(source.text))
    place = next(place for place, member in enumerate(members) if member.id in own)
    others = [member for member in members if member.id not in own]
    return [*others[:place], master, *others[place:]]
