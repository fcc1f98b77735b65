"""Answers to the browser: pages and parts of pages in its language, and what it is to announce."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from anyio import to_thread
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from task_board.language import Language, choose_language
from task_board.markdown import headline, render_markdown, show_invisible
from task_board.web.details import label_id
from task_board.web.layout import find_tone
from task_core.errors import TaskError
from task_core.text import address_people, shorten

__all__ = ["STATIC", "announce", "attempt", "language_of", "quote", "render", "say"]

_HERE: Final = Path(__file__).parent

STATIC: Final = _HERE / "static"
"""The folder with the style, the scripts and the icon."""

_QUOTED: Final = 80
"""Characters of a task's text in a message."""

_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters["markdown"] = render_markdown
_TEMPLATES.filters["visible"] = show_invisible
_TEMPLATES.filters["tone"] = find_tone
_TEMPLATES.filters["headline"] = headline
_TEMPLATES.filters["label"] = label_id


def language_of(request: Request) -> Language:
    """Return the language of the browser."""
    return choose_language(request.headers.get("accept-language", ""))


def announce(kind: str, text: str, english: Sequence[str] = (), change: int = 0) -> dict[str, JsonValue]:
    """Return the event that lets the page say something: ``done``, ``warning`` or ``error``.

    ``english`` are the server's own messages, which follow ``text`` and which the page marks as English. The page
    offers to undo the change with the number ``change``, unless that is 0.
    """
    lines = [text, *english] if text else english
    return {"said": {"kind": kind, "text": "\n".join(lines), "english": "\n".join(english), "undo": change}}


def quote(text: str) -> str:
    """Return the first line of a task's text as a message names it."""
    return shorten(headline(text), _QUOTED)


def render(
    request: Request,
    template: str,
    *,
    status: int = 200,
    events: Mapping[str, JsonValue] | None = None,
    **values: object,
) -> Response:
    """Return a page or a part of one, which triggers ``events`` in the page."""
    text = _TEMPLATES.get_template(template).render(language=language_of(request), **values)
    return HTMLResponse(text, status, _as_header(events or {}))


async def attempt(
    request: Request,
    template: str,
    read: Callable[[], Mapping[str, Any]],
    *,
    refused: str = "refused.html",
    **values: object,
) -> Response:
    """Return a page with what ``read`` returns, or the page ``refused`` with the reason why it cannot be read."""

    def answer() -> Response:
        return render(request, template, **values, **read())

    try:
        return await to_thread.run_sync(answer)  # long Markdown takes its time
    except TaskError as error:
        return render(request, refused, code=error.code, message=address_people(error.message))


def say(events: Mapping[str, JsonValue], status: int = 200) -> Response:
    """Return an answer that changes nothing in the page, but triggers ``events`` there."""
    return Response(status_code=status, headers={"HX-Reswap": "none", **_as_header(events)}, media_type="text/html")


def _as_header(events: Mapping[str, JsonValue]) -> dict[str, str]:
    return {"HX-Trigger": json.dumps(events)} if events else {}  # ASCII, whatever the text is
