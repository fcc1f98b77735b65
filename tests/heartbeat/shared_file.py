"""A HEARTBEAT.md that people, editors, git and servers all write: what is done to it, and what must be true after it.

Everything that a person writes has a word of its own (``word-7.``), so that it can be found wherever it went.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from io import FileIO
from pathlib import Path
from typing import Any, Final

from heartbeat_mcp.mirror.document import read_document
from tests.heartbeat.edits import ENTRY

__all__ = ["EDITS", "SharedFile", "conflict_of", "resolved"]

START: Final = b"# Agent\n\n## Routine\n- [ ] check mail\n\n## TODO\n\n## Notes\n\nkeep me\n"

_WORD: Final = re.compile(rb"word-\d+\.")
_BULLET: Final = re.compile(rb"(?m)^[-*] (?:\[[ x]?\] )?(word-\d+\.)")
_HEADING: Final = re.compile(rb"(?m)^## TODO\r?$")
_CONFLICT: Final = re.compile(r"<{7} ours\n(.*?)={7}\n(.*?)>{7} theirs\n", re.DOTALL)

Edit = Callable[[str, str], str]
"""What somebody does to the text of the file, given a new word."""


def _below_heading(line: str) -> Edit:
    return lambda text, word: text.replace("## TODO\n", f"## TODO\n{line}\n".replace("WORD", word), 1)


def _above_notes(line: str) -> Edit:
    return lambda text, word: text.replace("\n## Notes\n", f"\n{line}\n\n## Notes\n".replace("WORD", word), 1)


def _on_entry(old: str, new: str) -> Edit:
    """Change the first entry, if there is one: ``old`` is a pattern, in which a dot may be a line end."""

    def edit(text: str, word: str) -> str:
        def change(found: re.Match[str]) -> str:
            return re.sub(old, new.replace("WORD", word), found[0], count=1, flags=re.DOTALL)

        return ENTRY.sub(change, text, count=1)

    return edit


EDITS: Final[Mapping[str, Edit]] = {
    "a bullet at the start": _below_heading("- WORD"),
    "a finished bullet at the start": _below_heading("- [x] WORD"),
    "a bullet at the end": _above_notes("* [ ] WORD"),
    "a text in the section": _above_notes("Remember WORD"),
    "a text above the section": lambda text, word: text.replace("## Routine\n", f"## Routine\n- [ ] {word}\n", 1),
    "a text just above the heading": lambda text, word: text.replace("\n## TODO", f"- [ ] {word}\n\n## TODO", 1),
    "a text below the section": lambda text, word: f"{text}see {word}\n",
    "a field of an entry": _on_entry("  - Status: [^\n]*", "  - Result: WORD"),
    "a line in an entry": _on_entry("  - Status", "  - WORD\n  - Status"),
    "a bullet in the place of an entry": _on_entry(".*", "- WORD\n"),
    "an entry removed": _on_entry(".*", ""),
    "an entry ticked off": _on_entry(r"\[\w+\]", "[x]"),
    "all text around removed": lambda text, word: f"## TODO\n- {word}\n" if text else "",
}
"""What a person does in an editor, by name."""


def conflict_of(ours: str, theirs: str) -> str:
    """Return both texts with the marks of a merge; as git does, differences three lines apart are one conflict."""
    mine, its = ours.splitlines(keepends=True), theirs.splitlines(keepends=True)
    hunks: list[list[int]] = []
    for tag, *place in SequenceMatcher(None, mine, its, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if hunks and place[0] - hunks[-1][1] <= 3:
            hunks[-1][1::2] = place[1::2]
        else:
            hunks.append(place)
    text, done = "", 0
    for start, end, first, last in hunks:
        left, right = "".join(mine[start:end]), "".join(its[first:last])
        text += "".join(mine[done:start]) + f"<<<<<<< ours\n{left}=======\n{right}>>>>>>> theirs\n"
        done = end
    return text + "".join(mine[done:])


def resolved(text: str, side: str) -> str:
    """Return the text after a merge in which somebody took one side, or both."""
    kept = {"ours": r"\1", "theirs": r"\2", "both": r"\1\2"}[side]
    return _CONFLICT.sub(kept, text)


@dataclass
class SharedFile:
    """The files of one list, and what people wrote into HEARTBEAT.md."""

    folder: Path
    count: int = 0
    """of the words so far"""
    owed: set[bytes] = field(default_factory=set)
    """the words of people that must be somewhere"""
    bullets: Counter[bytes] = field(default_factory=Counter)
    """how often a bullet with each word was saved: it may be as many tasks"""
    versions: list[bytes] = field(default_factory=list)
    """what was committed"""
    saved: bytes = b""
    """what somebody who is no server saved last"""
    writer: FileIO | None = None
    """open for writing while somebody saves slowly"""
    rest: bytes = b""
    """what they are still to write"""

    def __post_init__(self) -> None:
        self.save(START)
        self.versions.append(START)

    @property
    def path(self) -> Path:
        return self.folder / "HEARTBEAT.md"

    @property
    def data(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    @property
    def text(self) -> str:
        return self.data.decode()

    @property
    def is_in_conflict(self) -> bool:
        return bool(_CONFLICT.search(self.text))

    def word(self) -> str:
        """Return a word that nobody has written yet."""
        self.count += 1
        return f"word-{self.count}."

    # How a file is saved

    def save(self, data: bytes) -> None:
        """Save by a rename, as most editors do."""
        self.expect(data)
        draft = self.folder / "draft"
        draft.write_bytes(data)
        draft.replace(self.path)

    def save_in_place(self, data: bytes) -> None:
        """Save as a shell does, or an editor that keeps the file."""
        self.expect(data)
        self.path.write_bytes(data)

    def check_out(self, data: bytes) -> None:
        """Save as git does, which removes the file and makes it anew."""
        self.expect(data)
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(data)

    def save_slowly(self, data: bytes, half: int) -> None:
        """Begin to save in place: the file is emptied, and only its first bytes are written until ``finish``."""
        self.expect(data)
        self.writer = FileIO(self.path, "w")
        self.writer.write(data[:half])
        self.rest = data[half:]

    def append_slowly(self, line: bytes, half: int) -> None:
        """Begin to append a line, as ``>>`` does, of which only the first bytes are written until ``finish``."""
        self.writer = FileIO(self.path, "a")
        self.expect(self.data + line)
        self.writer.write(line[:half])
        self.rest = line[half:]

    def finish(self) -> None:
        """End what was begun slowly."""
        if self.writer:
            self.writer.write(self.rest)
            self.writer.close()
        self.writer, self.rest = None, b""

    def expect(self, data: bytes) -> None:
        """Note what somebody is about to save; what they took out before any server saw it is nobody's loss."""
        gone = {*_WORD.findall(self.data)} - {*_WORD.findall(data)}
        self.owed -= gone - self._words("heartbeat_state.json", "heartbeat_archive.jsonl", "HEARTBEAT.md.bak")
        self.owed |= {*_WORD.findall(data)}
        self.bullets.update(_BULLET.findall(data))
        self.saved = data

    # What must be true

    def _words(self, *names: str) -> set[bytes]:
        paths = [self.folder / name for name in names]
        return {word for path in paths if path.exists() for word in _WORD.findall(path.read_bytes())}

    def tasks(self) -> dict[str, dict[str, Any]]:
        """Return the tasks in the store and the archive by id, as another program reads them."""
        store, archive = self.folder / "heartbeat_state.json", self.folder / "heartbeat_archive.jsonl"
        stored: list[dict[str, Any]] = json.loads(store.read_bytes())["tasks"] if store.exists() else []
        assert len({task["id"] for task in stored}) == len(stored)
        # A kill may leave a torn line there, which no server reads.
        lines = (archive.read_bytes() if archive.exists() else b"").splitlines()
        archived = [json.loads(line) for line in lines if line.endswith(b"}")]
        return {task["id"]: task for task in (*archived, *stored)}

    def check(self) -> None:
        """Check that nothing of a person is lost, and that servers changed nothing but one section."""
        found = self._words("HEARTBEAT.md", "heartbeat_state.json", "heartbeat_archive.jsonl", "HEARTBEAT.md.bak")
        missing = self.owed - found - {*_WORD.findall(self.saved if self.writer else b"")}
        assert not missing, (missing, self.text)
        made = Counter(
            word for task in self.tasks().values() for word in _WORD.findall(task["raw_user_request"].encode())
        )
        assert {word: made[word] for word in self.bullets if made[word] > self.bullets[word]} == {}
        self._check_outside()

    def _is_section_in_conflict(self) -> bool:
        text = self.saved.decode()
        start = text.find("## TODO\n")
        end = re.compile(r"^#{1,2} ", re.MULTILINE).search(text, start + 1)
        conflicts = _CONFLICT.finditer(text)
        return start >= 0 and any(
            conflict.end() > start and (not end or conflict.start() < end.start()) for conflict in conflicts
        )

    def _check_outside(self) -> None:
        data = self.data
        if self.writer:
            assert self.saved == data + self.rest
            assert os.path.samestat(self.path.stat(), os.fstat(self.writer.fileno()))
        elif self._is_section_in_conflict():
            assert data == self.saved
        elif data != self.saved:
            mine, now = read_document(self.saved, "TODO").section, read_document(data, "TODO").section
            assert len(_HEADING.findall(data)) == max(1, len(_HEADING.findall(self.saved)))
            if mine.is_new:
                assert data.startswith(self.saved)
            else:
                assert (now.before, now.after.lstrip(b"\n")) == (mine.before, mine.after.lstrip(b"\n"))
