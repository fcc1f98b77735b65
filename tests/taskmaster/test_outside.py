"""Nothing outside a project is read or changed, whatever its links and names say (TM-15, TM-16)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.taskmaster.conftest import Object, ServedProject, item, tag

REPORT = ".taskmaster/reports/task-complexity-report.json"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the project, which somebody keeps other things in."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def served(tmp_path: Path) -> ServedProject:
    (tmp_path / "p").mkdir()
    served = ServedProject(tmp_path / "p")
    served.write({"master": tag(item(1)), "beta": tag(item(1))})
    return served


@pytest.mark.requirement("TM-16")
@pytest.mark.parametrize(
    ("name", "tool", "arguments"),
    [
        (".taskmaster/state.json", "use_tag", {"name": "beta"}),
        (".taskmaster/state.json", "get_tasks", {}),
        (".taskmaster/config.json", "get_tasks", {}),
        (".gitignore", "initialize_project", {"storeTasksInGit": False}),
        (REPORT, "complexity_report", {}),
        (
            REPORT,
            "analyze_project_complexity",
            {"analysis": [{"taskId": 1, "complexityScore": 2, "recommendedSubtasks": 0}]},
        ),
        (".taskmaster/docs/prd.txt", "parse_prd", {"append": True}),
    ],
)
async def test_a_link_that_leads_out_of_the_project_is_not_followed(
    served: ServedProject, outside: Path, name: str, tool: str, arguments: Object
) -> None:
    secret = outside / "secret.json"
    secret.write_text('{"important": 1}')
    (served.root / name).parent.mkdir(parents=True, exist_ok=True)
    (served.root / name).symlink_to(secret)
    for other in ("config.json", "state.json"):
        path = served.root / ".taskmaster" / other
        if not path.exists():
            path.write_text("{}")
    assert (await served.failed(tool, **arguments))[0] == "OUTSIDE_PROJECT"
    assert secret.read_text() == '{"important": 1}'


@pytest.mark.requirement("TM-16", "TM-83")
async def test_generated_files_do_not_go_through_links(served: ServedProject, outside: Path) -> None:
    secret = outside / "secret.txt"
    secret.write_text("# Task ID: 1\n")
    (served.path.parent / "task_001.txt").symlink_to(secret)
    assert (await served.call("generate"))["skipped"] == ["task_001.txt"]
    await served.call("remove_task", id="1")
    assert secret.read_text() == "# Task ID: 1\n"
    assert (served.path.parent / "task_001.txt").is_symlink()


@pytest.mark.requirement("TM-15", "TM-16")
@pytest.mark.parametrize("link", [".taskmaster", ".taskmaster/tasks", ".taskmaster/tasks/tasks.json"])
async def test_a_project_whose_tasks_are_elsewhere_is_refused(tmp_path: Path, outside: Path, link: str) -> None:
    other = ServedProject(outside)
    other.write({"master": tag(item(1))})
    served = ServedProject(tmp_path / "p", options={"taskmaster_roots": str(tmp_path / "p")})
    (served.root / link).parent.mkdir(parents=True, exist_ok=True)
    (served.root / link).symlink_to(outside / link)
    calls: list[tuple[str, Object]] = [("get_tasks", {}), ("add_task", {"title": "x"}), ("initialize_project", {})]
    for tool, arguments in calls:
        assert (await served.failed(tool, **arguments))[0] == "OUTSIDE_PROJECT"
    if link == ".taskmaster":
        assert (await served.failed("initialize_project", file="own.json"))[0] == "OUTSIDE_PROJECT"
    assert other.document == {"master": tag(item(1))}


@pytest.mark.requirement("TM-16")
@pytest.mark.parametrize("name", ["config.json", "state.json"])
async def test_files_of_task_master_that_hold_no_tasks_are_not_taken_for_the_tasks(
    served: ServedProject, name: str
) -> None:
    served.put(f".taskmaster/{name}", {})
    reason, error = await served.failed("add_task", title="x", file=f".taskmaster/{name}")
    assert (reason, error["fields"][0]["path"]) == ("INPUT_VALIDATION_ERROR", "file")


@pytest.mark.requirement("TM-13", "TM-81")
async def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    served = ServedProject(link)
    found = await served.call("initialize_project", file="sub/tasks.json")
    assert "sub/tasks.json" in found["created"]
    assert json.loads((real / "sub" / "tasks.json").read_bytes())["master"]["tasks"] == []


@pytest.mark.requirement("TM-81")
@pytest.mark.parametrize("form", ["{}", "/{}", "{}/.", "file://{}", "{}-link"])
async def test_the_home_folder_becomes_no_project_in_any_form(
    served: ServedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "home-link").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    assert (await served.failed("initialize_project", projectRoot=form.format(home)))[0] == "INPUT_VALIDATION_ERROR"
    assert [*home.iterdir()] == []
