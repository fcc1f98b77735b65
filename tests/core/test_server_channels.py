"""What a channel makes of an end that has gone (P3)."""

from __future__ import annotations

import os

import pytest

from task_core.server.channels import channel


@pytest.mark.requirement("P3")
async def test_a_terminal_that_was_closed_is_the_end_of_the_input() -> None:
    controller, terminal = os.openpty()
    source = channel(controller)
    os.close(terminal)
    assert await source.read() == b""
    os.close(controller)
