"""The commands ``install`` and ``uninstall``: what they write, show, ask and refuse."""

from __future__ import annotations

import json
import pwd
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcp_client_install.clients import CLIENTS
from task_core.server.transports.greeting import GreetingFile
from tests.install.machine import COMMAND, Machine, snapshot
from tests.servers import PROGRAMS, SERVERS, ProgramRecord, ServerRecord, program_of

CURSOR = ".cursor/mcp.json"


def entry(path: Path, name: str = "heartbeat") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))["mcpServers"][name]
    return found


def test_every_client_that_is_named_gets_an_entry_and_loses_it_again(machine: Machine) -> None:
    before = snapshot(machine.home)
    done = machine("install", *CLIENTS, "--yes")
    assert (done.code, done.err) == (0, "")
    for client in CLIENTS.values():
        assert f"\n{client.title}: {client.next_step}.\n" in done.out
    files = [path for path in machine.home.rglob("*") if path.suffix in {".json", ".toml"}]
    assert len(files) == len(CLIENTS)
    assert all(COMMAND in path.read_text("utf-8") for path in files)
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert machine("uninstall", "--yes").code == 0
    assert {name: data for name, data in snapshot(machine.home).items() if data is not None} == {}
    assert before.items() <= snapshot(machine.home).items()


@pytest.mark.parametrize("record", PROGRAMS, ids=lambda record: record.name)
def test_every_server_is_installed_with_its_settings_in_the_project(
    machine: Machine, record: ProgramRecord, tmp_path: Path
) -> None:
    machine.has("cursor")
    assert machine("install", "--yes", "--scope", "project", server=record.name).code == 0
    written = entry(machine.project / CURSOR, record.entry)
    assert Path(written["command"]).name == record.command
    asked = {name: str(machine.project / path) for name, path in record.settings_type.in_project}
    assert written["env"] == {name.upper(): path for name, path in asked.items()}
    assert {Path(path).parent.is_dir() for path in written["env"].values()} <= {True}
    assert {*written["env"]} <= {*record.usual_environment(tmp_path)}
    assert machine("uninstall", "--yes", server=record.name).code == 0
    assert snapshot(machine.project).keys() == {".git"}


@pytest.mark.requirement("PE-3")
@pytest.mark.parametrize(
    ("server", "written"),
    [
        ("heartbeat", {"HEARTBEAT_FILE_PATH": "heartbeat-mcp/HEARTBEAT.md"}),
        ("hierarchy", {"FILE_PATH": "hierarchy-mcp/hierarchy.json"}),
        ("tasks-v1", {}),  # its default is there
        ("taskmaster", {}),  # it finds the project by itself
        ("cortex-mcp", {}),
    ],
)
def test_the_list_for_all_projects_is_in_the_data_folder_of_the_user(
    machine: Machine, server: str, written: dict[str, str]
) -> None:
    machine.has("cursor")
    before = snapshot(machine.project)
    assert machine("install", "--dry-run", server=server).code == 0
    assert not machine.data.exists()
    done = machine("install", "--yes", server=server)
    assert done.code == 0
    env = entry(machine.home / CURSOR, program_of(server).entry)["env"]
    assert env == {name: f"{machine.data}/{path}" for name, path in written.items()}
    assert {path.stat().st_mode & 0o777 for path in machine.data.rglob("*")} <= {0o700}
    assert machine("doctor", server=server).code == 0 or server == "cortex-mcp"
    assert snapshot(machine.project) == before


@pytest.mark.requirement("START-1")
@pytest.mark.parametrize("record", SERVERS, ids=lambda record: record.name)
def test_the_first_start_after_an_installation_greets_its_client_at_once(
    machine: Machine, record: ServerRecord, tmp_path: Path
) -> None:
    record.prepare(tmp_path)
    (tmp_path / record.document).touch()  # without its project, Task Master greets nobody
    machine.has("cursor")
    given = record.usual_environment(tmp_path)
    file = GreetingFile(record.program().greeting, {**given, "TASK_EXTRA_TOOLS": "all"})
    words = ("install", "--yes", "--agents", *(f"--set={name}={value}" for name, value in given.items()))
    assert machine(*words, "--dry-run", server=record.name).code == 0
    assert file.greeting() is None
    assert machine(*words, server=record.name).code == 0
    assert entry(machine.home / CURSOR, record.entry)["env"] == {**given, "TASK_EXTRA_TOOLS": "all"}
    assert file.greeting() is not None


