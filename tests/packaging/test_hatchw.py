"""``hatchw`` says what it does while it installs hatch, and nothing once that is done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.projects import ROOT


def hatchw(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    shutil.copyfile(ROOT / "hatchw", folder / "hatchw")
    return subprocess.run(
        [sys.executable, str(folder / "hatchw"), *options],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=120,
    )


@pytest.mark.long
def test_the_first_run_says_each_step_and_what_is_wrong_with_the_last(tmp_path: Path) -> None:
    done = hatchw(tmp_path, "run", "demo", PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    said = [line for line in done.stderr.splitlines() if line.startswith("hatchw: ")]
    assert [line.split()[1] for line in said] == ["the", "installing", "pip"]
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".hatch" / "ready").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the Python of an environment is not a script there")
def test_a_later_run_says_nothing_and_passes_its_options_to_hatch(tmp_path: Path) -> None:
    python = tmp_path / ".hatch" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\nexit 7\n', "utf-8")
    python.chmod(0o755)
    (tmp_path / ".hatch" / "ready").touch()
    done = hatchw(tmp_path, "run", "demo", "--part", "cortex")
    assert (done.returncode, done.stdout, done.stderr) == (7, "-m hatch run demo --part cortex\n", "")
