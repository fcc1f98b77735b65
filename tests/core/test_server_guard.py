"""What the guard makes of refusals by the SDK (ERR-3, TOOL-3)."""

from __future__ import annotations

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from task_core.server.app import TaskServer
from task_core.warning_list import WarningList


@pytest.mark.requirement("ERR-3")
async def test_a_method_that_is_not_served_is_named() -> None:
    server = TaskServer("bare", title="Bare", version="1", instructions="", warnings=WarningList())
    async with Client(server.sdk) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_resources()
    assert (caught.value.error.code, caught.value.error.data) == (METHOD_NOT_FOUND, "resources/list")
