"""The board over stores of this process, as one browser uses it, and agents beside it."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import JsonValue
from starlette.testclient import TestClient

from task_board.servers import open_stores
from task_board.stores import BoardStore
from task_board.web.app import BoardApp
from task_core.server.app import TaskServer
from tests.servers import SERVERS, ServerRecord, record_of
from tests.tool_client import OpenClient

if TYPE_CHECKING:
    from httpx2 import Response

__all__ = [
    "FIRST_STATUS",
    "PORT",
    "Agent",
    "BoardClient",
    "address",
    "events_of",
    "make_place",
    "open_board",
    "packages",
    "read_fields",
    "said",
    "show_stores",
]

PORT: Final = 8000
"""The port that the board believes to have; nothing listens there."""

FIRST_STATUS: Final = {
    "heartbeat": "Pending",
    "hierarchy": "todo",
    "taskmaster": "pending",
    "tasks-v1": "pending",
}
"""The status of a new task, by the name of the server."""


def packages() -> dict[str, str]:
    """Return the servers that the board can show, as they are found when they are installed."""
    return {record.command: record.package for record in SERVERS}


def make_place(record: ServerRecord, folder: Path) -> Path:
    """Return what names the store of a server in ``folder``, and prepare that."""
    record.prepare(folder)
    return folder / record.file


class Agent:
    """A client of a server of its own on the same store."""

    def __init__(self, record: ServerRecord, folder: Path, engine: str = "json", **settings: str) -> None:
        self.record = record
        self.server: TaskServer = record.built(folder, engine, **settings)
        self._client = OpenClient(self.server)
        self._loop = asyncio.Runner()

    def call(self, tool: str, **arguments: JsonValue) -> dict[str, Any]:
        """Call a tool and return its answer, without an envelope; an error raises ``ToolFailed``."""
        content = self._loop.run(self._client.call(tool, arguments))
        return {**self.record.unwrap(content)}

    def create(self, text: str, **arguments: JsonValue) -> str:
        """Create a task and return its id."""
        found = self.call(self.record.create, **{self.record.text: text, **arguments})
        return str(found.get("task", found)["id"])

    def rename(self, task_id: str, text: str) -> None:
        """Give a task another text."""
        sample = json.dumps(self.record.call(self.record.update, task_id))
        self.call(self.record.update, **json.loads(sample.replace(json.dumps("新标题"), json.dumps(text))))

    def get(self, task_id: str) -> dict[str, Any]:
        """Return a task."""
        found = self.call(self.record.get, **{self.record.id: task_id})
        task: dict[str, Any] = found.get("task", found)
        return task

    def close(self) -> None:
        """End it."""
        self._loop.close()
        self.server.close()
        self.server.end()


class BoardClient:
    """One browser with the board."""

    def __init__(self, client: TestClient, app: BoardApp, stores: Sequence[BoardStore]) -> None:
        self.client = client
        self.app = app
        self.stores = stores
        self.store = stores[0]

    def enter(self) -> Response:
        """Open the link."""
        return self.outside("/", token=self.app.keys.token)

    def outside(self, path: str, **query: str) -> Response:
        """Return what is not below the path that only the browser knows."""
        return self.client.get(f"http://127.0.0.1:{PORT}{path}", params=query)

    def get(self, path: str = "", **query: str) -> Response:
        """Return a page of the first store."""
        return self.client.get(f"/b/{self.store.key}{path}", params=query)

    def post(self, path: str, **fields: str) -> Response:
        """Send what a form of the page sends."""
        return self.client.post(f"/b/{self.store.key}{path}", data=fields, headers=self.headers)

    @property
    def headers(self) -> dict[str, str]:
        """What the browser says when the page sends something."""
        return {"origin": f"http://127.0.0.1:{PORT}", "hx-request": "true"}

    def form(self, action: str, **query: str) -> dict[str, str]:
        """Return the contents of a form as it is opened."""
        return read_fields(self.get("/form", action=action, **query).text)

    def act(self, action: str, **fields: str) -> Response:
        """Carry out an action without a form."""
        return self.post("/act", action=action, **fields)

    def submit(self, form: Mapping[str, str], **changes: str) -> Response:
        """Send a form with some fields filled in."""
        return self.post("/act", **{**form, **{f"now.{name}": text for name, text in changes.items()}})

    def shown(self, **query: str) -> str:
        """Return the tasks that the page shows, as HTML."""
        return self.get("/tasks", **query).text


def events_of(response: Response) -> dict[str, Any]:
    """Return the events that an answer triggers in the page."""
    found: dict[str, Any] = json.loads(response.headers.get("hx-trigger", "{}"))
    return found


def said(response: Response) -> str:
    """Return what the page announces because of an answer."""
    return str(events_of(response)["said"]["text"])


def read_fields(text: str) -> dict[str, str]:
    """Return the fields of the form in a page, by their names."""
    found: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", text):
        name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
        if name:
            content = html.unescape(value[1]) if value else ""
            found[name[1]] = content.replace("\n", "") if 'type="text"' in tag else content  # as browsers do
    for name, value in re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>\n(.*?)</textarea>', text, re.DOTALL):
        found[name] = html.unescape(value)
    for name, options in re.findall(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', text, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options)
        found[name] = html.unescape(chosen[1]) if chosen else ""
    return found


def address(record: ServerRecord, folder: Path, engine: str) -> str:
    """Return what names the store of a server on the command line."""
    place = make_place(record, folder)
    return str(place) if engine == "json" else f"{engine}:{folder / record.store(engine)}"


@contextmanager
def open_board(folder: Path, *names: str, engine: str = "json", language: str = "") -> Iterator[BoardClient]:
    """Show the stores of some servers in ``folder`` to a browser that has opened the link."""
    records = [record_of(name) for name in names]
    words = [f"{record.command}={address(record, folder, engine)}" for record in records]
    stores, _ = open_stores(words, packages())
    with show_stores(stores, language) as board:
        yield board


@contextmanager
def show_stores(stores: Sequence[BoardStore], language: str = "") -> Iterator[BoardClient]:
    """Show stores to a browser that has opened the link, and close them at the end."""
    app = BoardApp(stores, PORT)
    headers = {"accept-language": language} if language else {}
    try:
        with TestClient(app.build(), f"http://127.0.0.1:{PORT}{app.keys.secret_path}", headers=headers) as client:
            board = BoardClient(client, app, stores)
            board.enter()
            yield board
    finally:
        app.close()
