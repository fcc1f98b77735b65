"""The sets of tools, and which of them a setting chooses (TM-4)."""

import re
from typing import Final

__all__ = ["ALIASES", "SETS", "choose_tools", "find_unknown_words"]

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


def choose_tools(setting: str) -> frozenset[str]:
    """Return the tools that ``setting`` names: sets and tools by comma; case, ``-`` and ``_`` are alike."""
    names = [_WORDS[word] for word in map(_fold, setting.split(",")) if word in _WORDS]
    return frozenset(tool for name in names for tool in SETS.get(name, (name,)))


def find_unknown_words(setting: str) -> list[str]:
    """Return the words of ``setting`` that name neither a set nor a tool."""
    return [word.strip() for word in setting.split(",") if word.strip() and _fold(word) not in _WORDS]


def _fold(word: str) -> str:
    return re.sub(r"[-_\s]", "", word).casefold()
