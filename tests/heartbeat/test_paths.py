"""Where a reference may lead: nowhere but the workspace, whatever its form, and no error reveals what exists."""

import ntpath
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_mcp import paths
from heartbeat_mcp.errors import PathOutsideWorkspace
from heartbeat_mcp.paths import check_reference


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a workspace ``ws``, a neighbour ``out``, and links between them."""
    tmp_path = tmp_path_factory.mktemp("house")
    for folder in ("ws/docs", "ws-other", "out/deep"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("ws/docs/auth.md", "out/secret.txt", "ws-other/a.md"):
        (tmp_path / file).write_text("x", encoding="utf-8")
    links = {
        "ws/inner": "docs",
        "ws/away": "../out",
        "ws/absolute": str(tmp_path / "out"),
        "ws/file": "../out/secret.txt",
        "ws/dangling": "../out/not-there",
        "ws/loop": "loop",
        "ws/ring-a": "ring-b",
        "ws/ring-b": "ring-a",
        "ws/up": "..",
        "alias": "ws",
        "out/back": "../ws/docs",
    }
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    return tmp_path


def refusal(value: str, workspace: Path | None, base: Path = Path("/base")) -> str:
    with pytest.raises(PathOutsideWorkspace) as caught:
        check_reference("raw_reference", value, workspace=workspace, base=base)
    assert caught.value.details == {"field": "raw_reference"}
    return caught.value.message


@pytest.mark.requirement("S2", "HB-6")
@pytest.mark.parametrize(
    "value",
    [
        "docs/auth.md",
        "docs",
        ".",
        "./docs/./auth.md",
        "docs//auth.md",
        "docs/../docs/auth.md",
        "not/there/yet.md",
        "inner/auth.md",
        "inner/new.md",
        "up/ws/docs",
        "WS/docs/auth.md",
        "WS",
        "ALIAS/docs/new.md",
        "OUT/back/auth.md",
        "...",
        "..hidden",
        "docs/~notes",
        "docs/a:b.md",
        "设计 文档.md",
        "مهمة.md",
    ],
)
def test_a_path_inside_the_workspace_passes(house: Path, value: str) -> None:
    for name in ("WS", "ALIAS", "OUT"):
        value = value.replace(name, str(house / name.lower())) if value.startswith(name) else value
    check_reference("raw_reference", value, workspace=house / "ws", base=house)


@pytest.mark.requirement("S2")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("..", id="parent"),
        pytest.param("../out/secret.txt", id="climb"),
        pytest.param("docs/../../out/secret.txt", id="climb-later"),
        pytest.param("not-there/../../out/x", id="climb-through-what-is-not-there"),
        pytest.param("docs/auth.md/../../../out", id="climb-through-a-file"),
        pytest.param("../ws/docs/auth.md", id="out-and-back"),
        pytest.param("../out/back/auth.md", id="out-and-back-by-a-link"),
        pytest.param("/etc/passwd", id="absolute"),
        pytest.param("/", id="root"),
        pytest.param("HOUSE", id="folder-above"),
        pytest.param("HOUSE/ws-other/a.md", id="same-beginning-of-the-name"),
        pytest.param("HOUSE/ws/../out/secret.txt", id="absolute-climb"),
        pytest.param("HOUSE/out/../ws/docs/auth.md", id="absolute-out-and-back"),
        pytest.param("away/secret.txt", id="link"),
        pytest.param("away/new.txt", id="link-to-a-new-file"),
        pytest.param("away/new/er.txt", id="link-to-a-new-folder"),
        pytest.param("absolute/secret.txt", id="absolute-link"),
        pytest.param("file", id="link-to-a-file"),
        pytest.param("dangling", id="dangling-link"),
        pytest.param("dangling/x", id="below-a-dangling-link"),
        pytest.param("inner/../../out", id="climb-after-a-link"),
        pytest.param("away/deep/../../ws-other", id="climb-from-a-link"),
        pytest.param("up/out", id="link-upwards"),
        pytest.param("loop", id="loop"),
        pytest.param("loop/x", id="below-a-loop"),
        pytest.param("loop/../docs", id="through-a-loop"),
        pytest.param("ring-a/x", id="ring"),
        pytest.param("not-there/../ring-b/x", id="ring-behind-what-is-not-there"),
    ],
)
def test_a_path_that_leads_out_is_refused_in_the_same_words(house: Path, value: str) -> None:
    message = refusal(value.replace("HOUSE", str(house)), house / "ws")
    assert message == (
        "Give 'raw_reference' as a path inside the workspace or an http(s) URL: it leads outside the workspace."
    )


@pytest.mark.requirement("S2", "ERR-1")
@pytest.mark.parametrize("pair", [("out/secret.txt", "out/none.txt"), ("out", "none"), ("ws-other/a.md/x", "none/x")])
def test_no_error_reveals_whether_a_file_exists(house: Path, pair: tuple[str, str]) -> None:
    absolute = {refusal(str(house / name), house / "ws") for name in pair}
    relative = {refusal(f"../{name}", house / "ws") for name in pair}
    assert len(absolute | relative) == 1


@pytest.mark.requirement("S2", "HB-6")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param("a\0b", "it contains control, direction or other invisible characters", id="nul"),
        pytest.param("a\nb", "it contains control, direction or other invisible characters", id="line-feed"),
        pytest.param("a\x7f", "it contains control, direction or other invisible characters", id="del"),
        pytest.param("a\u202eb", "it contains control, direction or other invisible characters", id="bidi"),
        pytest.param("a\u2066b", "it contains control, direction or other invisible characters", id="isolate"),
        pytest.param("a\U000e0041", "it contains control, direction or other invisible characters", id="tag"),
        pytest.param("a\u200bb", "it contains control, direction or other invisible characters", id="zero-width"),
        pytest.param("a\ud800", "it contains control, direction or other invisible characters", id="lone-surrogate"),
        pytest.param(" ", "it starts or ends with a blank", id="blank"),
        pytest.param(" /etc/passwd", "it starts or ends with a blank", id="leading-blank"),
        pytest.param("~", "write the home folder out in place of '~'", id="home"),
        pytest.param("~/x", "write the home folder out in place of '~'", id="in-home"),
        pytest.param("~root/x", "write the home folder out in place of '~'", id="home-of-another"),
        pytest.param("//server/share", "it must not start with two slashes", id="unc-with-slashes"),
        pytest.param(r"\\server\share", "write it with '/' in place of backslashes", id="unc"),
        pytest.param(r"\\?\C:\x", "write it with '/' in place of backslashes", id="device"),
        pytest.param(r"docs\auth.md", "write it with '/' in place of backslashes", id="backslash"),
        pytest.param(r"docs/..\..\x", "write it with '/' in place of backslashes", id="backslash-climb"),
        pytest.param(r"C:\x", "write it with '/' in place of backslashes", id="drive-with-backslash"),
        pytest.param("C:/x", "it must not start with a drive letter", id="drive"),
        pytest.param("c:x", "it must not start with a drive letter", id="drive-relative"),
        pytest.param("file:///etc/passwd", "no scheme but http and https is accepted", id="file-url"),
        pytest.param("FILE:x", "no scheme but http and https is accepted", id="file-upper-case"),
        pytest.param("ftp://host/x", "no scheme but http and https is accepted", id="ftp"),
        pytest.param("javascript:alert(1)", "no scheme but http and https is accepted", id="javascript"),
        pytest.param("data:text/plain,x", "no scheme but http and https is accepted", id="data"),
        pytest.param("http:", "the URL is malformed", id="scheme-alone"),
        pytest.param("http://", "the URL is malformed", id="no-host"),
        pytest.param("http:/host", "the URL is malformed", id="one-slash"),
        pytest.param("https:///x", "the URL is malformed", id="empty-host"),
        pytest.param("https://:80/x", "the URL is malformed", id="port-alone"),
        pytest.param("https://user@/x", "the URL is malformed", id="user-alone"),
        pytest.param("https://host:0/x", "the URL is malformed", id="port-zero"),
        pytest.param("https://host:65536", "the URL is malformed", id="port-too-high"),
        pytest.param("https://host:x", "the URL is malformed", id="port-not-a-number"),
        pytest.param("https://[::1", "the URL is malformed", id="broken-address"),
        pytest.param("https://ho st/x", "the URL is malformed", id="blank-in-host"),
        pytest.param("https://host/a b", "the URL is malformed", id="blank-in-path"),
        pytest.param("https://host\\@other/x", "the URL is malformed", id="backslash-in-url"),
        pytest.param("http:relative", "the URL is malformed", id="http-without-slashes"),
    ],
)
def test_a_form_that_leads_elsewhere_is_refused(house: Path, value: str, why: str) -> None:
    for workspace in (house / "ws", None):
        message = refusal(value, workspace, house)
        assert message == f"Give 'raw_reference' as a path inside the workspace or an http(s) URL: {why}."


@pytest.mark.requirement("S2", "HB-6")
@pytest.mark.parametrize(
    "value",
    [
        "http://example.com",
        "https://example.com/a/../b?q=1&r=%20#part",
        "HTTPS://EXAMPLE.COM:8443/x",
        "http://localhost:3000",
        "https://[::1]:8000/x",
        "https://例え.jp/パス",
        "https://user@example.com/x",
    ],
)
def test_a_url_passes(value: str) -> None:
    for workspace in (Path("/ws"), None):
        check_reference("raw_reference", value, workspace=workspace, base=Path("/base"))


@pytest.mark.requirement("HB-6")
@pytest.mark.parametrize("value", ["/docs/auth.md", "/etc/passwd", "/a/../b", "docs/auth.md", "inner/x", "new/x"])
def test_without_a_workspace_absolute_paths_and_those_below_the_base_pass(house: Path, value: str) -> None:
    check_reference("raw_reference", value, workspace=None, base=house / "ws")


@pytest.mark.requirement("HB-6")
@pytest.mark.parametrize("value", ["..", "../out", "docs/../../out/x", "away/x", "loop"])
def test_without_a_workspace_a_relative_path_must_not_leave_the_base(house: Path, value: str) -> None:
    assert refusal(value, None, house / "ws").endswith("it leads outside the folder that it is relative to.")


@pytest.mark.requirement("S2")
def test_a_workspace_behind_a_link_contains_what_is_in_its_target(house: Path) -> None:
    for value in ("docs/auth.md", str(house / "ws/x"), str(house / "alias/x")):
        check_reference("raw_reference", value, workspace=house / "alias", base=house)
    assert refusal("../out/x", house / "alias")


def test_the_root_folder_as_workspace_holds_everything() -> None:
    check_reference("raw_reference", "/etc/passwd", workspace=Path("/"), base=Path("/"))


def test_a_workspace_that_is_not_there_yet_holds_what_will_be_in_it(tmp_path: Path) -> None:
    check_reference("raw_reference", "a/b.md", workspace=tmp_path / "later", base=tmp_path)
    assert refusal("../b.md", tmp_path / "later")


@pytest.mark.requirement("S2")
@settings(max_examples=40)
@given(parts=st.lists(st.sampled_from(["..", ".", "", "docs", "away", "inner", "up", "loop", "new"]), max_size=8))
def test_whatever_passes_resolves_inside_the_workspace(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    root = tmp_path_factory.getbasetemp() / "any" / "ws"
    if not root.exists():
        (root / "docs").mkdir(parents=True)
        for name, target in {"away": "../out", "inner": "docs", "up": "..", "loop": "loop"}.items():
            (root / name).symlink_to(target)
    value = "/".join(parts)
    try:
        check_reference("raw_reference", value, workspace=root, base=root)
    except PathOutsideWorkspace:
        return
    assert (root / value).resolve().is_relative_to(root.resolve())


@pytest.mark.requirement("S2")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x" * 300, id="a name that no disk takes"),
        pytest.param("/".join("x" * 500), id="five hundred folders"),
        pytest.param("docs/auth.md/below/a/file", id="below a file"),
        pytest.param("docs/.. /auth.md", id="dots and a blank between"),
        pytest.param("docs/%2e%2e/%2e%2e/x", id="dots in percent"),
        pytest.param("docs/．．/．．/x", id="wide dots"),
        pytest.param("docs/a.md:stream", id="a stream"),
        pytest.param("-rf", id="an option"),
        pytest.param("$HOME/x", id="a variable"),
        pytest.param("{a,b}*?[c]", id="a pattern"),
    ],
)
def test_what_is_only_odd_is_a_name_like_any_other(house: Path, value: str) -> None:
    check_reference("raw_reference", value, workspace=house / "ws", base=house)


WINDOWS_LINKS = {r"c:\ws\disk": r"D:\data", r"c:\ws\share": r"\\server\share", r"c:\ws\con": r"\\.\con"}
"""What resolves to something else: a junction to another drive, one to a share, and the name of a device."""


@pytest.fixture
def _windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let paths be those of Windows, as far as they can be without it: its forms, its drives, no letter's case."""

    def realpath(path: object, **_: bool) -> str:
        full = ntpath.normpath(str(path))
        for link, target in WINDOWS_LINKS.items():
            if full.lower() == link or full.lower().startswith(link + "\\"):
                return target + full[len(link) :]
        return full

    windows = SimpleNamespace(realpath=realpath, commonpath=ntpath.commonpath)
    monkeypatch.setattr(paths, "os", SimpleNamespace(path=windows))
    monkeypatch.setattr(paths, "Path", PureWindowsPath)


