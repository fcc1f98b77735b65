"""No text of a task, no argument and no value of the environment reaches the log of a server (CLI-4, S4)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue

from tests.postgres import connect_as_owner, list_settings, name_tenant, needs_postgres
from tests.stores.shops import SHOPS, Object, Shop
from tests.wire.line_client import INITIALIZE, Era, LineClient
from tests.wire.served import serving

CANARY: Final = "CANARY-7f3a"
"""What every text of these tests holds, and no line of a log may."""


def texts(*names: str) -> Object:
    return dict.fromkeys(names, CANARY)


CALLS: Final[dict[str, list[tuple[str, Object]]]] = {
    "heartbeat": [
        ("task_create", {**texts("raw_user_request", "raw_reference", "mine"), "ideas": [CANARY]}),
        ("task_create", texts("raw_user_request", "raw_refrence")),
        ("task_create", {"raw_user_request": CANARY, "extra_fields": texts("status", CANARY)}),
        ("task_create", {"raw_user_request": CANARY, "extra_fields": f'{{"{CANARY}":1,"{CANARY}":2}}'}),
        ("task_create", texts("raw_user_request") | {"raw_reference": f"../../{CANARY}"}),
        ("task_update", {"task_id": "ID", "updates": {"result": CANARY, "status": "Running", "ideas": CANARY}}),
        ("task_update", {"task_id": "ID", "updates": texts("status", "created_at")}),
        ("task_update", {"task_id": CANARY, "updates": texts("result")}),
        ("task_list", {"include_archived": True}),
        ("task_get", {"task_id": "ID"}),
    ],
    "hierarchy": [
        ("createTask", {**texts("name", "description"), "id": "ID", "constraints": [CANARY], "tasks": [texts("name")]}),
        ("createTask", {"name": CANARY, "tasks": f'[{{"name":"{CANARY}","name":"x"}}]'}),
        ("createTask", texts("name") | {"id": "ID"}),
        ("startTask", {"id": "ID"}),
        ("completeTask", {"id": "ID", "resolution": CANARY}),
        ("updateTask", {"id": "ID", **texts("name", "description", "resolution")}),
        ("updateTask", {"id": "ID", "status": CANARY}),
        ("getTask", {"id": CANARY}),
        ("listTasks", {}),
    ],
    "tasks-v1": [
        ("create_task", {**texts("title", "description", "source"), "topic_id": "canary", "tags": [CANARY]}),
        ("create_task", texts("title", "priority", "category")),
        ("create_task", {"title": CANARY, "description": CANARY * 1_000}),
        ("update_task", {"id": "ID", **texts("title", "description")}),
        ("update_task", {"id": "ID", **texts("status", "tittle")}),
        ("update_task_status", {"id": "ID", "status": CANARY}),
        ("list_tasks", texts("query", "cursor")),
        ("list_tasks", texts("query")),
        ("get_task", texts("id")),
    ],
}
"""Calls of every tool, with success and without; ``ID`` stands for the id of the first task."""

LINES: Final = (
    *('{"jsonrpc":"2.0","id":7,"method":"%s"}', '{"jsonrpc":"2.0","id":"%s","method":5}', "%s", '{"id":"%s",oops}'),
    *('{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":{"x":"%s"}}}', '["%s"]', '{"%s":1,"%s":2}'),
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"%s","arguments":"%s"}}',
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":{"%s":1},"_meta":"%s"}}',
    '{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"%s","capabilities":"%s"}}',
    '{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"x://%s"}}',
    '{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"%s","arguments":{"%s":5}}}',
    '{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/%s"},"argument":"%s"}}',
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"%s\\ud800","arguments":{"%s":1}}}',
)
"""Lines that offend, each with a text of the client's."""

UNANSWERED: Final = (
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"%s":1},"reason":"%s"}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":["%s"],"progress":"%s"}}',
    '{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":"%s"}}',
    '{"jsonrpc":"2.0","method":"notifications/%s","params":["%s"]}',
    '{"jsonrpc":"2.0","id":"%s","result":{"x":"%s"}}',
    '{"jsonrpc":"2.0","id":"%s","error":{"code":1,"message":"%s"}}',
)
"""Notifications and responses that say such a text, to nobody."""


def environment(shop: Shop, path: Path) -> dict[str, str]:
    return {
        shop.variable: str(path),
        "HEARTBEAT_FILE_PATH": str(path.with_name("HEARTBEAT.md")),
        "LOG_LEVEL": "INFO",
        "TASK_LOCK_TIMEOUT": "0.05",
        "API_TOKEN": CANARY,
        "HEARTBEAT_SECTION": "TODO",
        "ROOT_ORDER": "strict",
    }


def stores(shop: Shop) -> Iterator[bytes]:
    """Yield what may turn up in the place of the store."""
    yield b""
    yield f'{{"{CANARY}": '.encode()
    yield shop.data(shop.task("a", CANARY, status=CANARY), shop.task("a", CANARY), {"id": CANARY, shop.text: 5}, CANARY)
    yield json.dumps({"version": 2, "tasks": [CANARY]}).encode()
    yield shop.data(shop.task("a", {CANARY: CANARY}), shop.task("b", CANARY, created_at=CANARY, tasks=CANARY, ideas=5))


