"""The encoded records of a document, kept as the pieces that it is written in.

To change one record makes one piece anew, and neither touches nor joins what stands around it: with many records
that is most of what a save would otherwise ask of the processor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from typing_extensions import Self

__all__ = ["SEPARATOR", "Lines", "Piece"]

SEPARATOR: Final = b",\n"
"""Between two records of a document."""

_PIECE: Final = 16_384
"""Bytes of records in a piece at most, unless it is one alone: few enough to be made anew at each save."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Records that follow one another, joined."""

    data: bytes
    sizes: Mapping[str, int]
    """bytes of each record by its id, in order"""

    @classmethod
    def of(cls, lines: Mapping[str, bytes]) -> Self:
        """Return the piece that holds ``lines``, the encoded records by id."""
        return cls(SEPARATOR.join(lines.values()), dict(zip(lines, map(len, lines.values()), strict=True)))

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """Yield each id with its encoded record, in order."""
        start = 0
        for name, size in self.sizes.items():
            yield name, self.data[start : start + size]
            start += size + len(SEPARATOR)


class Lines:
    """Encoded records in order; to iterate gives their ids. It never changes."""

    def __init__(self, pieces: Iterable[Piece] = ()) -> None:
        """Take over ``pieces``, none of which is empty or has an id of another."""
        self.pieces: Sequence[Piece] = tuple(pieces)

    @classmethod
    def of(cls, lines: Mapping[str, bytes]) -> Self:
        """Return ``lines``, the encoded records by id, in new pieces."""
        return cls(_cut(lines))

    @classmethod
    def joined(cls, pieces: Iterable[Piece]) -> Self:
        """Return the records of ``pieces``, in new ones where these have come to be many for what they hold."""
        lines = cls(pieces)
        # Of new pieces two that follow one another hold more than one may, so this does not come often.
        is_shattered = len(lines.pieces) > 3 * sum(map(len, lines.data)) // _PIECE + 1
        return cls.of(lines.by_id()) if is_shattered else lines

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(piece.sizes for piece in self.pieces)

    def __len__(self) -> int:
        return sum(len(piece.sizes) for piece in self.pieces)

    @property
    def data(self) -> Sequence[bytes]:
        """The pieces as they are written, without the separators between them."""
        return [piece.data for piece in self.pieces]

    def by_id(self) -> dict[str, bytes]:
        """Return each encoded record by its id, in order."""
        return dict(chain.from_iterable(piece.lines() for piece in self.pieces))

    def changed(self, changes: Iterable[tuple[str, bytes | None]]) -> Lines:
        """Return what ``changes``, one after the other, make of these records.

        An id that is there gets another record in its place, or none at all with None; any other comes last.
        """
        draft = _Draft(self.pieces)
        for name, line in changes:
            draft.change(name, line)
        return Lines.joined(draft.pieces())

    def found_in(self, data: bytes, start: int, end: int) -> tuple[Sequence[Piece], list[bytes], Sequence[Piece]]:
        """Return the pieces that stand first and last in ``data`` from ``start`` to ``end``, and what is between.

        That is a list of the records there, if they are records; known ones may be among them.
        """
        first, last = 0, len(self.pieces)
        while first < last and _begins(self.pieces[first], data, start, end):
            start += len(self.pieces[first].data) + len(SEPARATOR)
            first += 1
        while first < last and _ends(self.pieces[last - 1], data, start, end):
            last -= 1
            end -= len(self.pieces[last].data) + len(SEPARATOR)
        # Where nothing stands between them they share a separator.
        between = data[start:end].split(SEPARATOR) if start <= end else []
        return self.pieces[:first], between, self.pieces[last:]


class _Draft:
    """Pieces, some of which are taken apart to be changed."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces or [Piece.of({})]
        self._opened: dict[int, dict[str, bytes]] = {}

    def change(self, name: str, line: bytes | None) -> None:
        lines = self._holder(name)
        if line is None:
            del lines[name]
        else:
            lines[name] = line

    def pieces(self) -> Iterator[Piece]:
        for number, piece in enumerate(self._pieces):
            if number in self._opened:
                yield from _cut(self._opened[number])
            elif piece.sizes:
                yield piece

    def _holder(self, name: str) -> dict[str, bytes]:
        for number, piece in enumerate(self._pieces):
            if name in piece.sizes and name in (lines := self._lines(number)):
                return lines
        return self._lines(len(self._pieces) - 1)

    def _lines(self, number: int) -> dict[str, bytes]:
        if number not in self._opened:
            self._opened[number] = dict(self._pieces[number].lines())
        return self._opened[number]


def _cut(lines: Mapping[str, bytes]) -> Iterator[Piece]:
    """Yield pieces that hold ``lines``, each as large as it may be."""
    chosen: dict[str, bytes] = {}
    room = _PIECE
    for name, line in lines.items():
        room -= len(line)
        if room < 0 and chosen:
            yield Piece.of(chosen)
            chosen, room = {}, _PIECE - len(line)
        chosen[name] = line
    if chosen:
        yield Piece.of(chosen)


def _begins(piece: Piece, data: bytes, start: int, end: int) -> bool:
    after = start + len(piece.data)
    is_whole = after == end or data.startswith(SEPARATOR, after, end)
    return is_whole and data.startswith(piece.data, start, end)


def _ends(piece: Piece, data: bytes, start: int, end: int) -> bool:
    before = end - len(piece.data)
    is_whole = before == start or (before > start and data.endswith(SEPARATOR, start, before))
    return is_whole and data.startswith(piece.data, before, end)
