"""Entries that are known to the last byte, folded into one line each run, so that only the rest need be parsed.

The line for a run is a bullet with a comment, which leaves a reader of Markdown in the very state in which the run
would leave it: within a fence both are swallowed, within a comment both end it, behind both nothing is open but the
item. To parse a document that is folded so takes time in proportion to what else stands in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from heartbeat_mcp.mirror.entries import Entry

__all__ = ["FOLD", "Folded", "fold"]

FOLD: Final = b"- <!-- -->"
"""The line that stands for a run of entries."""


@dataclass(frozen=True)
class Folded:
    """A document in which runs of entries are one line each."""

    data: bytes
    runs: Sequence[Sequence[Entry]] = ()
    """the entries that each such line stands for, in their order"""


def fold(data: bytes, entries: Sequence[Entry], newline: bytes) -> Folded:
    """Return ``data`` with the first and the last of ``entries``, as many as stand there as they are, folded."""
    if not entries or FOLD in data:
        return Folded(data)
    blocks = [entry.text.replace(b"\n", newline) + newline for entry in entries]
    spans = []
    head = data.find(blocks[0])
    first, end = _follow(data, head, blocks) if _begins_line(data, head) else (0, 0)
    if first:
        spans.append((head, end, entries[:first]))
    tail = data.rfind(blocks[-1], end) if first < len(blocks) else -1
    last, start = _follow_back(data, tail, blocks[first:]) if tail >= 0 else (0, 0)
    if last and _begins_line(data, start):
        spans.append((start, tail + len(blocks[-1]), entries[-last:]))
    return _with_spans_folded(data, spans, FOLD + newline)


def _begins_line(data: bytes, position: int) -> bool:
    return position > 0 and data[position - 1] in b"\r\n"


def _follow(data: bytes, start: int, blocks: Sequence[bytes]) -> tuple[int, int]:
    """Return how many of the first ``blocks`` stand in ``data`` from ``start`` on, and where they end."""
    for count, block in enumerate(blocks):
        if not data.startswith(block, start):
            return count, start
        start += len(block)
    return len(blocks), start


def _follow_back(data: bytes, last: int, blocks: Sequence[bytes]) -> tuple[int, int]:
    """Return how many of the last ``blocks``, of which the very last is at ``last``, stand together, and where."""
    for count, block in enumerate(reversed(blocks[:-1]), 1):
        if not data.startswith(block, last - len(block)):
            return count, last
        last -= len(block)
    return len(blocks), last


def _with_spans_folded(data: bytes, spans: Sequence[tuple[int, int, Sequence[Entry]]], line: bytes) -> Folded:
    parts: list[bytes] = []
    end = 0
    for start, stop, _ in spans:
        parts += [data[end:start], line]
        end = stop
    return Folded(b"".join((*parts, data[end:])), [entries for _, _, entries in spans])