def offend(client: LineClient) -> None:
    for line in (*LINES, *UNANSWERED):
        client.write(line.replace("%s", CANARY).encode() + b"\n")
    for _ in LINES:
        client.receive()


def call_all(shop: Shop, client: LineClient) -> None:
    task_id: JsonValue = None
    for tool, arguments in CALLS[shop.name]:
        given = {name: task_id if value == "ID" and task_id else value for name, value in arguments.items()}
        content = client.call(tool, **given)["structuredContent"]
        task_id = task_id or content.get("task", content).get("id")
    assert task_id


def check_nothing_reveals_the_environment(client: LineClient, shop: Shop, folder: Path) -> None:
    shown = [client.request("initialize", INITIALIZE)] if client.era == "legacy" else []
    shown += [client.request("tools/list"), client.call(shop.record.list)]
    shown += [client.call("nothing"), client.call(shop.record.create)]
    said = json.dumps(shown) + client.log
    assert CANARY not in said
    assert str(folder) not in said
    assert os.environ["PATH"] not in said


@pytest.mark.requirement("CLI-4", "S4", "ERR-1")
@pytest.mark.parametrize(("shop", "era"), [*zip(SHOPS, ["legacy", "modern", "legacy"], strict=True)])
def test_no_text_of_a_task_no_argument_and_nothing_of_the_environment_reaches_the_log(
    tmp_path: Path, shop: Shop, era: Era
) -> None:
    path = tmp_path / "store.json"
    with LineClient(era, shop.record.module_command, environment(shop, path)) as client:
        check_nothing_reveals_the_environment(client, shop, tmp_path)
        call_all(shop, client)
        offend(client)
        path.with_name("HEARTBEAT.md").write_text(
            f"## TODO\n- {CANARY}\n- [Running] a: {CANARY}\n  <!-- task_id: a -->\n"
        )
        for data in stores(shop):
            path.with_name("new").write_bytes(data)
            path.with_name("new").replace(path)
            assert client.call(shop.record.list)["isError"]
            assert client.call(shop.record.create, **{shop.text: CANARY})["isError"]
        path.unlink()
        path.mkdir()
        assert client.call(shop.record.create, **{shop.text: CANARY})["isError"]
        log = client.log
    assert "malformed params" in log
    assert CANARY not in log
    assert CANARY not in log.encode().decode("unicode_escape")


@pytest.mark.requirement("CLI-4", "S4")
def test_no_text_of_a_task_in_a_database_reaches_the_log(tmp_path: Path) -> None:
    shop = SHOPS[-1]
    path = tmp_path / "store.db"
    settings = {name: text for name, text in environment(shop, path).items() if name != shop.variable}
    command = shop.record.module_command
    with LineClient("legacy", command, settings | {"TASK_STORE": f"sqlite:{path}"}) as client:
        call_all(shop, client)
        for file in tmp_path.glob("store.db*"):
            file.unlink()
        path.write_bytes(f"{CANARY} ".encode() * 1_000)
        assert client.call(shop.record.create, **{shop.text: CANARY})["isError"]
        log = client.log
    assert CANARY not in log


@pytest.mark.requirement("CLI-4", "S4", "ERR-1", "EN-15")
@needs_postgres
def test_no_text_of_a_task_comes_back_in_an_error_of_postgresql_that_quotes_it(tmp_path: Path) -> None:
    shop = SHOPS[-1]
    store = {name.upper(): value for name, value in list_settings(tmp_path).items()}
    settings = {name: text for name, text in environment(shop, tmp_path / "x").items() if name != shop.variable}
    check = f"CHECK (tenant <> '{name_tenant(tmp_path)}' OR octet_length(document) < 9) NOT VALID"
    with LineClient("legacy", shop.record.module_command, settings | store) as client, connect_as_owner() as owner:
        call_all(shop, client)
        owner.execute(f"ALTER TABLE records ADD CONSTRAINT short {check}".encode())
        try:
            refused = client.call(shop.record.create, **{shop.text: CANARY})
        finally:
            owner.execute("ALTER TABLE records DROP CONSTRAINT short")
        log = client.log
    assert "violates check constraint" in str(refused)
    assert CANARY not in log + str(refused)


@pytest.mark.requirement("CLI-4", "S4")
def test_no_text_reaches_the_log_over_http_either(tmp_path: Path) -> None:
    shop = SHOPS[-1]
    command = shop.record.module_command
    with serving(command, environment(shop, tmp_path / "store.json")) as served:
        for line in (*LINES, *UNANSWERED):
            served.post(line.replace("%s", CANARY).encode())
        for tool, arguments in CALLS[shop.name]:
            served.call(tool, **arguments)
        served.ask("GET", f"/{CANARY}?token={CANARY}", Authorization=f"Bearer {CANARY}")
        served.ask("DELETE", "/mcp", b"", Host=CANARY, Origin=CANARY, Mcp_Session_Id=CANARY)
        served.connection(f"{CANARY} / {CANARY}\r\n\r\n".encode()).close()
        assert served.ask("GET", "/healthz").status == 200
        served.process.terminate()
        assert CANARY not in served.log()
