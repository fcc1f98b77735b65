"""Pages: the board of a store, a task, and the form of an action."""

import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from anyio import to_thread
from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse

from task_board.stores import BoardStore, Snapshot
from task_board.web.details import (
    count_below,
    digest,
    find_line,
    list_places,
    list_rows,
    list_sources,
    list_steps,
)
from task_board.web.forms import as_text, make_fields
from task_board.web.layout import ORDERS, Filters, Shown, lay_out_columns, lay_out_tree
from task_board.web.news import News
from task_board.web.responses import announce, attempt, language_of, render
from task_board.web.safety import Keys
from task_core.errors import TaskError
from task_core.text import address_people
from task_core.view import Action

__all__ = ["Pages", "find_action", "form_values"]

_NUMBER: Final = re.compile("[0-9]{1,6}")

_MOST_OFFERED: Final = 50
"""Topics, or tags, up to which the page offers them as a filter."""


class Pages:
    """Requests of the browser that only read."""

    def __init__(self, stores: Mapping[str, BoardStore], news: News, keys: Keys) -> None:
        self._stores = stores
        self._news = news
        self._keys = keys
        self._titles = {store.key: _find_title(store, stores.values()) for store in stores.values()}

    def store(self, request: Request) -> BoardStore:
        """Return the store that a request is about, or answer 404."""
        store = self._stores.get(request.path_params["key"])
        if store is None:
            raise HTTPException(404)
        return store

    async def enter(self, request: Request) -> Response:
        """Let a browser in that comes with the token, and show the first store."""
        token = request.query_params.get("token")
        if token is None:
            return RedirectResponse(f"{self._keys.secret_path}/b/{next(iter(self._stores))}", 303)
        if not self._keys.admits(token):
            raise HTTPException(403, language_of(request).say("page.link_needed"))
        # Not a redirect: after a link on another page, the browser would not send the new cookie along.
        response = render(request, "enter.html", secret_path=self._keys.secret_path)
        self._keys.set_cookie(response)
        return response

    async def board(self, request: Request) -> Response:
        """Show the board of a store."""
        store = self.store(request)
        values = await self._read(store, request)
        return render(request, "board.html", stores=self._stores, titles=self._titles, store=store, **values)

    async def count(self, request: Request) -> Response:
        """Say how many tasks of a store are not finished; nothing if they cannot be read."""
        store = self.store(request)

        def read() -> str:
            with suppress(TaskError):
                return str(_count_open(store.tasks(), store.view.finished))
            return ""

        return PlainTextResponse(await to_thread.run_sync(read))

    async def tasks(self, request: Request) -> Response:
        """Show only the tasks, as they are now."""
        store = self.store(request)
        values = await self._read(store, request)
        events = announce("warning", "", values["warnings"]) if values["warnings"] else {}
        return render(request, "tasks.html", events=events, store=store, **values)

    async def task(self, request: Request) -> Response:
        """Show one task."""
        store, task_id = self.store(request), request.query_params.get("id", "")

        def read() -> dict[str, Any]:
            task, tasks = store.view.task(task_id), store.tasks()
            line = find_line(store, task_id, task)
            names = {task_id, *(above.id for above in tasks.above(task_id))}
            needed = [found for found in map(tasks.line, line.needs) if found]
            return {
                "line": line,
                "path": tasks.above(task_id),
                "waits_for": tasks.waits_for(line, store.view.finished),
                "rows": list_rows(task, line.text, needed if len(needed) == len(line.needs) else ()),
                "steps": list_steps(store, line),
                "is_begun": count_below(tasks, task_id, store.view.finished) > 0,
                "places": list_places(store, task_id),
                "claims": [claim for claim in store.view.claims() if claim.task in names],
                "has_history": store.find_history() is not None,
            }

        return await attempt(request, "task.html", read, store=store)

    async def form(self, request: Request) -> Response:
        """Show the form of an action."""
        store, query = self.store(request), request.query_params
        action = find_action(store, query.get("action", ""))
        task_id, parent = query.get("id", ""), query.get("parent", "")
        return await attempt(request, "form.html", lambda: form_values(store, action, task_id, parent), store=store)

    async def events(self, _: Request) -> Response:
        """Report changes to the page for as long as it is open."""
        return StreamingResponse(self._news.listen(), media_type="text/event-stream")

    async def _read(self, store: BoardStore, request: Request) -> dict[str, Any]:
        outcome = await store.say()
        error = (outcome.code, outcome.message) if outcome.code else None
        values: dict[str, Any] = dict.fromkeys(("total", "found", "open"), 0)
        values |= dict.fromkeys(("statuses", "finished", "topics", "tags", "orders"), ())
        try:
            values |= await to_thread.run_sync(_lay_out, store, request)
        except TaskError as caught:
            error = error or (caught.code, address_people(caught.message))
        return {
            **values,
            "error": error,
            "warnings": outcome.warnings,
            "filters": _filters(request),
            "order": request.query_params.get("sort", ""),
            "is_missing": store.is_missing,
        }


