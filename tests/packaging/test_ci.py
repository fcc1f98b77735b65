"""``.ci/run`` lists what it could not test, and in CI that fails; here everything that it starts is a stub."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.packaging.projects import PYTHONS, ROOT

PROGRAMS: Final = ("bash", "dirname", "getconf", "id", "mktemp", "rm", "sed", "sort", "tee")
"""What the script needs of any machine."""

PYTHON: Final = """\
#!/bin/sh
case $1 in -c) echo 3.12; exit;; esac
shift 2
echo "did $*"
case $* in test*|"run lowest:check") echo "$TEST_OUTPUT"; exit "${TEST_RESULT:-0}";; esac
"""
"""A python3 that names each call of hatch, and prints what a run of the tests may print."""

PARTS: Final = ["check", "test", "lowest", "cover", "package"]


class Machine:
    """A machine that has the needed programs and nothing else, with a checkout of the script."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name in PROGRAMS:
            (self.programs / name).symlink_to(shutil.which(name) or name)
        self.add("python3", PYTHON)
        for name in (*(f"python{version}" for version in PYTHONS), "npm"):
            self.add(name)
        self.script = folder / "checkout" / ".ci" / "run"
        self.script.parent.mkdir(parents=True)
        shutil.copy(ROOT / ".ci" / "run", self.script)

    def add(self, name: str, text: str = "#!/bin/sh\n") -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def run(self, *parts: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.programs), "TMPDIR": str(self.script.parent), "TEST_OUTPUT": "", **variables}
        command = (self.programs / "bash", self.script, *parts)
        return subprocess.run(command, env=environment, capture_output=True, check=False, encoding="utf-8", timeout=60)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_machine_with_everything_passes_in_ci_and_leaves_nothing_behind(machine: Machine) -> None:
    done = machine.run(CI="true", TEST_OUTPUT="7 passed")
    assert (done.returncode, done.stderr) == (0, "")
    assert "NOT TESTED" not in done.stdout
    assert os.listdir(machine.script.parent) == ["run"]


@pytest.mark.parametrize(
    ("removed", "output", "told"),
    [
        ("python3.13", "", "Python 3.13"),
        ("npm", "", "Bundles and conformance, without npm"),
        (None, "SKIPPED [2] tests/wire/a.py:7: strace is not installed", "tests/wire/a.py:7: strace is not installed"),
    ],
    ids=["a Python", "npm", "what tests need"],
)
def test_what_the_machine_lacks_is_listed_once_at_the_end_and_fails_only_in_ci(
    machine: Machine, removed: str | None, output: str, told: str
) -> None:
    if removed:
        (machine.programs / removed).unlink()
    done = machine.run(TEST_OUTPUT=output)
    assert done.returncode == 0
    heading, *listed = done.stdout.splitlines()[-4:-1]
    assert heading.startswith("== NOT TESTED on this machine")
    assert listed == [told, ""]
    assert machine.run(TEST_OUTPUT=output, CI="1").returncode == 1


def test_tests_that_fail_end_the_run_although_their_output_is_read(machine: Machine) -> None:
    done = machine.run("test", TEST_RESULT="1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2] == "did test"


def calls(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith("did ")]


OTHERS: Final = "did test -m ({}long or browser or process) and not (sample or by_hand)"
COVER: Final = "did test -py 3.13 --cover -p -m quick or sample or (postgresql and not (process or long or by_hand))"


def test_the_parts_together_are_the_whole_run_which_has_each_test_once_on_a_python(machine: Machine) -> None:
    alone = {part: calls(machine.run(part)) for part in PARTS}
    assert alone["test"] == ["did test", OTHERS.format("")]
    assert alone["cover"] == [COVER]
    alone["test"] = [OTHERS.format("workspace or ")]
    assert [call for part in PARTS for call in alone[part]] == calls(machine.run())


def test_an_unknown_part_is_refused_with_the_names_of_those_there_are(machine: Machine) -> None:
    done = machine.run("tests")
    assert (done.returncode, calls(done)) == (2, [])
    assert done.stderr == f".ci/run: there is no part 'tests'; the parts are: {' '.join(PARTS)}\n"
