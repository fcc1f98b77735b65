"""What people, editors, formatters and version control do to a section of HEARTBEAT.md."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["CONFLICTS", "EDITS", "bracketed", "entries_of"]

ENTRY = re.compile(r"- \[(?:Pending|Running)\] [^\n]*\n(?:  [^\n]*\n)*?  <!-- task_id: [^\n]*-->\n")


def entries_of(text: str) -> list[str]:
    """Return the entries in ``text``, with line feeds at their ends."""
    return ENTRY.findall(text)


def _on_first(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: ENTRY.sub(lambda found: change(found[0]), text, count=1)


def _on_each(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: ENTRY.sub(lambda found: change(found[0]), text)


def _swapped(text: str) -> str:
    found = entries_of(text)
    if len(found) < 2:
        return text
    return text.replace(found[0], "\0").replace(found[1], found[0]).replace("\0", found[1])


def _conflict(entry: str) -> str:
    theirs = entry.replace("Status: Pending", "Status: Running").replace("[Pending]", "[Running]")
    return f"<<<<<<< HEAD\n{entry}=======\n{theirs}>>>>>>> main\n"


def _conflict_of_three(entry: str) -> str:
    return f"<<<<<<< HEAD\n{entry}||||||| base\n=======\n{entry}>>>>>>> main\n"


def _wrapped(entry: str) -> str:
    """Break long lines as a formatter does, which indents what follows."""
    lines: list[str] = []
    for line in entry.splitlines():
        indent = len(line) - len(line.lstrip(" -"))
        words = line.strip().split(" ")
        rows = [words[0]]
        for word in words[1:]:
            if len(rows[-1]) + len(word) < 30 or line.lstrip().startswith("<!--"):
                rows[-1] += " " + word
            else:
                rows.append(word)
        lines += [line[: len(line) - len(line.lstrip())] + rows[0], *(" " * indent + row for row in rows[1:])]
    return "\n".join(lines) + "\n"


EDITS: dict[str, Callable[[str], str]] = {
    "delete an entry": _on_first(lambda _: ""),
    "delete all entries": _on_each(lambda _: ""),
    "copy an entry": _on_first(lambda entry: entry * 2),
    "copy all entries": lambda text: text + "\n" + "".join(entries_of(text)),
    "swap two entries": _swapped,
    "blank lines between all lines": _on_each(lambda entry: entry.replace("\n", "\n\n")),
    "blank lines between entries": _on_each(lambda entry: "\n" + entry + "\n"),
    "comment above the list": lambda text: text.replace("## TODO\n", "## TODO\n<!-- mine -->\n", 1),
    "comment around an entry": _on_first(lambda entry: f"<!--\n{entry}-->\n"),
    "details around an entry": _on_first(lambda entry: f"<details>\n\n{entry}\n</details>\n"),
    "details around an entry, no blank lines": _on_first(lambda entry: f"<details>\n{entry}</details>\n\n"),
    "fence around an entry": _on_first(lambda entry: f"```\n{entry}```\n"),
    "quote an entry": _on_first(lambda entry: "".join(f"> {line}\n" for line in entry.splitlines())),
    "indent an entry": _on_first(lambda entry: "".join(f"    {line}\n" for line in entry.splitlines())),
    "indent an entry by one": _on_first(lambda entry: "".join(f" {line}\n" for line in entry.splitlines())),
    "number an entry": _on_first(lambda entry: "1. " + entry[2:].replace("\n  ", "\n   ")),
    "strike an entry out": _on_first(lambda entry: entry.replace("] ", "] ~~", 1).replace("\n", "~~\n", 1)),
    "drop the closing comment": _on_first(lambda entry: re.sub(r"  <!--.*\n\Z", "", entry)),
    "drop all closing comments": _on_each(lambda entry: re.sub(r"  <!--.*\n\Z", "", entry)),
    "drop all but the first line": _on_first(lambda entry: entry.partition("\n")[0] + "\n"),
    "drop the first line": _on_first(lambda entry: entry.partition("\n")[2]),
    "change the id in the comment": _on_first(lambda entry: re.sub(r"task_id: [\w-]+", "task_id: no-such", entry)),
    "change the id in the first line": _on_first(lambda entry: re.sub(r"\] [\w-]+:", "] no-such:", entry, count=1)),
    "two comments": _on_first(lambda entry: entry + "  <!-- task_id: no-such -->\n"),
    "comment of another first": _on_first(lambda entry: entry.replace("\n", "\n  <!-- task_id: no-such -->\n", 1)),
    "another marker": _on_each(lambda entry: re.sub(r"^( *)- ", r"\1* ", entry, flags=re.MULTILINE)),
    "tabs for indentation": _on_each(lambda entry: entry.replace("\n  ", "\n\t")),
    "four columns of indentation": _on_each(
        lambda entry: entry.replace("\n    ", "\n        ").replace("\n  ", "\n    ")
    ),
    "blanks at the ends of lines": _on_each(lambda entry: entry.replace("\n", "  \n")),
    "long lines wrapped": _on_each(_wrapped),
    "CRLF": lambda text: re.sub(r"\r?\n", "\r\n", text),
    "CR": lambda text: re.sub(r"\r?\n", "\r", text),
    "no final line end": lambda text: text.rstrip("\r\n"),
    "a byte order mark": lambda text: "\ufeff" + text.removeprefix("\ufeff"),
    "capital heading": lambda text: text.replace("## TODO", "## Todo ##"),
    "heading renamed": lambda text: text.replace("## TODO", "## Old list"),
    "heading of level 3": lambda text: text.replace("## TODO", "### TODO"),
    "heading as a title line": lambda text: text.replace("## TODO", "TODO\n----"),
    "heading removed": lambda text: text.replace("## TODO\n", ""),
    "section twice": lambda text: text.rstrip("\n") + "\n\n## TODO\n" + "".join(entries_of(text)),
    "a deeper heading above all": lambda text: text.replace("## TODO\n", "## TODO\n\n### Now\n\n", 1),
    "a rule between entries": _on_each(lambda entry: entry + "---\n"),
    "a heading within": _on_first(lambda entry: entry + "## Between\n"),
    "an indented heading within": _on_first(lambda entry: entry + "  ## Between\n"),
    "a title line within": _on_first(lambda entry: entry + "Between\n=======\n"),
    "an open fence": _on_first(lambda entry: "```\n" + entry),
    "an open comment": _on_first(lambda entry: "<!--\n" + entry),
    "an open comment in an entry": _on_first(lambda entry: entry.replace("\n", "\n  <!--\n", 1)),
    "an open fence in an entry": _on_first(lambda entry: entry.replace("\n", "\n  ```\n", 1)),
    "an open fence at the end": lambda text: text + "\n```\n",
    "empty": lambda _: "",
}
"""What is done to the whole text of the file, by name; none of it adds or changes a task."""

CONFLICTS: dict[str, Callable[[str], str]] = {
    "a conflict": _on_first(_conflict),
    "a conflict with its base": _on_first(_conflict_of_three),
}
"""What version control leaves of two versions; until that is settled, the section is left alone."""


def bracketed(mark: str) -> Callable[[str], str]:
    """Return the edit that changes nothing but the bracket of the first entry."""
    return _on_first(lambda entry: re.sub(r"\[\w+\]", f"[{mark}]", entry, count=1))
