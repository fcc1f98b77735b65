"""What a new user does is timed by hand, with the lines that the documents show; what came out is in the README."""

import re

from benchmarks.first_task import INSTALL, PAGE, Step, render
from tests.packaging.projects import ROOT


def test_the_readme_says_how_long_it_took() -> None:
    page, readme = PAGE.read_text("utf-8"), (ROOT / "README.md").read_text("utf-8")
    (total,) = re.findall(r"^\| \*\*all\*\* \| \| \*\*([\d.]+) s\*\* \|", page, re.MULTILINE)
    assert re.findall(r"took (\d+) seconds", readme) == [str(round(float(total)))]
    assert INSTALL in page
    assert INSTALL in readme.splitlines()


def test_a_step_with_a_floor_has_a_ratio_and_the_times_are_added_up() -> None:
    text = render([Step("clone", "git clone …", 1.0), Step("install", "uv …", 6.0, 2.0)], {"date": "2026-11-22"})
    lines = [
        "| clone | `git clone …` | 1.0 s | – |",
        "| install | `uv …` | 6.0 s | 3.00 |",
        "| **all** | | **7.0 s** | |",
    ]
    assert [line for line in lines if line not in text.splitlines()] == []
