"""``ctx tasks``: see, create and change tasks; the steps of the work with git are in ``work`` (CX-50, CX-52)."""

from argparse import Namespace
from importlib import import_module

from cortex_cli.commands.context import Context
from cortex_cli.commands.lookup import assignee_id, assignee_of_list, chosen_project_id, find_project_id, split_statuses
from cortex_cli.commands.parsing import Action, CommandGroup, Parser, positive_id
from cortex_cli.errors import InvalidUsage, escape_invisible
from cortex_cli.models import CLOSED_STATUSES, PRIORITIES, STATUSES, TASK_TYPES, CortexTask, as_json
from cortex_cli.output import Outcome, Table

__all__ = ["add_to"]

_OPEN = tuple(status for status in STATUSES if status not in CLOSED_STATUSES)


def add_to(parser: Parser) -> None:
    """Add the commands of the group."""
    commands = CommandGroup(parser)
    listing = commands.add_action("list", "list tasks; by default mine that are not finished", _list)
    listing.add_argument("--all", action="store_true", help="list finished and canceled tasks too")
    listing.add_argument("--status", metavar="STATUS,…", type=split_statuses, help="list tasks with these statuses")
    listing.add_argument("--project", metavar="PROJECT", help="the id or the name of a project")
    listing.add_argument("--assignee", default="me", type=assignee_of_list, help="me, any, none or the id of a user")
    listing.add_argument(
        "--unassigned", dest="assignee", action="store_const", const="none", help="list tasks that nobody has"
    )
    listing.add_argument("--limit", type=positive_id, metavar="N", help="tasks to list at most: 1 to 100, default 50")
    listing.add_argument("--cursor", help="where to continue: next_cursor of the answer before")
    show = commands.add_action("show", "show a task; by default the one of the current branch", _show)
    show.add_argument("id", nargs="?", type=positive_id, metavar="ID")
    new = commands.add_action("new", "create a task", _new)
    new.add_argument("title", metavar="TITLE")
    new.add_argument("--project", metavar="PROJECT", help="its id or its name; by default the only one that you have")
    _add_fields(new)
    edit = commands.add_action("edit", "change a task", _edit)
    edit.add_argument("id", type=positive_id, metavar="ID")
    edit.add_argument("--title", metavar="TITLE")
    edit.add_argument("--status", choices=STATUSES)
    _add_fields(edit)
    cancel = commands.add_action("cancel", "cancel a task", _cancel)
    cancel.add_argument("id", type=positive_id, metavar="ID")
    comment = commands.add_action("comment", "comment on a task; by default the one of the current branch", _comment)
    comment.add_argument("id", nargs="?", type=positive_id, metavar="ID")
    comment.add_argument("--message-file", required=True, metavar="FILE", help="the text; - for standard input")
    _add_steps(commands)


def _add_steps(commands: CommandGroup) -> None:
    start = commands.add_action("start", "start a task: make it yours, and switch to its branch", _step("start"))
    start.add_argument("id", type=positive_id, metavar="ID")
    source = start.add_mutually_exclusive_group()
    source.add_argument("--from", dest="source", metavar="REF", help="begin the branch at a commit, a tag or a branch")
    source.add_argument("--here", action="store_true", help="begin the branch at the current commit")
    submit = commands.add_action("pr", "commit, push, and open a pull request for the current branch", _step("submit"))
    message = submit.add_mutually_exclusive_group()
    message.add_argument("--message", metavar="TEXT", help="commit the changes with this message")
    message.add_argument("--message-file", metavar="FILE", help="the same, from a file; - for standard input")
    submit.add_argument("--title", metavar="TEXT", help="the title of the pull request; by default the task's")
    submit.add_argument("--body-file", metavar="FILE", help="the text of the pull request; - for standard input")
    submit.add_argument("--draft", action="store_true", help="open it as a draft")
    submit.add_argument(
        "--allow-file",
        action="append",
        default=[],
        metavar="PATH",
        help="commit this file though it looks like a secret",
    )
    done = commands.add_action("done", "finish the merged task of the current branch", _step("complete"))
    done.add_argument("--force", action="store_true", help="finish it though nothing shows that it is merged")
    done.add_argument("--keep-branch", action="store_true", help="do not delete the branch")
    status = commands.add_action("status", "show the task of the current branch, and what to do next", _step("status"))
    status.add_argument("--offline", action="store_true", help="ask neither the server nor the forge")


def _step(name: str) -> Action:
    """Return a step of the work, imported when it is called: listing tasks needs neither git nor the flows (CX-97)."""
    return lambda context, options: getattr(import_module("cortex_cli.commands.work"), name)(context, options)


