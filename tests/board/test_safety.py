"""Who may see the page and change tasks: the browser that opened the link, on this machine, from the page itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from task_board.web.app import BoardApp
from task_board.web.safety import MAX_BODY
from tests.board.board_client import PORT, Agent, BoardClient, events_of, open_board

PAGES = ("/", "/b/tasks-v1", "/b/tasks-v1/tasks", "/b/tasks-v1/task?id=1", "/b/tasks-v1/form?action=create", "/events")

STYLE = f"http://127.0.0.1:{PORT}/static/board.css"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardClient]:
    """The board over one empty list, which no test here changes."""
    with open_board(tmp_path_factory.mktemp("board"), "tasks-v1") as board:
        yield board


@pytest.fixture
def columns(shared: BoardClient) -> BoardClient:
    """The board in a browser that has just opened the link."""
    shared.enter()
    return shared


@pytest.fixture
def stranger(columns: BoardClient) -> TestClient:
    """Return a browser that has not opened the link."""
    columns.client.cookies.clear()
    return columns.client


@pytest.mark.parametrize("path", PAGES)
def test_without_the_link_nobody_sees_anything(stranger: TestClient, path: str) -> None:
    response = stranger.get(path)
    assert response.status_code == 403
    assert response.text == "Open the link that task-board printed when it started: it has the key to this page."


def test_the_link_lets_a_browser_in_as_often_as_it_is_opened(columns: BoardClient) -> None:
    columns.client.cookies.clear()
    for _ in range(2):
        response = columns.enter()
        assert response.status_code == 200
        assert f'content="0;url={columns.app.keys.secret_path}/"' in response.text
        assert columns.app.keys.token not in response.text
    assert columns.get().url.path == f"{columns.app.keys.secret_path}/b/tasks-v1"
    assert columns.client.get("/").url == columns.get().url


def test_the_cookie_is_for_this_port_and_out_of_reach_of_scripts_and_other_sites(columns: BoardClient) -> None:
    cookie = columns.enter().headers["set-cookie"]
    assert cookie.startswith(f"task-board-{PORT}=")
    assert {"HttpOnly", "SameSite=strict", f"Path={columns.app.keys.secret_path}"} == {
        part.strip() for part in cookie.split(";")[1:]
    }
    assert columns.app.keys.token not in cookie


def test_a_page_of_another_user_on_another_port_does_not_get_the_cookie(columns: BoardClient) -> None:
    assert columns.get().request.headers["cookie"]
    for path in ("/", "/b/tasks-v1", "/static/board.css"):
        assert "cookie" not in columns.outside(path).request.headers


@pytest.mark.parametrize("token", ["", "wrong", "ключ"])
def test_a_wrong_token_is_refused(stranger: TestClient, token: str) -> None:
    assert stranger.get(f"http://127.0.0.1:{PORT}/", params={"token": token}).status_code == 403
    assert not stranger.cookies


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1:8001", "127.0.0.1.evil.example:8000"])
def test_another_name_for_this_machine_is_refused(columns: BoardClient, host: str) -> None:
    assert columns.client.get("/b/tasks-v1", headers={"host": host}).status_code == 421
    assert columns.client.get(STYLE, headers={"host": host}).status_code == 421


def test_localhost_is_this_machine_too(columns: BoardClient) -> None:
    assert columns.client.get("/b/tasks-v1", headers={"host": f"localhost:{PORT}"}).status_code == 200


def test_browsers_leave_out_the_port_80(columns: BoardClient) -> None:
    app = BoardApp(columns.stores, 80)
    response = TestClient(app.build(), "http://127.0.0.1").get("/", params={"token": app.keys.token})
    assert response.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8001"},
        {"origin": f"http://localhost:{PORT}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
def test_other_pages_change_nothing(columns: BoardClient, headers: dict[str, str]) -> None:
    fields = {"action": "create", "now.title": "Forged"}
    response = columns.client.post("/b/tasks-v1/act", data=fields, headers={**columns.headers, **headers})
    assert response.status_code == 403
    assert not columns.store.tasks().lines


@pytest.mark.parametrize("missing", ["origin", "hx-request"])
def test_what_a_plain_form_of_another_page_would_send_changes_nothing(columns: BoardClient, missing: str) -> None:
    headers = {name: value for name, value in columns.headers.items() if name != missing}
    fields = {"action": "create", "now.title": "Forged"}
    assert columns.client.post("/b/tasks-v1/act", data=fields, headers=headers).status_code == 403
    assert not columns.store.tasks().lines


def test_a_page_of_another_site_cannot_even_read(columns: BoardClient) -> None:
    assert columns.client.get("/b/tasks-v1", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert columns.client.get("/b/tasks-v1", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_the_link_works_from_another_page(columns: BoardClient) -> None:
    columns.client.cookies.clear()
    token = {"token": columns.app.keys.token}
    link = f"http://127.0.0.1:{PORT}/"
    assert columns.client.get(link, params=token, headers={"sec-fetch-site": "cross-site"}).status_code == 200


def test_nothing_is_changed_by_what_only_reads(columns: BoardClient) -> None:
    assert columns.client.get("/b/tasks-v1/act?action=create&now.title=Forged").status_code == 405
    assert not columns.store.tasks().lines


def test_a_body_that_is_too_long_or_not_a_form_is_refused(columns: BoardClient) -> None:
    for body, status in (
        (b"x" * (MAX_BODY + 1), 413),
        (b"action=create&now.title=%ff", 400),
        (b"action=\xff", 400),
        (b"&".join(b"a%d=" % number for number in range(300)), 400),
    ):
        response = columns.client.post("/b/tasks-v1/act", content=body, headers=columns.headers)
        assert response.status_code == status


@pytest.mark.parametrize("path", [*PAGES[:-1], "/nowhere", STYLE])
def test_every_answer_forbids_what_the_page_does_not_need(columns: BoardClient, path: str) -> None:
    headers = columns.client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_pages_name_no_other_host_and_have_no_script_or_style_of_their_own(tree: BoardClient, planner: Agent) -> None:
    text = tree.get().text + tree.get("/task", id=planner.create("Buy milk")).text
    assert "http" not in text.replace('http-equiv="refresh"', "")
    assert "style=" not in text
    assert "<style" not in text
    assert "javascript:" not in text
    assert " on" + "click" not in text
    assert text.count("<script") == text.count('<script src="/static/')


@pytest.mark.parametrize("path", ["/b/nobody", "/b/tasks-v1/form?action=nothing", "/b/tasks-v1/form", "/b/tasks-v1\n"])
def test_what_does_not_exist_is_not_found(columns: BoardClient, path: str) -> None:
    assert columns.client.get(path.replace("\n", "%0a")).status_code == 404


def test_an_unknown_action_is_not_found(columns: BoardClient) -> None:
    response = columns.act("explode", id="1")
    assert response.status_code == 404
    assert events_of(response) == {}


async def post(columns: BoardClient, *received: dict[str, str], **headers: str) -> int:
    """Send a form, of which the messages ``received`` arrive, and return the status of the answer."""
    headers = {**columns.headers, "host": f"127.0.0.1:{PORT}", **headers}
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": f"{columns.app.keys.secret_path}/b/tasks-v1/act",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    sent: list[Any] = []
    messages = iter(received)

    async def receive() -> dict[str, str]:
        return next(messages)

    async def send(message: object) -> None:
        sent.append(message)

    await columns.app.build()(scope, receive, send)
    return sent[0]["status"]


async def test_a_browser_that_goes_away_while_it_sends_leaves_no_traceback(columns: BoardClient) -> None:
    session = columns.get().request.headers["cookie"]
    assert await post(columns, {"type": "http.disconnect"}, cookie=session) == 400


async def test_a_stranger_is_refused_before_a_body_is_read(columns: BoardClient) -> None:
    assert await post(columns) == 403
    session = columns.get().request.headers["cookie"]
    assert await post(columns, cookie=session, origin="http://127.0.0.1:1") == 403
