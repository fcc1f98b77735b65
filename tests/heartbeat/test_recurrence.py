"""When a task is due, and when again: compared with a plain model over changes of clocks and long sleeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from heartbeat_mcp.recurrence import Schedule, find_faults, parse_moment, parse_words

PARIS = ZoneInfo("Europe/Paris")
MINUTE = timedelta(minutes=1)

Days = Callable[[datetime], bool]
CRONS: dict[str, tuple[time, Days]] = {
    "30 2 * * *": (time(2, 30), lambda _: True),
    "0 9 * * 1-5": (time(9), lambda day: day.isoweekday() < 6),
    "59 23 31 * *": (time(23, 59), lambda day: day.day == 31),
    "0 3 29 2 *": (time(3), lambda day: (day.month, day.day) == (2, 29)),
    "15 2 L * *": (time(2, 15), lambda day: (day + timedelta(days=1)).day == 1),
}
"""The time of day of each rule, and whether it is one of a day."""

STARTS = [
    datetime(2026, 3, 27, 22, tzinfo=UTC),  # before the day without 02:30
    datetime(2026, 10, 23, 22, tzinfo=UTC),  # before the day with two of them
    datetime(2028, 2, 27, 22, tzinfo=UTC),
    datetime(2026, 1, 30, 22, tzinfo=UTC),
]


def moments_of(cron: str, after: datetime) -> Iterator[datetime]:
    """Yield the times of a rule after a moment: the first of two equal ones, and the end of a gap for one in it."""
    at, is_on = CRONS[cron]
    day = after.astimezone(PARIS).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None) - timedelta(days=1)
    while True:
        day += timedelta(days=1)
        moment = datetime.combine(day, at, PARIS).astimezone(UTC)
        if moment.astimezone(PARIS).time() != at:  # in the gap
            moment = datetime.combine(day, time(3), PARIS).astimezone(UTC)
        if is_on(day) and moment > after:
            yield moment


@given(
    cron=st.sampled_from([*CRONS]),
    start=st.sampled_from(STARTS),
    steps=st.lists(st.integers(-120, 60 * 24 * 40).map(lambda minutes: minutes * MINUTE), max_size=12),
)
@example(cron="30 2 * * *", start=STARTS[1], steps=[timedelta(hours=27, minutes=10), timedelta(minutes=30)])
@settings(max_examples=50, deadline=None)
def test_each_time_of_a_cron_rule_comes_once_and_a_long_sleep_is_made_up_for_once(
    cron: str, start: datetime, steps: list[timedelta]
) -> None:
    now, fields = start, {"cron": cron, "tz": "Europe/Paris"}
    fields["due"] = Schedule.of(fields).after(now)
    expected = next(moments_of(cron, now))
    done: list[datetime] = []
    for step in steps:
        now += step
        schedule = Schedule.of(fields)
        assert schedule.moment == expected
        if expected <= now:
            done.append(expected)
            fields["due"] = schedule.next_due(now, now)
            expected = next(moments_of(cron, max(now, expected)))
    assert done == sorted(set(done))


@pytest.mark.parametrize("cron", CRONS)
@pytest.mark.parametrize("start", STARTS)
def test_whoever_is_always_awake_misses_no_time(cron: str, start: datetime) -> None:
    due, wanted = start, moments_of(cron, start)
    for _ in range(5):
        text = Schedule(due=due.isoformat(), cron=cron, tz="Europe/Paris").next_due(due, due)
        due = next(wanted)
        assert parse_moment(text) == due


@given(st.integers(10**8, 4 * 10**9), st.integers(1, 9999), st.sampled_from("mhdw"))
@settings(max_examples=50, deadline=None)
def test_an_interval_counts_from_the_completion_whatever_the_clocks_do(moment: int, number: int, unit: str) -> None:
    completed = datetime.fromtimestamp(moment, UTC)
    schedule = Schedule(every=f"{number}{unit}", due="1970-01-01")
    seconds = number * {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}[unit]
    due = parse_moment(schedule.next_due(completed, completed + timedelta(days=1)))
    assert due == completed + timedelta(seconds=seconds)


def test_an_interval_counts_from_now_if_the_completion_is_said_to_be_later() -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert Schedule(every="4h").next_due(datetime.max.replace(tzinfo=UTC), now) == "2026-03-01T16:00:00Z"


def test_a_rule_without_a_time_of_day_goes_on_while_clocks_are_set_back() -> None:
    due = datetime(2026, 10, 24, 23, 30, tzinfo=UTC)
    for _ in range(6):
        text = Schedule(due=due.isoformat(), cron="*/30 * * * *", tz="Europe/Paris").next_due(due, due)
        assert parse_moment(text) == due + timedelta(minutes=30)
        due += timedelta(minutes=30)


WELL_FORMED: list[dict[str, str]] = [
    {"due": "2026-12-01"},
    {"due": "2026-12-01T09:00:00.5+01:00"},
    {"due": "2026-12-01 09:00Z"},
    {"every": "4h"},
    {"every": "9999w", "due": "2026-12-01T09:00Z"},
    {"cron": "*/5,7 0 1-3 * mon"},
    {"cron": "0 9 * * 1-5", "tz": "America/New_York"},
    {"cron": "0 9 * * 1-5", "due": "2026-12-01"},
    {"cron": "0 9 * * 1-5", "tz": "Etc/GMT+5", "due": "2026-12-01T09:00:00-05:00"},
]


@pytest.mark.parametrize("fields", WELL_FORMED)
def test_a_schedule_in_words_is_read_back_exactly(fields: dict[str, JsonValue]) -> None:
    words = Schedule.of(fields).words
    assert parse_words(words) == fields
    assert find_faults(fields) == {}
    assert not {"(", ")", ":\n"} & {*words}


@pytest.mark.parametrize(
    "words", ["", "every", "every 4h daily", "every 04h", "cron 0 9 * *", "due soon", "due 2026-12-01, every 4h"]
)
def test_other_words_are_no_schedule(words: str) -> None:
    assert parse_words(words) == {}


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"due": "tomorrow"}, ["due"]),
        ({"due": 5}, ["due"]),
        ({"due": "2026-12-01T09:00"}, ["due"]),
        ({"due": "2026-13-01"}, ["due"]),
        ({"due": "0001-01-01T00:00+10:00"}, ["due"]),
        ({"due": "3000-01-01"}, ["due"]),
        ({"every": "4 h"}, ["every"]),
        ({"every": "0h"}, ["every"]),
        ({"cron": "@daily"}, ["cron"]),
        ({"cron": "0 9 1 1 * *"}, ["cron"]),
        ({"cron": "99 9 * * *"}, ["cron"]),
        ({"cron": "0 0 30 2 *"}, ["cron"]),
        ({"cron": "0 9 * * 1-5", "tz": "Europe/Pari"}, ["tz"]),
        ({"cron": "0 9 * * 1-5", "tz": "../etc"}, ["tz"]),
        ({"cron": "0 9 * * 1-5", "tz": "Europe"}, ["tz"]),
        ({"tz": "Europe/Paris"}, ["tz"]),
        ({"every": "4h", "cron": "0 9 * * 1-5"}, ["every", "cron"]),
    ],
)
def test_what_is_not_well_formed_has_no_effect(fields: dict[str, JsonValue], names: list[str]) -> None:
    assert [*find_faults(fields)] == names
    assert Schedule.of(fields) == Schedule()


def test_a_date_begins_in_the_zone_of_its_rule() -> None:
    fields: dict[str, JsonValue] = {"due": "2026-12-01", "cron": "0 9 * * *", "tz": "Asia/Tokyo"}
    assert Schedule.of(fields).moment == datetime(2026, 11, 30, 15, tzinfo=UTC)
    assert Schedule.of({"due": "2026-12-01"}).moment == datetime(2026, 12, 1, tzinfo=UTC)


def test_without_a_zone_a_rule_is_in_utc() -> None:
    assert Schedule(cron="0 9 * * *").after(datetime(2026, 7, 1, 9, tzinfo=UTC)) == "2026-07-02T09:00:00Z"
    paris = Schedule(cron="0 9 * * *", tz="Europe/Paris")
    assert paris.after(datetime(2026, 7, 1, 9, tzinfo=UTC)) == "2026-07-02T09:00:00+02:00"
