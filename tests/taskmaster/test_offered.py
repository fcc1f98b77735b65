"""Offers of a server in a folder without a project, and the sets of the tools that messages name (PE-4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from task_core.cli.main import run
from task_core.doctor import Finding
from task_core.server.transports.greeting import GreetingFile
from taskmaster_mcp.doctor import checks
from taskmaster_mcp.settings import SETS, TaskmasterSettings, name_sets
from tests.core.command_line import command_line
from tests.resource_client import prompt_text
from tests.servers import program_of
from tests.taskmaster.conftest import ServedProject, item, tag
from tests.tool_client import tool_schemas

pytestmark = pytest.mark.requirement("PE-4")

MAKE = "initialize_project"
STANDARD = "(in the set standard: TASK_MASTER_TOOLS=standard)"
ALL = "(in the set all: TASK_MASTER_TOOLS=all)"


async def offered(served: ServedProject) -> set[str]:
    """Return the names of the tools."""
    return {*await tool_schemas(served.server)}


@pytest.mark.parametrize("chosen", [*SETS, "next_task"])
async def test_where_there_is_no_project_every_set_of_tools_can_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    monkeypatch.chdir(tmp_path)
    served = ServedProject(tmp_path, tools=chosen, options={"task_master_project_root": None})
    wanted = {*SETS.get(chosen, (chosen,)), MAKE}
    assert await offered(served) == wanted
    _, error = await served.failed("next_task")
    assert error["message"].endswith(f"Call {MAKE} to create one.")
    message = (await served.call(MAKE))["message"]
    assert message == name_sets("Made the project. Call parse_prd or add_task.", wanted)
    assert (await served.call("next_task"))["nextTask"] is None
    served.server = served.another()
    assert await offered(served) == {*SETS.get(chosen, (chosen,))}


@pytest.mark.parametrize("file", [".taskmaster/config.json", "tasks/tasks.json"])
async def test_a_project_of_any_form_is_not_made_again(project: ServedProject, file: str) -> None:
    served = ServedProject(project.root / "other", tools="core")
    (served.root / file).parent.mkdir(parents=True)
    (served.root / file).write_text('{"tasks": []}')
    served.server = served.another()
    assert MAKE not in await offered(served)
    served.server = served.another(taskmaster_roots=str(project.root / "third"))
    assert MAKE not in await offered(served)


async def test_a_message_that_names_a_tool_which_is_not_offered_names_its_set(project: ServedProject) -> None:
    project.server = project.another(task_master_tools="core")
    _, error = await project.failed("next_task", projectRoot=str(project.root.parent))
    assert f"Call {MAKE} {STANDARD} to create one." in error["message"]
    _, error = await project.failed("next_task", tag="add_tag")
    assert error["message"].startswith("No tag is named 'add_tag'.")
    assert error["message"].endswith(f"or make it with add_tag {ALL}.")
    started = await project.call("parse_prd", tasks=[{"title": "x"}], append=True, background=True)
    assert f"get_operation_status {ALL} with" in started["message"]


@pytest.mark.parametrize(
    ("tool", "name"), [(MAKE, "standard"), ("move_task", "all"), ("cacheStats", "all"), ("update", "all")]
)
async def test_the_error_for_a_tool_of_another_set_names_that_set(project: ServedProject, tool: str, name: str) -> None:
    project.server = project.another(task_master_tools="core")
    reason, error = await project.failed(tool)
    assert (reason, error["message"]) == (
        "UNKNOWN_TOOL",
        f"Unknown tool '{tool}': it is in the set {name}: TASK_MASTER_TOOLS={name}.",
    )


async def test_instructions_and_prompts_name_the_set_of_a_tool_that_was_not_chosen(project: ServedProject) -> None:
    project.server = project.another(task_master_tools="next_task")
    core = "(in the set core: TASK_MASTER_TOOLS=core)"
    instructions = project.server.sdk.instructions or ""
    assert "Call next_task, set the task" in instructions
    assert f"with set_task_status {core}," in instructions
    assert f"with set_task_status {core} and" in (await project.call("next_task"))["nextSteps"]
    words = await prompt_text(project.server, "next")
    assert "Call next_task." in words
    assert f"with get_task {core}," in words


def test_doctor_names_the_set_of_what_repairs(project: ServedProject) -> None:
    project.write({"master": tag(item(1, 9)), "other": tag()})
    project.put(".taskmaster/state.json", {"currentTag": "gone"})
    settings = TaskmasterSettings.model_validate({"task_master_project_root": str(project.root)})
    found: list[Finding] = [finding for check in checks(settings) for finding in check.look()]
    cures = [finding.cure for finding in found]
    assert f"Correct it, or let fix_dependencies {ALL} remove it." in cures
    assert f"Choose another with use_tag {ALL}." in cures


def test_nobody_is_greeted_where_there_is_no_project(
    project: ServedProject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = program_of("taskmaster").program().greeting
    inner, package = project.root / "src", project.root / "package"
    for folder in (inner, package):
        folder.mkdir()
    (package / "package.json").touch()

    def is_greeted(folder: Path, root: Path | None = None) -> bool:
        monkeypatch.chdir(folder)
        file = GreetingFile(path, {"TASK_MASTER_PROJECT_ROOT": str(root)} if root else {})
        file.accept()
        return file.greeting() is not None

    assert is_greeted(project.root)
    assert is_greeted(inner)
    assert is_greeted(package, project.root)
    assert not is_greeted(package)
    assert not is_greeted(inner, package)
    project.path.unlink()
    assert not is_greeted(project.root)


@pytest.mark.requirement("PE-10")
@pytest.mark.parametrize("command", ["list", "watch", "next", "brief", "history", "undo"])
def test_a_person_in_a_folder_without_a_project_reads_what_a_person_can_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / ".taskmaster").mkdir()
    inner = tmp_path / "inner"
    (inner / ".git").mkdir(parents=True)
    monkeypatch.chdir(inner)
    with command_line(), pytest.raises(SystemExit) as ended:
        run(program_of("taskmaster").program(), [command])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        f"taskmaster-mcp {command}: 'inner' has no Task Master project. There is one above it: '{tmp_path}'. "
        "Ask your agent to create one.\n"
    )
