"""Real processes: two users start one task, and a process is killed between writes (CX-24, CX-40)."""

from __future__ import annotations

import http.client
import os
import threading
from contextlib import ExitStack, suppress
from typing import Final

import pytest

from tests.core.notes import DEADLINE, in_background, wait_until
from tests.cortex_backend.backend_fixture import PreparedData
from tests.cortex_backend.real_process import Connection, served_backend

ROUNDS: Final = 3
KILLS: Final = int(os.environ.get("CORTEX_BACKEND_KILLS", "1"))


def all_comments(reader: Connection, task: int) -> dict[int, str]:
    """Return the text of each comment by its id."""
    found: dict[int, str] = {}
    path = f"/tasks/{task}/comments?limit=100"
    cursor = ""
    while True:
        status, page = reader.send("GET", path + cursor)
        assert status == 200, page
        found |= {comment["id"]: comment["text"] for comment in page["comments"]}
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


@pytest.mark.long
@pytest.mark.requirement("CX-24")
def test_of_two_users_who_start_a_task_at_once_in_two_processes_exactly_one_succeeds(
    postgres_copy: tuple[str, PreparedData],
) -> None:
    url, prepared_data = postgres_copy
    with ExitStack() as stack:
        first, second = (stack.enter_context(served_backend(url)) for _ in range(2))
        users = [first.log_in("owner"), second.log_in("member")]
        for _ in range(ROUNDS):
            status, task = users[0].send("POST", "/tasks/", {"project_id": prepared_data.project, "title": "Race"})
            assert status == 201
            path, line = f"/tasks/{task['id']}", threading.Barrier(2)
            answers: list[tuple[int, str, str | None]] = []

            def start(user: Connection, path: str = path, line: threading.Barrier = line) -> None:
                line.wait(DEADLINE)
                status, body = user.send("PATCH", path, {"status": "IN_PROGRESS"})
                answers.append((status, body.get("code", ""), (body.get("assignee") or {}).get("name")))  # noqa: B023

            with in_background() as run:
                run(*(lambda user=user: start(user) for user in users))
            answers.sort()
            assert [answer[:2] for answer in answers] == [(200, ""), (409, "AssignedToOther")]
            shown = users[0].send("GET", path)[1]
            assert (shown["version"], shown["assignee"]["name"]) == (2, answers[0][2])


@pytest.mark.requirement("CX-40")
def test_a_killed_process_loses_no_write_that_was_answered(sqlite_copy: tuple[str, PreparedData]) -> None:
    url, prepared_data = sqlite_copy
    answered: dict[int, str] = {}
    path = f"/tasks/{prepared_data.task}/comments"
    for round_number in range(KILLS):
        with served_backend(url) as backend:
            writer = backend.log_in("owner")
            before = len(answered)

            def write(writer: Connection = writer, round_number: int = round_number) -> None:
                with suppress(http.client.HTTPException, ConnectionError):
                    for number in range(100_000):
                        text = f"{round_number}.{number}"
                        status, comment = writer.send("POST", path, {"text": text})
                        assert status == 201
                        answered[comment["id"]] = text

            with in_background() as run:
                run(write)
                wait_until(lambda count=before + 10 + 5 * round_number: len(answered) >= count)
                backend.kill()
    with served_backend(url) as backend:
        reader = backend.log_in("viewer")
        kept = all_comments(reader, prepared_data.task)
        assert answered.items() <= kept.items()
        assert len(kept) - len(answered) <= KILLS, "at most the write that was under way"
        status, events = reader.send("GET", f"/tasks/{prepared_data.task}/events?limit=100")
        assert status == 200
        assert [event["kind"] for event in events["events"]].count("commented") == min(len(kept), 100) or len(kept) > 90
