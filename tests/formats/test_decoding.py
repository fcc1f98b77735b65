"""Decoding that the readers share."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_formats.decoding import as_text, json_of, moment, text_of
from task_formats.fields import IdRegister
from task_formats.record import Remark, SourceFile

pytestmark = pytest.mark.requirement("MV-7", "MV-8")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\nb", "a\nb"),
        (b"\xef\xbb\xbfa\r\nb\r", "a\nb\n"),
        ("\ufeffé\r\n".encode("utf-16-le"), "é\n"),
        ("\ufeffé\n".encode("utf-16-be"), "é\n"),
        (b"", ""),
    ],
)
def test_text_is_decoded_whatever_its_mark_and_line_ends(data: bytes, text: str) -> None:
    assert text_of(SourceFile("a.md", data)) == (text, [])


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"a\nb\xffc\xfe", "a\nb\\xffc\\xfe", "UTF-8"),
        ("\ufeffa\nb".encode("utf-16-le") + b"c", "a\nb\\x63", "UTF-16-LE"),
    ],
)
def test_invalid_bytes_stay_visible_and_are_reported_with_their_line(data: bytes, text: str, encoding: str) -> None:
    problem = Remark("a.md:2", f"Bytes that are not {encoding}, the first one here, became \\xNN.")
    assert text_of(SourceFile("a.md", data)) == (text, [problem])


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ('{"a": [1, 1.5, null]}', {"a": [1, 1.5, None]}, ()),
        ('["\\ud800x"]', ["?x"], ("a.json:1", "lone surrogates")),
        ('{\n"a": }', None, ("a.json:2", "Expecting value at column 6")),
        pytest.param("9" * 5000, None, ("a.json:1", "or digits"), id="digits"),
        pytest.param("[" * 100_000, None, ("a.json:1", "brackets in brackets"), id="brackets"),
    ],
)
def test_json_is_read_or_reported(text: str, value: object, words: tuple[str, ...]) -> None:
    read, problems = json_of(SourceFile("a.json", text.encode()))
    assert read == value
    assert len(problems) == bool(words)
    assert all(word in f"{problems[0].place} {problems[0].text}" for word in words)


@given(st.binary())
@settings(max_examples=50)
def test_no_bytes_raise(data: bytes) -> None:
    text, problems = text_of(SourceFile("a", data))
    assert bool(problems) == ("\\x" in text and b"\\x" not in data)
    value, problems = json_of(SourceFile("a", data))
    assert problems or value is not None or text == "null"


def test_a_value_of_a_field_is_kept_as_text_or_json() -> None:
    assert [as_text(value) for value in ("é", 1, None, ["é", {"a": 1}])] == ["é", "1", "null", '["é", {"a": 1}]']


def test_a_repeated_id_gets_a_suffix_that_is_free() -> None:
    for key, unique in ((str, ["a", "A", "a-2", "a-2-2", "a-3"]), (str.casefold, ["a", "A-2", "a-3", "a-2-2", "a-4"])):
        problems: list[Remark] = []
        ids = IdRegister(problems, key)
        assert [ids.claim(own, f"{n}.md") for n, own in enumerate(["a", "A", "a", "a-2", "a"])] == unique
        assert problems[-1] == Remark("4.md", f"0.md has the id a too; this task got {unique[-1]}.")


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-01-02", "2026-01-02"),
        (" 2026-01-02 03:04 ", "2026-01-02T03:04:00Z"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T03:04:05+02:00"),
        ("2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123456Z"),
        ("20260102T030405Z", "2026-01-02T03:04:05Z"),
        ("02-01-26", "2026-01-02"),
        ("2/1/2026", "2026-01-02"),
        ("02.01.26 03:04", "2026-01-02T03:04:00Z"),
        ("31.02.26", None),
        ("02-01-26 noon", None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_times_become_iso_8601(text: str, iso: str | None) -> None:
    assert moment(text) == iso
    assert iso is None or moment(iso) == iso
