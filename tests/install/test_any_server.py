"""The command ``mcp-client-install``: it adds any server to clients, lists what they have, and removes it again."""

from __future__ import annotations

import json
import re
import runpy
import sys
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from mcp_client_install import __main__ as cli
from mcp_client_install.clients import CLIENTS
from mcp_client_install.installer import run
from mcp_client_install.registration import BadSetting, Registration
from tests.core.command_line import Ended
from tests.install.machine import Machine, snapshot
from tests.packaging.projects import ROOT

CURSOR = ".cursor/mcp.json"
WEATHER = ("--", "weather", "--units", "metric")


class Runner:
    """The command, as a user with a program ``weather`` types it."""

    def __init__(self, machine: Machine, captured: pytest.CaptureFixture[str]) -> None:
        self.home = machine.home
        self.program = machine.home.parent / "bin" / "weather"
        self.program.touch(0o755)
        self._captured = captured

    def __call__(self, *words: str) -> Ended:
        with pytest.raises(SystemExit) as caught:
            cli.main(words)
        return Ended(int(caught.value.code or 0), *self._captured.readouterr())

    def entry(self, name: str = "weather") -> dict[str, object]:
        found: dict[str, object] = json.loads((self.home / CURSOR).read_text("utf-8"))["mcpServers"][name]
        return found


