"""The sets of tools, and which of them a setting chooses (TM-4)."""

import re
from collections.abc import Collection
from typing import Final

from task_core.text import nearest

__all__ = ["ALIASES", "SETS", "choose_tools", "describe_set", "name_sets"]

_CORE: Final = (
    *("get_tasks", "get_task", "next_task", "set_task_status", "add_task", "update_subtask", "expand_task"),
    "parse_prd",
)

_STANDARD: Final = (
    *("initialize_project", "add_subtask", "remove_task", "expand_all", "analyze_project_complexity"),
    "complexity_report",
)

_ALL: Final = (
    *("update_task", "update", "remove_subtask", "clear_subtasks", "move_task", "add_dependency"),
    *("remove_dependency", "validate_dependencies", "fix_dependencies", "list_tags", "add_tag", "use_tag"),
    *("rename_tag", "copy_tag", "delete_tag", "generate", "get_operation_status", "cache_stats"),
)

SETS: Final = {"core": _CORE, "standard": (*_CORE, *_STANDARD), "all": (*_CORE, *_STANDARD, *_ALL)}
"""The tools of each set, in the order in which they are listed."""

ALIASES: Final = {
    "list_tasks": "get_tasks",
    "show_task": "get_task",
    "parse_prd_document": "parse_prd",
    "set_status": "set_task_status",
    "cacheStats": "cache_stats",
}
"""Other names that can be called and are not listed (TM-5)."""

_WORDS: Final = {_plain: name for name in (*SETS, *SETS["all"]) for _plain in [name.replace("_", "")]} | {
    "lean": "core"
}

_NAMED: Final = re.compile(rf"(?<![\w'/])(?:{'|'.join(name for name in SETS['all'] if '_' in name)})(?![\w'/])")
"""A tool in a message; a name in quotes or in a path is not one, and ``update`` and ``generate`` are words too."""


def choose_tools(setting: str) -> frozenset[str]:
    """Return the tools that ``setting`` names: sets and tools by comma; case, ``-`` and ``_`` are alike.

    A word that names neither raises ``ValueError``, and so does a setting without a word.
    """
    words = [word for word in map(str.strip, setting.split(",")) if word]
    if not words:
        raise ValueError("name at least one set or tool")
    for word in words:
        if _fold(word) not in _WORDS:
            near = nearest(word, [*SETS, "lean", *SETS["all"]])
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise ValueError(f"'{word[:50]}' is neither a set nor a tool.{hint}")
    names = [_WORDS[_fold(word)] for word in words]
    return frozenset(tool for name in names for tool in SETS.get(name, (name,)))


def describe_set(tool: str) -> str:
    """Return the smallest set that has a tool, and the setting that chooses it."""
    name = next(name for name, tools in SETS.items() if tool in tools)
    return f"in the set {name}: TASK_MASTER_TOOLS={name}"


def name_sets(text: str, offered: Collection[str]) -> str:
    """Return a message in which each tool that is not ``offered`` is followed by its set."""
    return _NAMED.sub(lambda it: it[0] if it[0] in offered else f"{it[0]} ({describe_set(it[0])})", text)


def _fold(word: str) -> str:
    return re.sub(r"[-_\s]", "", word).casefold()
