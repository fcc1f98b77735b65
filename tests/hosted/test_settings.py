"""The start of a hosted server: which settings it needs, and what each wrong one is told (HO-1)."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from task_core.bootstrap import BadSettings, find_plugin
from task_core.cli.main import run
from task_core.cli.program import Program
from task_core.cli.settings import describe_settings, load_settings
from task_hosted import __main__ as command
from task_hosted.service.settings import HostedSettings
from tests.core.command_line import command_line
from tests.packaging.projects import ROOT
from tests.servers import program_of

HOSTED: Final = {
    "TASK_AUTH_ISSUER": "https://issuer.example.com",
    "TASK_PUBLIC_URL": "https://tasks.example.com/mcp",
    "TASK_ALLOWED_HOSTS": "tasks.example.com",
}


class Ended(NamedTuple):
    """The end of a command."""

    code: object
    text: str
    errors: str


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with command_line():
        yield monkeypatch


def serve(capsys: pytest.CaptureFixture[str], server: str, *options: str) -> Ended:
    with pytest.raises(SystemExit) as ended:
        run(Program.of(program_of(server).package), ["--transport", "http", "--port", "0", *options])
    return Ended(ended.value.code, *capsys.readouterr())


def put(environment: pytest.MonkeyPatch, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        environment.setenv(name, value)


@pytest.mark.requirement("HO-1", "CLI-2", "N1")
def test_a_host_beyond_this_machine_is_refused_without_authentication(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(environment, {name: value for name, value in HOSTED.items() if name != "TASK_AUTH_ISSUER"})
    ended = serve(capsys, "tasks-v1", "--host", "0.0.0.0")  # noqa: S104 - it is refused
    assert ended.code == 2
    for name in HOSTED:
        assert name in ended.errors


@pytest.mark.requirement("HO-1", "CLI-3")
@pytest.mark.parametrize("missing", ["TASK_PUBLIC_URL", "TASK_ALLOWED_HOSTS"])
def test_with_an_issuer_the_other_settings_are_required_on_this_machine_too(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, missing: str
) -> None:
    put(environment, {**HOSTED, "TASK_STORE": f"sqlite:{tmp_path / 'tasks.db'}", missing: ""})
    ended = serve(capsys, "tasks-v1")
    assert (ended.code, ended.text) == (2, "")
    assert ended.errors.startswith(f"tasks-v1-mcp: Set {missing}: ")


@pytest.mark.requirement("HO-1", "CLI-3")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TASK_AUTH_ISSUER", "http://issuer.example.com"),
        ("TASK_AUTH_ISSUER", "issuer.example.com"),
        ("TASK_AUTH_ISSUER", "https://"),
        ("TASK_AUTH_ISSUER", "https://issuer.example.com?tenant=a"),
        ("TASK_AUTH_ISSUER", "https://me@issuer.example.com"),
        ("TASK_AUTH_ISSUER", "https://issuer.example.com/a b"),
        ("TASK_PUBLIC_URL", "https://tasks.example.com"),
        ("TASK_PUBLIC_URL", "https://tasks.example.com/mcp/"),
        ("TASK_PUBLIC_URL", "http://tasks.example.com/mcp"),
        ("TASK_PUBLIC_URL", "https://tasks.example.com:99999/mcp"),
        ("TASK_ALLOWED_HOSTS", "https://tasks.example.com"),
        ("TASK_ALLOWED_HOSTS", "tasks.example.com,*"),
        ("TASK_ALLOWED_HOSTS", ","),
        ("TASK_ALLOWED_ORIGINS", "app.example.com"),
        ("TASK_TENANT_CLAIM", "a=b"),
        ("TASK_TENANT_CLAIM", "a b"),
        ("TASK_DRAIN_SECONDS", "-1"),
        ("TASK_CALLS_PER_SECOND", "0"),
        ("TASK_CALLS_PER_SECOND", "inf"),
        ("TASK_CALLS_BURST", "0"),
        ("TASK_CALLS_IN_FLIGHT", "many"),
        ("TASK_STREAMS", "-1"),
        ("TASK_QUOTA_TASKS", "0"),
        ("TASK_QUOTA_BYTES", "1.5"),
        ("TASK_METRICS_PORT", "65536"),
    ],
)
def test_a_bad_setting_is_named_with_what_was_expected(environment: pytest.MonkeyPatch, name: str, value: str) -> None:
    put(environment, {**HOSTED, name: value})
    with pytest.raises(BadSettings, match=rf"^{name} is '.*': .* Expected: "):
        load_settings(HostedSettings)


@pytest.mark.requirement("HO-1", "HO-2")
@pytest.mark.parametrize("url", ["https://Tasks.example.com/mcp", "https://tasks.example.com:443/mcp"])
def test_a_public_url_that_clients_would_be_told_in_other_words_is_refused_with_those(
    environment: pytest.MonkeyPatch, url: str
) -> None:
    put(environment, {**HOSTED, "TASK_PUBLIC_URL": url})
    with pytest.raises(BadSettings, match=r": write it as https://tasks\.example\.com/mcp\."):
        load_settings(HostedSettings)


@pytest.mark.requirement("HO-1")
def test_lists_are_separated_by_commas_and_an_issuer_of_this_machine_needs_no_tls(
    environment: pytest.MonkeyPatch,
) -> None:
    more = {
        "TASK_AUTH_ISSUER": "http://127.0.0.1:9000",
        "TASK_PUBLIC_URL": "http://localhost:8000/people/mcp",
        "TASK_ALLOWED_HOSTS": " tasks.example.com , [::1]:80,",
        "TASK_ALLOWED_ORIGINS": "https://app.example.com:8443",
    }
    put(environment, more)
    settings = load_settings(HostedSettings)
    assert settings.task_allowed_hosts == ("tasks.example.com", "[::1]:80")
    assert settings.task_allowed_origins == ("https://app.example.com:8443",)
    assert settings.path == "/people/mcp"


@pytest.mark.requirement("HO-1", "CLI-3")
@pytest.mark.parametrize(
    ("server", "settings", "said"),
    [
        pytest.param("tasks-v1", {}, "TASK_STORE is json:", id="a document"),
        pytest.param("hierarchy", {}, "TASK_STORE is memory:", id="in memory"),
        pytest.param("tasks-v1", {"TASK_STORE": "memory:"}, "TASK_STORE is memory:", id="in memory, by its address"),
        pytest.param("hierarchy", {"TASK_STORE": "SQLITE", "TASK_TENANT": "ada"}, "TASK_TENANT is for", id="a tenant"),
        pytest.param(
            "heartbeat",
            {"TASK_STORE": "SQLITE", "HEARTBEAT_FILE_PATH": "FOLDER/HEARTBEAT.md"},
            "HEARTBEAT_FILE_PATH is for a server with one user",
            id="a file of one user",
        ),
        pytest.param(
            "heartbeat",
            {"TASK_STORE": "SQLITE", "WORKSPACE_PATH": "FOLDER"},
            "WORKSPACE_PATH is for a server with one user",
            id="a folder of one user",
        ),
        pytest.param("taskmaster", {"TASK_MASTER_PROJECT_ROOT": "FOLDER"}, "files of one user", id="projects"),
        pytest.param("cortex", {}, "files of one user", id="no store at all"),
    ],
)
def test_a_server_for_one_user_is_not_hosted(
    environment: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    server: str,
    settings: dict[str, str],
    said: str,
) -> None:
    words = {"SQLITE": f"sqlite:{tmp_path / 'tasks.db'}", "FOLDER": str(tmp_path)}
    given = {name: re.sub("SQLITE|FOLDER", lambda found: words[found[0]], text) for name, text in settings.items()}
    put(environment, {**HOSTED, "XDG_DATA_HOME": str(tmp_path), **given})
    ended = serve(capsys, server)
    assert (ended.code, ended.text) == (2, "")
    assert said in ended.errors


@pytest.mark.requirement("HO-1", "CLI-1")
def test_the_settings_of_a_hosted_server_are_in_the_help_of_their_own_command_and_of_no_server(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = serve(capsys, "tasks-v1", "--help").text
    environment.setattr(sys, "argv", ["mcp-task-hosted"])
    runpy.run_path(str(command.__file__), run_name="__main__")
    shown = capsys.readouterr().out
    for name, text, default in describe_settings(HostedSettings):
        assert f"  {name}\n      {text} ({default})" in shown
        assert name not in usual
    environment.setattr(sys, "argv", ["mcp-task-hosted", "--version"])
    with pytest.raises(SystemExit, match="0"):
        command.main()
    assert capsys.readouterr().out.startswith("mcp-task-hosted ")


@pytest.fixture
def without_plugins(environment: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Let the servers find no other distribution."""
    environment.setattr("importlib.metadata.entry_points", lambda **_: ())
    find_plugin.cache_clear()
    yield environment
    find_plugin.cache_clear()


@pytest.mark.requirement("HO-1", "CLI-3")
def test_without_the_package_each_way_to_it_says_how_to_install_it(
    without_plugins: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    advice = "pip install 'tasks-v1-mcp[hosted]'"
    put(without_plugins, {"TASK_STORE": "postgresql://host/database"})
    unknown = serve(capsys, "tasks-v1")
    assert (unknown.code, f": install the engine for it: {advice}. Expected: " in unknown.errors) == (2, True)
    put(without_plugins, HOSTED)
    ended = serve(capsys, "tasks-v1")
    assert (ended.code, ended.text, ended.errors) == (
        2,
        "",
        f"tasks-v1-mcp: TASK_AUTH_ISSUER is set, but the service for many users is not installed: {advice}\n",
    )


@pytest.mark.requirement("HO-1", "README-1")
def test_the_readme_of_the_package_has_a_row_for_each_setting() -> None:
    page = (ROOT / "packages" / "task-hosted" / "README.md").read_text("utf-8")
    for name, text, default in describe_settings(HostedSettings):
        shown = default.removeprefix("default ")
        assert f"| `{name}` | {text.removesuffix('.')} | {'' if shown == 'not set' else shown} |" in page
