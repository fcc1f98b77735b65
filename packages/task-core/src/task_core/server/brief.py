"""The brief: what a new session must know to go on, within a few thousand bytes (AG-8).

It is the same for the same store and time. The text of a task is quoted as data, on one line.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from task_core.claims.claim import Claim
from task_core.errors import InvalidArguments, echo
from task_core.history.changes import Change, Step
from task_core.models import from_microseconds
from task_core.server.overview import render_counts, render_text
from task_core.text import escape_invisible, pluralize
from task_core.view import Briefed, Line

__all__ = ["MAX_BYTES", "MIN_BYTES", "Since", "write_brief"]

MAX_BYTES: Final = 4_000
"""Bytes of a brief, unless the caller gives another bound."""

MIN_BYTES: Final = 500
"""The least bound: counts and advice fit it."""

_MAX_TASKS: Final = 5
"""Tasks under one heading."""

_MAX_CHANGES: Final = 10
"""Changes that are named; the others are counted."""

_DURATION: Final = re.compile(r"(\d{1,6})(m|h|d|w)")

_NAME: Final = re.compile(r"(?!.*\byou\b)[\w ,.()/@+-]{1,60}", re.ASCII | re.IGNORECASE)
"""The form of the names of clients, of words for a priority, and of a few ids."""

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Since(NamedTuple):
    """The start of what a brief reports as changed: after a change, or at a moment."""

    change: int = 0
    moment: int = 0
    """microseconds since 1970"""
    words: str = ""

    @classmethod
    def parse(cls, text: str | None, now: int) -> "Since":
        """Return what ``text`` means at the moment ``now``: the number of a change, such as ``45``, or a duration.

        ``None`` means the last 24 hours; another text raises ``InvalidArguments``.
        """
        if text is None:
            text = "24h"
        if re.fullmatch(r"[0-9]{1,18}", text):  # no change has a number of more digits
            return cls(change=int(text), words=f"since change {int(text)}")
        found = _DURATION.fullmatch(text)
        if not found:
            expected = "give the number of a change, or a duration such as 30m, 12h, 7d or 2w"
            raise InvalidArguments([("since", f"{expected}, not '{echo(text)}'")])
        number, unit = int(found[1]), _UNITS[found[2]]
        span = timedelta(**{unit: number})
        return cls(moment=now - span // timedelta(microseconds=1), words=f"in the last {number} {unit}")

    def includes(self, change: Change) -> bool:
        """Return whether a change is a part of what is reported."""
        return change.number > self.change and change.at >= self.moment


class _Section(NamedTuple):
    title: str
    entries: list[str]
    total: int = 0  # of the tasks there, if more than the entries


class _Event(NamedTuple):
    what: str
    id: str
    by: str
    text: str  # of a task that is gone


def write_brief(view: Briefed, now: int, *, since: str | None = None, caller: str = "", limit: int = MAX_BYTES) -> str:
    """Return the brief of ``view`` in Markdown, at most ``limit`` bytes long; an empty list gives an empty text.

    The moment ``now`` is in microseconds since 1970; tasks that ``caller`` has started come first.
    """
    start = Since.parse(since, now)
    work, changes = view.work(_MAX_TASKS), view.changes(limit=1_000)
    total = sum(work.counts.values())
    events = [*_find_events(filter(start.includes, changes), work.finished)]
    if not (total or events):
        return ""
    counted = render_counts(work.counts)
    last = f" The last change is {changes[0].number}." if changes else ""
    end = [f"{pluralize(total, 'task')} in all{f': {counted}' if counted else ''}.{last}", view.advice]
    starts = {line.id: _find_start(line, changes) for line in work.active}
    held = {claim.task: claim for claim in view.claims()}
    me = view.caller()
    mine = {name for name, claim in held.items() if me.holds(claim)}
    notes = {name: _held(claim, is_own=name in mine) for name, claim in held.items()}
    noted = {line.id: f"({_name(line.note)})" for line in work.ready if line.note}
    starters = {name: change.by if change else None for name, change in starts.items()}
    own = sorted(work.active, key=lambda line: (line.id not in mine, starters[line.id] != caller))
    named = {line.id for line in (*own, *work.ready)}
    others = sorted((it for name, it in held.items() if name not in named), key=lambda it: it.task not in mine)
    claimed = [it.task for it in others[:_MAX_TASKS]]
    texts = view.texts([*(event.id for event in events[:_MAX_CHANGES]), *claimed])
    rest = Counter(event.what for event in events[_MAX_CHANGES:])
    counts = ", ".join(f"{count} {what}" for what, count in rest.items())
    sections = [
        _Section(
            "In progress",
            [_describe(line, notes.get(line.id) or _started(starts[line.id])) for line in own],
            work.active_count,
        ),
        _Section(
            "Claimed",
            [f"- {escape_invisible(it)}: {_quote(texts.get(it, ''))} {notes[it]}" for it in claimed],
            len(others),
        ),
        _Section(
            "Next",
            [_describe(line, (noted | notes).get(line.id, "")) for line in work.ready],
            work.ready_count,
        ),
        _Section("Waiting", [_describe(line, f"for {_name(why)}") for line, why in work.waiting], work.waiting_count),
        _Section(
            f"Changed {start.words}",
            [_report(event, texts) for event in events[:_MAX_CHANGES]] + ([f"- and {counts}"] if rest else []),
        ),
    ]
    return _fit(sections, end, limit)


def _fit(sections: Iterable[_Section], end: list[str], limit: int) -> str:
    """Return as many lines of the sections, in order, as fit before the ``end``, which is always there."""
    lines: list[str] = []
    room = limit - sum(len(line.encode()) + 1 for line in end) - 40  # for the line on what is left out
    left_out = 0
    for title, entries, total in sections:
        shown: list[str] = []
        room -= len(title) + len("\n## \n")
        for entry in entries:
            room -= len(entry.encode()) + 1
            if room < 0:
                break
            shown.append(entry)
        if shown:
            lines += [f"## {title}", *shown, ""]
        left_out += max(total, len(entries)) - len(shown)
    if left_out:
        end = [f"Left out here: {left_out} more.", *end]
    return "\n".join([*lines, *end, ""])


def _describe(line: Line, note: str) -> str:
    more = f" Last note: {_quote(line.remark)}" if line.remark else ""
    return f"- {escape_invisible(line.id)}: {_quote(line.text)}{f' {note}' if note else ''}{more}"


def _quote(text: str) -> str:
    """Return the text of a task between the only two quotation marks, so that nothing in it seems to follow it."""
    return '"{}"'.format(render_text(text).replace('"', "'"))


def _name(text: str) -> str:
    """Return a name, or a few words, as they are if they look like that; others could pass for the brief's own."""
    return text if _NAME.fullmatch(text) else _quote(text)


