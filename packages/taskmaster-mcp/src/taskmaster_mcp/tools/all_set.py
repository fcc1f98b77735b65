"""The tools that the set ``all`` adds."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from task_core.fields import decode_object
from taskmaster_mcp.direct.arranging import (
    add_dependency_direct,
    clear_subtasks_direct,
    fix_dependencies_direct,
    move_task_direct,
    move_to_tag_direct,
    remove_dependency_direct,
    remove_subtask_direct,
)
from taskmaster_mcp.direct.changing import ItemEdit, update_direct, update_task_direct
from taskmaster_mcp.direct.planning import ask_about_tasks_direct
from taskmaster_mcp.direct.reading import (
    cache_stats_direct,
    get_operation_status_direct,
    validate_dependencies_direct,
)
from taskmaster_mcp.direct.registry import Scope
from taskmaster_mcp.direct.results import DirectResult
from taskmaster_mcp.direct.setup import generate_direct
from taskmaster_mcp.tools.arguments import Call, HostCall, ItemFields, TagCall
from taskmaster_mcp.tools.kinds import (
    Details,
    ItemId,
    Items,
    JsonObjectArgument,
    Priority,
    Switch,
    decode_list,
)
from taskmaster_mcp.tools.toolbox import Toolbox

__all__ = [
    "ClearSubtasksCall",
    "DependencyCall",
    "EditArguments",
    "GenerateCall",
    "GetOperationStatusCall",
    "MoveTaskCall",
    "RemoveSubtaskCall",
    "UpdateCall",
    "UpdateTaskCall",
    "add_all_tools",
]


class EditArguments(ItemFields):
    """Changes to one item."""

    id: Annotated[ItemId, Field(description="Id")]
    priority: Annotated[Priority | None, Field(description="Priority")] = None
    metadata: Annotated[JsonObjectArgument | None, Field(description="Merged; null removes")] = None
    append: Annotated[Switch, Field(description="Append details")] = False

    @property
    def changes(self) -> ItemEdit:
        """The changes, as the rules take them."""
        return ItemEdit(self.id, self.fields, self.metadata, self.append)


class UpdateTaskCall(EditArguments, HostCall):
    """Arguments of ``update_task``."""

    prompt: Annotated[Details | None, Field(description="Or say what to change")] = None
    revision: Annotated[str | None, Field(description="From the answer")] = None


class UpdateCall(HostCall):
    """Arguments of ``update``."""

    from_: Annotated[ItemId, Field(alias="from", description="First id")]
    prompt: Annotated[Details | None, Field(description="Instead of updates: what to change")] = None
    updates: Annotated[
        tuple[Annotated[EditArguments, BeforeValidator(decode_object)], ...] | None,
        BeforeValidator(decode_list),
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
        Field(description="Each: id, and fields as in update_task"),
    ] = None
    revision: Annotated[str | None, Field(description="From the answer")] = None
    background: Annotated[Switch, Field(description="In background")] = False


class RemoveSubtaskCall(TagCall):
    """Arguments of ``remove_subtask``."""

    id: Annotated[Items, Field(description="Id or ids by comma: 5.2")]
    convert: Annotated[Switch, Field(description="Make tasks of them")] = False


class ClearSubtasksCall(TagCall):
    """Arguments of ``clear_subtasks``."""

    id: Annotated[Items | None, Field(description="Ids of tasks by comma")] = None
    all: Annotated[Switch, Field(description="All tasks instead")] = False


class MoveTaskCall(TagCall):
    """Arguments of ``move_task``."""

    from_: Annotated[Items, Field(alias="from", description="Ids by comma")]
    to: Annotated[Items | None, Field(description="Free ids, one for each")] = None
    from_tag: Annotated[str | None, Field(description="Tag they are in")] = None
    to_tag: Annotated[str | None, Field(description="Another tag")] = None
    with_dependencies: Annotated[Switch, Field(description="Take dependencies along")] = False
    ignore_dependencies: Annotated[Switch, Field(description="Drop dependencies between tags")] = False


class DependencyCall(TagCall):
    """Arguments of ``add_dependency`` and ``remove_dependency``."""

    id: Annotated[ItemId, Field(description="Id of the item")]
    depends_on: Annotated[ItemId, Field(description="Id of its dependency")]


class GenerateCall(TagCall):
    """Arguments of ``generate``."""

    output: Annotated[str | None, Field(description="Folder in the project")] = None
    format: Annotated[Literal["txt", "md"] | None, Field(description="Kind of file")] = None
    background: Annotated[Switch, Field(description="In background")] = False


class GetOperationStatusCall(Call):
    """Arguments of ``get_operation_status``."""

    operation_id: Annotated[str, Field(max_length=500, description="From the answer")]


def add_all_tools(box: Toolbox) -> None:
    """Publish those of these tools that were chosen."""
    _add_update_tools(box)
    _add_subtask_tools(box)
    _add_move_tool(box)
    _add_dependency_tools(box)
    _add_other_tools(box)


def _add_update_tools(box: Toolbox) -> None:
    @box.tool(idempotent=True, whole=True)
    def update_task(arguments: UpdateTaskCall) -> DirectResult:
        """Change fields of a task or subtask, but not its status."""
        changes = arguments.changes
        if changes.fields or changes.metadata or (changes.metadata is not None and not arguments.prompt):
            return update_task_direct(
                box.registry, arguments.scope, changes=changes, ask=arguments.ask(), revision=arguments.revision
            )
        return ask_about_tasks_direct(
            box.registry,
            arguments.scope,
            tool="update_task",
            ids=[arguments.id],
            ask=arguments.ask(None, arguments.prompt),
        )

    @box.tool(idempotent=True)
    def update(arguments: UpdateCall) -> DirectResult:
        """Change several items: call with a prompt to see the open tasks, then with updates."""
        is_background = arguments.background and arguments.updates is not None
        return box.run(lambda scope, _: _update(box, scope, arguments), arguments.scope, background=is_background)


def _update(box: Toolbox, scope: Scope, arguments: UpdateCall) -> DirectResult:
    ask = arguments.ask(None, arguments.prompt)
    if arguments.updates is None:
        return ask_about_tasks_direct(box.registry, scope, tool="update", start=arguments.from_, ask=ask)
    changes = [row.changes for row in arguments.updates]
    return update_direct(
        box.registry, scope, start=arguments.from_, changes=changes, ask=ask, revision=arguments.revision
    )


def _add_subtask_tools(box: Toolbox) -> None:
    @box.tool(destructive=True)
    def remove_subtask(arguments: RemoveSubtaskCall) -> DirectResult:
        """Remove subtasks, or make tasks of them."""
        return remove_subtask_direct(box.registry, arguments.scope, ids=arguments.id, convert=arguments.convert)

    @box.tool(destructive=True, idempotent=True)
    def clear_subtasks(arguments: ClearSubtasksCall) -> DirectResult:
        """Remove all subtasks of tasks."""
        return clear_subtasks_direct(box.registry, arguments.scope, ids=arguments.id, every=arguments.all)


def _add_move_tool(box: Toolbox) -> None:
    @box.tool(destructive=True)
    def move_task(arguments: MoveTaskCall) -> DirectResult:
        """Renumber items (5 to 5.2 too), or move tasks to another tag."""
        scope = arguments.scope
        scope = scope._replace(tag=arguments.from_tag or scope.tag)
        if arguments.to_tag and arguments.to_tag != arguments.from_tag:
            return move_to_tag_direct(
                box.registry,
                scope,
                ids=arguments.from_,
                targets=arguments.to,
                to_tag=arguments.to_tag,
                with_dependencies=arguments.with_dependencies,
                ignore_dependencies=arguments.ignore_dependencies,
            )
        return move_task_direct(box.registry, scope, sources=arguments.from_, targets=arguments.to)


def _add_dependency_tools(box: Toolbox) -> None:
    @box.tool(idempotent=True)
    def add_dependency(arguments: DependencyCall) -> DirectResult:
        """Make an item depend on another."""
        return add_dependency_direct(
            box.registry, arguments.scope, item_id=arguments.id, depends_on=arguments.depends_on
        )

    @box.tool(destructive=True, idempotent=True)
    def remove_dependency(arguments: DependencyCall) -> DirectResult:
        """Remove a dependency."""
        return remove_dependency_direct(
            box.registry, arguments.scope, item_id=arguments.id, depends_on=arguments.depends_on
        )

    @box.tool(read_only=True, idempotent=True)
    def validate_dependencies(arguments: TagCall) -> DirectResult:
        """Report wrong dependencies, ids and status words."""
        return validate_dependencies_direct(box.registry, arguments.scope)

    @box.tool(destructive=True, idempotent=True)
    def fix_dependencies(arguments: TagCall) -> DirectResult:
        """Remove wrong dependencies, and of each cycle the one that closes it."""
        return fix_dependencies_direct(box.registry, arguments.scope)


def _add_other_tools(box: Toolbox) -> None:
    @box.tool(destructive=True, idempotent=True)
    def generate(arguments: GenerateCall) -> DirectResult:
        """Write a text file for each task."""
        return box.run(
            lambda scope, progress: generate_direct(
                box.registry, scope, output=arguments.output, ending=arguments.format, progress=progress
            ),
            arguments.scope,
            background=arguments.background,
        )

    @box.tool(read_only=True, idempotent=True)
    def get_operation_status(arguments: GetOperationStatusCall) -> DirectResult:
        """Return the state of a call with background."""
        return get_operation_status_direct(box.registry, arguments.scope, operation_id=arguments.operation_id)

    @box.tool(read_only=True, idempotent=True)
    def cache_stats(arguments: Call) -> DirectResult:
        """Return how often answers came from the cache."""
        return cache_stats_direct(box.registry, arguments.scope)
