"""Items that get another id, task or place, or are removed; what waits for them follows (TM-51 to TM-58)."""

from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from taskmaster_mcp.core.creating import append_subtask, check_room, find_free_number
from taskmaster_mcp.core.graph import build_graph, check_no_new_cycle, drop_dependencies, express_dependency
from taskmaster_mcp.core.items import ProjectItem, TagTasks
from taskmaster_mcp.core.stored_words import REFERENCE
from taskmaster_mcp.errors import AmbiguousDependency, BadValue, Refused

__all__ = [
    "Dropped",
    "clear_subtasks",
    "convert_to_subtask",
    "convert_to_task",
    "insert_task",
    "move",
    "remove_items",
    "take_out",
]

Dropped = list[dict[str, str]]
"""Dependencies that were removed, each with ``id`` and ``dependsOn``."""

_Reference = tuple[JsonValue, str, bool]
"""A dependency before a move: as it is stored, its target, and true if one of the two contains the other."""


def move(tasks: TagTasks, source: str, target: str) -> Dropped:
    """Give the item ``source`` the id ``target``, and return the dependencies that cannot be stored any more."""
    item = tasks.get(source)
    if item.id == target:
        return []
    parent, _, own = target.rpartition(".")
    if not own.isdecimal() or not int(own):
        raise BadValue("to", "give a number from 1 on, or the id of a task and such a number: 5.2")
    task = tasks.get(parent) if parent else None
    if task and item.parent and task == item.parent and target in tasks.index():
        _place_behind(tasks, item, tasks.get(target))
        return []
    if target in tasks.index():
        raise Refused("TASK_EXISTS", id=target, tag=tasks.tag)
    if task == item:
        raise BadValue("to", f"task '{item.id}' cannot become a subtask of itself")
    return _move_item(tasks, item, task, int(own))


def convert_to_subtask(tasks: TagTasks, item: ProjectItem, task: ProjectItem) -> tuple[str, Dropped]:
    """Make a task the last subtask of another, and return its new id with what was dropped; it raises as ``move``."""
    if task == item:
        raise BadValue("taskId", f"task '{item.id}' cannot become a subtask of itself")
    number = find_free_number(tasks, task, avoid=item.targets)
    return f"{task.id}.{number}", _move_item(tasks, item, task, number)


def convert_to_task(tasks: TagTasks, item: ProjectItem) -> tuple[str, Dropped]:
    """Make a subtask the task with the next number, and return its new id with what was dropped."""
    number = tasks.next_number()
    return str(number), _move_item(tasks, item, None, number)


def remove_items(tasks: TagTasks, items: Sequence[ProjectItem]) -> Dropped:
    """Remove items with everything below them; dependencies on them in this tag go too and are returned."""
    removed = {*items, *(subtask for item in items for subtask in item.subtasks)}
    gone = {item.id for item in removed} - {item.id for item in tasks.items if item not in removed}
    # First the dependencies: a number may mean something else once a sibling is gone.
    dropped = drop_dependencies(tasks, lambda item, target: target in gone and item not in removed)
    for item in dict.fromkeys(items):
        if item.parent not in removed:
            take_out(tasks, item)
    for item in removed:
        tasks.touched.pop(item, None)
    return dropped


def clear_subtasks(tasks: TagTasks, items: Sequence[ProjectItem]) -> Dropped:
    """Remove all subtasks of each of these tasks, and return the dependencies on them."""
    return remove_items(tasks, [subtask for item in items for subtask in item.subtasks])


def _move_item(tasks: TagTasks, item: ProjectItem, task: ProjectItem | None, number: int) -> Dropped:
    if task and item.subtasks:
        raise Refused("HAS_SUBTASKS", id=item.id, count=len(item.subtasks))
    before = build_graph(tasks)
    references = {
        found: [(it, (target := found.resolve(it)), _touches(found, target)) for it in found.dependencies]
        for found in tasks.items
    }
    old = {item.id: "", **{subtask.id: f".{subtask.own_id}" for subtask in item.subtasks}}
    if task is None and item.parent is None:
        _renumber(tasks, item, number)
    elif task is None:
        _make_task(tasks, item, number)
    else:
        _make_subtask(tasks, item, task, number)
    new = f"{task.id}.{number}" if task else str(number)

    def renamed(name: str) -> str:
        return new + old[name] if name in old else name

    dropped = _update_references(tasks, references, renamed, item)
    check_no_new_cycle(before, tasks, renamed)
    return dropped


