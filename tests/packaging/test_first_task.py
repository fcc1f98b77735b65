"""What a new user does is timed by hand, with the lines that the documents show; what came out is in the README."""

import re

from benchmarks.first_task import FIRST_TASK, INSTALL, INSTALL_BOARD, PAGE, Step, render
from tests.packaging.projects import ROOT
from tests.servers import SERVERS


def test_the_readme_says_how_long_it_took() -> None:
    page, readme = PAGE.read_text("utf-8"), (ROOT / "README.md").read_text("utf-8")
    (first,) = re.findall(r"^\| \*\*to the first task\*\* \| \*\*([\d.]+) s\*\* \|", page, re.MULTILINE)
    assert re.findall(r"took (\d+) seconds", readme) == [str(round(float(first)))]
    assert f"| step | {' | '.join(server.command for server in SERVERS)} |" in page


def test_the_lines_that_are_timed_are_those_of_the_start_page() -> None:
    start = (ROOT / "docs" / "index.md").read_text("utf-8").splitlines()
    for line in (INSTALL, INSTALL_BOARD):
        assert line.format(server="heartbeat-mcp") in start


def test_the_times_of_each_server_are_added_up() -> None:
    first = [Step("install", "uv …", 6.0), Step(FIRST_TASK, "claude …", 2.0), Step("list", "{server} list", 0.5)]
    other = [step._replace(seconds=1.0) for step in first]
    lines = [
        "| step | a-mcp | b-mcp |",
        "| install | 6.0 s | 1.0 s |",
        "| **all** | **8.5 s** | **3.0 s** |",
        "| **to the first task** | **8.0 s** | **2.0 s** |",
        "| list | `a-mcp list` |",
    ]
    text = "\n".join(render({"a-mcp": first, "b-mcp": other}).values())
    assert [line for line in lines if line not in text.splitlines()] == []
