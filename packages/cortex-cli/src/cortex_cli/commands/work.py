"""Steps of the work: ``ctx tasks start``, ``pr``, ``done`` and ``status``, which ``flows`` does (CX-70 to CX-78)."""

from argparse import Namespace
from pathlib import Path

from cortex_cli import flows
from cortex_cli.commands.context import Context
from cortex_cli.errors import InvalidUsage, make_error
from cortex_cli.git import Git
from cortex_cli.output import Outcome
from cortex_cli.repository import find_paths, read_work_tree

__all__ = ["complete", "current_task_id", "start", "status", "submit"]


def _flow(context: Context) -> flows.Flow:
    try:
        directory = Path.cwd()
    except OSError:  # it has been deleted
        raise make_error("NotARepository", directory=".") from None
    git = Git(directory, context.environment, context.deadline, is_asking=context.can_ask)
    return flows.Flow(context.backend(), git, context.settings(), context.environment, context.warnings)


def current_task_id(context: Context) -> int:
    """Return the id of the task whose branch is checked out; raise ``NotATaskBranch`` if none is."""
    git = _flow(context).git
    return read_work_tree(git, find_paths(git)).require_branch()[1]


def start(context: Context, options: Namespace) -> Outcome:
    """Start a task."""
    answer = flows.start(_flow(context), options.id, source=options.source, is_here=options.here)
    verb = "Created" if answer["created"] else "Switched to"
    return Outcome(answer, f"Task #{answer['task_id']} is in progress. {verb} the branch {answer['branch']}.")


def submit(context: Context, options: Namespace) -> Outcome:
    """Commit, push, and open a pull request."""
    if options.message_file == "-" and options.body_file == "-":
        raise InvalidUsage("Only one of --message-file and --body-file can be read from standard input.")
    message = options.message if options.message_file is None else context.read_text(options.message_file)
    body = None if options.body_file is None else context.read_text(options.body_file)
    answer = flows.submit(
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


def complete(context: Context, options: Namespace) -> Outcome:
    """Finish the merged task."""
    if options.force:
        context.confirm("Finish the task though nothing shows that its branch is merged?")
    answer = flows.complete(_flow(context), is_forced=options.force, keeps_branch=options.keep_branch)
    return Outcome(answer, f"Task #{answer['task_id']} is done.")


def status(context: Context, options: Namespace) -> Outcome:
    """Show the task of the current branch."""
    answer = flows.status(_flow(context), is_offline=options.offline)
    task = answer["task"]
    lines = [f"Branch: {answer['current_branch'] or 'none (HEAD is detached)'}"]
    if isinstance(task, dict):
        lines.append(f"Task: #{task['id']} {task['title']} ({task['status']})")
    lines += [f"Next: {answer['next']}"] if answer["next"] else []
    return Outcome(answer, "\n".join(lines))
