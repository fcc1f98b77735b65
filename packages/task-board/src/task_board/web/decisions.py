"""Arguments of calls, decided on the present tasks, so that no call overwrites what the user has not seen."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue

from task_board.stores import BoardStore
from task_board.web.details import digest, find_parent, list_children
from task_board.web.forms import collect_arguments, compare, make_fields
from task_core.view import Action

__all__ = ["DECISIONS", "Arguments", "Asked", "OutOfDate", "decide_step"]

Arguments = dict[str, JsonValue]


class Asked(NamedTuple):
    """A request of the page: an action and its fields."""

    action: Action
    given: Mapping[str, str]

    @property
    def task(self) -> str:
        """The id of the task, if the action is about one."""
        return self.given.get("id", "")

    @property
    def parent(self) -> str:
        """The id of the task above it, if the action names one."""
        return self.given.get("parent", "")

    def texts(self, prefix: str) -> dict[str, str]:
        """Return the contents of fields: ``now.`` as they are, ``was.`` as the form was opened with."""
        return {name[4:]: text.replace("\r\n", "\n") for name, text in self.given.items() if name[:4] == prefix}


class OutOfDate(Exception):
    """The tasks have changed since the user saw them."""

    def __init__(self, message: str, **values: str) -> None:
        super().__init__(message)
        self.message = message
        self.values = values


def _filled(store: BoardStore, asked: Asked, was: Mapping[str, str]) -> Arguments:
    action = asked.action
    fields = make_fields(action, store.schemas[action.tool], store.actions.one_line)
    task = store.view.task(asked.task) if fields and asked.task else {}
    return collect_arguments(fields, asked.texts("now."), was, task)


def _decide_creation(store: BoardStore, asked: Asked) -> Arguments:
    above: Arguments = {asked.action.parent: asked.parent} if asked.action.parent else {}
    return {**_filled(store, asked, {}), **above}


def _check_fields(store: BoardStore, asked: Asked) -> None:
    fields = make_fields(asked.action, store.schemas[asked.action.tool], store.actions.one_line)
    if fields and compare(fields, asked.texts("now."), asked.texts("was."), store.view.task(asked.task)):
        raise OutOfDate("page.changed")


def _decide_edit(store: BoardStore, asked: Asked) -> Arguments | None:
    _check_fields(store, asked)
    arguments = _filled(store, asked, asked.texts("was."))
    return {**arguments, asked.action.task: asked.task} if arguments else None


def decide_step(store: BoardStore, asked: Asked) -> Arguments:
    """Decide on a change of status or a removal."""
    if asked.action.removes and digest(store.view.task(asked.task)) != asked.given.get("seen"):
        raise OutOfDate("page.changed")
    line, was = store.tasks().line(asked.task), asked.given.get("was_status", "")
    if line is not None and was and line.status != was:
        raise OutOfDate("page.moved_on", status=line.status)
    _check_fields(store, asked)
    return {**_filled(store, asked, {}), asked.action.task: asked.task}


def _decide_place(store: BoardStore, asked: Asked) -> Arguments:
    """Decide on a place in the tree: before or after a sibling, or behind all."""
    action, tasks = asked.action, store.tasks()
    before, after = asked.given.get("before", ""), asked.given.get("after", "")
    was_parent = asked.given.get("was_parent")
    if was_parent is not None and asked.task in tasks.places and find_parent(tasks, asked.task) != was_parent:
        raise OutOfDate("page.changed")
    found: Arguments = {action.task: asked.task}
    if action.parent:
        found[action.parent] = asked.parent
    if (before or after) and not action.index:
        raise OutOfDate("page.no_place")
    if before or after:
        above = tasks.places.get(asked.parent, -1) if asked.parent else -1
        others = [sibling for sibling in list_children(tasks, above) if sibling != asked.task]
        if (before or after) not in others:
            raise OutOfDate("page.changed")
        found[action.index] = others.index(before) if before else others.index(after) + 1
    return found


DECISIONS: Final[dict[str, Callable[[BoardStore, Asked], Arguments | None]]] = {
    "create": _decide_creation,
    "create_below": _decide_creation,
    "edit": _decide_edit,
    "place_below": _decide_place,
    "place_on_top": _decide_place,
}
"""The function that decides on each action, except status changes and removals; its result None changes nothing."""
