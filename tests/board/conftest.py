"""The board over each server, with an agent beside it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.board.board_client import Agent, BoardClient, open_board
from tests.servers import SERVERS, ServerRecord, record_of

# Where only what is quick is tested, with the lowest versions, no browser is driven.
collect_ignore_glob: list[str] = [] if find_spec("playwright") else ["test_browser*.py"]


@pytest.fixture(params=SERVERS, ids=[record.name for record in SERVERS])
def record(request: pytest.FixtureRequest) -> ServerRecord:
    """Return each server with a store."""
    found: ServerRecord = request.param
    return found


@pytest.fixture
def board(record: ServerRecord, tmp_path: Path) -> Iterator[BoardClient]:
    """Return the board over one store of each server."""
    with open_board(tmp_path, record.name) as board:
        yield board


@pytest.fixture
def agent(record: ServerRecord, tmp_path: Path) -> Iterator[Agent]:
    """Return an agent on the store of ``board``."""
    agent = Agent(record, tmp_path)
    yield agent
    agent.close()


@pytest.fixture
def columns(tmp_path: Path) -> Iterator[BoardClient]:
    """Return the board over a list, for what does not depend on the server."""
    with open_board(tmp_path, "tasks-v1") as board:
        yield board


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[BoardClient]:
    """Return the board over a tree."""
    with open_board(tmp_path, "hierarchy") as board:
        yield board


@pytest.fixture
def lister(tmp_path: Path) -> Iterator[Agent]:
    """Return an agent on the store of ``columns``."""
    agent = Agent(record_of("tasks-v1"), tmp_path)
    yield agent
    agent.close()


@pytest.fixture
def planner(tmp_path: Path) -> Iterator[Agent]:
    """Return an agent on the store of ``tree``."""
    agent = Agent(record_of("hierarchy"), tmp_path)
    yield agent
    agent.close()
