"""New trees from the arguments of one call: ids that are free, and a depth that every reader can follow (HI-1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random

from hierarchy_mcp.arguments import NewTask
from hierarchy_mcp.models import Task
from hierarchy_mcp.tree import MAX_LEVELS, fold, height
from task_core.errors import DuplicateId, InvalidArguments
from task_core.ids import short_id

__all__ = ["check_levels", "new_tree"]


def new_tree(new: NewTask, taken: Iterable[str], rng: Random) -> Task:
    """Return the todo task with all its subtasks; an id that is given is kept, another is made (R6.7, R6.8).

    Raises:
        DuplicateId: an id is among ``taken``, or is given twice.
    """
    ids = {*taken}
    for task_id in _given_ids(new):
        if task_id in ids:
            raise DuplicateId(task_id)
        ids.add(task_id)

    def made(node: NewTask, tasks: tuple[Task, ...]) -> Task:
        task_id = node.id or short_id(ids, rng)
        ids.add(task_id)
        task = Task(
            id=task_id,
            name=node.name,
            description=node.description,
            completion_criteria=node.completion_criteria or (),
            constraints=node.constraints or (),
        )
        return task.with_tasks(tasks) if tasks else task

    return fold(new, _subtasks, made)


def check_levels(task: Task, levels_above: int) -> None:
    """Pass when ``task`` with all below it fits under so many levels.

    Raises:
        InvalidArguments: the tree would be too deep.
    """
    levels = levels_above + height(task)
    if levels > MAX_LEVELS:
        advice = f"a tree has at most {MAX_LEVELS} levels, and this would make {levels}: make it flatter"
        raise InvalidArguments([("parentId" if levels_above else "tasks", advice)])


def _subtasks(new: NewTask) -> Sequence[NewTask]:
    return new.tasks or ()


def _given_ids(new: NewTask) -> Iterator[str]:
    nodes = [new]
    for node in nodes:
        nodes.extend(_subtasks(node))
        if node.id is not None:
            yield node.id
