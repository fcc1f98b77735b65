"""Tasks for programs: a line for each, its parts separated by tabs, or one JSON document."""

import json
import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from task_core.errors import InvalidArguments, TaskError
from task_core.files import describe
from task_core.text import address_people, end_sentence, escape_invisible

__all__ = ["carry_out", "describe_error", "discard_output", "format_line", "tolerate_characters", "write_json"]


def write_json(value: object, out: TextIO) -> None:
    """Write one line of ASCII, which no terminal, encoding or line reader changes."""
    out.write(json.dumps(value) + "\n")


def format_line(*parts: object) -> str:
    """Return ``parts`` on one line, separated by tabs, with the tabs and line breaks in them escaped."""
    return "\t".join(escape_invisible(str(part)) for part in parts) + "\n"


def describe_error(error: TaskError) -> str:
    """Return what is wrong, for a person: an argument is not to be corrected and sent again, as a model would do."""
    fields = error.details["fields"] if isinstance(error, InvalidArguments) else None
    if not isinstance(fields, list):
        return address_people(error.message)
    return end_sentence("; ".join(f"{it['path']}: {it['message']}" for it in fields if isinstance(it, dict)))


def carry_out(name: str, work: Callable[[], int | None]) -> int:
    """Do the ``work`` of a command that writes to stdout, and return its exit code; a failure is a line on stderr."""
    tolerate_characters(sys.stdout)
    try:
        code = work() or 0
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output(sys.stdout)
        return 0
    except TaskError as error:
        why = describe_error(error)
    except OSError as error:
        discard_output(sys.stdout)
        why = f"stdout: {describe(error)}"
    except KeyboardInterrupt:
        why = "interrupted"
    else:
        return code
    sys.stderr.write(f"{name}: {escape_invisible(why)}\n")
    return 1


def tolerate_characters(stream: TextIO) -> None:
    """Let a character that the encoding of ``stream`` lacks be written as an escape."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def discard_output(stream: TextIO) -> None:
    """Discard what was not written: nobody reads it, and the interpreter must not fail over it at exit."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
