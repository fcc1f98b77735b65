"""The schedule of a task: when it is due, and when again once it is finished.

It is kept in the extra fields ``due``, ``every``, ``cron`` and ``tz``, as they were given. A value that is not
well-formed, which only a document of earlier days can have, is shown but has no effect.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final, Self
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import JsonValue

from task_core.models import as_utc

__all__ = ["SCHEDULE_FIELDS", "WORDS", "Schedule", "find_faults", "parse_moment", "parse_words"]

SCHEDULE_FIELDS: Final = ("due", "every", "cron", "tz")

WORDS: Final = r"\(((?:every|cron|due) [^()\n]*)\)"
"""The pattern of a schedule in words, in brackets."""

_PARTS: Final = re.compile(
    r"(?:every (?P<every>\S+?)|cron (?P<cron>(?:\S+ +){4}\S+?)(?: (?P<tz>[^\s,]+))?)?(?:(?:^|, )due (?P<due>.+))?"
)
_DUE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d))?", re.ASCII)
_EVERY: Final = re.compile(r"([1-9]\d{0,3})([mhdw])", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

_ADVICE: Final = {
    "due": "give a date-time with an offset, such as 2026-12-01T09:00:00+01:00, or a date, such as 2026-12-01, "
    "between 1970 and 2999",
    "every": "give a number and m, h, d or w, such as 30m, 4h, 1d or 1w",
    "cron": "give the five fields minute, hour, day, month and weekday, such as 0 9 * * 1-5, of a time that comes",
    "tz": "give the name of a time zone, such as Europe/Paris",
}


@dataclass(frozen=True)
class Schedule:
    """The well-formed values of a task; an empty text for each that it does not have."""

    due: str = ""
    every: str = ""
    cron: str = ""
    tz: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, JsonValue]) -> Self:
        """Return the schedule in the extra fields of a task."""
        faults = find_faults(fields)
        if "tz" in faults:
            faults |= {"cron": ""}  # in UTC it would be at other times than were meant
        return cls(**{name: str(fields[name]) for name in SCHEDULE_FIELDS if name in fields and name not in faults})

    @property
    def moment(self) -> datetime | None:
        """The moment, in UTC, from which the task is due; None if it is due at any time."""
        return parse_moment(self.due, ZoneInfo(self.tz) if self.tz else UTC)

    @property
    def is_recurring(self) -> bool:
        """True if the task is to be done again once it is finished."""
        return bool(self.every or self.cron)

    @property
    def words(self) -> str:
        """The schedule as an entry shows it, such as ``every 4h``; ``parse_words`` reads it back."""
        rule = f"every {self.every}" if self.every else f"cron {self.cron} {self.tz}".rstrip() if self.cron else ""
        return ", ".join(filter(None, (rule, f"due {self.due}" if self.due else "")))

    def next_due(self, completed: datetime, now: datetime) -> str:
        """Return when the task is due again: ``every`` counts from ``completed``, and ``cron`` from when it was due.

        Times of ``cron`` that have passed by ``now`` are left out, so after a long sleep none of them is made up for. A
        completion after ``now`` counts as one at ``now``.
        """
        return self.after(min(completed, now) if self.every else max(now, self.moment or now))

    def after(self, moment: datetime) -> str:
        """Return the first time of a recurring task after ``moment``."""
        if number := _EVERY.fullmatch(self.every):
            return _format(moment + timedelta(**{_UNITS[number[2]]: int(number[1])}))
        # Where clocks are set back, cronsim may begin with the first of two equal times of day, which has passed.
        times = CronSim(self.cron, moment.astimezone(ZoneInfo(self.tz) if self.tz else UTC))
        return _format(next(time for time in times if as_utc(time) > moment))


def find_faults(fields: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return what is wrong with the schedule in the extra fields of a task: what to do, by name."""
    given = {name: fields[name] for name in SCHEDULE_FIELDS if name in fields}
    faults = {name: _ADVICE[name] for name, value in given.items() if not _is_well_formed(name, value)}
    if "every" in given and "cron" in given:
        faults["every"] = faults["cron"] = "give every or cron, not both; null removes the other one"
    if "tz" in given and "cron" not in given:
        faults["tz"] = "it is the time zone of cron: give that too, or leave it out; due has its own offset"
    return faults


def parse_words(words: str) -> dict[str, str]:
    """Return the extra fields of a schedule in words, or none if the words are not exactly a schedule."""
    parts = _PARTS.fullmatch(words)
    found = {name: value for name in SCHEDULE_FIELDS if parts and (value := parts[name])}
    return {} if find_faults({**found}) else found


def _is_well_formed(name: str, value: JsonValue) -> bool:
    if not isinstance(value, str):
        return False
    try:
        match name:
            case "due":
                return parse_moment(value) is not None
            case "every":
                return _EVERY.fullmatch(value) is not None
            case "cron":
                return _comes(value)
            case _:
                return ZoneInfo(value).key == value
    except (ValueError, KeyError, OSError, CronSimError):  # a zone that is not known can be any of the first three
        return False


def parse_moment(value: JsonValue, zone: tzinfo = UTC) -> datetime | None:
    """Return the moment in UTC that ``value`` names, a date its first in ``zone``; None if it names none."""
    if not (isinstance(value, str) and _DUE.fullmatch(value)):
        return None
    try:
        moment = datetime.fromisoformat(value)
        moment = as_utc(moment if moment.tzinfo else moment.replace(tzinfo=zone))
    except ValueError:
        return None
    return moment if 1970 <= moment.year < 3000 else None


def _format(moment: datetime) -> str:
    return moment.replace(microsecond=0).isoformat().removesuffix("+00:00") + ("" if moment.utcoffset() else "Z")


@lru_cache(maxsize=1_000)
def _comes(cron: str) -> bool:
    """Return whether ``cron`` has five fields and names a time that comes."""
    is_plain = len(cron.split(" ")) == 5 and cron.isprintable() and not {"(", ")"} & {*cron}
    return is_plain and next(CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC)), None) is not None
