"""The tools of the set ``core``."""

from typing import Annotated, Final

from pydantic import Field, PlainValidator, WithJsonSchema

from task_core.fields import check_well_formed
from taskmaster_mcp.core.stored_words import STATUSES
from taskmaster_mcp.direct.changing import add_task_direct, set_task_status_direct, update_subtask_direct
from taskmaster_mcp.direct.planning import ask_for_task_direct, expand_task_direct, parse_prd_direct
from taskmaster_mcp.direct.reading import get_task_direct, get_tasks_direct, next_task_direct
from taskmaster_mcp.direct.results import DirectResult
from taskmaster_mcp.tools.arguments import HostCall, ItemFields, SubtaskPlan, TagCall, TaskPlan
from taskmaster_mcp.tools.kinds import (
    Dependencies,
    Details,
    ItemId,
    Items,
    JsonObjectArgument,
    Number,
    Priority,
    Status,
    Switch,
    check_word,
    drop_default,
)
from taskmaster_mcp.tools.toolbox import Toolbox

__all__ = [
    "AddTaskCall",
    "ExpandTaskCall",
    "GetTaskCall",
    "GetTasksCall",
    "ParsePrdCall",
    "SetTaskStatusCall",
    "UpdateSubtaskCall",
    "add_core_tools",
]

_FILTER: Final = (*STATUSES, "completed", "all")


def _statuses(value: object) -> tuple[str, ...]:
    words = [check_word(word, _FILTER) for word in check_well_formed(value).split(",")]
    return () if "all" in words else tuple(dict.fromkeys("done" if it == "completed" else it for it in words))


class GetTasksCall(TagCall):
    """Arguments of ``get_tasks``."""

    status: Annotated[
        tuple[str, ...],
        PlainValidator(_statuses),
        WithJsonSchema({"type": "string"}),
        Field(
            description="Only these, by comma: pending, in-progress, done, review, blocked, deferred, cancelled",
            json_schema_extra=drop_default,
        ),
    ] = ()
    with_subtasks: Annotated[Switch, Field(description="Show subtasks")] = False
    limit: Annotated[int, Field(ge=1, le=1000, description="Maximum")] = 100
    after: Annotated[ItemId | None, Field(description="Continue after this id")] = None


class GetTaskCall(TagCall):
    """Arguments of ``get_task``."""

    id: Annotated[Items, Field(description="Id or ids by comma: 5, 5.2")]
    status: Annotated[Status | None, Field(description="Only subtasks with it")] = None


class SetTaskStatusCall(TagCall):
    """Arguments of ``set_task_status``."""

    id: Annotated[Items, Field(description="Id or ids by comma")]
    status: Annotated[Status, Field(description="New status")]


class AddTaskCall(ItemFields, HostCall):
    """Arguments of ``add_task``."""

    dependencies: Annotated[
        Dependencies, Field(description="Ids by comma that come first", json_schema_extra=drop_default)
    ] = ()
    priority: Annotated[Priority | None, Field(description="Priority")] = None
    prompt: Annotated[Details | None, Field(description="Instead of a title: what to plan a task for")] = None


class UpdateSubtaskCall(TagCall):
    """Arguments of ``update_subtask``."""

    id: Annotated[ItemId, Field(description="Id of a subtask or task")]
    prompt: Annotated[Details | None, Field(description="Text to append")] = None
    metadata: Annotated[JsonObjectArgument | None, Field(description="Merged; null removes")] = None


class ExpandTaskCall(HostCall):
    """Arguments of ``expand_task``."""

    id: Annotated[ItemId, Field(description="Id of a task")]
    subtasks: Annotated[SubtaskPlan | None, Field(description="Your plan")] = None
    num: Annotated[Number | None, Field(description="How many")] = None
    prompt: Annotated[Details | None, Field(description="Guidance")] = None
    force: Annotated[Switch, Field(description="Replace present subtasks")] = False
    revision: Annotated[str | None, Field(description="From the answer")] = None


