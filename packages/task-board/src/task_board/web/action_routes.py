"""Routes that change tasks, by the server's own tools; no change overwrites what the user has not seen."""

from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from task_board.stores import BoardStore, CallOutcome
from task_board.web.decisions import DECISIONS, Asked, OutOfDate, decide_step
from task_board.web.forms import compare, make_fields, merge
from task_board.web.news import News
from task_board.web.pages import Pages, find_action, form_values
from task_board.web.responses import announce, attempt, language_of, quote, render, say
from task_core.errors import TaskError
from task_core.text import address_people
from task_core.view import Action

__all__ = ["ActionRoutes", "read_form"]

_TRIES: Final = 20
"""The number of attempts at a change while others change the store at the same time."""

_MOST_FIELDS: Final = 200
"""Fields that a form may have."""


class ActionRoutes:
    """Requests of the browser that may change tasks."""

    def __init__(self, pages: Pages, news: News) -> None:
        self._pages = pages
        self._news = news

    async def act(self, request: Request) -> Response:
        """Carry out an action, or say why not."""
        store, given = self._pages.store(request), await read_form(request)
        language = language_of(request)
        if "status" in given:
            try:
                action = await to_thread.run_sync(_find_step, store, given.get("id", ""), given["status"])
            except TaskError as error:
                return say({**announce("error", "", [address_people(error.message)]), "refresh": True}, 422)
            if action is None:
                status = language.name("status", given["status"])
                return say(announce("error", language.say("page.no_step", status=status)), 422)
            if action.fields:
                query = urlencode({"action": action.name, "id": given.get("id", "")})
                return say({"opened": {"url": f"{store.key}/form?{query}"}})
        else:
            action = find_action(store, given.get("action", ""))
        return await self._perform(request, store, Asked(action, given))

    async def _perform(self, request: Request, store: BoardStore, asked: Asked) -> Response:
        language = language_of(request)
        warnings: list[str] = []
        try:
            text = await to_thread.run_sync(_name_task, store, asked)
            outcome = await _carry_out(store, asked, warnings)
        except TaskError as error:
            outcome = CallOutcome(error.code, address_people(error.message), warnings=warnings)
        except OutOfDate as refusal:
            values = {name: language.name(name, value) for name, value in refusal.values.items()}
            outcome = CallOutcome("Conflict", language.say(refusal.message, **values), warnings=warnings)
            return await _refuse(request, store, asked, outcome, 409)
        if outcome and outcome.code:
            return await _refuse(request, store, asked, outcome, 422)
        done = language.say("page.unchanged")
        if outcome:
            self._news.report(store.key)
            done = language.confirm(asked.action.name, quote(text))
        change = outcome.change if outcome else 0
        return say({"closed": True, **announce("warning" if warnings else "done", done, warnings, change)})

    async def compare(self, request: Request) -> Response:
        """Show what others have changed in the task of an open form, and change nothing."""
        store, given = self._pages.store(request), await read_form(request)
        asked = Asked(find_action(store, given.get("action", "")), given)

        def read() -> dict[str, Any]:
            fields = make_fields(asked.action, store.schemas[asked.action.tool], store.actions.one_line)
            task = store.view.task(asked.task)
            return {"differences": compare(fields, asked.texts("now."), asked.texts("was."), task)}

        return await attempt(request, "differences.html", read, refused="fault.html", is_live=True)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields that the page has sent, or answer 400."""
    try:
        text = (await request.body()).decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS))
    except (ValueError, ClientDisconnect):  # nobody would see a traceback in the second case
        raise HTTPException(400) from None


def _name_task(store: BoardStore, asked: Asked) -> str:
    """Return the text of the task that an action is about: the one that it gets, or else the one that it has."""
    line = store.tasks().line(asked.task)
    return asked.texts("now.").get(store.actions.create.fields[0]) or (line.text if line else asked.task)


def _find_step(store: BoardStore, task_id: str, status: str) -> Action | None:
    """Return the action that gives a task a status; if the rules do not offer it, the server says why."""
    line = store.tasks().line(task_id)
    steps = [step for step in store.actions.steps if step.status == status]
    allowed = [step for step in steps if line is not None and line.status in step.sources]
    return next(iter([*allowed, *steps]), None)


async def _carry_out(store: BoardStore, asked: Asked, warnings: list[str]) -> CallOutcome | None:
    """Call the tool once the tasks are as the user saw them, and stay so until it has done its work.

    It is not called if there is nothing to change. What the server warns of is added to ``warnings``.

    Raises:
        TaskError: the store cannot be read.
        OutOfDate: somebody else has changed what the user was about to change.
    """
    decide = DECISIONS.get(asked.action.name, decide_step)
    for _ in range(_TRIES):
        token = await store.token() if asked.action.task else None
        arguments = await to_thread.run_sync(decide, store, asked)
        if arguments is None:
            return None
        outcome = await store.call(asked.action, arguments, token)
        warnings += outcome.warnings
        if not outcome.is_stale:
            return outcome._replace(warnings=warnings)
    raise OutOfDate("page.busy")


async def _refuse(request: Request, store: BoardStore, asked: Asked, outcome: CallOutcome, status: int) -> Response:
    """Show the form again as the user left it, or only say why nothing was changed.

    A form whose task cannot be read stays in the page as it is.
    """
    values: dict[str, Any] = {}
    if "form" in asked.given:
        with suppress(TaskError):
            values = await to_thread.run_sync(form_values, store, asked.action, asked.task, asked.parent)
    is_english = status != 409  # refusals by the board itself are in the language of the page
    if not values:
        if is_english:
            event = announce("error", "", [outcome.message, *outcome.warnings])
        else:
            event = announce("error", outcome.message, outcome.warnings)
        return say({**event, "refresh": True}, status)
    now, was = asked.texts("now."), asked.texts("was.")
    values["differences"] = differences = compare(values["fields"], now, was, values["was"])
    now = merge(differences, now)
    values |= {"now": {**values["was"], **now}, "faults": outcome.fields}
    values |= {"fault": outcome.message, "is_english": is_english}
    events = announce("warning", "", outcome.warnings) if outcome.warnings else {}
    return render(request, "form.html", status=status, events=events, store=store, **values)