def test_only_the_clients_that_are_installed_are_found(machine: Machine, tmp_path: Path) -> None:
    (machine.home / ".gemini").mkdir()  # as an uninstalled client may leave it
    assert machine("install", "--yes").err.startswith("heartbeat-mcp install: no client was found: name one of claude-")
    machine.has("codex")
    (tmp_path / "bin" / "qwen").touch(0o755)
    assert machine("install", "--yes").code == 0
    assert sorted(path.name for path in machine.home.glob(".*/*")) == ["config.toml", "settings.json"]
    (table,) = tomllib.loads((machine.home / ".codex/config.toml").read_text("utf-8"))["mcp_servers"].values()
    assert table["command"] == COMMAND


def test_a_second_install_changes_nothing_wherever_it_is_run(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has("cursor", "codex")
    machine("install", "--yes", "--agents-file")
    before = snapshot(machine.home)
    said = machine("install", "--yes", "--agents-file").out
    assert said.startswith("There is nothing to change.\n")
    place = f"{machine.data}/heartbeat-mcp/HEARTBEAT.md"
    assert f"HEARTBEAT_FILE_PATH is {place} in all your projects; with --scope project, " in said
    monkeypatch.chdir(machine.home)
    assert machine("install", "--yes", "--dry-run").out == "There is nothing to change.\n"
    assert snapshot(machine.home) == before


def test_what_is_written_is_shown_first_and_the_old_file_is_kept_once(machine: Machine) -> None:
    machine.has("cursor")
    file = machine.home / CURSOR
    old = b'{\r\n  // mine\r\n  "mcpServers": {\r\n    "a": {"command": "a"},\r\n  },\r\n}\r\n'
    file.write_bytes(old)
    done = machine("install", "--yes")
    assert f"--- {file}\n+++ {file}\n@@ -2,5 +2,13 @@\n" in done.out
    assert '     "a": {"command": "…"},\n+    "heartbeat": {\n+      "type": "stdio",\n' in done.out
    assert f"Wrote {file}. The old file is kept as mcp.json.before-heartbeat-mcp.\n" in done.out
    copy = file.with_name("mcp.json.before-heartbeat-mcp")
    assert copy.read_bytes() == old
    machine("install", "--yes", "--set", "heartbeat_section=LIST")
    assert entry_env(file)["HEARTBEAT_SECTION"] == "LIST"
    assert copy.read_bytes() == old
    machine("uninstall", "--yes")
    assert snapshot(file.parent) == {"mcp.json": old}


def entry_env(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text("utf-8").splitlines() if "//" not in line]
    document = "".join(lines).replace(",  }", "}").replace(",}", "}")
    env: dict[str, str] = json.loads(document)["mcpServers"]["heartbeat"]["env"]
    return env


@pytest.mark.requirement("PE-3")
def test_a_person_is_asked_where_tasks_are_kept_and_before_anything_is_written(machine: Machine) -> None:
    machine.has("cursor")
    (machine.home / ".config" / "Claude" / "x").mkdir(parents=True)
    before = snapshot(machine.home)
    done = machine("install", answers="3\n\nn\nno\n")
    assert (done.code, snapshot(machine.home)) == (1, before)
    assert done.err == (
        "Clients: Claude Desktop, Cursor.\nWhere should tasks be kept?\n"
        "  1) one list for each project [default]\n  2) one list for all projects\n1 or 2: Type 1 or 2: "
        "Claude Desktop has no configuration for one project. "
        "For all projects: heartbeat-mcp install claude-desktop --scope user\n"
        "Several agents or long projects? [y/N] Make these changes? [y/N] heartbeat-mcp install: nothing has changed\n"
    )
    assert machine("install", answers="1\nn\ny\n").code == 0
    assert entry(machine.project / CURSOR)["env"] == {"HEARTBEAT_FILE_PATH": f"{machine.project}/HEARTBEAT.md"}
    assert machine("install", answers="2\n\ny\n").code == 0
    place = {"HEARTBEAT_FILE_PATH": f"{machine.data}/heartbeat-mcp/HEARTBEAT.md"}
    assert entry(machine.home / CURSOR)["env"] == place
    assert not (machine.project / "AGENTS.md").exists()
    assert machine("uninstall", answers="y\n").code == 0
    assert snapshot(machine.home) == before


@pytest.mark.requirement("PE-3")
def test_outside_a_repository_one_list_for_all_projects_is_the_default(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has("cursor")
    monkeypatch.chdir(machine.home)
    done = machine("install", answers="\nn\ny\n", server="tasks-v1")
    assert (done.code, "2) one list for all projects [default]\n" in done.err) == (0, True)
    assert entry(machine.home / CURSOR, "tasks")["env"] == {}


@pytest.mark.requirement("PE-3")
@pytest.mark.parametrize(
    ("server", "words"),
    [
        ("heartbeat", ("--scope", "user")),
        ("heartbeat", ("--set", "HEARTBEAT_FILE_PATH=~/H.md")),
        ("hierarchy", ("--set", "TASK_STORE=memory:")),
        ("taskmaster", ()),
        ("cortex-mcp", ()),
    ],
)
def test_a_question_that_is_answered_or_has_one_answer_is_not_asked(
    machine: Machine, server: str, words: tuple[str, ...]
) -> None:
    machine.has("cursor")
    asked = "Several agents or long projects? [y/N] " * (server != "cortex-mcp")
    done = machine("install", *words, answers="n\ny\n" if asked else "y\n", server=server)
    assert (done.code, done.err) == (0, f"{asked}Make these changes? [y/N] ")
    assert f"Wrote {machine.home / CURSOR}." in done.out


@pytest.mark.requirement("PE-3")
def test_a_place_that_an_earlier_install_wrote_is_kept(machine: Machine) -> None:
    machine.has("cursor")
    machine("install", "--yes", "--set", "HEARTBEAT_FILE_PATH=~/H.md")
    assert machine("install", answers="2\nn\ny\n").out.startswith("There is nothing to change.\n")
    machine("install", "--yes", "--set", "TASK_MASTER_PROJECT_ROOT=.", server="taskmaster")
    assert f"TASK_MASTER_PROJECT_ROOT is {machine.project} in" in machine("install", "--yes", server="taskmaster").out
    assert not machine.data.exists()


@pytest.mark.requirement("PE-3")
def test_without_a_terminal_nothing_is_guessed_or_written(machine: Machine) -> None:
    machine.has("cursor")
    said = "heartbeat-mcp install: there is no terminal to ask on: pass --yes"
    assert machine("install") == (1, "", f"{said}, and --scope user or --scope project\n")
    done = machine("install", "--set", f"HEARTBEAT_FILE_PATH={machine.project}/HEARTBEAT.md")
    assert (done.code, done.err) == (1, f"{said} to make the changes\n")
    assert done.out.startswith("--- /dev/null\n")
    assert snapshot(machine.home / ".cursor") == {}


def test_an_interrupted_run_or_one_in_a_removed_folder_changes_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has("cursor")
    assert machine("install", answers="").err.endswith("heartbeat-mcp install: nothing has changed\n")
    machine.project.joinpath("gone").mkdir()
    monkeypatch.chdir(machine.project / "gone")
    machine.project.joinpath("gone").rmdir()
    assert machine("install", "--yes").err.startswith("heartbeat-mcp install: [Errno 2] No such file")
    assert snapshot(machine.home / ".cursor") == {}


def test_a_dry_run_shows_the_change_and_makes_none(machine: Machine) -> None:
    machine.has("cursor")
    done = machine("install", "--dry-run", answers="")
    assert (done.code, done.err, done.out.count("+++")) == (0, "", 1)
    assert snapshot(machine.home / ".cursor") == {}


def test_the_configuration_alone_is_printed(machine: Machine) -> None:
    done = machine("install", "--print", "codex")
    assert (done.code, done.err) == (0, "")
    assert tomllib.loads(done.out)["mcp_servers"]["heartbeat"]["command"] == COMMAND
    both = machine("install", "--print", "cursor", "opencode").out
    assert f"Cursor, {machine.home}/.cursor/mcp.json:\n{{\n" in both
    assert f"OpenCode, {machine.home}/.config/opencode/opencode.json:\n{{\n" in both
    assert not (machine.home / ".cursor").exists()


@pytest.mark.parametrize("indent", [None, 2])
def test_no_text_of_another_server_and_no_password_is_shown(machine: Machine, indent: int | None) -> None:
    machine.has("cursor", "codex")
    headers = json.dumps({"Authorization": "Bearer hunter2"})
    env = {"A_KEY": "hunter2", "B": "postgresql://me:hunter2@localhost/tasks", "HEADERS": headers}
    other = {"env": env, "url": "https://x.example/?api_key=hunter2", "args": ["--header", "X: hunter2", "hunter2"]}
    own = {"command": "heartbeat-mcp", "args": ["-x"], "env": {"MY_TOKEN": "hunter2", "LOG_LEVEL": "INFO"}}
    file = machine.home / CURSOR
    file.write_text(json.dumps({"mcpServers": {"a": other, "heartbeat": own, "b": other}}, indent=indent))
    (machine.home / ".codex/config.toml").write_text(
        '[a]\nb = \'hunter2\'\nk = "hunter2 \\"hunter2"\nm = """hunter2\n"""\n'
    )
    done = machine("install", "--yes")
    assert (done.code, done.err) == (0, "")
    assert '"command": "heartbeat-mcp"' in done.out
    assert f'"command": "{COMMAND}"' in done.out
    assert '"MY_TOKEN": "…"' in done.out
    assert '"LOG_LEVEL": "INFO"' in done.out
    assert f"HEARTBEAT_FILE_PATH = {json.dumps(str(machine.data / 'heartbeat-mcp/HEARTBEAT.md'))}\n" in done.out
    refused = machine("install", "--yes", "--set", "TASK_STORE=postgresql://me:hunter2@127.0.0.1/tasks")
    assert refused.code == 2
    for text in [*done[1:], *refused[1:], *machine("uninstall", "--yes")[1:]]:
        assert "hunter2" not in text


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("address", ["me:hunter2@127.0.0.1/tasks", "me@127.0.0.1/tasks?password=hunter2"])
def test_no_password_gets_into_a_file(machine: Machine, scope: str, address: str) -> None:
    store = f"TASK_STORE=postgresql://{address}"
    done = machine("install", "cursor", "--yes", "--scope", scope, "--set", store, server="hierarchy")
    assert (done.code, done.out, "leave the password out" in done.err) == (2, "", True)
    assert "--scope" not in done.err


def test_a_home_folder_that_is_not_known_is_an_error(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nobody(number: int) -> object:
        raise KeyError(number)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", find_nobody)
    said = "heartbeat-mcp install: your home folder is not known: set HOME\n"
    assert machine("install", "cursor", "--yes") == (1, "", said)


def test_settings_of_the_environment_are_written_too(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has("cursor")
    monkeypatch.setenv("TASK_LOCK_TIMEOUT", "5")
    monkeypatch.setenv("LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("HEARTBEAT_FILE_PATH", "LIST.md")
    machine("install", "--yes")
    path = str(machine.project / "LIST.md")
    assert entry(machine.home / CURSOR)["env"] == {"HEARTBEAT_FILE_PATH": path, "TASK_LOCK_TIMEOUT": "5"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["install", "curser"], 2, "there is no client 'curser'; did you mean cursor?"),
        (["install", "?"], 2, "there is no client '?'; choose one of claude-code, claude-desktop, "),
        (["install", "--set", "X"], 2, "expected NAME=VALUE, not 'X'"),
        (
            ["install", "cursor", "--set", "WORK_SPACE_PATH=/"],
            2,
            "There is no setting WORK_SPACE_PATH; did you mean WORKSPACE_PATH",
        ),
        (["install", "--yes", "cursor", "--set", "HEARTBEAT_SECTION=\n"], 2, "HEARTBEAT_SECTION is"),
        (
            ["install", "--yes", "cursor", "--set", "HEARTBEAT_FILE_PATH=~nobody-like-this/H.md"],
            2,
            "a folder that exists",
        ),
        (["install", "--name", "a b"], 2, "expected letters"),
        (
            ["install", "--agents-file", "cursor"],
            2,
            "argument --agents-file: invalid choice: 'cursor' (choose from ",
        ),
        (
            ["install", "--yes", "--scope", "project", "claude-desktop"],
            1,
            "Claude Desktop has no configuration for one project",
        ),
        (["--log-level", "debug", "install"], 2, "write install before its options"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_what_cannot_be_meant_is_refused_with_what_could_be(
    machine: Machine, words: list[str], code: int, said: str
) -> None:
    done = machine(*words)
    assert done.code == code
    assert said in done.err
    assert snapshot(machine.home).keys() == {"project", "project/.git"}


@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_each_command_has_help_of_its_own(machine: Machine, action: str) -> None:
    done = machine(action, "--help")
    assert done.code == 0
    for word in ("--scope", "--name", "--agents-file", "--dry-run", "--yes", *CLIENTS):
        assert word in done.out


@pytest.mark.requirement("AG-18")
def test_the_commands_for_agents_without_mcp_are_all_that_is_written_if_asked_for(machine: Machine) -> None:
    machine.has("cursor")
    guide = machine.project / "CLAUDE.md"
    guide.write_text("# Rules\n")
    before = snapshot(machine.home)
    assert machine("install", "--commands", "--yes").code == 0
    assert snapshot(machine.home).keys() == before.keys()
    text = guide.read_text()
    assert text.startswith(
        "# Rules\n\n<!-- heartbeat-mcp heartbeat: begin -->\n## Tasks\n\nUse the command `heartbeat-mcp`"
    )
    known = "`add TEXT`, `start ID`, `release ID`, `done ID --result TEXT`, `note ID TEXT`, `edit ID FIELD=VALUE`"
    assert f"{known} change them" in text
    assert machine("uninstall", "--yes").code == 0
    assert snapshot(machine.home) == before


def test_a_server_for_a_project_is_in_the_files_of_the_project(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.project / "src").mkdir()
    monkeypatch.chdir(machine.project / "src")
    clients = [name for name, client in CLIENTS.items() if client.project]
    (machine.home / ".config" / "Claude").mkdir(parents=True)
    (machine.home / ".config" / "Claude" / "Cookies").touch()
    assert "no client was found" in machine("install", "--scope", "project", "--yes").err
    before = snapshot(machine.home)
    done = machine("install", *clients, "--scope", "project", "--yes")
    said = "Claude Code: start claude; /mcp shows whether it is connected; approve the server when claude asks."
    assert said in done.out
    assert "in all your projects" not in done.out
    assert done.out.count("do not commit") == 1
    assert "\n.mcp.json, .cursor/mcp.json, .vscode/mcp.json, " in done.out
    assert "qwen/settings.json have paths of this machine: do not commit them.\n" in done.out
    files = {path for path in snapshot(machine.home) if path.endswith((".json", ".toml"))}
    assert files == {
        *("project/.codex/config.toml", "project/.cursor/mcp.json", "project/.gemini/settings.json"),
        *("project/.mcp.json", "project/.qwen/settings.json", "project/.vscode/mcp.json", "project/opencode.json"),
    }
    assert machine("uninstall", "--yes", "--scope", "user").out == "There is nothing to change.\n"
    assert machine("uninstall", "--yes").code == 0
    assert snapshot(machine.home) == before


def test_a_repository_of_the_home_folder_is_not_the_project(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has("cursor")
    (machine.home / ".git").mkdir()
    (machine.home / "plain").mkdir()
    monkeypatch.chdir(machine.home / "plain")
    machine.home.with_name("link").symlink_to("home")
    monkeypatch.setenv("HOME", str(machine.home.with_name("link")))
    machine("install", "--yes", "--scope", "project")
    env = entry(machine.home / "plain" / CURSOR)["env"]
    assert env["HEARTBEAT_FILE_PATH"] == f"{machine.home}/plain/HEARTBEAT.md"
    monkeypatch.chdir(machine.home)
    assert "2) one list for all projects [default]\n" in machine("install", answers="").err


def test_the_folder_of_a_client_stays_by_which_it_is_found(machine: Machine) -> None:
    machine.has("cursor")
    for _ in range(2):
        assert machine("install", "--yes").code == 0
        assert machine("uninstall", "--yes").code == 0
        assert snapshot(machine.home).keys() == {"project", "project/.git", ".cursor"}
