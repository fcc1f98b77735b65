"""``ctx members``: invites people to a project; nobody becomes a member without accepting."""

from argparse import Namespace
from contextlib import suppress

from cortex_cli.backend import Backend
from cortex_cli.commands.context import Context
from cortex_cli.commands.lookup import chosen_project_id
from cortex_cli.commands.parsing import CommandGroup, Parser, positive_id
from cortex_cli.errors import BackendRefused, InvalidUsage, echo
from cortex_cli.models import CortexProject, Invitation, Membership, as_json
from cortex_cli.output import Outcome, Table

__all__ = ["add_to", "list_members"]

_ROLES = ("owner", "member", "viewer")


def add_to(parser: Parser) -> None:
    """Add the commands of the group."""
    commands = CommandGroup(parser)
    listing = commands.add_action("list", "list the members of a project, and whom it has invited", list_members)
    add = commands.add_action("add", "invite a person to a project that you own", _add)
    add.add_argument("email", metavar="E-MAIL")
    add.add_argument("--role", choices=_ROLES, default="member", help="what the person may do there (default: member)")
    remove = commands.add_action("remove", "remove a member, or withdraw an invitation", _remove)
    remove.add_argument("who", metavar="WHO", help="the id or the name of a member, or the e-mail of an invitation")
    for command in (listing, add, remove):
        command.add_argument("--project", metavar="PROJECT", help="its id or its name; by default the only one")
    commands.add_action("invitations", "list the projects that have invited you", _invitations)
    for name, purpose, run in (("accept", "become a member", _accept), ("decline", "decline an invitation", _decline)):
        answer = commands.add_action(name, purpose, run)
        answer.add_argument("id", type=positive_id, metavar="ID", help="the invitation, as 'invitations' lists it")


def _members(backend: Backend, project: int) -> list[Membership]:
    return backend.list_all(f"/projects/{project}/members", Membership, "members")


def _list_invitations(backend: Backend, project: int | None = None) -> list[Invitation]:
    """Return the open invitations to the user, or those to a project that the user owns."""
    filters = [] if project is None else [("project_id", str(project))]
    return backend.list_all("/invitations/", Invitation, "invitations", filters)


def list_members(context: Context, options: Namespace) -> Outcome:
    """List the members of a project; owners see its open invitations too."""
    backend, project = context.backend(), chosen_project_id(context, options.project)
    members = _members(backend, project)
    invited: list[Invitation] = []
    with suppress(BackendRefused):  # only owners see them
        invited = _list_invitations(backend, project)
    rows = [(str(item.user.id), item.user.name, item.role) for item in members]
    rows += [("", item.email, f"invited as {item.role}") for item in invited]
    answer = {"success": True, "members": as_json(tuple(members)), "invitations": as_json(tuple(invited))}
    return Outcome(answer, table=Table(("ID", "Name", "Role"), rows))


def _add(context: Context, options: Namespace) -> Outcome:
    path = f"/projects/{chosen_project_id(context, options.project)}/members"
    body = {"email": options.email, "role": options.role}
    invitation = context.backend().call("POST", path, body=body).read(Invitation)
    text = (
        f"Invited {invitation.email} to {invitation.project.name} as {invitation.role}. They join with 'ctx members "
        f"accept {invitation.id}'."
    )
    return _outcome(invitation, text)


def _outcome(invitation: Invitation, text: str) -> Outcome:
    return Outcome({"success": True, "invitation": as_json(invitation)}, text)


def _remove(context: Context, options: Namespace) -> Outcome:
    backend, project, who = context.backend(), chosen_project_id(context, options.project), options.who.casefold()
    if "@" in who:
        for invitation in _list_invitations(backend, project):
            if invitation.email.casefold() == who:
                backend.call("DELETE", f"/invitations/{invitation.id}")
                return _outcome(invitation, f"Withdrew the invitation of {invitation.email}.")
    members = [item.user for item in _members(backend, project)]
    found = [user for user in members if who in {str(user.id), user.name.casefold()}]
    if len(found) != 1:
        what = "More than one member has" if found else "Nobody here has"
        raise InvalidUsage(f"{what} the name or the e-mail '{echo(options.who)}'. Give an id of 'ctx members list'.")
    backend.call("DELETE", f"/projects/{project}/members/{found[0].id}")
    return Outcome({"success": True, "user": as_json(found[0])}, f"Removed {found[0].name}.")


def _invitations(context: Context, _options: Namespace) -> Outcome:
    found = _list_invitations(context.backend())
    rows = [(str(item.id), item.project.name, item.role) for item in found]
    table = Table(("ID", "Project", "Role"), rows) if rows else None
    return Outcome({"success": True, "invitations": as_json(tuple(found))}, "" if rows else "No invitations.", table)


def _accept(context: Context, options: Namespace) -> Outcome:
    project = context.backend().call("POST", f"/invitations/{options.id}/accept").read(CortexProject)
    return Outcome({"success": True, "project": as_json(project)}, f"You are a member of {project.name} now.")


def _decline(context: Context, options: Namespace) -> Outcome:
    context.backend().call("DELETE", f"/invitations/{options.id}")
    return Outcome({"success": True}, "Declined.")
