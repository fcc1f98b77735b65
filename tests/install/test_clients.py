"""The files in which each client keeps its servers, on each system, and the entries in them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from mcp_client_install.clients import CLIENTS, UserFolders, words_of

HOME = Path("/home/ann")
PROJECT = Path("/srv/my project")


def folders(platform: str, **environment: str) -> UserFolders:
    return UserFolders(environment, HOME, PROJECT, platform)


@pytest.mark.parametrize(
    ("client", "linux", "mac", "windows"),
    [
        ("claude-code", ".claude.json", ".claude.json", ".claude.json"),
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
            "Library/Application Support/Claude/claude_desktop_config.json",
            "AppData/Roaming/Claude/claude_desktop_config.json",
        ),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json", ".cursor/mcp.json"),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "Library/Application Support/Code/User/mcp.json",
            "AppData/Roaming/Code/User/mcp.json",
        ),
        ("codex", ".codex/config.toml", ".codex/config.toml", ".codex/config.toml"),
        ("gemini-cli", ".gemini/settings.json", ".gemini/settings.json", ".gemini/settings.json"),
        ("opencode", *[".config/opencode/opencode.json"] * 3),
        ("copilot-cli", *[".copilot/mcp-config.json"] * 3),
        ("qwen-code", *[".qwen/settings.json"] * 3),
    ],
)
def test_the_file_for_all_projects_is_where_the_client_reads_it(
    client: str, linux: str, mac: str, windows: str
) -> None:
    found = [CLIENTS[client].file("user", folders(platform)) for platform in ("linux", "darwin", "win32")]
    assert found == [HOME / linux, HOME / mac, HOME / windows]


MOVED = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude.json"),
    "claude-desktop": ("XDG_CONFIG_HOME", "Claude/claude_desktop_config.json"),
    "vscode": ("VSCODE_APPDATA", "Code/User/mcp.json"),
    "codex": ("CODEX_HOME", "config.toml"),
    "gemini-cli": ("GEMINI_CLI_HOME", ".gemini/settings.json"),
    "opencode": ("XDG_CONFIG_HOME", "opencode/opencode.json"),
    "copilot-cli": ("COPILOT_HOME", "mcp-config.json"),
    "qwen-code": ("QWEN_HOME", "settings.json"),
}


@pytest.mark.requirement("PE-5")
@pytest.mark.parametrize("client", MOVED)
def test_a_client_that_a_variable_sends_elsewhere_is_followed(client: str, tmp_path: Path) -> None:
    variable, file = MOVED[client]
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).touch()
    elsewhere = folders("linux", **{variable: str(tmp_path)})
    assert CLIENTS[client].file("user", elsewhere) == tmp_path / file
    assert CLIENTS[client].is_installed(elsewhere)
    assert not CLIENTS[client].is_installed(folders("linux", **{variable: ""}))


def test_a_portable_vs_code_is_followed_first() -> None:
    portable = folders("win32", VSCODE_PORTABLE="/portable", VSCODE_APPDATA="/else")
    assert CLIENTS["vscode"].file("user", portable) == Path("/portable/user-data/User/mcp.json")


def test_of_two_names_the_file_that_exists_counts(tmp_path: Path) -> None:
    here = UserFolders({}, tmp_path, tmp_path, "linux")
    assert CLIENTS["opencode"].file("project", here) == tmp_path / "opencode.json"
    (tmp_path / "opencode.jsonc").touch()
    assert CLIENTS["opencode"].file("project", here) == tmp_path / "opencode.jsonc"


def test_clients_that_share_a_file_of_a_project_agree_on_the_entry() -> None:
    shared: dict[Path, list[object]] = {}
    for client in CLIENTS.values():
        if path := client.file("project", folders("linux")):
            assert PROJECT in path.parents
            shared.setdefault(path, []).append((client.member, client.entry(["x"], {})))
    assert [entries for entries in shared.values() if any(entry != entries[0] for entry in entries)] == []
    assert max(map(len, shared.values())) == 2


def test_what_every_client_would_start_can_be_read_again() -> None:
    for client in CLIENTS.values():
        assert words_of(client.entry(["/bin/x", "-a"], {"A": "1"})) == (["/bin/x", "-a"], {"A": "1"})
        assert PurePosixPath(client.user[0]).suffix == client.suffix


@pytest.mark.parametrize("entry", [None, 1, [], {"command": None}, {"env": [], "args": {}}, {"env": {"A": 1}}])
def test_an_entry_in_no_known_form_starts_nothing(entry: object) -> None:
    words, variables = words_of(entry)
    assert [word for word in words if word != "{}"] == []
    assert variables == {}
