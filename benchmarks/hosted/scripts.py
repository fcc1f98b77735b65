"""The statements of the engine as scripts of pgbench, which cannot drift apart from it: they are made from recordings.

Values that are the same in two recordings are constants; the tenant, the id of the task and numbers that rise are made
up anew for each transaction. The lists of pgbench belong to tenants that are numbers, since it makes up only numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.hosted.recording import Asked, Exchange, Recording

__all__ = ["FIRST_TENANT", "Script", "as_one_statement", "script_of"]

FIRST_TENANT: Final = 10**18 + 1
"""The name of the first tenant of pgbench, about as long as others; each further one has the next number."""

_WRITES: Final = ("INSERT ", "UPDATE ")

_PARAMETER: Final = re.compile(r"\$(\d+)")

_GIVEN: Final = """\
\\set tenant {first} + random(0, :tenants - 1)
\\set moment :moment + 1
\\set id {id}
"""

_EXISTING: Final = "random(1, :tasks)"
_NEW: Final = ":moment * 100 + :client_id"


@dataclass
class Script:
    """A script, and the constants in it by name."""

    text: str
    constants: dict[str, str] = field(default_factory=dict)


def script_of(recording: Recording, tenant: str, *, is_new: bool) -> Script:
    """Return the script for what two calls of ``tenant`` sent; with ``is_new`` each of them makes a task."""
    script = Script(_GIVEN.format(first=FIRST_TENANT, id=_NEW if is_new else _EXISTING))
    for mine, theirs in zip(*recording, strict=True):
        lines = [_line(asked, other, tenant, script.constants) for asked, other in zip(mine, theirs, strict=True)]
        if len(lines) > 1:
            lines = ["\\startpipeline", *lines, "\\endpipeline"]
        script.text += "".join(f"{line}\n" for line in lines)
    return script


def as_one_statement(recording: Recording) -> Recording:
    """Return everything that was written as one statement, which is a transaction of its own."""
    return Recording([_join_writes(recording.first)], [_join_writes(recording.second)])


def _join_writes(exchanges: Sequence[Exchange]) -> Exchange:
    writes = [asked for exchange in exchanges for asked in exchange if asked.text.startswith(_WRITES)]
    values: list[str | int | None] = []
    texts: list[str] = []
    for asked in writes:
        texts.append(_renumber(asked.text, len(values)))
        values += asked.values
    parts = ", ".join(f"part{number} AS ({text})" for number, text in enumerate(texts[:-1]))
    return (Asked(f"WITH {parts} {texts[-1]}", tuple(values)),)


def _renumber(text: str, before: int) -> str:
    """Return a statement whose parameters come after so many others."""
    return _PARAMETER.sub(lambda found: f"${int(found[1]) + before}", text)


def _line(asked: Asked, other: Asked, tenant: str, constants: dict[str, str]) -> str:
    names = [*_names(asked, other, tenant, constants)]
    return f"{_PARAMETER.sub(lambda found: names[int(found[1]) - 1], asked.text)};"


def _names(asked: Asked, other: Asked, tenant: str, constants: dict[str, str]) -> Iterator[str]:
    for value, another in zip(asked.values, other.values, strict=True):
        if value in {None, ""}:  # pgbench has no such values
            yield "NULL" if value is None else "''"
        elif value == tenant:
            yield ":tenant"
        elif value == another or _is_equivalent(asked.text, value):
            yield _constant(str(value), constants)
        else:
            yield ":moment" if isinstance(value, int) else ":id"


def _is_equivalent(text: str, value: str | int) -> bool:
    """Return whether another value would cost the same: a time limit, or a whole task."""
    return isinstance(value, str) and ("set_config" in text or value.startswith("{"))


def _constant(value: str, constants: dict[str, str]) -> str:
    for name, known in constants.items():
        if known == value:
            return f":{name}"
    name = f"constant{len(constants)}"
    constants[name] = value
    return f":{name}"
