"""The tools that the set ``all`` adds: those that arrange items, and those for tags."""

from typing import Annotated, Final, Literal

from pydantic import Field, WithJsonSchema

from taskmaster_mcp.direct import arranging, changing, reading, setup, tagging
from taskmaster_mcp.tools.arguments import Call, HostCall, ItemFields, TagCall
from taskmaster_mcp.tools.kinds import Description, Details, ItemId, Items, JsonObjectArgument, PlanOf, Priority, Switch
from taskmaster_mcp.tools.toolbox import Tool

__all__ = ["FURTHER_TOOLS"]


class _EditArguments(ItemFields):
    """Changes to one item."""

    item_id: Annotated[ItemId, Field(alias="id", description="Id")]
    priority: Annotated[Priority | None, Field(description="Priority")] = None
    metadata: Annotated[JsonObjectArgument | None, Field(description="Merged; null removes")] = None
    append: Annotated[Switch, Field(description="Append details")] = False

    @property
    def planned(self) -> changing.ItemEdit:
        """The changes as the rules take them."""
        return changing.ItemEdit(self.item_id, self.fields, self.metadata, self.append)

    changes = planned


class _UpdateTaskCall(_EditArguments, HostCall):
    """Change fields of a task or subtask, but not its status."""

    prompt: Annotated[Details | None, Field(description="Or say what to change")] = None
    revision: Annotated[str | None, Field(description="From the answer")] = None


class _UpdateCall(HostCall):
    """Change several items: call with a prompt to see the open tasks, then with updates."""

    start: Annotated[ItemId, Field(alias="from", description="First id")]
    prompt: Annotated[Details | None, Field(description="Instead of updates: what to change")] = None
    plan: Annotated[
        PlanOf[_EditArguments] | None,
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
        Field(alias="updates", description="Each: id, and fields as in update_task"),
    ] = None
    revision: Annotated[str | None, Field(description="From the answer")] = None
    background: Annotated[Switch, Field(description="In background")] = False


class _RemoveSubtaskCall(TagCall):
    """Remove subtasks, or make tasks of them."""

    ids: Annotated[Items, Field(alias="id", description="Id or ids by comma: 5.2")]
    convert: Annotated[Switch, Field(description="Make tasks of them")] = False


class _ClearSubtasksCall(TagCall):
    """Remove all subtasks of tasks."""

    ids: Annotated[Items | None, Field(alias="id", description="Ids of tasks by comma")] = None
    every: Annotated[Switch, Field(alias="all", description="All tasks instead")] = False


class _MoveTaskCall(TagCall):
    """Renumber items (5 to 5.2 too), or move tasks to another tag."""

    sources: Annotated[Items, Field(alias="from", description="Ids by comma")]
    targets: Annotated[Items | None, Field(alias="to", description="Free ids, one for each")] = None
    from_tag: Annotated[str | None, Field(description="Tag they are in")] = None
    to_tag: Annotated[str | None, Field(description="Another tag")] = None
    with_dependencies: Annotated[Switch, Field(description="Take dependencies along")] = False
    ignore_dependencies: Annotated[Switch, Field(description="Drop dependencies between tags")] = False


class _DependencyCall(TagCall):
    """Arguments of ``add_dependency`` and ``remove_dependency``."""

    item_id: Annotated[ItemId, Field(alias="id", description="Id of the item")]
    depends_on: Annotated[ItemId, Field(description="Id of its dependency")]


class _GenerateCall(TagCall):
    """Write a text file for each task."""

    output: Annotated[str | None, Field(description="Folder in the project")] = None
    ending: Annotated[Literal["txt", "md"] | None, Field(alias="format", description="Kind of file")] = None
    background: Annotated[Switch, Field(description="In background")] = False


class _GetOperationStatusCall(Call):
    """Return the state of a call with background."""

    operation_id: Annotated[str, Field(max_length=500, description="From the answer")]


class _NamedTagCall(Call):
    """Arguments of ``use_tag`` and ``delete_tag``."""

    name: Annotated[str, Field(description="Name")]


class _AddTagCall(Call):
    """Make a tag: a task list of its own."""

    name: Annotated[str | None, Field(description="Letters, digits, _ and -")] = None
    copy_from_current: Annotated[Switch, Field(description="Copy the tasks of the current tag")] = False
    copy_from_tag: Annotated[str | None, Field(description="Copy the tasks of this tag")] = None
    from_branch: Annotated[Switch, Field(description="Name it after the branch of git")] = False
    description: Annotated[Description | None, Field(description="What it is for")] = None


class _RenameTagCall(Call):
    """Rename a tag."""

    old_name: Annotated[str, Field(description="Present name")]
    new_name: Annotated[str, Field(description="New name")]


class _CopyTagCall(Call):
    """Copy a tag with its tasks."""

    source_name: Annotated[str, Field(description="Tag to copy")]
    target_name: Annotated[str, Field(description="Name of the copy")]
    description: Annotated[Description | None, Field(description="What it is for")] = None


FURTHER_TOOLS: Final = (
    Tool(changing.update_task_direct, _UpdateTaskCall, idempotent=True, whole=True),
    Tool(changing.update_direct, _UpdateCall, idempotent=True),
    Tool(arranging.remove_subtask_direct, _RemoveSubtaskCall, destructive=True),
    Tool(arranging.clear_subtasks_direct, _ClearSubtasksCall, destructive=True, idempotent=True),
    Tool(arranging.move_task_direct, _MoveTaskCall, destructive=True),
    Tool(arranging.add_dependency_direct, _DependencyCall, "Make an item depend on another.", idempotent=True),
    Tool(
        arranging.remove_dependency_direct, _DependencyCall, "Remove a dependency.", destructive=True, idempotent=True
    ),
    Tool(
        reading.validate_dependencies_direct,
        TagCall,
        "Report wrong dependencies, ids and status words.",
        read_only=True,
    ),
    Tool(
        arranging.fix_dependencies_direct,
        TagCall,
        "Remove wrong dependencies, and of each cycle the one that closes it.",
        destructive=True,
        idempotent=True,
    ),
    Tool(setup.generate_direct, _GenerateCall, destructive=True, idempotent=True),
    Tool(reading.get_operation_status_direct, _GetOperationStatusCall, read_only=True),
    Tool(reading.cache_stats_direct, Call, "Return how often answers came from the cache.", read_only=True),
    Tool(reading.list_tags_direct, Call, "List the tags with counts, the current one first.", read_only=True),
    Tool(tagging.add_tag_direct, _AddTagCall),
    Tool(tagging.use_tag_direct, _NamedTagCall, "Switch to a tag.", idempotent=True),
    Tool(tagging.rename_tag_direct, _RenameTagCall),
    Tool(tagging.copy_tag_direct, _CopyTagCall),
    Tool(tagging.delete_tag_direct, _NamedTagCall, "Delete a tag with its tasks.", destructive=True),
)
"""The tools that only the set ``all`` has, in the order in which they are listed."""
