"""The tools of the sets ``core`` and ``standard``."""

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic.alias_generators import to_camel

from task_core.fields import Arguments, check_well_formed, check_word
from taskmaster_mcp.core.plans import Planned
from taskmaster_mcp.core.stored_words import STATUSES
from taskmaster_mcp.direct import arranging, changing, planning, reading, setup
from taskmaster_mcp.tools.arguments import Call, HostCall, ItemFields, PlanSubtask, PlanTask, TagCall
from taskmaster_mcp.tools.kinds import (
    Dependencies,
    Description,
    Details,
    ItemId,
    Items,
    JsonObjectArgument,
    Number,
    PlanOf,
    Priority,
    Status,
    Switch,
    drop_default,
)
from taskmaster_mcp.tools.toolbox import Tool

__all__ = ["CORE_TOOLS"]

_FILTER: Final = (*STATUSES, "completed", "all")


def _statuses(value: object) -> tuple[str, ...]:
    words = [check_word(word, _FILTER) for word in check_well_formed(value).split(",")]
    return () if "all" in words else tuple(dict.fromkeys("done" if it == "completed" else it for it in words))


class _GetTasksCall(TagCall):
    """List the tasks of a tag in short, with counts by status."""

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


class _GetTaskCall(TagCall):
    """Return tasks or subtasks whole."""

    ids: Annotated[Items, Field(alias="id", description="Id or ids by comma: 5, 5.2")]
    status: Annotated[Status | None, Field(description="Only subtasks with it")] = None


class _SetTaskStatusCall(TagCall):
    """Set the status of tasks or subtasks. A task that is done closes its subtasks; tasks follow their subtasks."""

    ids: Annotated[Items, Field(alias="id", description="Id or ids by comma")]
    status: Annotated[Status, Field(description="New status")]


class _AddTaskCall(ItemFields, HostCall):
    """Add a task; give at least a title."""

    dependencies: Annotated[Dependencies, Field(description="Ids by comma that come first")] = ()
    priority: Annotated[Priority | None, Field(description="Priority")] = None
    prompt: Annotated[Details | None, Field(description="Instead of a title: what to plan a task for")] = None


class _UpdateSubtaskCall(TagCall):
    """Append a note with its time to the details of a subtask or task: progress, findings."""

    item_id: Annotated[ItemId, Field(alias="id", description="Id of a subtask or task")]
    note: Annotated[Details | None, Field(alias="prompt", description="Text to append")] = None
    metadata: Annotated[JsonObjectArgument | None, Field(description="Merged; null removes")] = None


class _ExpandTaskCall(HostCall):
    """Split a task into subtasks (force replaces old ones): call with a plan, or without for what it needs."""

    task_id: Annotated[ItemId, Field(alias="id", description="Id of a task")]
    plan: Annotated[PlanOf[PlanSubtask] | None, Field(alias="subtasks", description="Your plan")] = None
    num: Annotated[Number | None, Field(description="How many")] = None
    prompt: Annotated[Details | None, Field(description="Guidance")] = None
    force: Annotated[Switch, Field(description="Replace")] = False
    revision: Annotated[str | None, Field(description="From the answer")] = None


class _ParsePrdCall(HostCall):
    """Turn a requirements document into tasks (force replaces all): call without tasks to get it, then with a plan."""

    document: Annotated[
        str | None, Field(alias="input", description="Document; default .taskmaster/docs/prd.txt or .md")
    ] = None
    plan: Annotated[PlanOf[PlanTask] | None, Field(alias="tasks", description="Your plan")] = None
    num: Annotated[Number | None, Field(alias="numTasks", description="How many; 0: as needed")] = None
    append: Annotated[Switch, Field(description="Add to the tasks")] = False
    force: Annotated[Switch, Field(description="Replace")] = False
    revision: Annotated[str | None, Field(description="From the answer")] = None
    background: Annotated[Switch, Field(description="In background")] = False


class _InitializeProjectCall(Call):
    """Make the folders and files of a project; existing ones stay."""

    project_name: Annotated[Description | None, Field(description="Name")] = None
    project_description: Annotated[Description | None, Field(description="Description")] = None
    project_version: Annotated[Description | None, Field(description="Version")] = None
    author_name: Annotated[Description | None, Field(description="Author")] = None
    store_tasks_in_git: Annotated[bool, Field(description="false: a line in .gitignore")] = True

    @property
    def names(self) -> dict[str, str]:
        """The given facts about the project, under the names of its document."""
        return self.model_dump(by_alias=True, exclude={"project_root", "file", "store_tasks_in_git"}, exclude_none=True)