def judged_on_windows(value: str) -> bool:
    """Return whether a reference passes where the workspace is the folder ``ws`` of drive C."""
    try:
        workspace = Path(PureWindowsPath("C:/ws"))
        check_reference("raw_reference", value, workspace=workspace, base=workspace)
    except PathOutsideWorkspace:
        return False
    return True


@pytest.mark.requirement("S2", "HB-6")
@pytest.mark.usefixtures("_windows")
@pytest.mark.parametrize(
    "value", ["docs/auth.md", "DOCS/./a.md", "docs/../x", ".", "new/er.txt", "disks/x", "/ws/docs"]
)
def test_on_windows_a_path_with_slashes_inside_the_workspace_passes(value: str) -> None:
    assert judged_on_windows(value)


@pytest.mark.requirement("S2", "HB-6")
@pytest.mark.usefixtures("_windows")
@pytest.mark.parametrize(
    "value",
    [
        *("..", "../out", "docs/../../out", "../ws/docs", "/", "/Windows/x", "C:/ws/docs", "c:docs", "D:/x"),
        *("//server/share", "//?/C:/ws/x", "//./pipe/x", r"\\server\share", r"\\?\C:\ws", r"docs\a.md", r"..\x"),
        *("disk", "disk/x", "DISK/new.txt", "share/x", "con", "con/x", "docs/../disk/x"),
    ],
)
def test_on_windows_other_drives_shares_devices_and_forms_are_refused(value: str) -> None:
    assert not judged_on_windows(value)
