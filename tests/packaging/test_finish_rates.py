"""The finish rates can be counted again, and their page shows the counts that were kept (AG-9, AG-20)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typing_extensions import override

from benchmarks.finish import DATA, PAGE, TEAMS, UNITS, main, render_table, write_page
from benchmarks.finish_agent import MEMORY, Memory
from benchmarks.finish_lists import CONDITIONS, TODO, Condition
from benchmarks.finish_run import HAZARD, TURNS, Outcome, run

KEPT = [Outcome(**one) for one in json.loads(DATA.read_text("utf-8"))]


def condition(name: str) -> Condition:
    return next(one for one in CONDITIONS if one.name == name)


@pytest.mark.requirement("AG-20")
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("no list", 1),
        ("no list", 2),
        ("TODO.md", 2),
        pytest.param("tasks-v1 + extras", 2, marks=pytest.mark.process),
        pytest.param("taskmaster", 1, marks=pytest.mark.process),
    ],
)
def test_the_counts_of_a_run_add_up(name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.finish_run.HAZARD", dict.fromkeys(HAZARD, 0.02))
    found = run(condition(name), size, units=8, seed=3, programs=tmp_path)
    assert found.done + found.lost == found.units == 8
    assert found.claimed == 0
    assert found.lost == 0 or found.turns >= TURNS * found.units  # an edited file can cost more turns than there are
    assert found.unreported <= found.twice
    assert found.sessions == size + sum(found.interruptions.values())
    assert len(found.first) <= found.sessions
    assert found.turns <= TURNS * found.units + size
    if "extras" in name:
        assert found.twice == found.unreported
        assert max(size for size, _ in found.first) <= 4_000


def test_the_same_seed_gives_the_same_counts(tmp_path: Path) -> None:
    first, second = (run(condition("TODO.md"), 4, units=12, seed=7, programs=tmp_path) for _ in range(2))
    assert first == second


def test_a_memory_holds_so_many_bytes_and_forgets_the_oldest() -> None:
    memory = Memory()
    memory.add("done U01: one line added")
    memory.add("doing 7")
    assert (memory.done(), memory.doing()) == ({"U01"}, "7")
    memory.add("x" * MEMORY)
    assert (memory.done(), memory.doing()) == (set(), "")


def test_an_edit_of_the_file_changes_one_line_of_what_was_read() -> None:
    text = "- [ ] U01: a\n- [~] U02: b (needs U01)\n- [x] U03: c\n"
    assert [(it.id, it.is_started, it.is_done) for it in TODO.parse(text)] == [
        ("U01", False, False),
        ("U02", True, False),
        ("U03", False, True),
    ]
    (call,) = TODO.finish("U02", text)
    assert call.arguments["text"] == text.replace("[~]", "[x]")


@pytest.mark.requirement("AG-20")
def test_every_list_was_tried_with_every_team_or_says_why_not() -> None:
    names = {one.name for one in CONDITIONS}
    assert {(one.condition, one.team) for one in KEPT} == {(name, size) for name in names for size in TEAMS}
    assert {one.units for one in KEPT if not one.why_not} == {UNITS}
    assert {one.group for one in KEPT if one.why_not} <= {"other"}


@pytest.mark.requirement("AG-9")
def test_a_session_with_a_brief_reads_at_most_4_000_bytes_to_go_on() -> None:
    found = [pair for one in KEPT if one.condition.endswith("extras") for pair in one.first]
    assert max(size for size, _ in found) <= 4_000
    alone = [calls for one in KEPT if one.condition.endswith("extras") and one.team == 1 for _, calls in one.first]
    assert set(alone) == {1}


def test_the_page_and_its_chart_show_the_counts_that_were_kept(tmp_path: Path) -> None:
    page = tmp_path / PAGE.name
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    write_page(KEPT, page)
    assert page.read_text("utf-8") == PAGE.read_text("utf-8")
    assert page.with_suffix(".svg").read_text("utf-8") == PAGE.with_suffix(".svg").read_text("utf-8")


def test_a_list_that_was_not_tried_says_so() -> None:
    table = render_table([Outcome("peer", "other", 1, why_not="not installed")])
    assert "| peer | NOT TESTED: not installed |" in table


def test_the_command_runs_the_lists_that_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main([str(tmp_path), "--quick", "--only", "no list", "--only", "backlog.md"])
    shown = capsys.readouterr().out
    assert shown.count("| no list | 8 of 8 | 0 |") == 2
    assert shown.count("| backlog.md | NOT TESTED: not installed |") == 2


class Api(BaseHTTPRequestHandler):
    """A model that does U01, and then has nothing left to do."""

    requests: list[dict[str, Any]]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append({"path": self.path, "key": self.headers["Authorization"], **request})
        last = request["messages"][-1]
        call = {"id": "1", "type": "function", "function": {"name": "work", "arguments": '{"unit": "U01"}'}}
        is_done = str(last["content"]).startswith("done U01")
        message = {"role": "assistant", "content": "", "tool_calls": [call] * (not is_done)}
        body = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def api() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    requests: list[dict[str, Any]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Api,), {"requests": requests}))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_model_can_take_the_place_of_the_script(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    with api() as (url, requests):
        main(["--quick", "--only", "TODO.md", "--model", url, "--model-name", "small"])
    assert "| TODO.md | 1 of 8 | 7 |" in capsys.readouterr().out
    assert {(it["path"], it["key"], it["model"]) for it in requests} == {
        ("/v1/chat/completions", "Bearer a key", "small")
    }
    names = [tool["function"]["name"] for tool in requests[0]["tools"]]
    assert names == ["read_file", "write_file", "work"]
    assert requests[1]["messages"][-1]["content"] == "U01 is not finished: call work again" or len(requests) == 2
