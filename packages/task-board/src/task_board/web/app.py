"""The application: its addresses, and what it does from its start to its end."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from task_board.stores import BoardStore
from task_board.web.action_routes import ActionRoutes
from task_board.web.news import News
from task_board.web.pages import Pages
from task_board.web.responses import STATIC
from task_board.web.safety import Keys, protect
from task_board.web.undo_routes import UndoRoutes

__all__ = ["BoardApp"]


class BoardApp:
    """The page over some stores, and its end."""

    def __init__(self, stores: Sequence[BoardStore], port: int) -> None:
        self.keys = Keys(port)
        self._stores = stores
        self._port = port
        self._news = News(stores)

    def build(self) -> ASGIApp:
        """Return the ASGI application."""
        pages = Pages({store.key: store for store in self._stores}, self._news, self.keys)
        changes, undoing = ActionRoutes(pages, self._news), UndoRoutes(pages, self._news)
        routes = [
            Route("/", pages.enter),
            Route("/b/{key}", pages.board),
            Route("/b/{key}/tasks", pages.tasks),
            Route("/b/{key}/count", pages.count),
            Route("/b/{key}/task", pages.task),
            Route("/b/{key}/form", pages.form),
            Route("/b/{key}/act", changes.act, methods=["POST"]),
            Route("/b/{key}/compare", changes.compare, methods=["POST"]),
            Route("/b/{key}/history", undoing.history),
            Route("/b/{key}/undo", undoing.undo, methods=["POST"]),
            Route("/events", pages.events),
        ]
        outer = [
            Route("/", pages.enter),
            Mount(self.keys.secret_path, routes=routes),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
        return protect(Starlette(routes=outer, lifespan=self._live), self._port, self.keys)

    def end_streams(self) -> None:
        """End the stream of every open page."""
        self._news.close()

    def close(self) -> None:
        """End every wait for a store; this may be called twice."""
        for store in self._stores:
            store.close()

    @asynccontextmanager
    async def _live(self, _: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for store in self._stores:
                await store.start(stack)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._news.watch)
                yield
                tasks.cancel_scope.cancel()