class ParsePrdCall(HostCall):
    """Arguments of ``parse_prd``."""

    input: Annotated[str | None, Field(description="Document; default .taskmaster/docs/prd.txt or .md")] = None
    tasks: Annotated[TaskPlan | None, Field(description="Your plan")] = None
    num_tasks: Annotated[Number | None, Field(description="How many; 0: as needed")] = None
    append: Annotated[Switch, Field(description="Add to the tasks")] = False
    force: Annotated[Switch, Field(description="Replace all tasks")] = False
    revision: Annotated[str | None, Field(description="From the answer")] = None
    background: Annotated[Switch, Field(description="In background")] = False


def add_core_tools(box: Toolbox) -> None:
    """Publish those of these tools that were chosen."""
    _add_reading_tools(box)
    _add_changing_tools(box)
    _add_planning_tools(box)


def _add_reading_tools(box: Toolbox) -> None:
    @box.tool(read_only=True, idempotent=True)
    def get_tasks(arguments: GetTasksCall) -> DirectResult:
        """List the tasks of a tag in short, with counts by status."""
        return get_tasks_direct(
            box.registry,
            arguments.scope,
            statuses=arguments.status,
            with_subtasks=arguments.with_subtasks,
            limit=arguments.limit,
            after=arguments.after or "",
        )

    @box.tool(read_only=True, idempotent=True, whole=True)
    def get_task(arguments: GetTaskCall) -> DirectResult:
        """Return tasks or subtasks whole."""
        return get_task_direct(box.registry, arguments.scope, ids=arguments.id, status=arguments.status or "")

    @box.tool(read_only=True, idempotent=True, whole=True)
    def next_task(arguments: TagCall) -> DirectResult:
        """Find the task or subtask to work on next."""
        return next_task_direct(box.registry, arguments.scope)


def _add_changing_tools(box: Toolbox) -> None:
    @box.tool(idempotent=True)
    def set_task_status(arguments: SetTaskStatusCall) -> DirectResult:
        """Set the status of tasks or subtasks. A task that is done closes its subtasks; tasks follow their subtasks."""
        return set_task_status_direct(box.registry, arguments.scope, ids=arguments.id, status=arguments.status)

    @box.tool()
    def add_task(arguments: AddTaskCall) -> DirectResult:
        """Add a task; give at least a title."""
        return _add_task(box, arguments)

    @box.tool()
    def update_subtask(arguments: UpdateSubtaskCall) -> DirectResult:
        """Append a note with its time to the details of a subtask or task: progress, findings."""
        return update_subtask_direct(
            box.registry, arguments.scope, item_id=arguments.id, note=arguments.prompt, metadata=arguments.metadata
        )


def _add_task(box: Toolbox, arguments: AddTaskCall) -> DirectResult:
    if arguments.title is None:
        return ask_for_task_direct(box.registry, arguments.scope, ask=arguments.ask(None, arguments.prompt))
    return add_task_direct(
        box.registry,
        arguments.scope,
        fields=arguments.fields,
        dependencies=arguments.dependencies,
        ask=arguments.ask(),
    )


def _add_planning_tools(box: Toolbox) -> None:
    @box.tool(destructive=True, whole=True)
    def expand_task(arguments: ExpandTaskCall) -> DirectResult:
        """Split a task into subtasks: call with your plan, or without one to get what it needs."""
        return expand_task_direct(
            box.registry,
            arguments.scope,
            task_id=arguments.id,
            plan=None if arguments.subtasks is None else [it.planned for it in arguments.subtasks],
            ask=arguments.ask(arguments.num, arguments.prompt),
            force=arguments.force,
            revision=arguments.revision,
        )

    @box.tool(destructive=True, whole=True)
    def parse_prd(arguments: ParsePrdCall) -> DirectResult:
        """Turn a requirements document into tasks: call without tasks to get it, then with your plan."""
        return box.run(
            lambda scope, _: parse_prd_direct(
                box.registry,
                scope,
                file=arguments.input,
                plan=None if arguments.tasks is None else [it.planned for it in arguments.tasks],
                ask=arguments.ask(arguments.num_tasks),
                append=arguments.append,
                force=arguments.force,
                revision=arguments.revision,
            ),
            arguments.scope,
            background=arguments.background and arguments.tasks is not None,
        )
