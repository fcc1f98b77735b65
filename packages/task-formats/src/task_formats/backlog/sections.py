"""Sections of a Backlog.md file: headings, with the text below them between markers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from task_formats.backlog.front_matter import Remarks
from task_formats.fields import join_items, split_items

__all__ = ["COMMENTS", "DEFINITION_OF_DONE", "PLAN", "Sections", "compose_body", "split_body"]

PLAN: Final = "**Implementation Plan**\n\n"
"""The beginning of a note that is the plan of its task."""

COMMENTS: Final = "Comments"
DEFINITION_OF_DONE: Final = "Definition of Done"
_TEXT, _CRITERIA, _PLAN, _NOTES, _RESULT = "text", "criteria", "plan", "notes", "result"
_KINDS: Final = {
    "description": _TEXT,
    "acceptance criteria": _CRITERIA,
    "implementation plan": _PLAN,
    "implementation notes": _NOTES,
    "final summary": _RESULT,
    "definition of done": DEFINITION_OF_DONE,
    "comments": COMMENTS,
}
_HEADING = re.compile(r"\n##[ \t]+(.+)")
_HEADING_OR_FENCE = re.compile(r"\n(?:##[ \t]+(.+)| {0,3}(```+|~~~+)(.*))")
_BEGIN = re.compile(r"\s*\n<!-- ((?:SECTION:)?[A-Z_]+):BEGIN -->[ \t]*\n?")
_END = re.compile(r"<!-- ((?:SECTION:)?[A-Z_]+):END -->")
_NUMBER = re.compile(r"(\[x\] )?#\d+ ")


@dataclass(slots=True)
class Sections:
    """The parts of a body."""

    text: str = ""
    """The description, and every section of the author's own, in their order."""
    criteria: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    result: str = ""
    rest: dict[str, str] = field(default_factory=dict[str, str])


def split_body(body: str, line: int, remarks: Remarks) -> Sections:
    """Split ``body``, which begins on ``line`` of its file, into its parts."""
    criteria: list[str] = []
    parts: dict[str, list[str]] = {}
    for part, raw in _split(body, line, remarks):
        kind, content = part, _trim(raw)
        if kind == _CRITERIA:
            items, others = split_items(content)
            criteria += [_NUMBER.sub(r"\1", item, count=1) if _NUMBER.match(item) else item for item in items]
            kind, content = _TEXT, f"## Acceptance Criteria\n\n{others}" if others else ""
        if content:
            parts.setdefault(kind, []).append(content)
    texts, results = ("\n\n".join(parts.pop(kind, ())) for kind in (_TEXT, _RESULT))
    notes = [*(PLAN + plan for plan in parts.pop(_PLAN, ())), *parts.pop(_NOTES, ())]
    return Sections(texts, criteria, notes, results, {kind: "\n\n".join(it) for kind, it in parts.items()})


def compose_body(sections: Sections) -> str:
    """Return the body for ``sections``, which ``split_body`` reads."""
    plan = next((note for note in sections.notes if note.startswith(PLAN)), "")
    notes = [note for note in sections.notes if note != plan]
    blocks = [
        _mark("Description", "SECTION:DESCRIPTION", sections.text),
        _mark("Acceptance Criteria", "AC", join_items(filter(None, sections.criteria), "#{} "), "\n"),
        _mark(DEFINITION_OF_DONE, "DOD", sections.rest.get(DEFINITION_OF_DONE, ""), "\n"),
        _mark("Implementation Plan", "SECTION:PLAN", plan.removeprefix(PLAN)),
        _mark("Implementation Notes", "SECTION:NOTES", "\n\n".join(notes)),
        _mark(COMMENTS, "COMMENTS", sections.rest.get(COMMENTS, ""), "\n"),
        _mark("Final Summary", "SECTION:FINAL_SUMMARY", sections.result),
    ]
    return "".join(f"\n{block}" for block in blocks if block)


def _split(body: str, line: int, remarks: Remarks) -> Iterator[tuple[str, str]]:
    """Yield the kind and the content of each section; what is under other headings is text."""
    body = f"\n{body}"
    headings = _find_headings(body)
    done = 0
    for number, heading in enumerate(headings):
        kind = _KINDS.get(heading[1].strip().lower())
        if kind is None or heading.start() < done:
            continue
        begin = _BEGIN.match(body, heading.end())
        if kind == COMMENTS and not begin:
            continue
        yield _TEXT, body[done : heading.start()]
        start = begin.end() if begin else heading.end()
        end = body.find(f"<!-- {begin[1]}:END -->", start) if begin else -1
        if end < 0:
            done = end = headings[number + 1].start() if number + 1 < len(headings) else len(body)
            if begin:
                at = line + body.count("\n", 0, heading.start())
                remarks.append((at, f"{heading[1].strip()} has no end marker; it is read up to the next heading."))
        else:
            done = body.index("-->", end) + 3
        yield kind, body[start:end]
    yield _TEXT, body[done:]


def _find_headings(body: str) -> list[re.Match[str]]:
    """Return the headings that are not in a fence; one that never closes is none."""
    if "```" not in body and "~~~" not in body:
        return [*_HEADING.finditer(body)]
    headings: list[re.Match[str]] = []
    inside: list[re.Match[str]] = []
    fence = ""
    for match in _HEADING_OR_FENCE.finditer(body):
        if match[1]:
            (inside if fence else headings).append(match)
        elif not fence:
            fence = match[2]
        elif match[2].startswith(fence) and not match[3].strip():
            fence = ""
            inside.clear()
    return headings + inside


def _trim(text: str) -> str:
    """Return ``text`` without blank lines around it."""
    text = text.rstrip()
    return text[text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1 :]


def _mark(title: str, marker: str, content: str, between: str = "\n\n") -> str:
    """Return a section, or nothing if it is empty; an end marker in its content is taken apart."""
    content = _END.sub(r"<!--\1:END-->", _trim(content))
    return f"## {title}{between}<!-- {marker}:BEGIN -->\n{content}\n<!-- {marker}:END -->\n" if content else ""