def _current_task_id(context: Context) -> int:
    return import_module("cortex_cli.commands.work").current_task_id(context)


def _add_fields(parser: Parser) -> None:
    parser.add_argument("--type", choices=TASK_TYPES)
    parser.add_argument("--priority", choices=PRIORITIES, type=str.upper)
    parser.add_argument("--description-file", metavar="FILE", help="the description; - for standard input")
    parser.add_argument("--deadline", metavar="DATE", help="YYYY-MM-DD, or none")
    parser.add_argument("--assignee", metavar="WHO", help="me, none or the id of a user")


def _fields(context: Context, options: Namespace) -> dict[str, object]:
    named = {"title": options.title, "type": options.type, "priority": options.priority}
    fields: dict[str, object] = {name: value for name, value in named.items() if value is not None}
    if options.description_file is not None:
        fields["description"] = context.read_text(options.description_file)
    if options.deadline is not None:
        fields["deadline"] = None if options.deadline == "none" else options.deadline
    if options.assignee is not None:
        fields["assignee_id"] = assignee_id(context, options.assignee)
    return fields


def _list(context: Context, options: Namespace) -> Outcome:
    statuses = options.status or (() if options.all else _OPEN)
    backend = context.backend()
    project = None if options.project is None else find_project_id(backend, options.project)
    page = backend.list_tasks(
        assignee=options.assignee, statuses=statuses, project_id=project, limit=options.limit, cursor=options.cursor
    )
    message = f"{page.total} task{'' if page.total == 1 else 's'}" if page.total else "No assigned tasks"
    answer = {
        "success": True,
        "tasks": [_without_description(task) for task in page.tasks],
        "total": page.total,
        "next_cursor": page.next_cursor,
        "message": message,
    }
    rows = [(str(task.id), task.title, task.priority, task.status, task.branch_name or "") for task in page.tasks]
    table = Table(("ID", "Title", "Priority", "Status", "Branch"), rows) if rows else None
    more = f"There are more: add --cursor {page.next_cursor}" if page.next_cursor else ""
    hint = " 'ctx tasks list --unassigned' lists those that nobody has." if options.assignee == "me" else ""
    return Outcome(answer, more if rows else f"{message}.{hint}", table)


def _without_description(task: CortexTask) -> dict[str, object]:
    return {name: as_json(value) for name, value in task._asdict().items() if name != "description"}


def _outcome(task: CortexTask, text: str) -> Outcome:
    return Outcome({"success": True, "task": as_json(task)}, text)


def _show(context: Context, options: Namespace) -> Outcome:
    task = context.backend().get_task(options.id or _current_task_id(context))
    lines = {
        "Project": task.project.name,
        "Status": task.status,
        "Type": task.type,
        "Priority": task.priority,
        "Assignee": task.assignee.name if task.assignee else "",
        "Branch": task.branch_name or "",
        "Pull request": (task.pull_request.url or task.pull_request.state) if task.pull_request else "",
        "Deadline": task.deadline or "",
    }
    shown = [f"#{task.id} {escape_invisible(task.title)}"]
    shown += [f"{name}: {escape_invisible(value)}" for name, value in lines.items() if value]
    return _outcome(task, "\n".join([*shown, *(["", task.description] if task.description else [])]))


def _new(context: Context, options: Namespace) -> Outcome:
    project = chosen_project_id(context, options.project)
    fields = {"project_id": project, **_fields(context, options)}
    task = context.backend().call("POST", "/tasks/", body=fields).read(CortexTask)
    return _outcome(task, f"Created task #{task.id}. Start it with 'ctx tasks start {task.id}'.")


def _edit(context: Context, options: Namespace) -> Outcome:
    changes = _fields(context, options) | ({"status": options.status} if options.status else {})
    if not changes:
        raise InvalidUsage("Give at least one field to change. See 'ctx tasks edit --help'.")
    task = context.backend().update_task(options.id, changes)
    return _outcome(task, f"Changed task #{task.id}.")


def _cancel(context: Context, options: Namespace) -> Outcome:
    task = context.backend().update_task(options.id, {"status": "CANCELED"})
    return _outcome(task, f"Canceled task #{task.id}.")


def _comment(context: Context, options: Namespace) -> Outcome:
    task_id = options.id or _current_task_id(context)
    comment = context.backend().add_comment(task_id, context.read_text(options.message_file))
    return Outcome({"success": True, "comment": comment}, f"Commented on task #{task_id}.")
