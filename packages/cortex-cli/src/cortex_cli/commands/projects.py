"""``ctx projects``: the projects of the user, with their repositories and members (CX-50)."""

from argparse import Namespace

from cortex_cli.commands.context import Context
from cortex_cli.commands.lookup import find_project_id
from cortex_cli.commands.parsing import CommandGroup, Parser
from cortex_cli.models import CortexProject, as_json
from cortex_cli.output import Outcome, Table

__all__ = ["add_to"]


def add_to(parser: Parser) -> None:
    """Add the commands of the group."""
    commands = CommandGroup(parser)
    commands.add_action("list", "list the projects that you are a member of", _list)
    show = commands.add_action("show", "show a project", _show)
    show.add_argument("project", metavar="PROJECT", help="its id or its name")
    new = commands.add_action("new", "create a project that you own", _new)
    new.add_argument("name", metavar="NAME")
    new.add_argument("--repository-url", metavar="URL", help="where its repository is cloned from")
    new.add_argument("--default-branch", metavar="BRANCH", help="the branch that work starts from")
    members = commands.add_action("members", "list the members of a project", _members)
    members.add_argument("project", metavar="PROJECT", help="its id or its name")


def _table(projects: list[CortexProject]) -> Table:
    rows = [(str(item.id), item.name, item.repository_url or "", item.default_branch or "") for item in projects]
    return Table(("ID", "Name", "Repository", "Default branch"), rows)


def _list(context: Context, _options: Namespace) -> Outcome:
    projects = context.backend().list_projects()
    return Outcome({"success": True, "projects": as_json(tuple(projects))}, table=_table(projects))


def _show(context: Context, options: Namespace) -> Outcome:
    backend = context.backend()
    project = backend.get_project(find_project_id(backend, options.project))
    return Outcome({"success": True, "project": as_json(project)}, table=_table([project]))


def _new(context: Context, options: Namespace) -> Outcome:
    named = {"repository_url": options.repository_url, "default_branch": options.default_branch}
    fields = {"name": options.name, **{name: value for name, value in named.items() if value is not None}}
    project = context.backend().create_project(fields)
    return Outcome({"success": True, "project": as_json(project)}, f"Created project {project.id}.")


def _members(context: Context, options: Namespace) -> Outcome:
    backend = context.backend()
    members = backend.list_members(find_project_id(backend, options.project))
    rows = [(str(item.user.id), item.user.name, item.role) for item in members]
    return Outcome({"success": True, "members": as_json(tuple(members))}, table=Table(("ID", "Name", "Role"), rows))