def _started(start: Change | None) -> str:
    if start is None:
        return ""
    by = f" by {_name(start.by)}" if start.by else ""
    return f"(since {from_microseconds(start.at):%Y-%m-%d %H:%M} UTC{by})"


def _held(claim: Claim, *, is_own: bool) -> str:
    """Return who holds a task, or that its agent is gone."""
    since = f"{from_microseconds(claim.since):%Y-%m-%d %H:%M} UTC"
    note = f", for {_quote(claim.note)}" if claim.note else ""
    why = "its time is over" if claim.until else "its process has ended"
    gone = f"; {why}, so anybody may claim it" if claim.is_ended else ""
    by = "you" if is_own else _name(claim.holder)
    return f"(claimed by {by} since {since}{note}{gone})"


def _find_start(line: Line, changes: Iterable[Change]) -> Change | None:
    """Return the last known change that gave a task its present status."""
    for change in changes:
        for step in change.steps:
            if step.id == line.id and step.after.get("status") == line.status:
                return change
    return None


def _find_events(changes: Iterable[Change], finished: Iterable[str]) -> Iterator[_Event]:
    """Yield the last thing of note that happened to each task, the newest first."""
    seen: set[str] = set()
    for change in changes:
        for step in change.steps:
            what = _name_event(step, {*finished})
            if what and step.id not in seen:
                seen.add(step.id)
                texts = (step.before.get(field) for field in ("title", "name", "raw_user_request"))
                yield _Event(what, step.id, change.by, next((it for it in texts if isinstance(it, str)), ""))


def _name_event(step: Step, finished: set[str]) -> str:
    before, after = step.before.get("status"), step.after.get("status")
    if found := {"created": "added", "removed": "removed"}.get(step.what):
        return found
    if after in finished:
        return str(after)
    return "reopened" if before in finished and after is not None else ""


def _report(event: _Event, texts: Mapping[str, str]) -> str:
    by = f" by {_name(event.by)}" if event.by else ""
    text = texts.get(event.id, event.text)
    return f"- {event.what}{by}: {escape_invisible(event.id)}" + (f" {_quote(text)}" if text else "")
