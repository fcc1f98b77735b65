"""Fields of foreign tasks: typed access that keeps what it does not know, ids, states, priorities and criteria."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from task_formats.decoding import as_text, moment
from task_formats.record import ForeignTask, Priority, Remark, State

__all__ = [
    "PRIORITIES",
    "STATES",
    "Fields",
    "IdRegister",
    "find_unknown",
    "join_items",
    "normalize",
    "one_line",
    "split_criteria",
    "split_items",
    "state_of",
]

_STATE_WORDS: Final[Mapping[State, str]] = {
    "open": "to do, todo, open, pending, new, backlog, ready, pinned",
    "active": "in progress, doing, started, active, hooked, wip, running",
    "blocked": "blocked, waiting, on hold",
    "deferred": "deferred, draft, later, postponed, parked",
    "review": "review, in review, needs review, awaiting review",
    "done": "done, completed, complete, closed, finished, resolved, archived",
    "cancelled": "cancelled, canceled, skipped, wont do, wontfix, abandoned, fail, failed",
}
STATES: Final[Mapping[str, State]] = {
    word: state for state, words in _STATE_WORDS.items() for word in words.split(", ")
}
"""States by the words that trackers have for them, in the form of ``normalize``."""

_PRIORITY_WORDS: Final[Mapping[Priority, str]] = {
    "critical": "critical, urgent, highest, p0, 0",
    "high": "high, p1, 1",
    "medium": "medium, normal, p2, 2",
    "low": "low, lowest, p3, 3",
}
PRIORITIES: Final[Mapping[str, Priority]] = {
    word: priority for priority, words in _PRIORITY_WORDS.items() for word in words.split(", ")
}
"""Priorities by the words and numbers for them, in the form of ``normalize``."""

_ITEM = re.compile(r"(?:[-*+]|\d+[.)])[ \t]+(?:\[([ xX]?)\][ \t]+)?(?=\S)")


@lru_cache(maxsize=1024)
def normalize(word: str) -> str:
    """Return ``word`` in lower case, with single blanks for ``-`` and ``_`` and without apostrophes."""
    return " ".join(re.sub(r"[-_\s]+", " ", word.casefold()).replace("'", "").split())


def one_line(text: str) -> str:
    """Return ``text`` on one line."""
    return " ".join(text.split())


def state_of(status: str) -> State:
    """Return the state for a status; one that is not known is open."""
    return STATES.get(normalize(status), "open")


def find_unknown(tasks: Iterable[ForeignTask]) -> frozenset[str]:
    """Return the statuses that have no state of their own."""
    return frozenset(task.status for task in tasks if task.status and normalize(task.status) not in STATES)


class IdRegister:
    """Gives ids that are unique in one reading, by which importing again finds the same tasks (MV-4).

    Args:
        problems: The list that gets a problem for each id that was taken.
        key: Ids are the same if their keys are.
    """

    def __init__(self, problems: list[Remark], key: Callable[[str], str] = str) -> None:
        self.suffixed: set[str] = set()
        """the ids with a suffix"""
        self._problems = problems
        self._key = key
        self._places: dict[str, str] = {}
        self._repeats: Counter[str] = Counter()
        self._texts: Counter[str] = Counter()

    def claim(self, own: str, place: str) -> str:
        """Return the id ``own`` of the source, or that with a suffix (``-2``, ``-3``, …) if it is taken."""
        new, same = own, self._key(own)
        while self._key(new) in self._places:
            self._repeats[same] += 1
            new = f"{own}-{self._repeats[same] + 1}"
        if new != own:
            self.suffixed.add(new)
            self._problems.append(Remark(place, f"{self._places[same]} has the id {own} too; this task got {new}."))
        self._places[self._key(new)] = place
        return new

    def name(self, text: str, place: str, start: str = "") -> str:
        """Return an id, which begins with ``start``, for a task that has none.

        It comes from the text, so it stays when other lines come, go or are ticked; equal texts are counted.
        """
        plain = start + " ".join(text.casefold().split())
        self._texts[plain] += 1
        mark = start + sha256(plain.removeprefix(start).encode("utf-8", "replace")).hexdigest()[:10]
        return self.claim(mark if self._texts[plain] == 1 else f"{mark}-{self._texts[plain]}", place)


class Fields:
    """Fields of one task, taken one by one; ``rest`` returns those that nobody took.

    Args:
        values: The fields by name.
        place: The place that problems name.
        problems: The list that gets the problems.
    """

    def __init__(self, values: Mapping[str, object], place: str, problems: list[Remark]) -> None:
        self._values = dict(values)
        self._place = place
        self._problems = problems

    def get(self, name: str) -> object:
        """Return the value of a field and leave it; None if it is absent."""
        return self._values.get(name)

    def take(self, name: str) -> object:
        """Take the value of a field; None if it is absent."""
        return self._values.pop(name, None)

    def text(self, name: str) -> str:
        """Take the text of a field: blank if it is absent or null, JSON if it is a structure."""
        value = self.take(name)
        return "" if value is None else as_text(value).strip()

    def identify(self, id_name: str, title_name: str, other_id: str) -> tuple[str, str] | None:
        """Take the id and the title, each on one line; None, with a problem, if both are absent.

        An absent id is ``other_id``, and an absent title the id, with a problem.
        """
        own, title = one_line(self.text(id_name)), one_line(self.text(title_name))
        if not own and not title:
            self.report(f"This is not a task: it has no {id_name} and no {title_name}.")
            return None
        if not own:
            self.report(f"There is no {id_name}; the task gets {other_id}.")
        if not title:
            self.report(f"There is no {title_name}; the {id_name} is used.")
        return own or other_id, title or own

    def names(self, name: str) -> tuple[str, ...]:
        """Take a list of names, also one that is written as text with commas; each name once."""
        value = self.take(name)
        values = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
        names = (one_line(as_text(each)) for each in values if each is not None)
        return tuple(dict.fromkeys(each for each in names if each))

    def members(self, name: str, pick: Callable[[Mapping[str, Any]], object]) -> list[str]:
        """Take what ``pick`` gives of each object in a list, and text and numbers as they are, each once.

        One object is a list too. A list with anything else stays in ``rest``.
        """
        value = self.get(name)
        value = value.get("nodes", [value]) if isinstance(value, dict) else value
        values: list[Any] = value if isinstance(value, list) else [] if value is None else [value]
        found = [pick(it) if isinstance(it, dict) else it for it in values]
        names = [one_line(str(it)) for it in found if isinstance(it, str | int) and not isinstance(it, bool)]
        if len(names) < len(found) or "" in names:
            return []
        self.take(name)
        return [*dict.fromkeys(names)]

    def time(self, name: str) -> str | None:
        """Take a time as ISO 8601; one that is not readable stays in ``rest``, with a problem."""
        value = self.get(name)
        if value in (None, ""):
            return None
        if iso := moment(as_text(value)):
            self.take(name)
            return iso
        self.report(f"{name}: {as_text(value)[:80]!r} is not a date; it is kept as text.")
        return None

    def priority(self, name: str) -> Priority | None:
        """Take a priority; one that is not known stays in ``rest``."""
        priority = PRIORITIES.get(normalize(as_text(self.get(name))))
        if priority:
            self.take(name)
        return priority

    def report(self, text: str) -> None:
        """Add a problem of this task."""
        self._problems.append(Remark(self._place, text))

    def rest(self) -> dict[str, str]:
        """Return the fields that nobody took and that are not empty, as text."""
        return {
            name: text
            for name, value in self._values.items()
            if value not in (None, "", [], {}) and (text := as_text(value).strip())
        }


def split_items(text: str) -> tuple[list[str], str]:
    """Split a Markdown list into its items and the text that belongs to none.

    A ticked item begins with ``[x] ``; the lines below an item that are indented are part of it.
    """
    items: list[list[str]] = []
    others: list[str] = []
    target = others
    for line in text.split("\n"):
        if match := _ITEM.match(line):
            ticked = "[x] " if (match[1] or "").lower() == "x" else ""
            target = [ticked + line[match.end() :]]
            items.append(target)
        elif not line.strip() or line[0] in " \t":
            target.append(line if target is others else line.removeprefix("  "))
        else:
            target = others
            target.append(line)
    return ["\n".join(lines).rstrip() for lines in items], "\n".join(others).strip("\n").rstrip()


def split_criteria(text: str) -> tuple[str, ...]:
    """Return the items of ``text`` if it is a list, else the whole as one."""
    items, others = split_items(text)
    return (text,) if others else tuple(items)


def join_items(items: Iterable[str], prefix: str = "") -> str:
    """Return a Markdown list of boxes, the reverse of ``split_items``; ``prefix`` may have the number of the item."""
    lines: list[str] = []
    for number, item in enumerate(items, 1):
        box, text = ("[x]", item.removeprefix("[x] ")) if item.startswith("[x] ") else ("[ ]", item)
        first, *others = text.split("\n")
        lines += [f"- {box} {prefix.format(number)}{first}", *(f"  {line}".rstrip() for line in others)]
    return "\n".join(lines)
