"""The benchmarks run, and their page speaks of every target; what they measure is never asserted here."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.growth import FIRST_LIMIT, GROWTH_LIMIT, MEMORY_LIMIT, OPERATIONS, SIZES, measure
from benchmarks.parts import PROJECT_LIMITS, PROJECT_SUBTASKS, PROJECT_TASKS, make_project, measure_project
from benchmarks.peers import ForeignClient
from benchmarks.rows import Row, Unit, rounds_of
from benchmarks.run import PAGE, render_tables
from benchmarks.session import SESSIONS, count_bytes
from benchmarks.subjects import HIERARCHY, LABELS, Bench
from benchmarks.wire import Call, CallFailed
from tests.packaging.projects import ROOT


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.run", *options]
    return subprocess.run(command, capture_output=True, check=False, encoding="utf-8", timeout=240, cwd=ROOT)


@pytest.mark.long
def test_a_quick_part_of_the_benchmarks_runs_and_writes_its_table_where_asked(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- from the run: target_7 -->\n<!-- end -->\n", "utf-8")
    done = bench("--quick", "--only", "project", "--output", str(page))
    assert done.returncode == 0, done.stderr
    for what in PROJECT_LIMITS:
        start = f"| {what} | taskmaster |"  # not that of the summary
        for text in (done.stdout, page.read_text("utf-8")):
            assert [line.startswith(start) for line in text.splitlines()].count(True) == 1


@pytest.mark.long
@pytest.mark.requirement("EN-10")
def test_the_growth_has_every_operation_on_both_engines(tmp_path: Path) -> None:
    rows, growth = measure(Bench(tmp_path, is_quick=True), [HIERARCHY])
    lines = {f"{HIERARCHY.name}, {engine}" for engine in LABELS.values()}
    assert {operation: {*growth[operation]} for operation in OPERATIONS} == dict.fromkeys(OPERATIONS, lines)
    assert {tuple(points) for found in growth.values() for points in found.values()} == {SIZES[:2]}
    assert {row.limit for row in rows} == {3.0, 4.0, GROWTH_LIMIT, FIRST_LIMIT, MEMORY_LIMIT}
    assert [*tmp_path.iterdir()] == []


@pytest.mark.requirement("TM-88")
def test_a_list_and_a_save_of_a_large_project_are_held_to_their_limits(tmp_path: Path) -> None:
    tasks = make_project()["master"]["tasks"]
    assert (len(tasks), sum(len(task["subtasks"]) for task in tasks)) == (PROJECT_TASKS, PROJECT_SUBTASKS)
    assert 1_400_000 < len(json.dumps(make_project(), indent=2)) < 1_600_000
    rows = measure_project(Bench(tmp_path, is_quick=True))
    assert {row.what: row.limit for row in rows} == PROJECT_LIMITS
    assert all(row.measured > 0 for row in rows)


@pytest.mark.process
@pytest.mark.requirement("PE-19")
@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_of_40_calls_reads_as_many_bytes_as_its_page_says(name: str) -> None:
    page = (ROOT / "docs" / "answers.md").read_text("utf-8")
    found = re.search(rf"(?m)^\| {name} \| ([\d.]+) KB \| ([\d.]+) KB \|$", page)
    assert found
    assert len(SESSIONS[name]["calls"]) * SESSIONS[name]["times"] == 40
    assert float(found[2]) <= float(found[1]) * (0.5 if name == "hierarchy" else 1)
    assert count_bytes(name) / 1_000 == pytest.approx(float(found[2]), rel=0.02)


def test_what_another_server_writes_beside_its_answers_is_passed_over() -> None:
    program = """if True:
        import json, sys
        for line in sys.stdin:
            request = json.loads(line)
            if "id" in request:
                print("[WARN] no configuration")
                print('{"method":"notifications/message","params":{"data":' + " " * 200_000 + '{"id":1}}}')
                answer = {"result": {"n": request["id"], "isError": "call" in request["method"]}, "id": request["id"]}
                print(json.dumps(answer, separators=(",", ":")))
                print('{"method":"notifications/message","params":{}}', flush=True)
    """
    with ForeignClient((sys.executable, "-c", program)) as client:
        for _ in range(3):
            line = client.line("tools/list")
            answer = json.loads(client.exchange(line))
            assert answer["result"]["n"] == answer["id"] == json.loads(line)["id"]
        with pytest.raises(CallFailed):
            client.time(Call("fail"))


def test_the_page_of_the_benchmarks_has_the_table_of_every_target_and_the_command() -> None:
    text = PAGE.read_text("utf-8")
    rows = [Row(target, "a", "s", Unit.MILLISECONDS, 1.0, 10.0, 0.1) for target in (1, 2, 3, 4, 5, 7)]
    curves = {operation: {"s": {1: 0.1}} for operation in OPERATIONS}
    tables = render_tables(rows, curves)
    assert sorted(re.findall(r"<!-- from the run: (\w+) -->\n\n(?=\||\d+ of)", text)) == sorted(["facts", *tables])
    assert [operation for operation in OPERATIONS if f"| {operation} | hierarchy, SQLite |" not in text] == []
    assert "| command | `python3 hatchw run bench" in text


@pytest.mark.parametrize(
    ("row", "is_met"),
    [
        (Row(1, "a", "s", Unit.MILLISECONDS, 1.0, 10.0, 0.1), True),
        (Row(1, "a", "s", Unit.MILLISECONDS, 1.1, 10.0, 0.1), False),
        (Row(2, "a", "s", Unit.CALLS, 0.1, 0.2, 2.0), True),
        (Row(2, "a", "s", Unit.CALLS, 0.1, 0.1, 2.0), False),
        (Row(6, "a", "s", Unit.MEBIBYTES, 2.0, None, 1), False),
        (Row(6, "a", "s", Unit.MEBIBYTES, 1.0, None, 1), True),
    ],
    ids=["ratio met", "ratio missed", "rate met", "rate missed", "value missed", "value met"],
)
def test_a_target_is_met_only_within_its_limit(row: Row, *, is_met: bool) -> None:
    assert (row.used <= 1) is is_met


def test_what_is_compared_is_measured_in_turn_and_the_first_round_does_not_count() -> None:
    order: list[str] = []

    def note(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = rounds_of({"a": lambda: note("a"), "b": lambda: note("b")}, 2)
    assert order == ["a", "b"] * 3
    assert found == {"a": [3.0, 5.0], "b": [4.0, 6.0]}