def _renumber(tasks: TagTasks, item: ProjectItem, number: int) -> None:
    own_ids = [(subtask, subtask.own_id) for subtask in item.subtasks]
    take_out(tasks, item)
    item.fields["id"] = str(number) if isinstance(item.fields.get("id"), str) else number
    for subtask, own in own_ids:
        if subtask.own_id != own:  # its stored id begins with the old one
            subtask.fields["id"] = f"{number}.{own}"
        if "parentTaskId" in subtask.fields:
            subtask.fields["parentTaskId"] = item.fields["id"]
    insert_task(tasks, item)


def _make_task(tasks: TagTasks, item: ProjectItem, number: int) -> None:
    check_room(tasks)
    priority = item.priority
    take_out(tasks, item)
    item.fields["id"] = tasks.stored_id(number)
    item.fields.pop("parentTaskId", None)
    if not item.text("priority").strip():
        item.fields["priority"] = priority
    item.fields.setdefault("subtasks", [])
    task = ProjectItem(item.fields)
    task.fill_description()
    insert_task(tasks, task)


def _make_subtask(tasks: TagTasks, item: ProjectItem, task: ProjectItem, number: int) -> None:
    take_out(tasks, item)
    item.fields["id"] = number
    item.fields["parentTaskId"] = task.fields.get("id")
    if item.fields.get("subtasks") == []:
        del item.fields["subtasks"]
    append_subtask(tasks, task, ProjectItem(item.fields, task))


def _place_behind(tasks: TagTasks, item: ProjectItem, sibling: ProjectItem) -> None:
    siblings = _container(tasks, item)
    take_out(tasks, item)
    place = next(place for place, fields in enumerate(siblings) if fields is sibling.fields)
    siblings.insert(place + 1, item.fields)
    tasks.touch(item)


def insert_task(tasks: TagTasks, item: ProjectItem) -> None:
    """Put a task before the first one with a higher number, or last."""
    number = item.number or 0
    higher = [task.fields for task in tasks.tasks if (task.number or 0) > number]
    place = next((place for place, it in enumerate(tasks.stored) if higher and it is higher[0]), len(tasks.stored))
    tasks.stored.insert(place, item.fields)
    tasks.touch(item)


def take_out(tasks: TagTasks, item: ProjectItem) -> None:
    """Remove an item from where it is stored, and nothing else."""
    container = _container(tasks, item)
    place = next(place for place, fields in enumerate(container) if fields is item.fields)
    del container[place]
    tasks.is_changed = True
    if item.parent:
        tasks.touch(item.parent)


def _container(tasks: TagTasks, item: ProjectItem) -> list[JsonValue]:
    return item.parent.stored_subtasks if item.parent else tasks.stored


def _update_references(
    tasks: TagTasks,
    references: Mapping[ProjectItem, Sequence[_Reference]],
    renamed: Callable[[str], str],
    moved: ProjectItem,
) -> Dropped:
    """Make every dependency mean what it meant before the move, and return those that cannot.

    Those of the item that ``moved`` are stored as a subtask or a task has them, even if they mean the same (TM-35).
    """
    dropped: Dropped = []
    for item in tasks.items:
        old = references.get(item, [])
        new: list[JsonValue] = []
        for stored, target, was_within in old:
            wanted, said = renamed(target), stored
            can_stay = was_within or not _touches(item, wanted)
            try:
                if item.resolve(stored) != wanted or (item == moved and REFERENCE.fullmatch(wanted)):
                    said = express_dependency(tasks, item, wanted)
            except AmbiguousDependency:
                can_stay = False
            if can_stay:
                new.append(str(said) if isinstance(stored, str) and item.parent is None else said)
            else:
                dropped.append({"id": item.id, "dependsOn": wanted})
        if new != [stored for stored, *_ in old]:
            item.fields["dependencies"] = new
            tasks.touch(item)
    return dropped


def _touches(item: ProjectItem, target: str) -> bool:
    return item.id == target or item.is_within(target)
