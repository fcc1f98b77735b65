"""The settings of this server, read once from the environment, and the sets of tools to choose from (TM-4)."""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, ClassVar, Final

from pydantic import Field, field_validator
from typing_extensions import override

from task_core.cli.settings import StoreServerSettings
from task_core.errors import TaskError
from task_core.text import nearest
from taskmaster_mcp.project.root import BORDERS, FOLDER, find_root, locate_tasks

__all__ = ["ALIASES", "SETS", "TaskmasterSettings", "describe_set", "name_sets"]

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


class TaskmasterSettings(StoreServerSettings):
    """The tools to offer, and the project and the tag for calls that name none."""

    store_variable = "task_master_project_root"
    in_project = (("task_master_project_root", ""),)
    greets_in: ClassVar[Mapping[str, str | Sequence[str]]] = {
        "file": f"{FOLDER}/tasks/tasks.json",
        "setting": store_variable.upper(),
        "borders": BORDERS,
    }
    # The tasks are in the file of the project, and nowhere else.
    task_store: ClassVar[None] = None  # pyrefly: ignore  # this is a field no longer
    task_tenant: ClassVar[str] = ""  # pyrefly: ignore  # nor is this

    extra_sets = ("history", "brief", "claims")
    task_extra_tools: str | None = Field(
        default=None,
        description="Tools to offer beside those of the server: history (task_history, undo_change), brief, claims "
        "(claim_task, release_task), several by comma, or all.",
    )
    task_master_tools: Annotated[
        str, Field(description="Tools to offer: core, standard, all, or names of tools by comma.")
    ] = "core"
    task_master_project_root: Annotated[
        str | None,
        Field(
            description="Folder of the project for calls that name none; default: the one around the current folder."
        ),
    ] = None
    taskmaster_roots: Annotated[
        str | None, Field(description="Folders that projects may be in, joined as in PATH; default: any.")
    ] = None
    taskmaster_tag: Annotated[
        str | None, Field(description="Tag for calls that name none; default: the current tag of the project.")
    ] = None

    @field_validator("task_master_tools")
    @classmethod
    def _known_tools(cls, words: str) -> str:
        _choose_tools(words)
        return words

    @property
    def offered_tools(self) -> frozenset[str]:
        """The tools to offer now, without their aliases: also one that makes a project while there is none (PE-4)."""
        chosen = _choose_tools(self.task_master_tools)
        return chosen if self._has_project() else chosen | {"initialize_project"}

    @property
    @override
    def has_own_list(self) -> bool:
        with suppress(TaskError, OSError):  # no project, or one that cannot be read
            return self.task_master_project_root is None and self.document_path.exists()
        return False

    @property
    @override
    def document_path(self) -> Path:
        """The tasks file of the usual project."""
        return locate_tasks(find_root(self.task_master_project_root, self.taskmaster_roots))

    def _has_project(self) -> bool:
        with suppress(TaskError, OSError):
            root = find_root(self.task_master_project_root, None)  # one that is not allowed need not be made
            return (root / FOLDER).is_dir() or locate_tasks(root).is_file()
        return False


def _choose_tools(setting: str) -> frozenset[str]:
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
