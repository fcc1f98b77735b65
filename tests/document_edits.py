"""Edits of a document such as people, other programs and bad disks make: of its lines, and of a few bytes anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

__all__ = ["Edit", "any_edit", "edited"]

Edit = tuple[str, int, int, bytes]
"""What is done, two numbers that say where (or how much), and the bytes that are put in."""


def any_edit(fragments: Sequence[bytes], *, longest: int) -> st.SearchStrategy[Edit]:
    """Return edits of documents with at most about ``longest`` bytes."""
    kinds = st.sampled_from(["insert", "cut", "put", "drop line", "repeat line", "swap lines"])
    return st.tuples(kinds, st.integers(0, longest), st.integers(0, longest), st.sampled_from(fragments))


def edited(data: bytes, edit: Edit, *, width: int) -> bytes:
    """Return the document after the edit; one that is not of lines cuts or replaces fewer than ``width`` bytes."""
    kind, first, second, fragment = edit
    lines = data.split(b"\n")
    here, there = first % len(lines), second % len(lines)
    if kind == "drop line":
        del lines[here]
    elif kind == "repeat line":
        lines.insert(there, lines[here])
    elif kind == "swap lines":
        lines[here], lines[there] = lines[there], lines[here]
    else:
        place = first % (len(data) + 1)
        end = place + (0 if kind == "insert" else second % width)
        return data[:place] + (b"" if kind == "cut" else fragment) + data[end:]
    return b"\n".join(lines)
