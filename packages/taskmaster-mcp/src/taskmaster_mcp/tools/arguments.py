"""Arguments that several tools share: the project, the caller's thinking, and plans."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from task_core.fields import Arguments, OneLine
from taskmaster_mcp.core.plans import Ask, Planned
from taskmaster_mcp.tools.kinds import (
    Dependencies,
    Description,
    Details,
    Priority,
    Status,
    TelemetryArgument,
    TestStrategy,
)

__all__ = ["Call", "HostCall", "ItemFields", "PlanItem", "PlanSubtask", "PlanTask", "TagCall"]

_IGNORED: Final = frozenset(
    {
        *("skipGenerate", "confirm", "yes", "research", "complexityReport", "threshold", "skipInstall", "addAliases"),
        *("showMetadata", "initGit", "rules"),
    }
)
"""Arguments of Task Master that mean nothing here; clients that were made for it may send them."""

_FIELDS: Final = ("title", "description", "details", "test_strategy", "priority", "status")


def _take_first(value: object) -> object:
    return value[0] if isinstance(value, list | tuple) and value else value


class Call(Arguments):
    """Arguments of every tool: the project."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=False)

    project_root: Annotated[str | None, BeforeValidator(_take_first), Field(description="Folder")] = None
    # Hardly ever given, so that the schemas do not show it.
    file: SkipJsonSchema[str | None] = None

    @model_validator(mode="before")
    @classmethod
    def _without_ignored(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if name not in _IGNORED}

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the arguments with these names as direct functions take them: items of plans as what is planned."""
        return {name: _read_value(getattr(self, name)) for name in names}

    @property
    def is_background(self) -> bool:
        """True if the work goes on after the answer, unless that answer asks for a plan."""
        return getattr(self, "background", False) and getattr(self, "plan", self) is not None


class TagCall(Call):
    """The arguments of a tool that works on one tag."""

    tag: Annotated[str | None, Field(description="Tag")] = None


class HostCall(TagCall):
    """The arguments of a tool for which the caller may have to think."""

    telemetry_data: SkipJsonSchema[TelemetryArgument] = None

    @property
    def ask(self) -> Ask:
        """The arguments besides the plan."""
        given = self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"telemetry_data"})
        return Ask(given, getattr(self, "num", None), getattr(self, "prompt", None) or "", self.telemetry_data)


class ItemFields(Arguments):
    """Arguments that name one task or subtask."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=False)

    title: Annotated[OneLine | None, WithJsonSchema({"type": "string"}), Field(description="Title")] = None
    description: Annotated[Description | None, Field(description="What")] = None
    details: Annotated[Details | None, Field(description="How")] = None
    test_strategy: Annotated[TestStrategy | None, Field(description="Check")] = None

    @property
    def fields(self) -> dict[str, JsonValue]:
        """The fields that are given, by their names in the document."""
        given: dict[str, JsonValue] = self.model_dump(mode="json", by_alias=True, include={*_FIELDS}, exclude_none=True)
        return given


class PlanItem(ItemFields):
    """A task or subtask to be made."""

    title: Annotated[OneLine, WithJsonSchema({"type": "string"}), Field(description="One line")]
    dependencies: Annotated[Dependencies, Field(description="Positions here, from 1")] = ()

    @property
    def planned(self) -> Planned:
        """The item as the rules take it."""
        return Planned(self.fields, self.dependencies)


class PlanTask(PlanItem):
    """A task of a plan."""

    priority: Annotated[Priority | None, Field(description="Priority")] = None


class PlanSubtask(PlanItem):
    """A subtask of a plan."""

    status: Annotated[Status | None, Field(description="Default: pending")] = None
    dependencies: Annotated[Dependencies, Field(description="Positions here, from 1, or ids: 5.2")] = ()


def _read_value(value: object) -> object:
    return [*map(_read_value, value)] if type(value) is tuple else getattr(value, "planned", value)
