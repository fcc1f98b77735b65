"""The operations on the tasks: plain methods on plain values, without the protocol and without files."""

from collections.abc import Sequence
from random import Random

from hierarchy_mcp.arguments import CompleteTask, CreateTask, ListTasks, StartTask, UpdateTask
from hierarchy_mcp.errors import ExecutionOrder, IncompleteSubtasks
from hierarchy_mcp.messages import (
    completed_message,
    created_message,
    left_message,
    reopened_message,
    started_message,
    superseded_message,
)
from hierarchy_mcp.models import HierarchyStatus, HierarchyTask
from hierarchy_mcp.rendering import add_levels, render_alone, render_counted, render_tree
from hierarchy_mcp.results import (
    ActiveTask,
    Criteria,
    DeletedTask,
    ListedTasks,
    StartedTask,
    TaskEntry,
    TaskState,
    TaskStep,
    TreeAnswer,
)
from hierarchy_mcp.summary import summarize_progress, table
from hierarchy_mcp.tree import (
    active_leaves,
    add_tree,
    check_levels,
    claimed_tasks,
    count_levels,
    find_blocking,
    find_path,
    find_rivals,
    first_open_leaf,
    next_leaf,
    settle,
)
from task_core.bounds import fit, take_fitting
from task_core.errors import MAX_NAMED, InvalidArguments, InvalidTransition
from task_core.store import ROOTS, Collection, Store, Transaction

__all__ = ["HierarchyService"]