class _AddSubtaskCall(ItemFields, TagCall):
    """Add a subtask to a task, new or made of another task."""

    task_id: Annotated[ItemId, Field(alias="id", description="Id of the task")]
    convert: Annotated[ItemId | None, Field(alias="taskId", description="Task that becomes the subtask")] = None
    status: Annotated[Status | None, Field(description="Default: pending")] = None
    dependencies: Annotated[Dependencies, Field(description="Ids; a number is a sibling")] = ()


class _RemoveTaskCall(TagCall):
    """Remove tasks with their subtasks, or subtasks."""

    ids: Annotated[Items, Field(alias="id", description="Id or ids by comma")]


class _Expansion(Arguments):
    """The plan for one task."""

    id: Annotated[ItemId, Field(description="Id of a task")]
    subtasks: Annotated[
        PlanOf[PlanSubtask],
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
        Field(description="As in expand_task"),
    ]

    @property
    def planned(self) -> tuple[str, list[Planned]]:
        """The id and the plan, as the rules take them."""
        return self.id, [it.planned for it in self.subtasks]


class _ExpandAllCall(HostCall):
    """Split several tasks into subtasks: call without expansions to see which, then with your plans."""

    num: Annotated[Number | None, Field(description="How many for each")] = None
    prompt: Annotated[Details | None, Field(description="Guidance")] = None
    force: Annotated[Switch, Field(description="Replace subtasks")] = False
    after: Annotated[ItemId | None, Field(description="After this id")] = None
    revision: Annotated[str | None, Field(description="From the answer")] = None
    plan: Annotated[PlanOf[_Expansion] | None, Field(alias="expansions", description="Your plans")] = None
    background: Annotated[Switch, Field(description="In background")] = False


class _Analysis(Arguments):
    """The analysis of one task."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=False)

    task_id: Annotated[ItemId, Field(description="Id of a task")]
    complexity_score: Annotated[int, Field(ge=1, le=10, description="10: hardest")]
    recommended_subtasks: Annotated[int, Field(ge=0, le=200, description="How many")]
    expansion_prompt: Annotated[Details | None, Field(description="Guidance")] = None
    reasoning: Annotated[Details | None, Field(description="Why")] = None

    @property
    def planned(self) -> dict[str, Any]:
        """The analysis by the names that the report has."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class _AnalyzeProjectComplexityCall(HostCall):
    """Report how complex tasks are: call without an analysis to see them, then with what you found."""

    ids: Annotated[Items | None, Field(description="Only these, by comma")] = None
    first: Annotated[int | None, Field(alias="from", ge=0, description="First id")] = None
    last: Annotated[int | None, Field(alias="to", ge=0, description="Last id")] = None
    plan: Annotated[PlanOf[_Analysis] | None, Field(alias="analysis", description="What you found")] = None
    background: Annotated[Switch, Field(description="In background")] = False


CORE_TOOLS: Final = (
    Tool(reading.get_tasks_direct, _GetTasksCall, read_only=True),
    Tool(reading.get_task_direct, _GetTaskCall, read_only=True, whole=True),
    Tool(reading.next_task_direct, TagCall, "Find the task or subtask to work on next.", read_only=True, whole=True),
    Tool(changing.set_task_status_direct, _SetTaskStatusCall, idempotent=True),
    Tool(changing.add_task_direct, _AddTaskCall),
    Tool(changing.update_subtask_direct, _UpdateSubtaskCall),
    Tool(planning.expand_task_direct, _ExpandTaskCall, destructive=True, whole=True),
    Tool(planning.parse_prd_direct, _ParsePrdCall, destructive=True, whole=True),
    Tool(setup.initialize_project_direct, _InitializeProjectCall, idempotent=True),
    Tool(changing.add_subtask_direct, _AddSubtaskCall),
    Tool(arranging.remove_task_direct, _RemoveTaskCall, destructive=True),
    Tool(reading.complexity_report_direct, TagCall, "Return the complexity report of a tag.", read_only=True),
    Tool(planning.expand_all_direct, _ExpandAllCall, destructive=True),
    Tool(setup.analyze_project_complexity_direct, _AnalyzeProjectComplexityCall, idempotent=True),
)
"""The tools of both sets, in the order in which they are listed."""
