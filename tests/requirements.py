"""What the servers promise: every requirement by its id, with its source and what it asks for.

A test names the ids that it shows with ``@pytest.mark.requirement("HB-8", "H1")``; ``test_requirements.py``
holds the two together, both ways. ``LATER`` names the requirements that no code answers yet, each with the reason.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["LATER", "REQUIREMENTS", "Requirement"]


class Requirement(NamedTuple):
    """One promise: the document that makes it, and what it asks for."""

    source: str
    what: str


_COMMON: Final = {
    "CLI-1": "console script and `python -m` are the same thing; the options that every server has",
    "CLI-2": "HTTP serves loopback only; Host and Origin are checked",
    "CLI-3": "a bad setting ends the process with exit code 2 and one message that names it",
    "CLI-4": "stdout carries JSON-RPC only; logs go to stderr, without task text at INFO or above",
    "CLI-5": "end of stdin and the ending signals end the server in under 2 s, the store whole, the lock free",
    "TOOL-1": "descriptions, bounds and annotations of every tool and parameter; instructions",
    "TOOL-2": "arguments are closed and typed; a list or object that comes as a JSON string is decoded strictly",
    "TOOL-3": "duplicate keys, NaN, lone surrogates and what is past a limit are refused",
    "TOOL-4": "what a model pays to see the tools stays within its limit",
    "TOOL-5": "a result is one JSON object; timestamps in UTC; a stated order",
    "TOOL-6": "both protocol eras work, on stdio and HTTP",
    "TOOL-7": "many calls at a time: none is lost, none blocks ping or tools/list",
    "ERR-1": "an error is one sentence that tells the model what to do, without traces and foreign text",
    "ERR-2": "after an error nothing has changed, in memory or on disk",
    "ERR-3": "a failed tool call is a tool result with code, message and details; all else a JSON-RPC error",
    "ERR-4": "the nearest known ids or names come with the error, nearest first",
    "WARN-1": "a warning stands in the next tool result, once for each cause, and in the log",
    "ST-1": "the document is UTF-8, one task a line, keys in a stable order",
    "ST-2": "processes on one store lose nothing and see each other's changes",
    "ST-3": "what a person edits in the store is kept and seen; a broken edit is reported",
    "ST-4": "a store that cannot be read, or is newer, is neither empty nor replaced",
}

_HEARTBEAT: Final = {
    "HB-1": "readable ids, unique among stored and archived tasks and those still in HEARTBEAT.md",
    "HB-2": "task_create: further arguments and extra_fields become extra fields",
    "HB-3": "task_update: all or nothing, read-only fields, completed_at, append_ideas",
    "HB-4": "task_list: what is listed, and in which order",
    "HB-5": "task_get: the whole task, archived ones too",
    "HB-6": "references are URLs or paths inside the workspace; the value is stored as given",
    "HB-7": "old finished tasks leave the store for the archive at start and every hour",
    "HB-8": "which heading is the section, where it ends, and what happens when there is none",
    "HB-9": "everything outside the section stays the same bit for bit; no change, no write",
    "HB-10": "the form of an entry",
    "HB-11": "text is escaped so that it forges nothing, and comes back exactly",
    "HB-12": "lines that a person adds are never lost",
    "HB-13": "a mirror that cannot be written never fails the call",
    "HB-14": "the section keeps to HEARTBEAT_MAX_CHARS and counts what does not fit",
    "HB-15": "the order of a start: store, else section, else empty; clean; mirror",
    "HB-16": "a damaged store is kept aside and recovered from the section",
}

_TASKS_V1: Final = {
    "V1-1": "create_task: the whole task with its defaults; a new one is pending or in_progress",
    "V1-2": "list_tasks: filters, orders, limit, total, and cursors that show nothing twice and skip nothing",
    "V1-3": "update_task_status: the table of states; the same status again changes nothing",
    "V1-4": "get_task: the whole task",
    "V1-5": "update_task: what is given changes, null sets back, the status has its own tool",
    "V1-6": "updated_at moves only when something changed",
}

_RELIABILITY: Final = {
    "D1": "success is answered only after the write, both fsyncs and the rename",
    "D2": "killed at any moment: what was acknowledged is there, the store is valid",
    "D3": "no leftovers beside the store",
    "D4": "an error of any step names its cause and leaves memory and disk as they were",
    "D5": "on a full or read-only disk reading still works",
    "D6": "an operation on many tasks is one save",
    "D7": "nothing is kept across calls without checking the file's identity",
    "C1": "one exclusive kernel lock around read, change and write, between threads too",
    "C2": "the wait for the lock is bounded, fair, and does not block other requests",
    "C3": "a holder that was killed holds nobody up",
    "C4": "ids are unique under the lock and never used again while they stand somewhere",
    "C5": "HEARTBEAT.md is written under the same lock, after the store",
    "L1": "a damaged store is copied aside before anything is written",
    "L2": "marks and blanks are accepted, unknown fields kept, newer versions refused",
    "L3": "corrupt copies are kept: the last three, and every young one",
    "H1": "HEARTBEAT.md is worked on as bytes; generated lines use its line end",
    "H2": "which heading counts",
    "H3": "the user's own lines in the section are kept or taken in",
    "H4": "mode, owner and symlink of HEARTBEAT.md are kept; what is no file is a warning",
    "H5": "hostile text survives the loss of the store and adds or alters no task",
    "S1": "strict schemas and limits; no error repeats more than 200 characters of input",
    "S2": "paths cannot leave the workspace, whatever their form",
    "S3": "control, bidi and tag characters are escaped where people read; descriptions are static",
    "S4": "new files are for their owner only; planted links do no harm; logs hold no secrets",
    "P1": "every line is answered, and the server lives on",
    "P2": "a failure is never prose in a success",
    "P3": "gone in under 2 s on every way to end; idle costs nothing",
    "W1": "replacing is tried again only where Windows says that the file is busy",
}

REQUIREMENTS: Final = {
    **{name: Requirement("common", what) for name, what in _COMMON.items()},
    **{name: Requirement("heartbeat", what) for name, what in _HEARTBEAT.items()},
    **{name: Requirement("tasks-v1", what) for name, what in _TASKS_V1.items()},
    **{name: Requirement("reliability", what) for name, what in _RELIABILITY.items()},
}
"""Every requirement that holds now, by id; each is shown by at least one test."""

LATER: Final = {
    "N1": "HTTP beyond loopback waits for authentication",
    "N2": "PostgreSQL waits for the SQL engine",
    **{f"HI-{number}": "hierarchy-mcp is not there yet" for number in range(1, 9)},
}
"""Requirements that nothing answers yet, by id, and why; no test may claim one."""
