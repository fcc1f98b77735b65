"""``ctx projects``: the projects of the user, with their repositories and members (CX-50)."""

from argparse import Namespace
from pathlib import Path

from cortex_cli.commands.context import Context
from cortex_cli.commands.lookup import find_project_id
from cortex_cli.commands.members import list_members
from cortex_cli.commands.parsing import CommandGroup, Parser
from cortex_cli.errors import CortexError, InvalidUsage
from cortex_cli.git import Git
from cortex_cli.models import CortexProject, as_json
from cortex_cli.output import Outcome, Table
from cortex_cli.remotes import choose_remote
from cortex_cli.repository import find_paths, read_config, read_refs

__all__ = ["add_to"]


def add_to(parser: Parser) -> None:
    """Add the commands of the group."""
    commands = CommandGroup(parser)
    commands.add_action("list", "list the projects that you are a member of", _list)
    show = commands.add_action("show", "show a project", _show)
    show.add_argument("project", metavar="PROJECT", help="its id or its name")
    new = commands.add_action("new", "create a project that you own", _new)
    new.add_argument("name", metavar="NAME")
    edit = commands.add_action("edit", "change a project that you own", _edit)
    edit.add_argument("project", metavar="PROJECT", help="its id or its name")
    edit.add_argument("--name", metavar="NAME")
    usual = {new: "; by default that of the clone around", edit: "; none: no repository"}
    for command, default in usual.items():
        command.add_argument("--repository-url", metavar="URL", help=f"where it is cloned from{default}")
        command.add_argument("--default-branch", metavar="BRANCH", help="the branch that work starts from")
    members = commands.add_action("members", "list the members of a project", list_members)
    members.add_argument("project", metavar="PROJECT", help="its id or its name")


def _table(projects: list[CortexProject]) -> Table:
    rows = [(str(item.id), item.name, item.repository_url or "", item.default_branch or "") for item in projects]
    return Table(("ID", "Name", "Repository", "Default branch"), rows)


def _list(context: Context, _options: Namespace) -> Outcome:
    projects = context.backend().list_projects()
    return Outcome({"success": True, "projects": as_json(tuple(projects))}, table=_table(projects))


def _show(context: Context, options: Namespace) -> Outcome:
    backend = context.backend()
    path = f"/projects/{find_project_id(backend, options.project)}"
    project = backend.call("GET", path).read(CortexProject)
    return Outcome({"success": True, "project": as_json(project)}, table=_table([project]))


def _fields(options: Namespace) -> dict[str, object]:
    named = {"name": options.name, "default_branch": options.default_branch, "repository_url": options.repository_url}
    fields: dict[str, object] = {name: value for name, value in named.items() if value is not None}
    return fields | ({"repository_url": None} if options.repository_url == "none" else {})


def _new(context: Context, options: Namespace) -> Outcome:
    fields = _fields(options)
    if "repository_url" not in fields:
        fields = _clone_fields(context) | fields
    project = context.backend().call("POST", "/projects/", body=fields).read(CortexProject)
    where = f" of {project.repository_url}" if project.repository_url else ", which has no repository"
    return Outcome({"success": True, "project": as_json(project)}, f"Created project {project.id}{where}.")


def _clone_fields(context: Context) -> dict[str, object]:
    """Return the address and the default branch of the clone that the command runs in, if it has one to share."""
    try:
        git = Git(Path.cwd(), context.environment, context.deadline)
        config = read_config(git.at(find_paths(git).top))
    except (CortexError, OSError):
        return {}
    remote = choose_remote(config)
    url = remote.public_url if remote else None
    if remote is None or url is None:
        return {}
    head, prefix = remote.ref("HEAD"), remote.ref("")
    refs = read_refs(git, [head, prefix + "main", prefix + "master"])
    branch = refs[head].symref.removeprefix(prefix) if head in refs else next(iter(refs), "").removeprefix(prefix)
    return {"repository_url": url} | ({"default_branch": branch} if branch else {})


def _edit(context: Context, options: Namespace) -> Outcome:
    fields = _fields(options)
    if not fields:
        raise InvalidUsage("Give at least one field to change. See 'ctx projects edit --help'.")
    backend = context.backend()
    path = f"/projects/{find_project_id(backend, options.project)}"
    project = backend.call("PATCH", path, body=fields).read(CortexProject)
    return Outcome({"success": True, "project": as_json(project)}, f"Changed project {project.id}.")
