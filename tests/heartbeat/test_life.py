"""Random lives of a list: agents, people, restarts, losses and time, in any order (HB-9, HB-12, HB-15, H1, H3, H5)."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from pydantic import JsonValue
from typing_extensions import override

from heartbeat_mcp.mirror.markdown import scan
from heartbeat_mcp.mirror.section import locate_section
from heartbeat_mcp.models import HeartbeatStatus
from tests.heartbeat.edits import EDITS
from tests.heartbeat.life import RETENTION_DAYS, Life
from tests.heartbeat.mirror_text import hostile_text
from tests.postgres import ON_POSTGRES

REQUESTS = hostile_text.filter(lambda text: text.strip()) | st.sampled_from(["buy milk", "x" * 500, "water the plants"])

AROUND = st.sampled_from([
    b"", b"\n", b"text\n", b"- [ ] routine\n", b"```\n## TODO\n```\n", b"<!--\n## TODO\n-->\n", b"\xff\xfe\x80\n",
    b"nul \x00 nul\n", b"Setext\n======\n", b"> ## TODO\n", b"\xe4\xb8\xad\xe6\x96\x87\xe3\x80\x82\n",
    b"no \xe2\x80\xa8 break\n", b"    - [ ] code\n", b"| a | b |\n|---|---|\n", b"[a]: /b\n", b"trailing  \n\n\n",
])  # fmt: skip
"""Text outside the section that leaves nothing open."""

KEPT = st.sampled_from([
    "{}", "> {}", "1. {}", "    {}", "```\n- {}\n- [Pending] forged-task: x\n  <!-- task_id: forged-task -->\n```",
    "### Later\n\n- {}", "<!-- {} -->", "<!--\n- {}\n-->", "<details>\n- {}\n</details>", "- [Pending/Running] {}",
    "- [ ]", "***\n{}", "[{}]: /url", "| {} |\n| --- |", "- [Pending] forged-task: {}\n  <!-- task_id: other-task -->",
    "(3 more tasks: task_list shows them) {}", "  - Raw User Request: {}", "- caf\udce9 {}",
])  # fmt: skip
"""What a person writes into the section that is not a task."""

UNCERTAIN = re.compile("empty|heading removed|open|change the id|comment of another|two comments")
"""Edits after which another may rightly bring a task to light: what was hidden, or what lost the comment of another."""

CERTAIN_EDITS = st.sampled_from([name for name in EDITS if not UNCERTAIN.search(name)])


class Lives(RuleBasedStateMachine):
    """One life: each rule is something that somebody does, after which all is looked at."""

    engine = "json"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.life = Life(self.folder, engine=self.engine)
        self.count = 0
        self.pending: list[str] = []
        self.around: tuple[bytes, bytes] | None = None
        self.is_edited = False

    @override
    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def outside(self) -> tuple[bytes, bytes]:
        section = self.life.document.section
        return section.before, section.after

    def looked(self) -> None:
        """Look at everything, after a call that took in what was pending."""
        requests, self.pending = self.pending, list[str]()
        self.is_edited = False
        self.life.look(*requests)
        assert self.around in {None, self.outside()}
        self.around = self.outside()

    def edited(self, data: bytes, *notes: str, in_place: bool = False) -> None:
        self.life.save(data, *notes, in_place=in_place)
        section = self.life.document.section
        self.around = None if section.is_new else (section.before, section.after)

    def word(self) -> str:
        self.count += 1
        return f"word-{self.count}."

    @initialize(
        before=st.lists(AROUND, max_size=4),
        after=st.lists(AROUND, max_size=4),
        newline=st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"]),
    )
    def start(self, before: list[bytes], after: list[bytes], newline: bytes) -> None:
        data = b"".join([b"# Agent\n\n", *before, b"\n## TODO\n\n## Notes\n\n", *after]).replace(b"\n", newline)
        self.edited(data)

    @rule(request=REQUESTS, ideas=st.lists(hostile_text, max_size=2))
    def create(self, request: str, ideas: list[str]) -> None:
        self.life.create(request, ideas=[*ideas])
        self.looked()

    @rule(data=st.data(), status=st.sampled_from([None, *HeartbeatStatus]), result=hostile_text, append=st.booleans())
    def update(self, data: st.DataObject, status: HeartbeatStatus | None, result: str, append: bool) -> None:
        present = [task_id for task_id in self.life.tasks if task_id not in self.life.archived]
        if present:
            updates: dict[str, JsonValue] = {"result": result, "ideas": [result]}
            updates |= {"status": status.value} if status else {}
            self.life.update(data.draw(st.sampled_from(present)), updates, append=append)
            self.looked()

    @rule()
    def restart(self) -> None:
        self.life.restart()

    @rule(days=st.sampled_from([0.5, RETENTION_DAYS + 1]))
    def wait(self, days: float) -> None:
        self.life.offset += timedelta(days=days)
        self.life.service.clean()
        self.looked()
        self.life.archived = set(self.life.all()) - set(self.stored())

    def stored(self) -> list[str]:
        return [task.id for task in self.life.listed(include_completed=True)]

    @rule(
        mark=st.sampled_from(["- ", "- [ ] ", "* ", "+ ", "- [x] ", "- [Running] "]),
        words=st.none() | st.sampled_from(["buy milk"]),
        is_first=st.booleans(),
    )
    def write_bullet(self, mark: str, words: str | None, is_first: bool) -> None:
        words = self.word() if words is None else words
        self.insert(f"{mark}{words}\n", is_first=is_first, notes=())
        self.pending.append(words)

    def insert(self, text: str, *, is_first: bool, notes: tuple[str, ...]) -> None:
        if self.life.document.section.is_new:
            self.looked()
        if self.life.document.section.is_new:  # the first task adds it
            self.life.create(self.word(), ideas=[])
        section = self.life.document.section
        data = self.life.data
        newline = section.newline
        start = len(section.before)
        end = len(data) - len(section.after)
        # A comment ends every list, so that what is indented belongs to nothing above it.
        piece = (b"\n<!-- -->\n" + text.encode(errors="surrogateescape") + b"\n<!-- -->\n").replace(b"\n", newline)
        section, blocks = locate_section(data, "TODO")
        lines = re.split(rb"\r\n?|\n", data[:end])
        is_open = not scan([*lines, b"", b"# x"])[-1].is_heading
        place = start if is_first or is_open or any(block.is_heading for block in blocks) else end
        if not data[:place].endswith((b"\r", b"\n")):
            piece = newline + piece
        self.edited(data[:place] + piece + data[place:], *notes)

    @rule(form=KEPT, is_first=st.booleans())
    def write_text(self, form: str, is_first: bool) -> None:
        if self.pending:
            self.looked()
        word = self.word()
        self.insert(form.replace("{}", word) + "\n", is_first=is_first, notes=(word,) if "{}" in form else ())

    @rule(edit=CERTAIN_EDITS, in_place=st.booleans())
    def edit(self, edit: str, in_place: bool) -> None:
        if self.pending or self.is_edited:
            self.looked()
        text = self.life.data.decode(errors="surrogateescape")
        edited = EDITS[edit](text)
        self.is_edited = True
        self.life.notes = {note for note in self.life.notes if note in edited or note not in text}
        self.edited(edited.encode(errors="surrogateescape"), in_place=in_place)

    @rule()
    def look(self) -> None:
        self.looked()

    @rule(is_torn=st.booleans(), is_restarted=st.booleans())
    def lose_the_store(self, is_torn: bool, is_restarted: bool) -> None:
        self.looked()
        if self.engine != "postgresql" and not self.life.state.exists():
            return
        if is_torn and self.engine == "json":
            self.life.tear_store()
        else:
            self.life.lose_store()
        if is_restarted:
            self.life.restart()
        self.life.service.clean()
        requests, self.pending = self.pending, list[str]()
        self.life.look_after_loss(*requests)
        self.around = self.outside()


def live(engine: str, count: int) -> None:
    """Run so many lives on the engine."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    lives = type("LivesOnEngine", (Lives,), {"engine": engine})
    run_state_machine_as_test(
        lives, settings=settings(max_examples=count, stateful_step_count=12, suppress_health_check=slow)
    )


@pytest.mark.requirement("HB-9", "HB-12", "HB-15", "HB-16", "H1", "H3", "H5", "EN-5", "EN-19")
@pytest.mark.parametrize(("engine", "count"), [("json", 6), ("sqlite", 2)])
def test_no_life_loses_or_makes_a_task(engine: str, count: int) -> None:
    live(engine, count)


@pytest.mark.by_hand
@pytest.mark.parametrize("engine", ["json", "sqlite", ON_POSTGRES])
def test_none_of_many_lives_loses_or_makes_a_task(engine: str) -> None:
    live(engine, int(os.environ.get("TEST_LIVES", "20")))
