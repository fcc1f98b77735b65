"""Records and moments: frozen, in UTC to the microsecond, and nothing unknown is lost."""

import json
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from typing_extensions import override

from task_core.models import Columns, Record, UtcDatetime, as_utc, format_timestamp, microseconds, utc_now


class Note(Record):
    text: str = ""
    at: UtcDatetime | None = None

    @cached_property
    @override
    def columns(self) -> Columns:
        return Columns(state=self.text)


TOKYO = timezone(timedelta(hours=9))
OFFSETS = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone)


@pytest.mark.requirement("TOOL-5")
@pytest.mark.parametrize(
    ("moment", "written"),
    [
        pytest.param(datetime(2026, 1, 31, 12, 0, 0, 5, UTC), "2026-01-31T12:00:00.000005Z", id="utc"),
        pytest.param(datetime(2026, 1, 31, 12, tzinfo=TOKYO), "2026-01-31T03:00:00.000000Z", id="offset"),
        pytest.param(datetime(2026, 1, 31, 12), "2026-01-31T12:00:00.000000Z", id="naive"),  # noqa: DTZ001 - the point
        pytest.param(datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z", id="first-year"),
    ],
)
def test_a_moment_is_written_in_utc_with_microseconds_and_z(moment: datetime, written: str) -> None:
    assert format_timestamp(moment) == written


@pytest.mark.requirement("TOOL-5")
@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=OFFSETS))  # noqa: DTZ001 - OFFSETS gives the zone
def test_a_moment_survives_a_record_to_the_microsecond(moment: datetime) -> None:
    note = Note(id="a", at=moment)
    assert note.at is not None
    assert note.at == moment
    assert note.at.tzinfo is UTC
    assert Note.model_validate_json(note.to_json()) == note


@pytest.mark.parametrize(
    "text", ["2026-01-31T12:00:00Z", "2026-01-31T21:00:00+09:00", "2026-01-31 12:00:00", "2026-01-31T12:00:00.000000Z"]
)
def test_every_usual_form_of_a_moment_is_read(text: str) -> None:
    assert Note.model_validate({"id": "a", "at": text}).at == datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "tomorrow", "2026-02-30"])
def test_a_moment_outside_the_range_of_utc_is_invalid(text: str) -> None:
    with pytest.raises(ValidationError):
        Note.model_validate({"id": "a", "at": text})


def test_a_moment_out_of_range_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        as_utc(datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))))


@pytest.mark.requirement("L2")
def test_unknown_fields_are_kept_in_their_order_by_reading_changing_and_writing() -> None:
    written = '{"id":"a","zeta":{"b":[1,null]},"text":"x","alpha":"é"}'
    changed = Note.model_validate_json(written).changed(text="y")
    assert json.loads(changed.to_json()) == {**json.loads(written), "text": "y", "at": None}
    assert list(json.loads(changed.to_json())) == ["id", "text", "at", "zeta", "alpha"]


@pytest.mark.requirement("ST-1")
def test_a_record_is_one_compact_line_of_utf_8() -> None:
    assert Note(id="a", text="é\n").to_json() == '{"id":"a","text":"é\\n","at":null}'.encode()


def test_a_change_makes_a_new_record_and_leaves_the_old_one() -> None:
    old = Note(id="a", text="x")
    assert old.changed(text="y") == Note(id="a", text="y")
    assert old.text == "x"
    with pytest.raises(ValidationError, match="frozen"):
        old.text = "z"  # pyrefly: ignore  # that this is refused is the point


@pytest.mark.requirement("EN-3")
def test_a_change_gives_the_new_record_columns_of_its_own() -> None:
    old = Note(id="a", text="x")
    assert (old.columns.state, old.changed(text="y").columns.state) == ("x", "y")
    assert Record(id="a").columns == Columns()


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=OFFSETS))  # noqa: DTZ001 - OFFSETS gives the zone
def test_a_moment_is_whole_microseconds_since_1970(moment: datetime) -> None:
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds(moment)) == moment


def test_the_clock_returns_the_present_moment_in_utc() -> None:
    before = datetime.now(UTC)
    now = utc_now()
    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is UTC