class HierarchyService:
    """The seven operations on the tasks; each is one transaction, all or nothing."""

    def __init__(self, store: Store[HierarchyTask], *, strict_roots: bool, rng: Random) -> None:
        self._store = store
        self._strict_roots = strict_roots
        self._rng = rng

    def create_task(self, arguments: CreateTask) -> TreeAnswer:
        """Create a task with all its subtasks, or nothing at all (HI-1).

        Raises:
            TaskNotFound: no task has the parent's id.
            InvalidArguments: the index is out of range, or the tree would be too deep.
            DuplicateId: an id is taken or given twice.
        """
        parent = arguments.parent_id or ROOTS
        with self._store.transaction() as work:
            above = find_path(work, parent)
            before = work.count_children(parent)
            _check_index(arguments.insert_index, before)
            check_levels(len(above), count_levels(arguments), "parentId" if above else "tasks")
            task = add_tree(work, arguments, parent, arguments.insert_index, self._rng)
            settle(work, above)
            if above:
                message = "" if before else superseded_message(above[-1], work.get(parent).status)
            else:
                message = created_message(task, len(arguments.tasks or ()))
            return TreeAnswer(task=render_tree(work, task), message=message)

    def get_task(self, task_id: str) -> TreeAnswer:
        """Return a task with its subtasks, as many whole levels as fit (HI-2).

        Raises:
            TaskNotFound: no task has the id.
        """
        with self._store.read() as tasks:
            return TreeAnswer(task=render_tree(tasks, tasks.get(task_id)))

    def list_tasks(self, arguments: ListTasks) -> ListedTasks:
        """Return the roots, or the subtasks of one task, in order (HI-2).

        Raises:
            TaskNotFound: no task has the parent's id, or the id to continue after.
            InvalidArguments: the task to continue after is not among those that are listed.
        """
        parent, after = arguments.parent_id or ROOTS, arguments.after or ""
        with self._store.read() as tasks:
            if parent:
                tasks.get(parent)
            if after and tasks.row(after).parent != parent:
                raise InvalidArguments([("after", "give the id of the last task of the previous page")])
            listed = tasks.children(parent, after=after, limit=arguments.limit)
            page = take_fitting([fit(render_alone(task)) for task in listed])
            rest = tasks.count_children(parent, after=after) - len(page)
            add_levels(tasks, page, arguments.depth)
            return ListedTasks(tasks=[*page], left_out=rest)

    def update_task(self, arguments: UpdateTask) -> TreeAnswer:
        """Change fields of a task, move it, or set it and all below it back to todo (HI-3).

        Raises:
            InvalidArguments: nothing to change is given, or the task cannot be moved there.
            InvalidTransition: another status than todo is asked for.
            TaskNotFound: no task has the id, or the parent's id.
        """
        if not (arguments.values or arguments.status or arguments.is_move):
            raise InvalidArguments([("arguments", "name at least one field to change")])
        with self._store.transaction() as work:
            task = work.get(arguments.id)
            moved = _move(work, task, arguments) if arguments.is_move else ""
            kept = _reopen(work, task, arguments.status) if arguments.status else 0
            task = work.get(task.id)
            if any(getattr(task, name) != value for name, value in arguments.values.items()):
                task = task.changed(**arguments.values)
                work.replace(task)
            message = " ".join(filter(None, (moved, reopened_message(kept))))
            return TreeAnswer(task=render_tree(work, task), message=message)

    def delete_task(self, task_id: str) -> DeletedTask:
        """Delete a task with all below it (HI-4).

        Raises:
            TaskNotFound: no task has the id.
        """
        with self._store.transaction() as work:
            above = work.ancestors(task_id)
            deleted = work.remove(task_id)
            settle(work, above)
        return DeletedTask(id=task_id, deleted=deleted)

    def start_task(self, arguments: StartTask) -> StartedTask:
        """Start the first open leaf of a task; an active leaf elsewhere goes back to todo (HI-5).

        Of more than 12 tasks the table has the changed ones, unless all are asked for (PE-19).

        Raises:
            TaskNotFound: no task has the id.
            InvalidTransition: the task is done.
            ExecutionOrder: tasks before it are not done.
        """
        with self._store.transaction() as work:
            asked = work.get(arguments.id)
            _refuse_done(asked, HierarchyStatus.IN_PROGRESS)
            leaf = first_open_leaf(work, asked)
            is_new = leaf.status is HierarchyStatus.TODO
            rivals: list[HierarchyTask] = []
            changed: list[HierarchyTask] = []
            if is_new:
                self._check_order(work, find_path(work, leaf.id))
                rivals = find_rivals(work, leaf)
                changed = _set_status(work, leaf, HierarchyStatus.IN_PROGRESS)
                for rival in rivals:
                    changed += _set_status(work, rival, HierarchyStatus.TODO)
            path = find_path(work, leaf.id)
            started = dict.fromkeys(task.id for task in changed)
            return StartedTask(
                task=render_counted(work, work.get(asked.id)),
                active_task=ActiveTask.of(path[-1]),
                started_tasks=[TaskState.of(task) for task in path if task.id in started],
                message=started_message(leaf, rivals[0] if rivals else None, is_new=is_new),
                aggregated_criteria=Criteria.of(path),
                hierarchy_summary=table(work, path, work.get(asked.id), started, is_whole=bool(arguments.table)),
            )

    def complete_task(self, arguments: CompleteTask) -> TaskStep:
        """Complete a leaf, and with it each parent that has no open subtask left, and name what comes next (HI-6).

        The call may start that too, and ask for all rows of the table (PE-19).

        Raises:
            TaskNotFound: no task has the id.
            InvalidTransition: the task is done already.
            IncompleteSubtasks: it has open subtasks.
            ExecutionOrder: it is not the active leaf, and tasks before it are not done.
        """
        with self._store.transaction() as work:
            task_id = arguments.id
            path = find_path(work, task_id)
            task = path[-1]
            _refuse_done(task, HierarchyStatus.DONE)
            if work.child_states(task_id):
                incomplete = work.children(task_id, is_open=True, limit=MAX_NAMED)
                raise IncompleteSubtasks(_states(incomplete), work.count_children(task_id, is_open=True))
            if task.status is not HierarchyStatus.IN_PROGRESS:
                self._check_order(work, path)
            changed = _set_status(work, task.changed(resolution=arguments.resolution), HierarchyStatus.DONE)
            completed = [TaskEntry.of(other) for other in changed[1:] if other.is_done]
            following = next_leaf(work, task, strict_roots=self._strict_roots)
            holder = ""
            if following and work.claims:
                claims = self._store.claims.list_claims(work, self._store.now(work))
                holder = next((it.holder for it in claims.find_others(following.id)), "")
            is_new = bool(following and following.status is HierarchyStatus.TODO and not holder)
            is_started = bool(arguments.start_next and is_new)
            if following and is_started:
                changed += _set_status(work, following, HierarchyStatus.IN_PROGRESS)
            path = find_path(work, task_id)
            ahead = find_path(work, following.id) if following else []
            began = ahead if arguments.start_next and not holder else []
            ids = dict.fromkeys(other.id for other in changed)
            is_over, is_claimed = work.first_open_child(ROOTS) is None, path[0].id in claimed_tasks(work)
            return TaskStep(
                task=render_counted(work, path[-1]),
                next_task_id=following.id if following else "",
                message=completed_message(
                    path[-1],
                    following,
                    is_started=is_started,
                    is_over=is_over,
                    is_claimed=is_claimed,
                    holder=holder,
                ),
                auto_completed_parents=completed,
                progress_summary=summarize_progress(work, path, ahead, ids, is_whole=bool(arguments.table)),
                active_task=ActiveTask.of(began[-1]) if began else None,
                aggregated_criteria=Criteria.of(began) if began else None,
            )

    def settle_released(self, work: Transaction[HierarchyTask], ids: set[str]) -> str:
        """Set the active leaves of roots that are not claimed any more back to todo where another is active (AG-17).

        ``ids`` are those of the roots; return what was set back.
        """
        given_up = [leaf for leaf in active_leaves(work) if find_path(work, leaf.id)[0].id in ids]
        left = [leaf for leaf in given_up if find_rivals(work, leaf) and _set_status(work, leaf, HierarchyStatus.TODO)]
        return left_message(left)

    def _check_order(self, tasks: Collection[HierarchyTask], path: Sequence[HierarchyTask]) -> None:
        blocking, count = find_blocking(tasks, path, strict_roots=self._strict_roots)
        if count:
            raise ExecutionOrder(_states(blocking), count)


