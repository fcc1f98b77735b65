"""Warnings are delivered once for each cause, from any thread, and are in the log."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from task_core.warning_list import WarningList


@pytest.mark.requirement("WARN-1")
def test_warnings_are_taken_once_and_oldest_first() -> None:
    warnings = WarningList()
    warnings.add("b", "second to none")
    warnings.add("a", "the other")
    assert warnings.take() == ["second to none", "the other"]
    assert warnings.take() == []


@pytest.mark.requirement("WARN-1")
def test_a_cause_is_reported_once_even_after_it_was_taken() -> None:
    warnings = WarningList()
    warnings.add("mirror", "it cannot be written")
    warnings.add("mirror", "it still cannot be written")
    assert warnings.take() == ["it cannot be written"]
    warnings.add("mirror", "and still")
    assert warnings.take() == []


@pytest.mark.requirement("WARN-1")
def test_a_cause_that_was_settled_is_news_again() -> None:
    warnings = WarningList()
    warnings.settle("mirror")
    warnings.add("mirror", "broken")
    warnings.settle("mirror")
    warnings.add("mirror", "broken again")
    assert warnings.take() == ["broken", "broken again"]


@pytest.mark.requirement("WARN-1")
def test_a_withdrawn_warning_is_not_reported_and_may_be_added_again() -> None:
    warnings = WarningList()
    warnings.withdraw("save")
    warnings.add("mirror", "broken")
    warnings.add("save", "it is saved")
    warnings.withdraw("save")
    assert warnings.take() == ["broken"]
    warnings.add("save", "now it is saved")
    assert warnings.take() == ["now it is saved"]


@pytest.mark.requirement("WARN-1")
def test_a_warning_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    warnings = WarningList()
    for _ in range(2):
        warnings.add("store", "recovered 100 % of it")
    logged = [(record.name, record.levelno, record.getMessage()) for record in caplog.records]
    assert logged == [("task_core.warning_list", logging.WARNING, "recovered 100 % of it")]


@pytest.mark.requirement("WARN-1")
def test_warnings_of_many_threads_are_each_reported_once() -> None:
    warnings = WarningList()

    def warn(number: int) -> list[str]:
        warnings.add(str(number % 50), f"warning {number % 50}")
        return warnings.take()

    with ThreadPoolExecutor(8) as pool:
        told = [message for messages in pool.map(warn, range(1_000)) for message in messages]
    assert sorted(told) == sorted(f"warning {number}" for number in range(50))


@pytest.mark.requirement("S3", "WARN-1")
def test_what_cannot_be_seen_in_a_warning_is_escaped_in_the_result_and_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warnings = WarningList()
    warnings.add("cause", "a\x1b[31m\n\u202e\udcff.json")
    assert warnings.take() == [r"a\u{1b}[31m\u{a}\u{202e}\u{dcff}.json"]
    assert caplog.messages == [r"a\u{1b}[31m\u{a}\u{202e}\u{dcff}.json"]


@pytest.mark.requirement("TOOL-9", "WARN-2")
def test_what_does_not_fit_the_room_is_taken_later() -> None:
    warnings = WarningList()
    for message in ("one", "two", "three"):
        warnings.add(message, message)
    assert warnings.take(len('["one","two"]')) == ["one", "two"]
    assert warnings.take(len('["three"]') - 1) == []
    assert warnings.take() == ["three"]
    warnings.add("long", "x" * 5_000)
    assert warnings.take() == ["x" * 999 + "…"]
