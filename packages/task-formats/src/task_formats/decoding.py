"""Decoding that the readers share: text, JSON, ids and times."""

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from typing import Any

from task_formats.record import Remark, SourceFile

__all__ = [
    "Found",
    "as_text",
    "check_depth",
    "json_of",
    "list_objects",
    "moment",
    "objects_in",
    "parse_json",
    "parse_structure",
    "text_of",
]

Found = tuple[dict[str, Any], str, int]
"""An object, its place, and its number."""

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MAX_DEPTH = 50
_DAY_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?:[ T](.+))?", re.ASCII)


def text_of(file: SourceFile) -> tuple[str, list[Remark]]:
    r"""Decode ``file``: UTF-8, or UTF-16 with its mark; every line ends with ``\n``.

    Invalid bytes become ``\xNN``, with a problem.
    """
    mark, encoding = next(((mark, name) for mark, name in _MARKS.items() if file.data.startswith(mark)), (b"", "utf-8"))
    data = file.data.removeprefix(mark)
    problems: list[Remark] = []
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "backslashreplace")
        line = before.count("\n") + 1
        problems.append(
            Remark(f"{file.name}:{line}", f"Bytes that are not {encoding.upper()}, the first one here, became \\xNN.")
        )
        text = data.decode(encoding, "backslashreplace")
    return text.replace("\r\n", "\n").replace("\r", "\n"), problems


def parse_json(text: str, place: Callable[[int], str]) -> tuple[object, list[Remark]]:
    """Parse ``text``; ``place`` names the place of a line of it. JSON that is not valid gives None and a problem."""
    try:
        value: object = json.loads(text)
        check_depth(value)
    except json.JSONDecodeError as error:
        return None, [Remark(place(error.lineno), f"Not valid JSON: {error.msg} at column {error.colno}.")]
    except (ValueError, RecursionError):  # or a number of thousands of digits
        return None, [Remark(place(1), "Not readable JSON: it has too many brackets in brackets, or digits.")]
    whole = json.dumps(value, ensure_ascii=False)
    try:
        whole.encode()
    except UnicodeEncodeError:
        problem = Remark(place(1), "Halves of characters (lone surrogates) became question marks.")
        return json.loads(whole.encode("utf-8", "replace")), [problem]
    return value, []


def json_of(file: SourceFile) -> tuple[object, list[Remark]]:
    """Parse the JSON document in ``file``; None and a problem if it is not valid."""
    text, problems = text_of(file)
    value, more = parse_json(text, lambda line: f"{file.name}:{line}")
    return value, problems + more


def objects_in(files: Iterable[SourceFile], problems: list[Remark]) -> Iterator[Found]:
    """Yield each object of files that are an object or a list of them, with its place and its number.

    An object alone has the name of its file as its place and the number 0. What is not an object is a problem.
    """
    for file in files:
        value, found = json_of(file)
        problems += found
        if isinstance(value, dict):
            yield value, file.name, 0
        elif isinstance(value, list):
            yield from list_objects(value, file.name, problems)
        elif not found:
            problems.append(Remark(file.name, "Tasks are expected here: a list of objects, or one object."))


def list_objects(items: Iterable[object], name: str, problems: list[Remark]) -> Iterator[Found]:
    """Yield each object in a list with its place, which begins with ``name``, and its number, from 1."""
    for number, item in enumerate(items, 1):
        if isinstance(item, dict):
            yield item, f"{name}:{number}", number
        else:
            problems.append(Remark(f"{name}:{number}", "This is not a task: an object is expected."))


def check_depth(value: object) -> None:
    """Raise ``ValueError`` if ``value`` has too many lists and mappings in each other to be written as JSON safely."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        containers = (list(each.values()) if isinstance(each, dict) else each for each in level)
        level = [each for members in containers if isinstance(members, list) for each in members]
    if level:
        raise ValueError(f"it has more than {_MAX_DEPTH} brackets in brackets")


def parse_structure(text: str) -> object:
    """Return the list or mapping that ``as_text`` made ``text`` of, or a number or truth value; None for other text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def as_text(value: object) -> str:
    """Return ``value`` as ``rest`` keeps it: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def moment(text: str) -> str | None:
    """Return ``text`` as ISO 8601, or None if it is not a time.

    A date stays a date. A date with a time has an offset, UTC if the text has none. Day-first dates (``02-01-26``,
    ``2/1/2026``, ``02.01.26``) are read too.
    """
    text = text.strip()
    if day_first := _DAY_FIRST.fullmatch(text):
        day, _, month, year, time = day_first.groups()
        text = f"{year if len(year) == 4 else '20' + year}-{month:0>2}-{day:0>2}" + (f"T{time}" if time else "")
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat().replace("+00:00", "Z")
