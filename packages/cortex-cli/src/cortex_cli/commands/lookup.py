"""Words that people may write in place of ids and lists: me, any, a project's name, statuses with commas."""

from argparse import ArgumentTypeError

from cortex_cli.backend import Backend
from cortex_cli.commands.context import Context
from cortex_cli.commands.parsing import positive_id
from cortex_cli.errors import InvalidUsage, echo, nearest
from cortex_cli.models import STATUSES

__all__ = ["assignee_id", "assignee_of_list", "chosen_project_id", "find_project_id", "split_statuses"]


def split_statuses(text: str) -> tuple[str, ...]:
    """Return the statuses in a list with commas, in any case; raise ``ArgumentTypeError`` if one does not exist."""
    found = tuple(part.strip().upper() for part in text.split(","))
    if not set(found) <= set(STATUSES):
        raise ArgumentTypeError(f"choose from {', '.join(STATUSES)}")
    return found


def assignee_of_list(text: str) -> str:
    """Return whose tasks to list; raise ``ArgumentTypeError`` unless it is me, any, none or an id."""
    return text if text in {"me", "any", "none"} else str(positive_id(text))


def assignee_id(context: Context, text: str) -> int | None:
    """Return the id that ``--assignee`` names, or None; raise ``InvalidUsage`` if it is not me, none or an id."""
    if text == "none":
        return None
    if text == "me":
        return context.backend().user().id
    try:
        return positive_id(text)
    except ArgumentTypeError:
        raise InvalidUsage(f"--assignee must be me, none or the id of a user, not '{echo(text)}'.") from None


def chosen_project_id(context: Context, text: str | None) -> int:
    """Return the id of the project that ``--project`` names; without it, that of the settings or the only one.

    Raise ``InvalidUsage`` if no project, or more than one, can be meant.
    """
    backend = context.backend()
    named = text or context.settings().default_project
    if named is not None:
        return find_project_id(backend, str(named))
    projects = backend.list_projects()
    if len(projects) == 1:
        return projects[0].id
    if projects:
        raise InvalidUsage("Give --project, or set one with 'ctx config set default_project ID'.")
    raise InvalidUsage("You have no project. Use 'ctx projects new NAME', or accept one of 'ctx members invitations'.")


def find_project_id(backend: Backend, text: str) -> int:
    """Return a project's id, given its id or name; raise ``InvalidUsage`` unless exactly one has this name."""
    if text.isascii() and text.isdecimal():
        try:
            return positive_id(text)
        except ArgumentTypeError as error:
            raise InvalidUsage(f"--project: {error}.") from None
    projects = backend.list_projects()
    found = [project.id for project in projects if project.name.casefold() == text.casefold()]
    if len(found) == 1:
        return found[0]
    names = nearest(text, [project.name for project in projects])
    advice = "Give its id." if found else "See 'ctx projects list'."
    what = "More than one project has" if found else "No project has"
    raise InvalidUsage(f"{what} the name '{echo(text)}'. {advice}", {"near": [echo(name) for name in names]})
