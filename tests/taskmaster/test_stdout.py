"""Every tool, asked of a process: each line on stdout is JSON-RPC, and no text of a task is logged (TM-84)."""

from __future__ import annotations

import json
import sys
from typing import Final

import pytest
from pydantic import JsonValue

from taskmaster_mcp.settings import SETS
from tests.taskmaster.conftest import Object, ServedProject, item, tag
from tests.wire.line_client import Era, LineClient

TITLE: Final = "Only for those who ask"

TEXT: Final = f"{TITLE}\u2028\n{{}}\r\n"
"""What tasks say, with ends of lines in it."""

PLAN: Final[list[JsonValue]] = [{"title": TITLE}]

CALLS: Final[list[tuple[str, Object]]] = [
    ("initialize_project", {}),
    ("get_tasks", {"withSubtasks": True, "limit": 1_000}),
    ("get_task", {"id": "1,2.1"}),
    ("next_task", {}),
    ("add_task", {"title": TITLE}),
    ("update_task", {"id": "3", "details": TEXT}),
    ("update", {"from": "3", "prompt": TEXT}),
    ("add_subtask", {"id": "3", "title": TITLE}),
    ("update_subtask", {"id": "3.1", "prompt": TEXT}),
    ("expand_task", {"id": "3", "subtasks": PLAN}),
    ("set_task_status", {"id": "3.1", "status": "done"}),
    ("remove_subtask", {"id": "3.1"}),
    ("parse_prd", {"tasks": PLAN, "append": True}),
    ("expand_all", {"expansions": [{"id": "3", "subtasks": PLAN}]}),
    ("add_dependency", {"id": "3", "dependsOn": "1"}),
    ("remove_dependency", {"id": "3", "dependsOn": "1"}),
    ("validate_dependencies", {}),
    ("fix_dependencies", {}),
    ("clear_subtasks", {"id": "3"}),
    ("move_task", {"from": "3", "to": "9999"}),
    ("analyze_project_complexity", {"analysis": [{"taskId": 2, "complexityScore": 3, "recommendedSubtasks": 2}]}),
    ("complexity_report", {}),
    ("add_tag", {"name": "draft", "copyFromCurrent": True}),
    ("copy_tag", {"sourceName": "draft", "targetName": "copy"}),
    ("rename_tag", {"oldName": "copy", "newName": "second"}),
    ("use_tag", {"name": "second"}),
    ("list_tags", {}),
    ("delete_tag", {"name": "second"}),
    ("generate", {"output": "made"}),
    ("remove_task", {"id": "9999"}),
    ("cache_stats", {}),
]
"""One call of each tool but ``get_operation_status``, all of which succeed in this order."""

ALWAYS: Final = {"cache_stats"}
"""The tools that need no tasks."""


def tasks(count: int) -> list[Object]:
    parts = [item(number, title=TEXT) for number in range(1, 4)]
    return [item(number, title=f"{TEXT} {number}", details=TEXT, subtasks=parts) for number in range(1, count)]


DOCUMENTS: Final = {
    "huge": json.dumps({"master": tag(*tasks(90))}),
    "bad": json.dumps({"master": tag(*tasks(5))}, indent=2)[:-20] + f"\n<<<<<<< HEAD {TEXT}\n",
}
"""Tasks files; the last one is torn, with marks of a merge."""


class Listener:
    """Sends requests to a process, and checks every line that comes back."""

    def __init__(self, client: LineClient) -> None:
        self.client = client

    def call(self, tool: str, arguments: Object) -> Object:
        """Return the answer to a call, which may come after notifications of its progress."""
        data = json.loads(self.client.line("tools/call", {"name": tool, "arguments": arguments}))
        data["params"].setdefault("_meta", {})["progressToken"] = "token"
        self.client.send(data)
        while "id" not in (message := self.client.receive()):
            assert message.keys() == {"jsonrpc", "method", "params"}
            assert message["method"] == "notifications/progress"
        assert message["jsonrpc"] == "2.0"
        assert message["id"] == data["id"]
        answer: Object = message.get("result") or message["error"]
        return answer


@pytest.mark.requirement("TM-7", "TM-78", "TM-84", "CLI-4")
@pytest.mark.parametrize(
    ("name", "era"), [("bad", "legacy"), pytest.param("huge", "modern", marks=pytest.mark.process)]
)
def test_every_tool_says_nothing_but_the_protocol(project: ServedProject, name: str, era: Era) -> None:
    project.write(DOCUMENTS[name])
    environment = {"TASK_MASTER_PROJECT_ROOT": str(project.root), "TASK_MASTER_TOOLS": "all", "LOG_LEVEL": "INFO"}
    with LineClient(era, (sys.executable, "-m", "taskmaster_mcp"), {**environment, "TASK_FSYNC": "0"}) as client:
        assert len(client.request("tools/list")["result"]["tools"]) == len(SETS["all"])
        listener = Listener(client)
        for tool, arguments in CALLS:
            answer = listener.call(tool, arguments)
            assert answer.get("isError", False) is (name == "bad" and tool not in ALWAYS), (tool, str(answer)[:300])
        accepted = listener.call("generate", {"background": True})
        operation = accepted["structuredContent"].get("data", {}).get("operationId", "")
        found = listener.call("get_operation_status", {"operationId": operation})
        assert found.get("isError", False) is (operation == "")
        assert {tool for tool, _ in CALLS} | {"get_operation_status"} == {*SETS["all"]}
        for tool in SETS["all"]:
            listener.call(tool, {"projectRoot": f"/{TEXT}", TEXT: [TEXT]})
        client.close_input()
        assert (client.rest(), client.exit_code(within=20)) == ([], 0)
        assert TITLE not in client.log
