"""The relations between records, put right in one documented way (MV-5)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from task_formats.record import ForeignTask

__all__ = ["add_reverse", "arrange", "give_ids_back", "sort_by_needs"]


def arrange(tasks: Sequence[ForeignTask]) -> tuple[list[ForeignTask], dict[str, list[str]]]:
    """Return the tasks with parents before what is below them, otherwise in their order, and changes by their ids.

    A parent or a dependency that leads nowhere becomes text in ``rest``, and so does the one that closes a circle,
    followed from its first task.
    """
    known = {task.id for task in tasks}
    parents = {task.id: [task.parent] for task in tasks if task.parent in known}
    needs = {task.id: [name for name in task.dependencies if name in known] for task in tasks}
    circles, closed = {*_find_closing(parents)}, {*_find_closing(needs)}
    changes: dict[str, list[str]] = {}
    found: dict[str, ForeignTask] = {}
    for task in tasks:
        rest = dict(task.rest)
        parent = task.parent
        if parent and (parent not in known or (task.id, parent) in circles):
            why = "is below it" if parent in known else "is not here"
            changes[task.id] = [f"{task.id} is on the top level: its parent {parent} {why}"]
            rest["parent"], parent = parent, None
        lost = [name for name in task.dependencies if name not in known or (task.id, name) in closed]
        for name in lost:
            why = "waits for it" if name in known else "is not here"
            changes.setdefault(task.id, []).append(f"{task.id} does not wait for {name}, which {why}")
        if lost:
            rest["dependencies"] = ", ".join((*lost, *filter(None, (rest.get("dependencies"),))))
        kept = tuple(name for name in task.dependencies if name not in lost)
        found[task.id] = replace(task, parent=parent, dependencies=kept, rest=rest)
    order = sort_by_needs([*found], {task.id: [task.parent] for task in found.values() if task.parent})
    return [found[name] for name in order], changes


def give_ids_back(tasks: Sequence[ForeignTask], name: str) -> list[ForeignTask]:
    """Return the tasks with the ids that those with an origin in the format ``name`` had there, where they are free."""
    taken = {task.id for task in tasks}
    ids: dict[str, str] = {}
    for task in tasks:
        own, _, old = task.rest.get("origin", "").partition(":")
        if own.partition("@")[0] == name and old and (old == task.id or old not in taken):
            ids[task.id] = old
            taken.add(old)
    return [
        replace(
            task,
            id=ids.get(task.id, task.id),
            parent=ids.get(task.parent, task.parent) if task.parent else None,
            dependencies=tuple(ids.get(it, it) for it in task.dependencies),
            rest={key: it for key, it in task.rest.items() if key != "origin" or task.id not in ids},
        )
        for task in tasks
    ]


def add_reverse(
    tasks: Iterable[ForeignTask], held: Mapping[str, Sequence[str]], name: str, *, is_parent: bool = False
) -> tuple[ForeignTask, ...]:
    """Return the tasks with the relations that only their other ends have.

    ``held`` has, by the id of a task, those that wait for it, or that are below it if ``is_parent``. One that is not
    here, or that is below another one, stays in ``rest`` under ``name``.
    """
    known = {task.id: task for task in tasks}
    for task_id, targets in held.items():
        left: list[str] = []
        for target in targets:
            other = known.get(target)
            if other is None or (is_parent and other.parent not in {None, task_id}):
                left.append(target)
            elif is_parent:
                known[target] = replace(other, parent=task_id)
            elif task_id not in other.dependencies:
                known[target] = replace(other, dependencies=(*other.dependencies, task_id))
        if left:
            task = known[task_id]
            known[task_id] = replace(task, rest={**task.rest, name: ", ".join(left)})
    return tuple(known.values())


def sort_by_needs(ids: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return ``ids`` with each after those that it needs, which are free of circles, otherwise in their order."""
    known, placed = {*ids}, dict[str, None]()
    for name in ids:
        waiting = [name]
        while waiting:
            last = waiting[-1]
            missing = [it for it in needs.get(last, ()) if it in known and it not in placed]
            if missing:
                waiting += missing[:1]
            else:
                placed[waiting.pop()] = None
    return [*placed]


def _find_closing(edges: Mapping[str, Sequence[str | None]]) -> Iterator[tuple[str, str]]:
    """Yield the edges that lead back to where one came from, going through all from the first on."""
    done: set[str] = set()
    for start in edges:
        path: dict[str, Iterator[str | None]] = {} if start in done else {start: iter(edges[start])}
        while path:
            name = next(reversed(path))
            target = next(path[name], None)
            if target is None:
                done.add(name)
                del path[name]
            elif target in path:
                yield name, target
            elif target not in done:
                path[target] = iter(edges.get(target, ()))