def _check_index(wanted: int | None, count: int) -> None:
    if wanted is not None and wanted > count:
        raise InvalidArguments([("insertIndex", f"give 0 to {count}, or leave it out to append")])


def _refuse_done(task: HierarchyTask, wanted: HierarchyStatus) -> None:
    if task.is_done:
        raise InvalidTransition(task.status.value, wanted.value, [], f"It is already {task.status.value}.")


def _set_status(work: Transaction[HierarchyTask], leaf: HierarchyTask, status: HierarchyStatus) -> list[HierarchyTask]:
    """Give a leaf a status, and its ancestors the status that follows; return those that changed, the leaf first."""
    changed = leaf.changed(status=status)
    work.replace(changed)
    return [changed, *settle(work, work.ancestors(leaf.id))]


def _move(work: Transaction[HierarchyTask], task: HierarchyTask, arguments: UpdateTask) -> str:
    """Move the task; return a message if that changed the leaf that it was moved below."""
    old = work.row(task.id).parent
    parent = old if arguments.keeps_parent else arguments.parent_id or ROOTS
    above, left = find_path(work, parent), work.ancestors(task.id)
    if any(other.id == task.id for other in above):
        raise InvalidArguments([("parentId", "a task cannot be moved below itself")])
    check_levels(len(above), max(level for _, level in work.subtree(task.id)), "parentId")
    count = work.count_children(parent)
    _check_index(arguments.insert_index, count - (parent == old))
    work.move(task.id, parent, arguments.insert_index)
    settle(work, left)
    settle(work, [work.get(other.id) for other in above])
    return superseded_message(above[-1], work.get(parent).status) if above and not count else ""


def _reopen(work: Transaction[HierarchyTask], task: HierarchyTask, status: HierarchyStatus) -> int:
    """Set every leaf of ``task`` back to todo, and return how many of them have a resolution, which they keep."""
    if status is not HierarchyStatus.TODO:
        _refuse_done(task, status)  # without advising todo, which would reopen it
        advice = "Call startTask to start a task and completeTask to complete it; updateTask accepts only 'todo'."
        raise InvalidTransition(task.status.value, status.value, [HierarchyStatus.TODO.value], advice)
    below = [work.get(node.id) for node, _ in reversed(work.subtree(task.id))]
    if all(other.status is HierarchyStatus.TODO for other in below):
        return 0
    for other in below:
        work.replace(other.changed(status=HierarchyStatus.TODO))
    settle(work, work.ancestors(task.id))
    return sum(other.resolution is not None and not work.child_states(other.id) for other in below)


def _states(tasks: Sequence[HierarchyTask]) -> list[dict[str, str]]:
    return [TaskState.of(task).model_dump() for task in tasks]
