"""What the seven tools must do, said once more and as plainly as can be: lists that change, and rules on leaves.

It shares no code with the server and is built another way round: order is the order of the leaves on the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.hierarchy.conftest import Object

MAX_LEVELS = 90


class Refused(Exception):
    """The call must fail with this code."""


@dataclass
class PlainTask:
    """A task; ``mark`` counts while it has no subtasks."""

    id: str
    mark: str = "todo"
    resolution: str | None = None
    tasks: list[PlainTask] = field(default_factory=list)

    @property
    def all(self) -> Iterator[PlainTask]:
        yield self
        for task in self.tasks:
            yield from task.all

    @property
    def leaves(self) -> list[PlainTask]:
        return [task for task in self.all if not task.tasks]

    @property
    def status(self) -> str:
        marks = {leaf.mark for leaf in self.leaves}
        if "in_progress" in marks:
            return "in_progress"
        return "done" if marks == {"done"} else "todo"


def planted(arguments: Object) -> PlainTask:
    below = arguments.get("tasks", [])
    assert isinstance(below, list)
    return PlainTask(str(arguments["id"]), tasks=[planted(task) for task in below if isinstance(task, dict)])


@dataclass
class PlainModel:
    """The tasks, and the seven operations on them; one that is refused changes nothing."""

    strict: bool
    roots: list[PlainTask] = field(default_factory=list)

    @property
    def all(self) -> list[PlainTask]:
        return [task for root in self.roots for task in root.all]

    @property
    def active(self) -> list[PlainTask]:
        return [task for task in self.all if not task.tasks and task.mark == "in_progress"]

    def find(self, task_id: str) -> PlainTask:
        found = [task for task in self.all if task.id == task_id]
        if not found:
            raise Refused("TaskNotFound")
        return found[0]

    def below(self, task_id: str | None) -> list[PlainTask]:
        return self.find(task_id).tasks if task_id else self.roots

    def parent(self, task: PlainTask) -> PlainTask | None:
        return next((parent for parent in self.all if task in parent.tasks), None)

    def root(self, task: PlainTask) -> PlainTask:
        return next(root for root in self.roots if task in root.all)

    def siblings(self, task: PlainTask) -> list[PlainTask]:
        parent = self.parent(task)
        return parent.tasks if parent else self.roots

    def create(self, arguments: Object, parent_id: str | None, index: int | None) -> PlainTask:
        siblings = self.below(parent_id)
        if index is not None and index > len(siblings):
            raise Refused("InvalidArguments")
        task = planted(arguments)
        names = [each.id for each in (*self.all, *task.all)]
        if len(set(names)) < len(names):
            raise Refused("DuplicateId")
        siblings.insert(len(siblings) if index is None else index, task)
        return task

    def move(self, task_id: str, parent_id: str | None, index: int | None) -> PlainTask:
        task = self.find(task_id)
        siblings, parent = self.below(parent_id), self.parent(task)
        if parent_id in [each.id for each in task.all]:
            raise Refused("InvalidArguments")
        if index is not None and index > len([each for each in siblings if each is not task]):
            raise Refused("InvalidArguments")
        was = parent.status if parent else ""
        self.siblings(task).remove(task)
        siblings.insert(len(siblings) if index is None else index, task)
        self.lose(parent, was)
        return task

    def lose(self, parent: PlainTask | None, was: str) -> None:
        if parent and not parent.tasks:
            parent.mark = "done" if was == "done" else "todo"

    def reopen(self, task_id: str) -> None:
        leaves = self.find(task_id).leaves
        if any(leaf.mark != "todo" for leaf in leaves):
            for leaf in leaves:
                leaf.mark = "todo"

    def delete(self, task_id: str) -> int:
        task = self.find(task_id)
        parent = self.parent(task)
        was = parent.status if parent else ""
        self.siblings(task).remove(task)
        self.lose(parent, was)
        return len(list(task.all))

    def blocked(self, leaf: PlainTask) -> bool:
        before = [each for root in self.roots for each in root.leaves]
        if not self.strict:
            before = self.root(leaf).leaves
        return any(each.mark != "done" for each in before[: before.index(leaf)])

    def start(self, task_id: str) -> PlainTask:
        """Return the leaf that is active now."""
        task = self.find(task_id)
        if task.status == "done":
            raise Refused("InvalidTransition")
        leaf = next(leaf for leaf in task.leaves if leaf.mark != "done")
        if leaf.mark != "in_progress":
            if self.blocked(leaf):
                raise Refused("ExecutionOrder")
            for other in self.active:
                other.mark = "todo"
            leaf.mark = "in_progress"
        return leaf

    def complete(self, task_id: str, resolution: str) -> str | None:
        """Return the id of the task to do next."""
        task = self.find(task_id)
        if task.status == "done":
            raise Refused("InvalidTransition")
        if task.tasks:
            raise Refused("IncompleteSubtasks")
        if task.mark == "todo" and self.blocked(task):
            raise Refused("ExecutionOrder")
        task.mark, task.resolution = "done", resolution
        if self.active:
            return self.active[0].id
        here = self.roots.index(self.root(task))
        leaves = [leaf for root in self.roots[here:] + self.roots[:here] for leaf in root.leaves]
        return next((leaf.id for leaf in leaves if leaf.mark == "todo" and not self.blocked(leaf)), None)

    def row(self, task: PlainTask, mark: str) -> list[str]:
        """Return the cells of the task in the table."""
        parent = self.parent(task)
        done = [below for below in task.tasks if below.status == "done"]
        counted = f"{len(done)}/{len(task.tasks)}" if task.tasks else "-"
        share = len(done) * 100 // len(task.tasks) if task.tasks else 100 * (task.mark == "done")
        return [task.id, parent.id if parent else "-", task.status, mark, counted, f"{share}%"]
