"""The document of this server: a bare array of nested root tasks, each on its own lines (R4.6, ST-1)."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from pydantic import JsonValue, ValidationError
from typing_extensions import override

from hierarchy_mcp.models import KIND, MAX_LEVELS, HierarchyStatus, HierarchyTask, derive_status
from hierarchy_mcp.settings import HierarchySettings
from task_core.document_file.source import Path, Source
from task_core.errors import StoreNewer
from task_core.models import Clock, utc_now
from task_core.store import ROOTS, Store, open_store
from task_core.store.codec import Codec, Decoded
from task_core.store.collection import Node
from task_core.text import escape_invisible, shorten
from task_core.warning_list import WarningList

__all__ = ["CODEC", "ForestCodec", "open_trees"]

_INDENT: Final = b"  "

_OPEN: Final = b',"tasks":['
"""Between the fields of a task and its subtasks."""

_CLOSE: Final = b"]}"
"""After the subtasks of a task."""

_ECHO_LIMIT: Final = 100
"""Maximum characters of an id in the document that a note repeats."""


class _Item(NamedTuple):
    """A task in a document that is being read, with the ids of its root and its parent."""

    root: str
    parent: str
    task: HierarchyTask
    said: JsonValue
    """the status that the document gives it, or None if it gives none"""


class ForestCodec(Codec[HierarchyTask]):
    """Reads and writes the array; a status that breaks the rules is replaced by the one they give, with a note."""

    head = b"[\n"
    find_claimed: Callable[[], Container[str]] = staticmethod(tuple)
    """returns the roots that are claimed, each of which may have an active leaf of its own (AG-17)"""

    @override
    def block(self, nodes: Sequence[Node]) -> bytes:
        children: dict[str, list[Node]] = {}
        for node in nodes[1:]:
            children.setdefault(node.parent, []).append(node)

        def lines(node: Node, indent: bytes, end: bytes) -> Iterator[bytes]:
            head, below = indent + node.line[:-1] + _OPEN, children.get(node.id, [])
            if not below:
                yield head + _CLOSE + end
                return
            yield head
            for child in below:
                yield from lines(child, indent + _INDENT, b"" if child is below[-1] else b",")
            yield indent + _CLOSE + end

        return b"\n".join(lines(nodes[0], b"", b""))

    @override
    def tail(self, roots: Iterable[str], fields: Mapping[str, JsonValue]) -> bytes:
        return b"\n]\n" if any(True for _ in roots) else b"]\n"

    @override
    def decode(self, source: Source) -> Decoded[HierarchyTask]:
        document = source.value()
        version = document.get("version") if isinstance(document, dict) else None
        if isinstance(version, int) and version > KIND.version:
            raise StoreNewer(source.name, version, KIND.version)
        if not isinstance(document, list):
            raise source.wrong((), "an array of tasks")
        items = [*_items(source, (), "", ROOTS, document, {})]
        statuses = _statuses(items, self.find_claimed())
        records: dict[str, list[tuple[HierarchyTask, str]]] = {}
        for item in items:
            task = item.task.changed(status=statuses[item.task.id])
            records.setdefault(item.root, []).append((task, item.parent))
        tasks = chain.from_iterable(records.values())
        blocks = self.encode([Node(task.id, parent, task.to_json()) for task, parent in tasks])
        return Decoded(blocks, records, notes=tuple(_notes(items, statuses)))

    @override
    def is_independent(self, block: bytes) -> bool:
        return b'"status":"in_progress"' not in block  # only one leaf of all may be in progress


CODEC: Final = ForestCodec(KIND)
"""The document in which the tasks are kept, with one active leaf in all."""


def open_trees(settings: HierarchySettings, warnings: WarningList, clock: Clock = utc_now) -> Store[HierarchyTask]:
    """Return the store that ``settings`` name; it touches no file before its first use."""
    codec = ForestCodec(KIND)
    store = open_store(settings, codec, warnings, clock=clock)
    codec.find_claimed = store.claims.find_kept
    return store


def _items(
    source: Source, above: Path, root: str, parent: str, document: Sequence[JsonValue], paths: dict[str, Path]
) -> Iterator[_Item]:
    """Yield the tasks of a list at the path ``above``, each followed by what is below it; ``paths`` has those so far.

    Raises:
        StoreDamaged: something there is not a valid task.
    """
    for place, item in enumerate(document):
        path = (*above, place)
        below = item.get("tasks") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not (below is None or isinstance(below, list)):
            where = path if not isinstance(item, dict) else (*path, "tasks")
            raise source.wrong(where, "a task" if where is path else "a list of tasks")
        if len(path) // 2 >= MAX_LEVELS:
            raise source.wrong(path, f"at most {MAX_LEVELS} levels of tasks")
        try:
            task = HierarchyTask.model_validate({name: value for name, value in item.items() if name != "tasks"})
        except ValidationError as error:
            raise source.invalid(path, error) from None
        if task.id in paths:
            raise source.repeated_id(path, paths[task.id])
        paths[task.id] = path
        yield _Item(root or task.id, parent, task, item.get("status"))
        yield from _items(source, (*path, "tasks"), root or task.id, task.id, below or (), paths)


def _statuses(items: Sequence[_Item], claimed: Container[str]) -> dict[str, HierarchyStatus]:
    """Return the status that the rules give each task; parents come before what is below them.

    If several leaves are in progress, only the first stays so, and the first in each ``claimed`` root.
    """
    parents = {item.parent for item in items}
    taken: set[str] = set()
    extra: set[str] = set()
    for root, _, task, _ in items:
        if task.id not in parents and task.status is HierarchyStatus.IN_PROGRESS:
            group = root if root in claimed else ""
            if group in taken:
                extra.add(task.id)
            taken.add(group)
    below: dict[str, set[str]] = {}
    found: dict[str, HierarchyStatus] = {}
    for _, parent, task, _ in reversed(items):
        status = derive_status(below[task.id]) if task.id in parents else task.status
        found[task.id] = HierarchyStatus.TODO if task.id in extra else status
        below.setdefault(parent, set()).add(found[task.id])
    return found


def _notes(items: Sequence[_Item], statuses: Mapping[str, HierarchyStatus]) -> Iterator[str]:
    """Yield a note for each task to which the document gives another status than the rules do."""
    parents = {item.parent for item in items}
    for item in items:
        ruled = statuses[item.task.id].value
        if item.said in {None, ruled}:
            continue
        name, said = (escape_invisible(shorten(str(word), _ECHO_LIMIT)) for word in (item.task.id, item.said))
        why = "its subtasks say so" if item.task.id in parents else "only one task may be in progress"
        why = "that is how the word is written" if str(item.said).casefold() == ruled else why
        yield f"Task '{name}' is read as '{ruled}', not '{said}': {why}."
