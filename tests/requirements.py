"""What the servers promise: every requirement by its id, with its source and what it asks for.

A test names the ids that it shows with ``@pytest.mark.requirement("HB-8", "H1")``; ``test_requirements.py``
holds the two together, both ways. ``LATER`` names the requirements that no code answers yet, each with the reason.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.cortex_requirements import CORTEX

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
    "TOOL-8": "no host refuses a published schema, and what is published is accepted",
    "TOOL-9": "no answer exceeds 40 KB unless it is one named task in full; paging shows every task once",
    "ERR-1": "an error is one sentence that tells the model what to do, without traces and foreign text",
    "ERR-2": "after an error nothing has changed, in memory or on disk",
    "ERR-3": "a failed tool call is a tool result with code, message and details; all else a JSON-RPC error",
    "ERR-4": "the nearest known ids or names come with the error, nearest first",
    "WARN-1": "a warning stands in the next tool result, once for each cause, and in the log",
    "WARN-2": "a warning reaches the model in errors too, after a cancelled call, and a second time when it recurs",
    "ST-1": "the document is UTF-8, one task a line, keys in a stable order",
    "ST-2": "processes on one store lose nothing and see each other's changes",
    "ST-3": "bytes that are not understood are never written over; the error says where they are and what is wrong",
    "ST-4": "a store that cannot be read, or is newer, is neither empty nor replaced",
    "ST-5": "a missing document is an empty store, with a warning where an older one is kept; a blank one is an error",
    "ST-6": "before the first save of a day the document is kept; restore lists what is kept and puts it back",
}

_ENGINES: Final = {
    "EN-1": "a store has transactions, all or nothing, reads of one snapshot, and changes since a token",
    "EN-2": "what a service may ask of a collection, each an indexed query",
    "EN-3": "a selection means the same on every engine, and pages by key",
    "EN-4": "a tree is rows: starting and completing cost as much as the task is deep",
    "EN-5": "one contract, and the tools of each server, on memory, JSON, SQLite and PostgreSQL",
    "EN-6": "the bytes of each record are kept and joined once a save; one save for all who wait",
    "EN-7": "a change encodes only the records that changed, and moves only the rows that it must",
    "EN-8": "SQLite writes and checkpoints one at a time, under the server's own lock",
    "EN-9": "changes that wait for each other in one process share a commit",
    "EN-10": "what a call reads does not grow with the number of tasks",
    "EN-11": "PostgreSQL: its driver is imported only if it was chosen, plain statements, migrated by a command",
    "EN-12": "one locked row of a list is its lock, its revision and its totals",
    "EN-13": "the tables are the same everywhere, and every key begins with tenant and kind",
    "EN-14": "a transaction whose outcome is unknown is saved once or not at all",
    "EN-15": "what the server answers becomes an error of the store, and nothing waits without bound",
    "EN-16": "moments and ids rise with the changes, whatever the clocks of the machines say",
    "EN-17": "TASK_STORE names the store, and nothing else beside it does",
    "EN-18": "export and import move all tasks from one engine to another, byte for byte",
    "EN-19": "HEARTBEAT.md beside a database: the first file that shows a list owns it; archived tasks are rows",
    "EN-20": "subscriptions follow the revision, whoever changed the tasks; a call costs the same with them",
    "EN-21": "list_changes, when it is asked for: what changed since a token",
    "EN-22": "of several hosts that take writes, the one with the highest timeline is the primary, found in time",
}

_HTTP: Final = {
    "HTTP-1": "server processes on one store behind several ports behave as one",
    "HTTP-2": "every Host and Origin is checked, on every path and before a body is read",
    "HTTP-3": "there are no sessions: only POST is served at /mcp, and only pages of allowed origins may call",
    "HTTP-4": "a request that never begins or ends, or whose answer nobody reads, is given up in time, without a trace",
    "HTTP-5": "a body of more than 4 MiB is refused before it has ended",
}

_HOSTED: Final = {
    "HO-1": "HTTP beyond loopback only with an issuer, a public URL, allowed names and a database; nothing on stdio",
    "HO-2": "tokens of one issuer for one audience, with scopes; 401 and 403 say what to do; few fetches of keys",
    "HO-3": "a tenant is issuer and claim; nothing that is kept is shared; foreign and unknown are the same",
    "HO-4": "limits of each tenant and of a replica: calls, streams, bodies, tasks and bytes",
    "HO-5": "any request may go to any replica; news of another one comes with the next look",
    "HO-6": "a call with an idempotency key is carried out once, and answered again for 24 hours",
    "HO-7": "probes, figures, traces and one line for each call, without tenants, tokens and text",
    "HO-8": "a signal is announced to proxies before the end, so that no call fails",
    "HO-9": "one command starts a whole deployment from packages, another stops it; the files for containers are valid",
    "HO-10": "no loss of a machine loses or doubles a change that was acknowledged, or makes one that was refused",
    "HO-11": "what a hosted service carries, as ratios to the same statements by pgbench, and what limits it",
    "HO-12": "docs/scale.md: limits and ways out, with the arithmetic from measured figures",
}

_PACKAGING: Final = {
    "PKG-1": "the manifests for registries and bundles say what package, settings and tools say",
}

_AGENT: Final = {
    "PE-3": "install asks one question, where tasks are kept; the list for all projects is in the user's data folder",
    "PE-4": "where there is no project the tool that makes one is offered, and no message names a tool without its set",
    "PE-7": "every change on the board is named in a message that undoes it; what changes many tasks asks first",
    "PE-10": "only what is allowed is offered to a person, and errors have the words of the page or the command line",
    "PE-15": "the details of a task show who works on it, by whom and from what it was changed, and undo each change",
    "PE-16": "watch shows the time and marks changes, list has --all, filters and JSON, help begins with people",
    "PE-17": "text is accepted for a number or a boolean; a list that came as text with commas is reported",
    "PE-19": "an answer is short unless all is asked for, a call may do the next step, a loss is in the description",
    "PE-20": "the text of an answer is the whole object, since some clients show the model only that",
    "PE-18": "an error names the arguments there are and where one belongs; a status may be written another way",
}

_SESSIONS: Final = {
    "AG-1": "the tools of the source documents by default; sets of others by name, or all, for at most 2,000 bytes",
    "AG-2": "one implementation of each set for all servers; names in snake_case, in hierarchy in camelCase",
    "AG-3": "each call is one entry of the history: by whom, with what, and each field before and after",
    "AG-4": "the history is kept beside the tasks, alike on every engine, and never stops the store",
    "AG-5": "the history has bounds of days, bytes and characters, or is not kept",
    "AG-6": "one change is undone, within the server's rules, unless that has changed since; as a command too",
    "AG-7": "no allowed call destroys text for good",
    "AG-8": "a brief of a few thousand bytes has all that a new session must know; as a tool, a resource and a command",
    "AG-10": "install --agents adds a hook that shows a client's model the brief, and uninstall restores every byte",
    "AG-11": "an agent claims a task, or the first free one, in one transaction; the claim ends with the task",
    "AG-12": "a claim lives exactly as long as its agent's process, which a kernel lock tells",
    "AG-13": "agents that share a process exclude each other by their names",
    "AG-14": "the claim of an agent without a process has a deadline, and a later one has a higher number",
    "AG-15": "no other agent changes a claimed task or what is below it; people are never refused, the holder hears",
    "AG-16": "without claims nothing changes, and agents that never claim work on beside those that do",
    "AG-17": "hierarchy: one active leaf in each claimed root, and one in all that are not claimed",
    "AG-18": "commands change tasks as the board's buttons do, from one table; add reads a pipe, all or none",
    "AG-19": "a model of claims finds no fault, and finds one where any protection is switched off",
    "AG-21": "any earlier state can be rebuilt from the history alone, whoever made the changes",
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
    "HB-16": "a store that a crash cut off is kept aside and recovered from the section",
    "HB-17": "a person who ticks an entry off sets the status of its task",
    "HB-18": "HEARTBEAT.md is never written while somebody else may be writing it, and nothing unread is replaced",
    "HB-19": "one section, one store: the lock file names the owner, and no other store touches the section",
}

_TASKS_V1: Final = {
    "V1-1": "create_task: the whole task with its defaults; a new one is pending or in_progress",
    "V1-2": "list_tasks: filters, orders, limit, total, and cursors that show nothing twice and skip nothing",
    "V1-3": "update_task_status: the table of states; the same status again changes nothing",
    "V1-4": "get_task: the whole task",
    "V1-5": "update_task: what is given changes, null sets back, the status has its own tool",
    "V1-6": "updated_at moves only when something changed",
}

_HIERARCHY: Final = {
    "HI-1": "createTask: place, nested subtasks, ids, and a suggestion for root tasks",
    "HI-2": "getTask and listTasks: whole trees, and lists of limited depth",
    "HI-3": "updateTask: fields, and back to todo; other statuses are refused with a pointer",
    "HI-4": "deleteTask: the whole subtree; a parent that loses its last subtask is a leaf again",
    "HI-5": "startTask: the first open leaf, the order, one active leaf, the criteria on the way",
    "HI-6": "completeTask: open subtasks, the next task, parents that follow, the summary",
    "HI-7": "the table of all tasks, the same for start and complete",
    "HI-8": "after every call at most one leaf is in progress and no done task has an open subtask",
}

_HIERARCHY_SOURCE: Final = {
    "R1.1": "a task gets a unique id",
    "R1.2": "a task goes to the given place among the subtasks of its parent",
    "R1.3": "name, description, status and an empty list of subtasks are stored",
    "R1.4": "without a parent a root task is made",
    "R1.5": "for a root task the answer suggests creating subtasks",
    "R1.6": "each task holds its own subtasks",
    "R1.7": "nesting is deep",
    "R2.1": "creating takes name, description, parent and place",
    "R2.2": "creating takes completion criteria and constraints",
    "R2.3": "without a place the task is appended",
    "R2.4": "with a place the task is inserted and the rest shifted",
    "R2.5": "getting a task brings its subtasks along",
    "R2.6": "listing can be limited to the children of one task",
    "R2.7": "updating changes the given fields",
    "R2.8": "deleting takes the subtasks too",
    "R3.1": "starting sets in_progress",
    "R3.2": "starting returns the criteria and constraints of the task and its ancestors",
    "R3.3": "starting is refused while an earlier sibling is open",
    "R3.4": "starting a parent starts the way down to its first open leaf",
    "R3.5": "the deepest open task is found and started",
    "R3.6": "starting returns the table of all tasks, with what changed and the parents",
    "R3.7": "completing sets done and keeps the resolution",
    "R3.8": "completing names the next task",
    "R3.9": "when there is no next task the answer says that all is done",
    "R3.10": "the place among the siblings is the order",
    "R3.11": "completing returns the same table",
    "R3.12": "the summary has the progress of each parent",
    "R3.13": "the summary has the counts of all tasks",
    "R3.14": "the table shows the hierarchy and its state",
    "R3.15": "completing is refused while a subtask is open",
    "R3.16": "a parent is done when its subtasks are",
    "R3.17": "only one leaf is in progress, and a parent only with its child",
    "R3.18": "starting sets all ancestors in_progress",
    "R4.1": "with FILE_PATH the tasks are kept in that file",
    "R4.2": "without FILE_PATH they are in memory only",
    "R4.3": "at start the file is read",
    "R4.4": "after each change the file is written",
    "R4.5": "in memory no file is touched",
    "R4.6": "the file is an array of nested root tasks",
    "R5.1": "at start all tools are registered",
    "R5.2": "arguments are checked against the schema",
    "R5.3": "a success has the expected form",
    "R5.4": "an error has a fitting message",
    "R5.5": "the server speaks over stdio",
    "R5.6": "the schemas know parents and nested tasks",
    "R6.1": "a name is all that creating needs",
    "R6.2": "the description is set",
    "R6.3": "subtasks are created along",
    "R6.4": "subtasks of subtasks too",
    "R6.5": "the task goes to its parent or to the root",
    "R6.6": "the whole structure is returned",
    "R6.7": "given ids are kept and missing ones made",
    "R6.8": "every new task is todo",
    "R6.9": "an error rolls everything back",
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
    "L1": "a damaged store is left as it is, or copied aside before anything takes its place",
    "L2": "marks and blanks are accepted, unknown fields kept, newer versions refused",
    "L3": "copies of damaged stores are kept, and never deleted",
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
    "N1": "HTTP on loopback by default, and beyond it only with authentication",
    "W1": "replacing is tried again only where Windows says that the file is busy",
    "N2": "PostgreSQL keeps the contract of every engine, with parameters only",
}

_SETTING_UP: Final = {
    "DOC-1": "doctor says what is right, what is wrong and how to fix it, as the server sees it, and changes nothing",
    "DOC-2": "a bad setting, and whatever the system refuses, is a finding of doctor and never a crash",
    "CLIENT-1": "the configurations for clients have the form that each client reads, and start their server",
    "CLIENT-2": "a script tries real clients, and the documents say which version of each, and what to watch for",
    "README-1": "a README names every tool, argument, prompt, resource, variable and option of its server",
    "README-2": "every block of data in the documents parses, and every command is there",
}

_START: Final = {
    "START-1": "first requests are answered while the SDK loads, each as the SDK answers it, in every version",
    "START-2": "what was read before the SDK was loaded is handed on whole, and nothing is answered twice",
    "START-3": "nobody is greeted by a server whose settings may be missing or bad",
    "START-4": "what is imported before the first answer is small and counted; stdio loads no clients",
}

_SPEED: Final = {
    "SPEED-1": "one task that is in memory is looked up without changing threads, and nothing else is",
    "MEM-1": "what a failed call held is let go at once, so that large requests leave no growth",
}

_BESIDE_TOOLS: Final = {
    "RES-1": "every server has the resources tasks://list, tasks://summary and tasks://{id}, listed alike at any time",
    "RES-2": "tasks://list: the tasks in short as JSON, tasks://{id}: one task whole as JSON",
    "RES-3": "tasks://summary: as Markdown the counts, what is active and what comes next",
    "RES-4": "lists and summaries are bounded, what is left out is counted, and the text of tasks is made safe",
    "RES-5": "the ids of tasks are completed",
    "RES-6": "who subscribed or listens is told which resources changed, in both eras, and nobody else is",
    "RES-7": "an unknown URI is -32602 with the URI; a store that fails is -32603 with its code; nothing leaks",
    "PRM-1": "every server has prompts to plan, to go on and to look back; they name only tools that there are",
    "PRM-2": "the arguments of a prompt are checked, and what is wrong is named",
}

_TASKMASTER: Final = {
    "TM-1": "three layers: tools, direct functions, rules over a parsed document",
    "TM-2": "each tool has a direct function, which never raises",
    "TM-3": "names of modules, tools and arguments",
    "TM-4": "sets of tools, or tools by name; an unknown word ends the start",
    "TM-5": "words of the document that can be called and are not listed",
    "TM-6": "what a model pays to see each set stays within its limit; one output schema",
    "TM-7": "a greeting for each set",
    "TM-8": "an answer is fromCache and data",
    "TM-9": "a failed call has code, message and details, and has changed nothing",
    "TM-10": "the closed list of codes",
    "TM-11": "the closed list of reasons, with near names",
    "TM-12": "every error of the core has one code and one reason",
    "TM-13": "where the root comes from, in which order",
    "TM-14": "roots in every form that clients give, normalized by one idempotent function",
    "TM-15": "the root exists, in one of the folders that are allowed",
    "TM-16": "files lie inside the project; the old place is found",
    "TM-17": "no project is an error; a project without tasks is an empty master",
    "TM-18": "members that are not known keep their bytes and places",
    "TM-19": "a document without tags is master, and gets tags with the first save",
    "TM-20": "layout, final newline and order stay; an unchanged document is the same byte for byte",
    "TM-21": "a file that is not whole is left alone, with line and column",
    "TM-22": "missing and odd values hide no task",
    "TM-23": "ids as numbers and texts; new ones have the type of the others",
    "TM-24": "a save touches only what changed and its times",
    "TM-25": "the words for status and priority; others are refused with the nearest",
    "TM-26": "processes lose nothing; an answer means it is stored",
    "TM-27": "our lock is the kernel's, on the folder",
    "TM-28": "the lock of Task Master is held while saving, waited for, and taken over when abandoned",
    "TM-29": "doctor says when Task Master runs beside the server",
    "TM-30": "new files have the access of their folder; existing modes stay",
    "TM-31": "where the tag comes from; one that does not exist is an error",
    "TM-32": "of state.json only the current tag and its time are written",
    "TM-33": "ids in every form, all of them or nothing",
    "TM-34": "what a stored dependency means",
    "TM-35": "how a new dependency is stored; what the file cannot say is refused",
    "TM-36": "itself, its own parts and circles are refused",
    "TM-37": "get_tasks: short, filtered, counted, in pages",
    "TM-38": "get_tasks fits an answer",
    "TM-39": "get_task: whole items with whole ids",
    "TM-40": "which item is next",
    "TM-41": "next_task: the item, or what is blocked",
    "TM-42": "where the report of a tag is",
    "TM-43": "add_task",
    "TM-44": "add_subtask, new or from a task",
    "TM-45": "update_task: fields, notes, metadata",
    "TM-46": "update_subtask appends a note as Task Master does",
    "TM-47": "update: several items or none",
    "TM-48": "a task that is done closes its subtasks",
    "TM-49": "a task follows its subtasks",
    "TM-50": "set_task_status says what followed",
    "TM-51": "moves in pairs, all or nothing, to free ids",
    "TM-52": "task to another id: references follow",
    "TM-53": "subtask to subtask, by place, number or parent",
    "TM-54": "task to subtask and back",
    "TM-55": "what cannot be said is dropped and listed",
    "TM-56": "tasks move to another tag with what belongs to them",
    "TM-57": "remove_task, references and files go too",
    "TM-58": "remove_subtask, convert, clear_subtasks",
    "TM-59": "add_dependency, remove_dependency",
    "TM-60": "validate_dependencies",
    "TM-61": "fix_dependencies, in one tag only",
    "TM-62": "the tools for tags",
    "TM-63": "names of tags, copies, master",
    "TM-64": "two calls of one tool: what to think about, then the result",
    "TM-65": "a plan for what has changed is refused, for one task",
    "TM-66": "add_task with a prompt",
    "TM-67": "update_task and update with a prompt",
    "TM-68": "expand_task",
    "TM-69": "expand_all",
    "TM-70": "parse_prd",
    "TM-71": "analyze_project_complexity merges into the report",
    "TM-72": "instructions are short and apart from the text of files",
    "TM-74": "telemetryData comes back and is not kept",
    "TM-75": "answers are kept until a file changes",
    "TM-76": "fromCache only where nothing was computed",
    "TM-77": "cache_stats",
    "TM-78": "work in the background",
    "TM-79": "get_operation_status",
    "TM-80": "a client that asks is sent the progress of a call, ten times a second at most",
    "TM-81": "initialize_project makes what is missing",
    "TM-82": "and touches nothing else",
    "TM-83": "generate",
    "TM-84": "nothing but the protocol on stdout",
    "TM-85": "resources, prompts, and the views of the command line",
    "TM-86": "doctor",
    "TM-87": "limits for new content",
    "TM-88": "a cached read, a changed read and a save of 1.5 MB are measured in the benchmarks, with their limits",
    "TM-89": "the codec of a document chooses its lock, its layout, and who may read a new file",
    "TM-90": "the core lets a server shape errors, have unlisted names, and many projects",
    "TM-92": "tables of the rules",
    "TM-95": "a kill at any moment heals, an abandoned lock of Task Master too",
}

_MOVERS: Final = {
    "MV-7": "readers know nothing of the servers: bytes in, neutral records out",
    "MV-8": "no input crashes a reader; every input is a task, counted, or named; 10,000 files in under 5 s",
}

_SOURCES: Final = {
    "spec: common": _COMMON,
    "spec: engines": _ENGINES,
    "HTTP, for all servers": _HTTP,
    "spec: hosted": _HOSTED,
    "packaging": _PACKAGING,
    "spec: people": _AGENT,
    "spec: agents": _SESSIONS,
    "spec: heartbeat": _HEARTBEAT,
    "spec: hierarchy": _HIERARCHY,
    "requirements of hierarchy, acceptance criteria": _HIERARCHY_SOURCE,
    "spec: tasks-v1": _TASKS_V1,
    "spec: taskmaster": _TASKMASTER,
    "spec: cortex": CORTEX,
    "guide: reliability": _RELIABILITY,
    "what setting up promises": _SETTING_UP,
    "the first answer": _START,
    "what a call costs": _SPEED,
    "issue: resources and prompts": _BESIDE_TOOLS,
    "spec: movers": _MOVERS,
}

REQUIREMENTS: Final = {
    name: Requirement(source, what) for source, promises in _SOURCES.items() for name, what in promises.items()
}
"""Every requirement that holds now, by id; each is shown by at least one test."""

LATER: Final = {
    **dict.fromkeys(
        ("MV-1", "MV-2", "MV-3", "MV-4", "MV-5", "MV-6"), "the commands import and export follow the readers"
    ),
    "CX-37": "the device flow is a second stage",
    "CX-38": "personal tokens are a second stage",
    "TM-73": "asking the client's model is a second stage, and deprecated in the protocol",
    "TM-91": "needs recorded steps of Task Master; tests/taskmaster/side_by_side.py compares some calls with it",
    "TM-93": "needs Task Master, which then only reads: tests/taskmaster/beside_task_master.py, where it is installed",
    "TM-94": "needs the commands of Task Master: tests/taskmaster/beside_task_master.py, where it is installed",
}
"""Requirements that nothing answers yet, by id, and why; no test may claim one."""