def find_action(store: BoardStore, name: str) -> Action:
    """Return the action with this name, or answer 404."""
    actions = store.actions
    known = (actions.create, actions.edit, actions.create_below, actions.place_below, actions.place_on_top)
    for action in (*known, *actions.steps):
        if action is not None and action.name == name:
            return action
    raise HTTPException(404)


def form_values(store: BoardStore, action: Action, task_id: str, parent: str) -> dict[str, Any]:
    """Return what the form of an action shows at first; raise ``TaskError`` if its task cannot be read."""
    fields = make_fields(action, store.schemas[action.tool], store.actions.one_line)
    task: Mapping[str, JsonValue] = store.view.task(task_id) if task_id else {}
    was = {field.name: as_text(task.get(field.name)) for field in fields}
    tasks = store.tasks()
    return {
        "action": action,
        "fields": fields,
        "line": find_line(store, task_id, task) if task_id else None,
        "below": count_below(tasks, task_id),
        "reopened": count_below(tasks, task_id, store.view.finished),
        "parent": parent,
        "seen": digest(task),
        "was": was,
        "now": was,
        "faults": {},
        "fault": "",
        "is_english": False,
        "differences": [],
    }


def _filters(request: Request) -> Filters:
    query = request.query_params
    status = query.get("status", "")
    chosen = [status] if status else []
    return Filters(query.get("q", ""), chosen, *(query.get(name, "") for name in ("priority", "topic", "tag")))


def _lay_out(store: BoardStore, request: Request) -> dict[str, Any]:
    tasks, view, filters = store.tasks(), store.view, _filters(request)
    statuses, finished = view.statuses, view.finished
    if filters.statuses == ["open"] and "open" not in statuses:
        filters = filters._replace(statuses=[status for status in statuses if status not in finished])
    query = request.query_params
    limits = [pair.rpartition("=") for pair in query.getlist("limit")]
    shown = Shown(
        {name: int(limit) for name, _, limit in limits if _NUMBER.fullmatch(limit)},
        frozenset(query.getlist("open")),
        frozenset(query.getlist("shut")),
    )
    values: dict[str, Any] = {
        "total": len(tasks.lines),
        "found": sum(map(filters.match, tasks.lines)) if filters.are_set else len(tasks.lines),
        "open": _count_open(tasks, finished),
        "statuses": statuses,
        "finished": finished,
        "topics": _offer(line.topic for line in tasks.lines),
        "tags": _offer(tag for line in tasks.lines for tag in line.tags),
        "waits_for": partial(tasks.waits_for, finished=finished),
    }
    if store.actions.is_tree:
        nodes, count, limit = lay_out_tree(tasks, finished, filters, shown)
        return {**values, "nodes": nodes, "count": count, "limit": limit, "orders": ()}
    order, priorities = query.get("sort", ""), store.actions.priorities
    columns = lay_out_columns(tasks, statuses, finished, filters, shown, order, priorities)
    orders = [name for name in ORDERS if name != "priority" or priorities]
    sources = {column.status: list_sources(store, column.status) for column in columns}
    return {**values, "columns": columns, "orders": orders, "sources": sources}


def _offer(words: Iterable[str]) -> list[str]:
    found = sorted({word for word in words if word})
    return found if len(found) <= _MOST_OFFERED else []


def _count_open(tasks: Snapshot, finished: Collection[str]) -> int:
    return sum(line.status not in finished for line in tasks.lines)


def _find_title(store: BoardStore, stores: Iterable[BoardStore]) -> str:
    """Return the name of a store on the page; of several of one server, with the part where their paths differ."""
    path = store.document.parts[::-1] if store.document else ()
    others = [other.document for other in stores if other is not store and other.actions is store.actions]
    shared = [len(os.path.commonprefix([path, other.parts[::-1]])) for other in others if other]
    return f"{store.key} ({path[max(shared)]})" if shared and max(shared) < len(path) else store.key
