"""``ctx tasks start``, ``pr``, ``done`` and ``status``: the steps of the work, which ``flows`` does (CX-70 to CX-78).

Git and the flows are imported when a step is called: listing tasks needs neither (CX-97).
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_cli.commands.context import Context
from cortex_cli.commands.parsing import CommandGroup, positive_id
from cortex_cli.errors import InvalidUsage, make_error
from cortex_cli.output import Outcome

if TYPE_CHECKING:
    from cortex_cli.flows import Flow

__all__ = ["add_to", "current_task_id"]


def add_to(commands: CommandGroup) -> None:
    """Add the steps of the work to the commands of ``tasks``."""
    start = commands.add_action("start", "start a task: make it yours, and switch to its branch", _start)
    start.add_argument("id", type=positive_id, metavar="ID")
    source = start.add_mutually_exclusive_group()
    source.add_argument("--from", dest="source", metavar="REF", help="begin the branch at a commit, a tag or a branch")
    source.add_argument("--here", action="store_true", help="begin the branch at the current commit")
    submit = commands.add_action("pr", "commit, push, and open a pull request for the current branch", _submit)
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
    done = commands.add_action("done", "finish the merged task of the current branch", _complete)
    done.add_argument("--force", action="store_true", help="finish it though nothing shows that it is merged")
    done.add_argument("--keep-branch", action="store_true", help="do not delete the branch")
    status = commands.add_action("status", "show the task of the current branch, and what to do next", _status)
    status.add_argument("--offline", action="store_true", help="ask neither the server nor the forge")


def _flow(context: Context) -> Flow:
    from cortex_cli.flows import Flow  # noqa: PLC0415 - a list of tasks loads neither git nor the flows (CX-97)
    from cortex_cli.git import Git  # noqa: PLC0415 - as above

    try:
        directory = Path.cwd()
    except OSError:  # it has been deleted
        raise make_error("NotARepository", directory=".") from None
    git = Git(directory, context.environment, context.deadline, is_asking=context.can_ask)
    return Flow(context.backend(), git, context.settings(), context.environment, context.warnings)


def current_task_id(context: Context) -> int:
    """Return the id of the task whose branch is checked out.

    Raises:
        CortexError: the current branch is not the branch of a task.
    """
    from cortex_cli.flows import current_task_id  # noqa: PLC0415 - as above

    return current_task_id(_flow(context))


def _start(context: Context, options: Namespace) -> Outcome:
    from cortex_cli.flows import start  # noqa: PLC0415 - as above

    answer = start(_flow(context), options.id, source=options.source, is_here=options.here)
    verb = "Created" if answer["created"] else "Switched to"
    return Outcome(answer, f"Task #{answer['task_id']} is in progress. {verb} the branch {answer['branch']}.")


def _submit(context: Context, options: Namespace) -> Outcome:
    from cortex_cli.flows import submit  # noqa: PLC0415 - as above

    if options.message_file == "-" and options.body_file == "-":
        raise InvalidUsage("Only one of --message-file and --body-file can be read from standard input.")
    message = options.message if options.message_file is None else context.read_text(options.message_file)
    body = None if options.body_file is None else context.read_text(options.body_file)
    answer = submit(
        _flow(context),
        message=message,
        title=options.title,
        body=body,
        is_draft=options.draft,
        allowed_files=options.allow_file,
    )
    request = answer["pull_request"]
    place = (isinstance(request, dict) and request.get("url")) or answer["compare_url"]
    where = f" Pull request: {place}" if place else ""
    return Outcome(answer, f"Task #{answer['task_id']} is in review.{where}")


def _complete(context: Context, options: Namespace) -> Outcome:
    from cortex_cli.flows import complete  # noqa: PLC0415 - as above

    if options.force:
        context.confirm("Finish the task though nothing shows that its branch is merged?")
    answer = complete(_flow(context), is_forced=options.force, keeps_branch=options.keep_branch)
    return Outcome(answer, f"Task #{answer['task_id']} is done.")


def _status(context: Context, options: Namespace) -> Outcome:
    from cortex_cli.flows import status  # noqa: PLC0415 - as above

    answer = status(_flow(context), is_offline=options.offline)
    task = answer["task"]
    lines = [f"Branch: {answer['current_branch'] or 'none (HEAD is detached)'}"]
    if isinstance(task, dict):
        lines.append(f"Task: #{task['id']} {task['title']} ({task['status']})")
    lines += [f"Next: {answer['next']}"] if answer["next"] else []
    return Outcome(answer, "\n".join(lines))
