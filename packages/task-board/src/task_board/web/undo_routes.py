"""The history of a task in its details, and undoing one change of it (PE-7, PE-15)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from anyio import to_thread
from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from task_board.language import Language
from task_board.stores import BoardStore
from task_board.web.action_routes import read_form
from task_board.web.forms import as_text
from task_board.web.news import News
from task_board.web.pages import Pages
from task_board.web.responses import announce, attempt, language_of, quote, say
from task_core.errors import TaskError
from task_core.history.changes import BOARD, Change, Step, made_by
from task_core.models import format_timestamp, from_microseconds
from task_core.store.undo import find_change
from task_core.text import address_people, shorten

__all__ = ["UndoRoutes"]

_NUMBER: Final = re.compile("[1-9][0-9]{0,17}")

_SHOWN: Final = 20
"""Changes that the details show."""

_LONGEST: Final = 200
"""Characters of a value."""


class _ShownStep(NamedTuple):
    what: str
    fields: Sequence[tuple[str, str, str]]
    """each with its value before and after"""


class _ShownChange(NamedTuple):
    number: int
    at: str
    by: str
    steps: Sequence[_ShownStep]
    others: int
    """other tasks that it changed"""
    is_whole: bool
    """true if it can be undone"""


class UndoRoutes:
    """Requests of the browser about changes that were made."""

    def __init__(self, pages: Pages, news: News) -> None:
        self._pages = pages
        self._news = news

    async def history(self, request: Request) -> Response:
        """Show the last changes of one task."""
        store, task_id = self._pages.store(request), request.query_params.get("id", "")

        def read() -> Mapping[str, list[_ShownChange]]:
            history = store.find_history()
            changes = history.changes(task_id, limit=_SHOWN) if history else []
            return {"changes": [_show(change, task_id, store.store.kind.stamp) for change in changes]}

        return await attempt(request, "history.html", read, refused="fault.html", store=store)

    async def undo(self, request: Request) -> Response:
        """Put back what one change replaced, or say why not."""
        store, number = self._pages.store(request), (await read_form(request)).get("number", "")
        if not _NUMBER.fullmatch(number):
            raise HTTPException(400)
        language = language_of(request)
        try:
            text, made = await to_thread.run_sync(_put_back, store, int(number))
        except TaskError as error:
            text, english = await to_thread.run_sync(_explain, store, error, language)
            return say({**announce("error", text, english), "refresh": True}, 422)
        self._news.report(store.key)
        return say({"closed": True, **announce("done", language.confirm("undo", quote(text)), (), made)})


def _put_back(store: BoardStore, number: int) -> tuple[str, int]:
    """Undo a change, and return the text of its task, and the number of the change that did it."""
    history, before = store.find_history(), store.tasks()
    if history is None:
        raise HTTPException(404)
    change = find_change(history, number)
    with made_by(BOARD, "undo") as origin:
        ids = history.undo(number)
    # What was removed from the leaves up was one tree; its root has the text that people know it by.
    main = ids[-1 if change.steps[-1].what == "removed" else 0]
    line = store.tasks().line(main) or before.line(main)
    return line.text if line else main, origin.change.number if origin.change else 0


def _explain(store: BoardStore, error: TaskError, language: Language) -> tuple[str, list[str]]:
    """Return why a change was not undone, and what is only said in English."""
    conflicts = error.details.get("conflicts")
    first = conflicts[0] if isinstance(conflicts, list) and conflicts else None
    if not isinstance(first, dict) or "field" not in first:
        return language.say("page.not_undone"), [address_people(error.message)]
    name, line = str(first["field"]), store.tasks().line(str(first["id"]))
    now = _as_text(first, "now")
    now = language.name("status", now) if name == "status" else now or "—"
    text = quote(line.text if line else str(first["id"]))
    return language.say("page.changed_since", field=language.name("field", name), text=text, now=now), []


def _show(change: Change, task_id: str, stamp: str) -> _ShownChange:
    steps = [_ShownStep(step.what, _list_fields(step, stamp)) for step in change.steps if step.id == task_id]
    others = len({step.id for step in change.steps} - {task_id}) + change.more
    moment = format_timestamp(from_microseconds(change.at))
    return _ShownChange(change.number, moment, change.by, steps, others, change.is_whole)


def _list_fields(step: Step, stamp: str) -> list[tuple[str, str, str]]:
    names = dict.fromkeys([*step.before, *step.after]) if step.what == "changed" else ()
    return [(name, _as_text(step.before, name), _as_text(step.after, name)) for name in names if name != stamp]


def _as_text(values: Mapping[str, JsonValue], name: str) -> str:
    value = values.get(name)
    is_unknown = isinstance(value, dict) and value.keys() == {"characters", "sha256"}  # it was too long to be kept
    return "…" if is_unknown else shorten(as_text(value), _LONGEST)
