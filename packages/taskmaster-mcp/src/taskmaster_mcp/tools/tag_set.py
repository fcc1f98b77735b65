"""The tools for tags, which are in the set ``all``."""

from typing import Annotated

from pydantic import Field

from taskmaster_mcp.direct.reading import list_tags_direct
from taskmaster_mcp.direct.results import DirectResult
from taskmaster_mcp.direct.tagging import (
    add_tag_direct,
    copy_tag_direct,
    delete_tag_direct,
    rename_tag_direct,
    use_tag_direct,
)
from taskmaster_mcp.tools.arguments import Call
from taskmaster_mcp.tools.kinds import (
    Description,
    Switch,
)
from taskmaster_mcp.tools.toolbox import Toolbox

__all__ = [
    "AddTagCall",
    "CopyTagCall",
    "NamedTagCall",
    "RenameTagCall",
    "add_tag_tools",
]


class NamedTagCall(Call):
    """Arguments of ``use_tag`` and ``delete_tag``."""

    name: Annotated[str, Field(description="Name")]


class AddTagCall(Call):
    """Arguments of ``add_tag``."""

    name: Annotated[str | None, Field(description="Letters, digits, _ and -")] = None
    copy_from_current: Annotated[Switch, Field(description="Copy the tasks of the current tag")] = False
    copy_from_tag: Annotated[str | None, Field(description="Copy the tasks of this tag")] = None
    from_branch: Annotated[Switch, Field(description="Name it after the branch of git")] = False
    description: Annotated[Description | None, Field(description="What it is for")] = None


class RenameTagCall(Call):
    """Arguments of ``rename_tag``."""

    old_name: Annotated[str, Field(description="Present name")]
    new_name: Annotated[str, Field(description="New name")]


class CopyTagCall(Call):
    """Arguments of ``copy_tag``."""

    source_name: Annotated[str, Field(description="Tag to copy")]
    target_name: Annotated[str, Field(description="Name of the copy")]
    description: Annotated[Description | None, Field(description="What it is for")] = None


def add_tag_tools(box: Toolbox) -> None:
    """Publish those of these tools that were chosen."""

    @box.tool(read_only=True, idempotent=True)
    def list_tags(arguments: Call) -> DirectResult:
        """List the tags with counts, the current one first."""
        return list_tags_direct(box.registry, arguments.scope)

    @box.tool()
    def add_tag(arguments: AddTagCall) -> DirectResult:
        """Make a tag: a task list of its own."""
        return add_tag_direct(
            box.registry,
            arguments.scope,
            name=arguments.name,
            copy_from=arguments.copy_from_tag,
            from_current=arguments.copy_from_current,
            from_branch=arguments.from_branch,
            description=arguments.description,
        )

    @box.tool(idempotent=True)
    def use_tag(arguments: NamedTagCall) -> DirectResult:
        """Switch to a tag."""
        return use_tag_direct(box.registry, arguments.scope, name=arguments.name)

    @box.tool()
    def rename_tag(arguments: RenameTagCall) -> DirectResult:
        """Rename a tag."""
        return rename_tag_direct(box.registry, arguments.scope, old=arguments.old_name, new=arguments.new_name)

    @box.tool()
    def copy_tag(arguments: CopyTagCall) -> DirectResult:
        """Copy a tag with its tasks."""
        return copy_tag_direct(
            box.registry,
            arguments.scope,
            source=arguments.source_name,
            target=arguments.target_name,
            description=arguments.description,
        )

    @box.tool(destructive=True)
    def delete_tag(arguments: NamedTagCall) -> DirectResult:
        """Delete a tag with its tasks."""
        return delete_tag_direct(box.registry, arguments.scope, name=arguments.name)
