"""A process that adds tasks to a project by its tools: ``python worker.py ROOT NAME COUNT``."""

from __future__ import annotations

import asyncio
import sys

from mcp.client import Client

from taskmaster_mcp.server import build_server
from taskmaster_mcp.settings import TaskmasterSettings


async def main(root: str, name: str, count: int) -> None:
    """Add tasks, one call each, and print the id of each that was acknowledged."""
    settings = TaskmasterSettings(task_master_project_root=root, task_fsync=False, task_lock_timeout=300)
    async with Client(build_server(settings).sdk) as client:
        for number in range(count):
            result = await client.call_tool("add_task", {"title": f"{name}-{number}", "dependencies": "1"})
            assert not result.is_error, result.structured_content
            print(f"{name}-{number} {result.structured_content['data']['taskId']}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
