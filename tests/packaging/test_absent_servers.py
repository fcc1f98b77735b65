"""The servers that are not there yet say so."""

from __future__ import annotations

import runpy

import pytest


@pytest.mark.parametrize("module", ["hierarchy_mcp", "tasks_v1_mcp"])
def test_a_server_that_is_not_there_yet_says_so_and_ends_with_exit_code_2(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        runpy.run_module(module, run_name="__main__")
    assert ending.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "not there yet" in err
