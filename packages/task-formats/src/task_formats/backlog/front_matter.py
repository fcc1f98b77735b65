"""Front matter of Backlog.md: YAML whose values are all text, repaired where people often write it wrongly."""

import re
from typing import NamedTuple

import yaml

from task_formats.decoding import as_text, check_depth

__all__ = ["FrontMatter", "Remarks", "dump_mapping", "parse_mapping", "split_front_matter"]

Remarks = list[tuple[int, str]]
"""The faults of a file: lines, and sentences about them."""

_LOADER: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_ERRORS = (yaml.YAMLError, ValueError, RecursionError)
_MAX_REPEATED = 100
"""Characters of a text that an alias may repeat, so that a short file stays short."""

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_TITLE_WITH_COMMENT = re.compile(r"^(title:[ \t]+)([^\s'\"|>#&*!\[{].*[ \t]#.*)$", re.MULTILINE)
_LINE = re.compile(r"([ \t]*(?:-|[\w-]+:)[ \t]+)(\S(?:.*\S)?)[ \t]*")


class FrontMatter(NamedTuple):
    """The front matter of a file and the text below it."""

    values: dict[str, object]
    body: str
    body_line: int
    """The line of the file on which the body begins."""


def split_front_matter(text: str, remarks: Remarks) -> FrontMatter | None:
    """Parse the front matter of ``text``; None, with a remark, if it has none that is readable."""
    match = _BLOCK.match(text)
    if not match:
        begins = text.startswith("---\n")
        remarks.append((1, "The front matter has no end (---)." if begins else "The file has no front matter."))
        return None
    values = parse_mapping(match[1], remarks, 2)
    if values is None:
        return None
    return FrontMatter(values, text[match.end() :], text.count("\n", 0, match.end()) + 1)


def parse_mapping(text: str, remarks: Remarks, line: int = 1) -> dict[str, object] | None:
    """Parse YAML with keys, whose first line is ``line``; None, with a remark, if not even a repair makes it readable.

    Values are text, lists and mappings of such values.
    """
    if match := _TITLE_WITH_COMMENT.search(text):
        at = line + text.count("\n", 0, match.start())
        remarks.append((at, "Backlog.md takes what follows the # for a comment; the title is read with it."))
        text = f"{text[: match.start()]}{match[1]}{_quote(match[2])}{text[match.end() :]}"
    try:
        node = _compose(text)
    except _ERRORS as error:
        repaired = "\n".join(_repair(each) for each in text.split("\n"))
        try:
            node = _compose(repaired)
        except _ERRORS:
            mark = getattr(error, "problem_mark", None)
            what = getattr(error, "problem", None) or error
            remarks.append((line + mark.line if mark else line, f"The YAML is not valid: {what}."))
            return None
        for number, (old, new) in enumerate(zip(text.split("\n"), repaired.split("\n"), strict=True), line):
            if old != new:
                remarks.append((number, f"The YAML is not valid; it is read as {new.strip()[:100]}"))
    if not isinstance(node, yaml.MappingNode):
        remarks.append((line, "The YAML has no keys."))
        return None
    try:
        values = _members(node, remarks, line, set())
        check_depth(values)
    except _ERRORS as error:
        remarks.append((line, f"The YAML is not readable: {error}."))
        return None
    return values


def dump_mapping(values: dict[str, object]) -> str:
    """Return ``values`` as YAML, in their order."""
    return yaml.dump(values, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=1_000_000)


def _compose(text: str) -> yaml.Node | None:
    return yaml.compose(text, Loader=_LOADER)


def _members(node: yaml.MappingNode, remarks: Remarks, line: int, seen: set[int]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key_node, value_node in node.value:
        key = as_text(_value(key_node, remarks, line, seen))
        if key in values:
            at = line + key_node.start_mark.line
            remarks.append((at, f"{key} is given more than once; {as_text(values[key])[:100]!r} is not read."))
        values[key] = _value(value_node, remarks, line, seen)
    return values


def _value(node: yaml.Node, remarks: Remarks, line: int, seen: set[int]) -> object:
    if id(node) in seen and (not isinstance(node, yaml.ScalarNode) or len(node.value) > _MAX_REPEATED):
        raise ValueError("it has aliases (*name)")
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if isinstance(node, yaml.MappingNode):
        return _members(node, remarks, line, seen)
    return [_value(each, remarks, line, seen) for each in node.value]


def _repair(line: str) -> str:
    """Return ``line`` with its value in quotes, if the line is not valid YAML by itself."""
    match = _LINE.fullmatch(line)
    if not match or match[2][0] in "|>{":
        return line
    try:
        _compose(line.strip())
    except _ERRORS:
        name, value = match.groups()
        if value[0] == "[" and value[-1] == "]":
            return f"{name}[{', '.join(_quote(each.strip()) for each in value[1:-1].split(','))}]"
        return name + _quote(value)
    return line


def _quote(value: str) -> str:
    """Return ``value`` as YAML in apostrophes, which takes the place of quotes that it has."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1].replace("''", "'")
    return "'" + value.replace("'", "''") + "'"
