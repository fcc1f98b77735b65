"""Reads and changes of a Task Master project, each compared with what it may touch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from task_core.errors import TaskError
from task_core.models import utc_now
from task_core.server.faults import Workers, read_arguments
from task_core.server.schema import input_schema
from task_core.warning_list import WarningList
from taskmaster_mcp.direct.registry import ProjectRegistry
from taskmaster_mcp.doctor import checks
from taskmaster_mcp.settings import TaskmasterSettings
from taskmaster_mcp.tools.all_set import FURTHER_TOOLS
from taskmaster_mcp.tools.core_set import CORE_TOOLS
from taskmaster_mcp.tools.toolbox import make_form, run_tool
from taskmaster_mcp.view import open_view
from tests.corpus.outcomes import Outcome
from tests.corpus.snapshots import compare, family_of, judge_repair, list_changed, read_files, read_project

__all__ = ["try_project"]

_TOOLS: Final = {tool.name: tool for tool in (*CORE_TOOLS, *FURTHER_TOOLS)}

_MAX_SAMPLES: Final = 2
"""Items of a tag that are changed."""

_NOTE: Final = "noted by the corpus"


@dataclass
class Row:
    """One item as a list shows it, with its place in the file."""

    id: str
    place: str
    status: str


class _Caller:
    """Calls tools without a client, since a corpus has thousands of calls; it notes what was refused."""

    def __init__(self, settings: TaskmasterSettings, outcome: Outcome) -> None:
        self._registry = ProjectRegistry(settings, WarningList(), utc_now)
        self.outcome = outcome

    def call(self, tool: str, **arguments: JsonValue) -> dict[str, Any] | None:
        """Return the data of the answer, or None if the call was refused."""
        found, given = _TOOLS[tool], {name.removesuffix("_"): it for name, it in arguments.items()}
        try:
            checked = read_arguments(found.call, given, input_schema(found.call))
            result = Workers.run_here(tool, lambda: run_tool(self._registry, found, checked))
            if result.error is None:
                return result.data
            error = result.error
        except TaskError as fault:
            error = fault
        code = make_form(self._registry.offered).translate(error).code
        self.outcome.refuse(f"{tool}: {code}: {error.message}")
        return None

    def close(self) -> None:
        """Close the project."""
        self._registry.close()


def try_project(root: Path, outcome: Outcome) -> None:
    """Run doctor, list, reads and changes on the project in ``root``, which is a copy."""
    settings = TaskmasterSettings.model_validate({"task_master_project_root": str(root), "task_fsync": False})
    path, caller = settings.document_path, _Caller(settings, outcome)
    before = read_files(root)
    outcome.read_doctor(checks(settings))
    _list(settings, outcome)
    tags = caller.call("list_tags")
    rows = {name: _read(caller, path, name) for name in _names(tags)}
    outcome.outside += [f"a reading call changed {name}" for name in list_changed(before, read_files(root))]
    for name, found in rows.items():
        _Changes(caller, root, path, name).run(found)
    caller.close()


def _names(answer: Mapping[str, Any] | None) -> list[str]:
    return [tag["name"] for tag in answer["tags"]] if answer else []


def _list(settings: TaskmasterSettings, outcome: Outcome) -> None:
    view = open_view(settings)
    try:
        [*view.lines()]
    except TaskError as error:
        outcome.refuse(f"list: {error}")
    finally:
        view.close()


def _read(caller: _Caller, path: Path, tag: str) -> list[Row]:
    """Call every tool that reads, each item by the id that the list shows, and return the items in file order."""
    listed: list[dict[str, Any]] = []
    answer = caller.call("get_tasks", tag=tag, withSubtasks=True, limit=1000)
    while answer and answer["tasks"]:
        listed += answer["tasks"]
        left = answer.get("left_out")
        answer = left and caller.call("get_tasks", tag=tag, withSubtasks=True, limit=1000, after=listed[-1]["id"])
    places = [place for place in read_project(path).values if place.startswith(f"{tag} task ")]
    shown = [it for task in listed for it in (task, *task["subtasks"])]
    rows = [Row(it["id"], place, it["status"]) for it, place in zip(shown, places, strict=True)]
    for ids in _batches([row.id for row in rows]):
        caller.call("get_task", tag=tag, id=ids)
    for tool in ("next_task", "validate_dependencies"):
        caller.call(tool, tag=tag)
    return rows


def _batches(ids: list[str]) -> Iterator[str]:
    """Yield ids by comma, a hundred at a time, and those alone that are not numbers."""
    plain = [it for it in ids if it.replace(".", "").isdecimal()]
    yield from (it for it in ids if it not in plain)
    yield from (",".join(plain[start : start + 100]) for start in range(0, len(plain), 100))


class _Changes:
    """A set of changes in one tag; after each, all but what it is about must be as before."""

    def __init__(self, caller: _Caller, root: Path, path: Path, tag: str) -> None:
        self._caller = caller
        self._outcome = caller.outcome
        self._root = root
        self._path = path
        self._tag = tag
        self._now = read_project(path, root)

    def run(self, rows: list[Row]) -> None:
        """Change some items, add one, connect, move and remove it, and repair the dependencies."""
        for row in _samples(rows):
            self._try("update_subtask", {row.place: {"details"}}, id=row.id, prompt=_NOTE)
            family = {it.place: {"status"} for it in rows if family_of(it.place) == family_of(row.place)}
            self._try("set_task_status", family, id=row.id, status="done")
            self._try("update_task", {row.place: {"priority"}}, id=row.id, priority="high")
        self._add_one(rows)
        every = {it.place: {"dependencies"} for it in rows}
        before = self._now.values
        self._try("fix_dependencies", every)
        judge_repair(self._outcome, self._tag, before, self._now.values)
        self._try("generate", {})

    def _add_one(self, rows: list[Row]) -> None:
        made = self._try("add_task", {}, title="Corpus", dependencies=",".join(row.id for row in rows[:1]))
        if not made:
            return
        new = made["taskId"]
        if new in {row.id for row in rows}:
            self._outcome.lost.append(f"add_task gave the new task the id {new}, which is taken")
        place = next(reversed([it for it in self._now.values if it.startswith(f"{self._tag} task ")]))
        for row in rows[-1:]:
            for tool in ("add_dependency", "remove_dependency"):
                self._try(tool, {place: {"dependencies"}}, id=new, dependsOn=row.id)
        for task in [row for row in rows if row.place == family_of(row.place)][:1]:
            added = self._try("add_subtask", {task.place: set()}, id=task.id, title="Corpus")
            if added:
                removed = added["subtask"]["id"]
                if removed in {row.id for row in rows}:
                    self._outcome.lost.append(f"add_subtask gave the new subtask the id {removed}, which is taken")
                self._try("remove_subtask", {task.place: set()}, removes=True, id=removed)
        self._try("move_task", {}, removes=True, from_=new, to="987654")
        self._try("remove_task", {}, removes=True, id="987654")

    def _try(
        self, tool: str, allowed: Mapping[str, Collection[str]], *, removes: bool = False, **arguments: JsonValue
    ) -> dict[str, Any] | None:
        """Make a change to the ``allowed`` fields by place, beside what it adds; it ``removes`` an added item."""
        answer = self._caller.call(tool, tag=self._tag, **arguments)
        before, self._now = self._now, read_project(self._path, self._root)
        compare(self._outcome, tool, before, self._now, allowed if answer else {}, removes="Corpus" if removes else "")
        return answer


def _samples(rows: list[Row]) -> list[Row]:
    """Return items of all kinds: one whose id is not a plain number, a subtask, the last and the first task."""
    tasks = [row for row in rows if row.place == family_of(row.place)]
    subtasks = [row for row in rows if row.place != family_of(row.place)]
    odd = [row for row in rows if not row.id.replace(".", "").isdecimal()]
    chosen = {row.place: row for row in (*odd[-1:], *subtasks[:1], *tasks[-1:], *tasks[:1]) if row.id}
    return [*chosen.values()][:_MAX_SAMPLES]
