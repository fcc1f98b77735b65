"""The commands ``start --claim``, which claims a task for the client that runs it, and ``release`` (AG-13)."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from task_core.claims.claim import Agent, Claim, NotClaimed, TaskClaimed, describe
from task_core.claims.client_process import ASSIGNED, Holder, find_holder
from task_core.cli.view.plain import write_json
from task_core.history.changes import COMMAND_LINE, made_by
from task_core.text import escape_invisible

if TYPE_CHECKING:
    from task_core.store.claiming import Claiming
    from task_core.view import View

__all__ = ["find_client", "release", "report_claim"]


def find_client() -> Holder:
    """Return the process that the claims of this command are to be attached to."""
    if find_spec("mcp_client_install") is None:
        return Holder(ASSIGNED)
    from task_core.cli.client_entries import CLIENT_NAMES  # noqa: PLC0415 - only where mcp-client-install is

    return find_holder(CLIENT_NAMES)


def report_claim(name: str, claim: Claim) -> None:
    """Write to stderr how long a claim lasts that the program ``name`` has made."""
    if claim.until:
        how = f"until {describe(claim)['until']}, since PostgreSQL shows nobody whether a process runs; start it again "
        how += "with --claim to extend the claim"
    elif claim.process == ASSIGNED:
        how = f"until `{name} release {claim.task}`, since no known client runs this command"
    else:
        how = f"until {claim.holder} ends, or `{name} release {claim.task}`"
    sys.stderr.write(f"Claimed {escape_invisible(claim.task)} {escape_invisible(how)}.\n")


def release(claiming: Claiming, view: View, task_id: str, *, is_forced: bool, is_json: bool) -> None:
    """End the claim on a task; only if ``is_forced``, that of an agent which this command does not run below.

    Raises:
        TaskClaimed: another agent holds the task.
        NotClaimed: nobody does.
    """
    held = next((it for it in view.claims() if it.task == task_id and not it.is_ended), None)
    if held is None:
        raise NotClaimed(task_id)
    if not (is_forced or held.process in {ASSIGNED, find_client().process}):
        sys.stderr.write("Give --force to end the claim of an agent that may still work on the task.\n")
        raise TaskClaimed(held, Agent(""), wanted=task_id)
    holder = Holder(held.process)
    with made_by(COMMAND_LINE, "release", held.agent, is_remote=not held.process, holder=holder):
        message = claiming.release(task_id)
    if is_json:
        write_json({"released": task_id} | ({"message": message} if message else {}), sys.stdout)
    else:
        sys.stdout.write(f"Released {escape_invisible(task_id)}. {message}".rstrip() + "\n")
