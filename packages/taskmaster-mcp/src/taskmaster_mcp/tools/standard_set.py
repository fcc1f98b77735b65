"""The tools that the set ``standard`` adds."""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from task_core.fields import Arguments, decode_object
from taskmaster_mcp.direct.arranging import remove_task_direct
from taskmaster_mcp.direct.changing import add_subtask_direct
from taskmaster_mcp.direct.planning import expand_all_direct
from taskmaster_mcp.direct.reading import complexity_report_direct
from taskmaster_mcp.direct.results import DirectResult
from taskmaster_mcp.direct.setup import analyze_project_complexity_direct, initialize_project_direct
from taskmaster_mcp.tools.arguments import Call, HostCall, ItemFields, SubtaskPlan, TagCall
from taskmaster_mcp.tools.kinds import (
    Dependencies,
    Description,
    Details,
    ItemId,
    Items,
    Number,
    Status,
    Switch,
    decode_list,
    drop_default,
)
from taskmaster_mcp.tools.toolbox import Toolbox

__all__ = [
    "AddSubtaskCall",
    "Analysis",
    "AnalyzeProjectComplexityCall",
    "ExpandAllCall",
    "Expansion",
    "InitializeProjectCall",
    "RemoveTaskCall",
    "add_standard_tools",
]


class InitializeProjectCall(Call):
    """Arguments of ``initialize_project``."""

    project_name: Annotated[Description | None, Field(description="Name")] = None
    project_description: Annotated[Description | None, Field(description="Description")] = None
    project_version: Annotated[Description | None, Field(description="Version")] = None
    author_name: Annotated[Description | None, Field(description="Author")] = None
    store_tasks_in_git: Annotated[bool, Field(description="false: a line in .gitignore")] = True


class AddSubtaskCall(ItemFields, TagCall):
    """Arguments of ``add_subtask``."""

    id: Annotated[ItemId, Field(description="Id of the task")]
    task_id: Annotated[ItemId | None, Field(description="Task that becomes the subtask")] = None
    status: Annotated[Status | None, Field(description="Default: pending")] = None
    dependencies: Annotated[
        Dependencies, Field(description="Ids; a number is a sibling", json_schema_extra=drop_default)
    ] = ()


class RemoveTaskCall(TagCall):
    """Arguments of ``remove_task``."""

    id: Annotated[Items, Field(description="Id or ids by comma")]


class Expansion(Arguments):
    """The plan for one task."""

    id: Annotated[ItemId, Field(description="Id of a task")]
    subtasks: Annotated[
        SubtaskPlan,
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
        Field(description="As in expand_task"),
    ]


class ExpandAllCall(HostCall):
    """Arguments of ``expand_all``."""

    num: Annotated[Number | None, Field(description="How many for each")] = None
    prompt: Annotated[Details | None, Field(description="Guidance")] = None
    force: Annotated[Switch, Field(description="Also replace subtasks")] = False
    after: Annotated[ItemId | None, Field(description="After this id")] = None
    revision: Annotated[str | None, Field(description="From the answer")] = None
    expansions: Annotated[
        tuple[Annotated[Expansion, BeforeValidator(decode_object)], ...] | None,
        BeforeValidator(decode_list),
        Field(description="Your plans"),
    ] = None
    background: Annotated[Switch, Field(description="In background")] = False


class Analysis(Arguments):
    """The analysis of one task."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=False)

    task_id: Annotated[ItemId, Field(description="Id of a task")]
    complexity_score: Annotated[int, Field(ge=1, le=10, description="10: hardest")]
    recommended_subtasks: Annotated[int, Field(ge=0, le=200, description="How many")]
    expansion_prompt: Annotated[Details | None, Field(description="Guidance")] = None
    reasoning: Annotated[Details | None, Field(description="Why")] = None


class AnalyzeProjectComplexityCall(HostCall):
    """Arguments of ``analyze_project_complexity``."""

    ids: Annotated[Items | None, Field(description="Only these, by comma")] = None
    from_: Annotated[int | None, Field(alias="from", ge=0, description="First id")] = None
    to: Annotated[int | None, Field(ge=0, description="Last id")] = None
    analysis: Annotated[
        tuple[Annotated[Analysis, BeforeValidator(decode_object)], ...] | None,
        BeforeValidator(decode_list),
        Field(description="What you found"),
    ] = None
    background: Annotated[Switch, Field(description="In background")] = False


def add_standard_tools(box: Toolbox) -> None:
    """Publish those of these tools that were chosen."""
    _add_item_tools(box)
    _add_host_tools(box)


def _add_item_tools(box: Toolbox) -> None:
    @box.tool(idempotent=True)
    def initialize_project(arguments: InitializeProjectCall) -> DirectResult:
        """Make the folders and files of a project; existing ones stay."""
        names = {"project_name", "project_description", "project_version", "author_name"}
        given: dict[str, Any] = arguments.model_dump(by_alias=True, include=names, exclude_none=True)
        return initialize_project_direct(
            box.registry, arguments.scope, names=given, store_tasks_in_git=arguments.store_tasks_in_git
        )

    @box.tool()
    def add_subtask(arguments: AddSubtaskCall) -> DirectResult:
        """Add a subtask to a task, new or made of another task."""
        return add_subtask_direct(
            box.registry,
            arguments.scope,
            task_id=arguments.id,
            convert=arguments.task_id,
            fields=arguments.fields,
            dependencies=arguments.dependencies,
        )

    @box.tool(destructive=True)
    def remove_task(arguments: RemoveTaskCall) -> DirectResult:
        """Remove tasks with their subtasks, or subtasks."""
        return remove_task_direct(box.registry, arguments.scope, ids=arguments.id)

    @box.tool(read_only=True, idempotent=True)
    def complexity_report(arguments: TagCall) -> DirectResult:
        """Return the complexity report of a tag."""
        return complexity_report_direct(box.registry, arguments.scope)


def _add_host_tools(box: Toolbox) -> None:
    @box.tool(destructive=True)
    def expand_all(arguments: ExpandAllCall) -> DirectResult:
        """Split several tasks into subtasks: call without expansions to see which, then with your plans."""
        plans = arguments.expansions
        return box.run(
            lambda scope, _: expand_all_direct(
                box.registry,
                scope,
                plans=None if plans is None else [(it.id, [sub.planned for sub in it.subtasks]) for it in plans],
                ask=arguments.ask(arguments.num, arguments.prompt),
                force=arguments.force,
                after=arguments.after,
                revision=arguments.revision,
            ),
            arguments.scope,
            background=arguments.background and plans is not None,
        )

    @box.tool(idempotent=True)
    def analyze_project_complexity(arguments: AnalyzeProjectComplexityCall) -> DirectResult:
        """Report how complex tasks are: call without an analysis to see them, then with what you found."""
        rows = arguments.analysis
        return box.run(
            lambda scope, _: analyze_project_complexity_direct(
                box.registry,
                scope,
                chosen=(arguments.ids, arguments.from_, arguments.to),
                analysis=None
                if rows is None
                else [row.model_dump(mode="json", by_alias=True, exclude_none=True) for row in rows],
                ask=arguments.ask(),
            ),
            arguments.scope,
            background=arguments.background and rows is not None,
        )
