"""Actions that the board offers on the tasks of a server, each carried out by one of its tools.

A server that the board can show has ``ACTIONS`` in its module ``view``.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

__all__ = ["Action", "BoardActions"]


class Action(NamedTuple):
    """One thing that people can do, and how the tool that does it is called."""

    name: str
    """the name of the action on the board, such as ``start``"""
    tool: str
    task: str = ""
    """the argument with the id of the task"""
    parent: str = ""
    """the argument with the id of the task that is to be above it"""
    index: str = ""
    """the argument with its place among the tasks there, from 0"""
    inside: str = ""
    """the argument that holds the values and fields, if they are not arguments themselves"""
    values: Mapping[str, JsonValue] = {}
    """arguments that every call has"""
    fields: Sequence[str] = ()
    """the properties of the tool's schema that people fill in, in the order of the form; a task has the same names"""
    sources: Collection[str] = ()
    """the statuses of the tasks for which it is offered, if not for all"""
    status: str = ""
    """the status that the task then has"""
    removes: bool = False
    """true if the task is gone afterwards, so that the board asks first"""


class BoardActions(NamedTuple):
    """Actions on the board of one server."""

    path: str
    """the setting that names where the tasks are, for ``task-board SERVER=PATH``"""
    create: Action
    edit: Action
    steps: Sequence[Action]
    """actions that change the status of a task, or remove it"""
    poll: Action
    """lists little and changes nothing: it is called before the tasks are shown, for what the server has to say"""
    mirror: str = ""
    """the setting that names the file that the server keeps in step with the tasks, if there is one"""
    settings: Mapping[str, str] = {}
    """settings with which the server offers these tools, if it does not do so anyway"""
    one_line: Collection[str] = ()
    """fields of one line whose schema does not say so"""
    create_below: Action | None = None
    """makes a subtask"""
    place_below: Action | None = None
    """moves a task below another one, or to another place among its siblings if it has an ``index``"""
    place_on_top: Action | None = None
    """moves a task to the top level"""

    @property
    def is_tree(self) -> bool:
        """Return whether tasks have subtasks."""
        return self.create_below is not None