@pytest.fixture
def install(machine: Machine, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setattr(sys, "stdin", None)
    machine.has("cursor")
    return Runner(machine, capfd)


def test_a_server_is_added_to_every_client_and_removed_without_a_trace(install: Runner) -> None:
    before = snapshot(install.home)
    clients = [word for client in CLIENTS for word in ("--client", client)]
    done = install("add", "weather", *clients, "--env", "Weather_Key=1", "--yes", *WEATHER)
    assert (done.code, done.err) == (0, "")
    assert install.entry() == {
        "type": "stdio",
        "command": str(install.program),
        "args": ["--units", "metric"],
        "env": {"Weather_Key": "1"},
    }
    written = [path for path in install.home.rglob("*") if path.suffix in {".json", ".toml"}]
    assert len(written) == len(CLIENTS)
    assert install("remove", "weather", "--yes").code == 0
    assert {name for name, data in snapshot(install.home).items() if data is not None} == set()
    assert before.items() <= snapshot(install.home).items()


def test_a_client_without_a_file_in_a_project_is_left_out_with_the_words_that_add_it(install: Runner) -> None:
    (install.home / ".config" / "Claude" / "x").mkdir(parents=True)
    done = install("add", "weather", "--scope", "project", "--yes", *WEATHER)
    said = (
        "Claude Desktop has no configuration for one project. For all projects: --client claude-desktop --scope user\n"
    )
    assert (done.code, done.err) == (0, said)


def test_only_the_clients_that_are_installed_get_the_server(install: Runner) -> None:
    install("add", "weather", "--yes", *WEATHER)
    assert [path.name for path in install.home.glob(".*/*")] == ["mcp.json"]


@pytest.mark.parametrize("order", [["one", "two"], ["two", "one"]])
@pytest.mark.parametrize("old", [None, '{\n  "mcpServers": {"a": {"command": "x"}}, // mine\n}\n'])
def test_servers_that_go_in_any_order_leave_the_file_of_before(
    install: Runner, old: str | None, order: list[str]
) -> None:
    if old:
        (install.home / CURSOR).write_text(old)
    for name in ("one", "two"):
        assert install("add", name, "--yes", *WEATHER).code == 0
    for name in order:
        assert install("remove", name, "--yes").code == 0
    assert snapshot(install.home / ".cursor") == ({"mcp.json": old.encode()} if old else {})


def test_the_same_command_brings_an_entry_up_to_date_and_another_one_is_refused(install: Runner) -> None:
    install("add", "weather", "--yes", *WEATHER)
    assert install("add", "weather", "--yes", "--env", "A=1", *WEATHER).code == 0
    assert install.entry()["env"] == {"A": "1"}
    before = snapshot(install.home)
    done = install("add", "weather", "--yes", "--", "weather")
    assert done.code == 1
    assert "'weather' already starts another server (/" in done.err
    assert done.err.endswith("Choose another name, or remove that entry.\n")
    assert snapshot(install.home) == before


def test_an_entry_of_any_kind_and_name_is_removed_and_other_damaged_files_are_left_alone(install: Runner) -> None:
    file = install.home / CURSOR
    file.write_text('{"mcpServers": {"@a/b": {"url": "https://x"}, "c": 1}}')
    assert install("remove", "@a/b", "--yes").code == 0
    assert file.read_text() == '{"mcpServers": { "c": 1}}'
    file.write_text("{")
    assert install("remove", "weather", "--yes").out == "There is nothing to change.\n"


def test_agents_files_are_left_alone(install: Runner) -> None:
    agents = Path("AGENTS.md")
    agents.write_bytes(b"<!-- mcp-client-install weather: begin -->\n")
    install("add", "weather", "--yes", *WEATHER)
    assert install("remove", "weather", "--yes").err == ""
    assert agents.exists()


def test_a_change_is_shown_and_needs_consent(install: Runner) -> None:
    done = install("add", "weather", *WEATHER)
    assert (done.code, done.out.startswith("--- /dev/null\n")) == (1, True)
    assert done.err == "mcp-client-install add: there is no terminal to ask on: pass --yes to make the changes\n"
    assert install("add", "weather", "--dry-run", *WEATHER).code == 0
    assert snapshot(install.home / ".cursor") == {}


def test_the_configuration_alone_is_printed(install: Runner) -> None:
    done = install("add", "weather", "--client", "codex", "--print", *WEATHER)
    table = tomllib.loads(done.out)["mcp_servers"]["weather"]
    assert table == {"command": str(install.program), "args": ["--units", "metric"], "env": {}}


def test_the_servers_of_each_client_are_listed_without_what_may_be_secret(install: Runner) -> None:
    assert install("list") == (0, "No client is configured here.\n", "")
    file = install.home / CURSOR
    servers = {
        "a": {"command": "npx", "args": ["--key", "hunter2"]},
        "b": {"url": "https://me:hunter2@x.example/p?k=hunter2"},
        "c\n": {"url": "https://[", "env": {"K": "hunter2"}},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    Path(".mcp.json").write_text("{}")
    out = install("list").out
    assert out == (
        f"Claude Code, {install.home}/project/.mcp.json:\n  no server\n"
        f"Cursor, {file}:\n  a: npx\n  b: not started here\n  c\\u{{a}}: not started here\n"
    )
    assert install("list", "--client", "cursor", "--scope", "project").out == "No client is configured here.\n"


def test_a_file_that_cannot_be_read_is_reported_beside_the_list(install: Runner) -> None:
    file = install.home / CURSOR
    file.write_text("{")
    done = install("list")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"{file}: Expecting property name enclosed in double quotes: line 1 column 2 (char 1).\n"
    file.unlink()
    file.mkdir()
    assert install("list").err == f"{file}: not a regular file [EINVAL].\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["add", "weather"], 2, "name the command after --: mcp-client-install add weather -- COMMAND ARG…"),
        (["remove", "weather", "--", "x"], 2, "remove takes no command"),
        (["add", "a b", *WEATHER], 2, "expected letters"),
        (["add", "weather", "--client", "curser", *WEATHER], 2, "did you mean cursor?"),
        (["add", "weather", "--env", "X", *WEATHER], 2, "expected NAME=VALUE, not 'X'"),
        (["add", "weather", "--yes", "--", "/no/such"], 1, "/no/such is not a program: install it first, or give"),
        ([], 2, "the following arguments are required: ACTION"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_could_be(
    install: Runner, words: list[str], code: int, said: str
) -> None:
    done = install(*words)
    assert (done.code, said in done.err) == (code, True)
    assert snapshot(install.home / ".cursor") == {}


def test_a_server_registers_with_nothing_but_its_names_and_may_refuse_settings(
    install: Runner, capfd: pytest.CaptureFixture[str]
) -> None:
    class Weather(Registration):
        command = "weather"
        entry = "forecast"

    with pytest.raises(BadSetting, match="There is no setting UNITS"):
        run(Weather(), ["install", "--yes", "--set", "units=metric"])
    assert run(Weather(), ["install", "--yes", "--agents-file"]) == 0
    assert install.entry("forecast")["command"] == str(install.program)
    assert "## forecast\n\nUse the tools of the MCP server `forecast`.\n" in Path("AGENTS.md").read_text("utf-8")
    assert run(Weather(), ["uninstall", "--yes"]) == 0
    assert not Path("AGENTS.md").exists()
    assert "Removed" in capfd.readouterr().out


def test_output_that_a_program_has_redirected_is_taken_as_it_is(install: Runner) -> None:
    with redirect_stdout(StringIO()) as shown:
        assert install("add", "weather", "--yes", *WEATHER) == (0, "", "")
    assert "Wrote" in shown.getvalue()


def test_the_command_runs_as_a_module_too(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["mcp-client-install", "--version"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(cli.__file__), run_name="__main__")
    assert capfd.readouterr().out.startswith("mcp-client-install ")


def test_the_server_of_the_readme_is_installed_with_its_setting(
    install: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (ROOT / "packages" / "mcp-client-install" / "README.md").read_text("utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    program = tmp_path / "weather.py"
    program.write_text(shown)
    install.program.with_name("weather-mcp").touch(0o755)
    for action in ("install", "uninstall"):
        monkeypatch.setattr(sys, "argv", ["weather-mcp", action, "--yes"])
        with pytest.raises(SystemExit, match="0"):
            runpy.run_path(str(program))
        if action == "install":
            assert install.entry()["env"] == {"WEATHER_PLACES": f"{install.home}/weather/places.txt"}
    monkeypatch.setattr(sys, "argv", ["weather-mcp", "install", "--yes", "--set", "weather_units=stone"])
    with pytest.raises(ValueError, match="WEATHER_UNITS must be metric or imperial"):
        runpy.run_path(str(program))
    assert snapshot(install.home / ".cursor") == {}
