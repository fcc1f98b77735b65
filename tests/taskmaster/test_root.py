"""Which folder a project is in: the forms that clients give, and the search where they give none (TM-13 to TM-17)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_core.errors import StoreLocked
from task_core.files import Wait
from task_core.models import utc_now
from task_core.warning_list import WarningList
from taskmaster_mcp.direct.registry import ProjectRegistry
from taskmaster_mcp.project.lock import ProjectLock
from taskmaster_mcp.project.root import Machine, find_above, normalize_root
from taskmaster_mcp.settings import TaskmasterSettings
from tests.core.notes import DEADLINE
from tests.taskmaster.conftest import ServedProject, item, tag

LINUX = Machine("/here", exists=lambda _: False)
WINDOWS = LINUX._replace(is_windows=True)
WSL = LINUX._replace(is_wsl=True)


@pytest.mark.requirement("TM-14")
@pytest.mark.parametrize(
    ("given_root", "machine", "root"),
    [
        ("/srv/x/p", LINUX, "/srv/x/p"),
        ("  /srv/x/p\n", LINUX, "/srv/x/p"),
        ("p/q/../r", LINUX, "/here/p/r"),
        (["/a", "/b"], LINUX, "/a"),
        ([], LINUX, "/here"),
        ("file:///srv/x/p", LINUX, "/srv/x/p"),
        ("file:///srv/x/my%20p", LINUX, "/srv/x/my p"),
        ("/srv/x/100%", LINUX, "/srv/x/100%"),
        ("/srv/x/%ff", LINUX, "/srv/x/%ff"),
        ("/srv/x/p/.taskmaster/tasks/tasks.json", LINUX, "/srv/x/p"),
        ("/srv/x/p/.taskmaster", LINUX, "/srv/x/p"),
        ("/.taskmaster", LINUX, "/"),
        ("vscode-remote://ssh-remote+host/srv/x/p", LINUX, "/srv/x/p"),
        ("vscode-remote://wsl%2BUbuntu/srv/x/p", LINUX, "/srv/x/p"),
        ("/c%3A/Users/John/My%20Life%20Helper%204", WINDOWS, "c:/Users/John/My Life Helper 4"),
        ("/c:/Users/x", WINDOWS, "c:/Users/x"),
        ("/m:/SpecGen", WINDOWS, "m:/SpecGen"),
        ("C:\\m%3A\\SpecGen", WINDOWS, "C:/m:/SpecGen"),
        ("file:///C:/Users/x", WINDOWS, "C:/Users/x"),
        ("C:\\Users\\x\\.taskmaster\\tasks", WINDOWS, "C:/Users/x"),
        ("C:\\Users\\x", WSL, "/mnt/c/Users/x"),
        ("file:///D%3A/x", WSL, "/mnt/d/x"),
        ("\\\\wsl$\\Ubuntu\\srv\\x", WSL, "/srv/x"),
        ("//wsl.localhost/Ubuntu-22.04/srv/x", WSL, "/srv/x"),
    ],
)
def test_a_root_is_understood_in_every_form_that_clients_give(
    given_root: str | list[str], machine: Machine, root: str
) -> None:
    assert normalize_root(given_root, machine) == root


@pytest.mark.requirement("TM-14")
def test_a_path_that_exists_as_it_is_written_is_taken() -> None:
    machine = LINUX._replace(exists=lambda path: path == "/srv/x/a%20b")
    assert normalize_root("/srv/x/a%20b", machine) == "/srv/x/a%20b"
    assert normalize_root("file:///srv/x/a%2520b", machine) == "/srv/x/a%20b"


@pytest.mark.requirement("TM-14")
@given(
    st.lists(
        st.sampled_from(
            [
                "%25",
                "20",
                "%2F",
                "/",
                "file://",
                "vscode-remote://h",
                "C:",
                "\\",
                "wsl$",
                ".taskmaster",
                "..",
                " ",
                "a",
                "~",
            ]
        ),
        max_size=8,
    ).map("".join),
    st.sampled_from([LINUX, WINDOWS, WSL]),
)
def test_normalizing_twice_changes_nothing(text: str, machine: Machine) -> None:
    once = normalize_root(text, machine)
    assert normalize_root(once, machine) == once


@pytest.mark.requirement("TM-13")
@pytest.mark.parametrize(
    ("folders", "found"),
    [
        ([".taskmaster"], "a/b/c"),
        (["../.taskmaster"], "a/b"),
        (["../../.taskmaster", "../package.json"], None),
        (["../../.taskmaster", "../../.git", "../x"], "a"),
        (["../.git", "../.taskmaster"], "a/b"),
        (["../../../.taskmaster"], None),
        ([], None),
    ],
)
def test_the_search_goes_up_to_the_nearest_project_but_not_past_a_border(
    tmp_path: Path, folders: list[str], found: str | None
) -> None:
    here = tmp_path / "a" / "b" / "c"
    here.mkdir(parents=True)
    for name in folders:
        (here / name).mkdir()
    assert find_above(here, home=tmp_path) == (tmp_path / found if found else None)


def test_the_root_of_the_disk_is_no_project() -> None:
    assert find_above(Path("/nowhere/at/all"), home=Path("/srv/x")) is None


@pytest.mark.requirement("TM-13")
async def test_the_argument_comes_before_the_setting_and_the_setting_before_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = {name: ServedProject(tmp_path / name) for name in ("argument", "setting", "folder")}
    for name, served in projects.items():
        served.write({"master": tag(item(1, title=name))})
    inner = tmp_path / "folder" / "src"
    inner.mkdir()
    monkeypatch.chdir(inner)
    served = projects["setting"]
    assert (await served.call("next_task"))["nextTask"]["title"] == "setting"
    found = await served.call("next_task", projectRoot=str(tmp_path / "argument"))
    assert found["nextTask"]["title"] == "argument"
    served.server = served.another(task_master_project_root=None)
    assert (await served.call("next_task"))["nextTask"]["title"] == "folder"
    monkeypatch.chdir(tmp_path)
    code, error = await served.failed("next_task")
    assert code == "FILE_NOT_FOUND_ERROR"
    assert "Call initialize_project" in error["message"]


@pytest.mark.requirement("TM-13")
@pytest.mark.parametrize("place", [".", "work", "/"])
async def test_neither_the_home_folder_nor_the_root_of_the_disk_is_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    served = ServedProject(tmp_path, options={"task_master_project_root": None})
    served.write({"master": tag(item(1))})
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / place)
    for tool in ("get_tasks", "next_task"):
        assert (await served.failed(tool))[0] == "FILE_NOT_FOUND_ERROR"
    if place != "work":
        code, error = await served.failed("initialize_project")
        name = (tmp_path / place).name or "/"
        assert code == "FILE_NOT_FOUND_ERROR"
        assert error["message"] == f"There is no project around the folder '{name}'. Give projectRoot."
    assert (await served.call("get_tasks", projectRoot=str(tmp_path)))["total"] == 1


@pytest.mark.requirement("TM-13")
async def test_without_a_current_folder_a_project_must_be_named(
    project: ServedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert (await project.call("get_tasks"))["total"] == 3
    project.server = project.another(task_master_project_root=None)
    assert (await project.failed("get_tasks"))[0] == "FILE_NOT_FOUND_ERROR"
    assert (await project.call("get_tasks", projectRoot=str(tmp_path)))["total"] == 3


@pytest.mark.requirement("TM-13", "ERR-1")
@pytest.mark.parametrize(("size", "code"), [(4_096, "FILE_NOT_FOUND_ERROR"), (4_097, "INPUT_VALIDATION_ERROR")])
async def test_a_root_has_no_more_characters_than_a_path_may_have(project: ServedProject, size: int, code: str) -> None:
    found, error = await project.failed("get_tasks", projectRoot="/" + "x" * (size - 1))
    assert (found, error["code"], len(error["message"]) < 400) == (code, code, True)


@pytest.mark.requirement("TM-15", "TM-17")
@pytest.mark.parametrize(
    ("root", "reason"),
    [("no/where", "FILE_NOT_FOUND_ERROR"), ("other", "OUTSIDE_PROJECT"), ("a\0b", "INPUT_VALIDATION_ERROR")],
)
async def test_a_root_must_be_a_folder_where_projects_may_be(project: ServedProject, root: str, reason: str) -> None:
    (project.root.parent / f"{project.root.name}-other").mkdir()
    if root == "other":
        root = f"{project.root}-other"
    project.server = project.another(taskmaster_roots=f"/nowhere{os.pathsep}{project.root}")
    assert (await project.failed("get_tasks", projectRoot=root))[0] == reason
    assert (await project.call("get_tasks", projectRoot=str(project.root)))["total"] == 3


@pytest.mark.requirement("TM-16")
@pytest.mark.parametrize("file", ["../x.json", "/etc/passwd", "out/x.json", "a\0b", " "])
async def test_a_file_lies_inside_the_project(project: ServedProject, file: str) -> None:
    (project.root / "out").symlink_to("/tmp")  # noqa: S108 - a folder that is outside
    reason, error = await project.failed("get_tasks", file=file)
    assert error["code"] == "INPUT_VALIDATION_ERROR"
    assert reason in {"OUTSIDE_PROJECT", "INPUT_VALIDATION_ERROR"}
    assert "/etc" not in error["message"]


@pytest.mark.requirement("TM-16", "TM-17")
async def test_the_old_place_of_the_tasks_is_found_and_a_file_can_be_named(tmp_path: Path) -> None:
    served = ServedProject(tmp_path)
    served.put("tasks/tasks.json", {"tasks": [item(1)]})
    served.put("more/own.json", {"master": tag(item(7))})
    assert (await served.call("next_task"))["nextTask"]["id"] == "1"
    assert (await served.call("next_task", file="more/own.json"))["nextTask"]["id"] == "7"
    assert (await served.call("add_task", title="x", file="more/own.json"))["taskId"] == "8"
    (tmp_path / ".taskmaster").mkdir()
    assert (await served.call("get_tasks"))["total"] == 1
    (tmp_path / "tasks" / "tasks.json").unlink()
    assert (await served.call("get_tasks"))["tasks"] == []
    assert (await served.call("list_tags"))["tags"] == []
    await served.call("add_task", title="first")
    assert [task["title"] for task in served.document["master"]["tasks"]] == ["first"]


@pytest.mark.requirement("TM-17")
@pytest.mark.parametrize("text", ["{", "\udcff"], ids=["half", "no text"])
async def test_a_damaged_file_in_the_old_place_is_reported_and_not_passed_over(tmp_path: Path, text: str) -> None:
    old = tmp_path / "tasks" / "tasks.json"
    old.parent.mkdir()
    old.write_bytes(text.encode(errors="surrogateescape"))
    served = ServedProject(tmp_path)
    assert (await served.failed("get_tasks"))[0] == "INVALID_TASKS_FILE"
    assert (await served.failed("add_task", title="x"))[0] == "INVALID_TASKS_FILE"
    assert not (tmp_path / ".taskmaster").exists()


@pytest.mark.requirement("TM-90")
async def test_many_projects_are_served_and_the_oldest_are_closed(tmp_path: Path) -> None:
    projects = [ServedProject(tmp_path / str(number)) for number in range(20)]
    for served in projects:
        served.write({"master": tag(item(1))})
    server = projects[0]
    for _ in range(2):
        for served in projects:
            await server.call("add_task", title="x", projectRoot=str(served.root))
    assert {len(served.document["master"]["tasks"]) for served in projects} == {3}
    server.server.close()


@pytest.mark.requirement("TM-26", "TM-90")
def test_the_end_of_a_server_ends_the_waits_for_projects_that_are_no_longer_kept_open(tmp_path: Path) -> None:
    settings = TaskmasterSettings.model_validate({"task_lock_timeout": 600})
    registry = ProjectRegistry(settings, WarningList(), utc_now)
    for number in range(20):
        (tmp_path / str(number) / ".taskmaster" / "tasks").mkdir(parents=True)
    lock = ProjectLock.of(tmp_path / "0" / ".taskmaster" / "tasks" / "tasks.json")
    lock.acquire(Wait(1))
    project = registry.project(str(tmp_path / "0"))

    def wait() -> None:
        with suppress(StoreLocked), project.transaction():
            pass

    waiting = Thread(target=wait, daemon=True)
    waiting.start()
    for number in range(1, 20):
        registry.project(str(tmp_path / str(number)))
    registry.close()
    waiting.join(DEADLINE)
    lock.release()
    assert not waiting.is_alive()


@pytest.mark.requirement("TM-13")
async def test_the_home_folder_is_no_project_even_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    served = ServedProject(home, options={"task_master_project_root": None})
    served.write({"master": tag(item(1))})
    (home / "work").mkdir()
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    for folder in (home, home / "work", tmp_path / "link" / "work"):
        monkeypatch.chdir(folder)
        assert (await served.failed("get_tasks"))[0] == "FILE_NOT_FOUND_ERROR"
