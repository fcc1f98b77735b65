"""The command line that every server shares: what it answers by itself, and with which exit code (CLI-1 to CLI-3)."""

from __future__ import annotations

import os
import signal
import subprocess
from importlib.metadata import version

import pytest

from tests.wire.line_client import PATIENCE, TOY


def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the toy server with nothing on stdin."""
    variables = {name: value for name, value in os.environ.items() if name != "LOG_LEVEL"} | environment
    return subprocess.run(
        [*TOY, *options], env=variables, input="", capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.requirement("CLI-1")
def test_the_version_is_told() -> None:
    ended = run("--version")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"mcp-task-core {version('mcp-task-core')}\n", "")


@pytest.mark.requirement("CLI-1")
def test_the_help_names_every_option_and_every_variable_with_its_default() -> None:
    ended = run("--help")
    assert ended.returncode == 0
    for option in ("--transport", "--host", "--port", "--log-level", "--version"):
        assert option in ended.stdout
    assert "A toy." in ended.stdout
    assert "  LOG_LEVEL\n      The least level that is logged" in ended.stdout
    assert "Seconds to wait for a store that another process holds. (default 10)" in ended.stdout


@pytest.mark.requirement("CLI-1", "DOC-1")
def test_doctor_tells_how_the_set_up_is() -> None:
    ended = run("doctor")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "LOG_LEVEL" in ended.stdout


@pytest.mark.requirement("CLI-2")
@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.org", ""])  # noqa: S104 - it is refused
def test_another_host_is_refused_and_the_reason_given(host: str) -> None:
    ended = run("--transport", "http", "--host", host)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "without authentication HTTP serves this machine only; use 127.0.0.1, ::1, localhost" in ended.stderr


@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize(
    "options",
    [("--transport", "pigeon"), ("--port", "x"), ("--port", "65536"), ("--port", "-1"), ("--log-level", "x"), ("x",)],
    ids=" ".join,
)
def test_a_bad_option_ends_with_exit_code_2(options: tuple[str, ...]) -> None:
    ended = run(*options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Traceback" not in ended.stderr


@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "LOG_LEVEL",
            "loud",
            "mcp-task-core: LOG_LEVEL is 'loud': Input should be the name of a level. Expected: The least level",
        ),
        ("TOY_GREETING", "rude", "mcp-task-core: TOY_GREETING is 'rude': be polite"),
    ],
    ids=["refused by its type", "refused by the server"],
)
def test_a_bad_setting_ends_with_exit_code_2_and_one_message(name: str, value: str, message: str) -> None:
    ended = run(**{name: value})
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(message)
    assert ended.stderr.count("\n") == 1


@pytest.mark.requirement("CLI-5")
def test_a_server_that_is_interrupted_before_it_serves_ends_without_a_trace() -> None:
    with subprocess.Popen(
        TOY, env={**os.environ, "TOY_GREETING": "slow"}, stderr=subprocess.PIPE, text=True
    ) as starting:
        assert starting.stderr
        assert starting.stderr.readline() == "building\n"
        starting.send_signal(signal.SIGINT)
        assert (starting.stderr.read(), starting.wait(2.0)) == ("", 0)


@pytest.mark.requirement("CLI-1", "CLI-4")
def test_the_option_for_the_log_goes_before_the_variable() -> None:
    assert run("--log-level", "debug", LOG_LEVEL="ERROR").stderr != ""
    assert run("--log-level", "error", LOG_LEVEL="DEBUG").stderr == ""
