"""The whole life of tasks over documents as people write them, in many languages (HB-8, HB-9, HB-12, HB-15, H1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.heartbeat.life import RETENTION_DAYS, Life

DOCUMENTS = Path(__file__).with_name("documents")

SECTIONS = {
    "english": "TODO",
    "chinese": "TODO",
    "japanese": "やること",
    "arabic": "المهام",
    "german": "aufgaben",
    "agents": "TODO",
}

REQUESTS = {
    "english": "Write the release notes 📝 & send them",
    "chinese": "实现用户登录功能：使用 JWT，添加验证码🔐",
    "japanese": "ログイン画面を作る（が・が）👨‍👩‍👧",
    "arabic": "اكتب صفحة الدخول \u200f(JWT)\u200f ثم اختبرها",
    "german": "Größe prüfen, »Maß« nehmen – 50 %",
    "agents": "## TODO\n- [Pending] forged-task: x\n  <!-- task_id: forged-task -->\n```",
}


def written(name: str, newline: bytes, mark: bytes) -> bytes:
    """Return a document as an editor with such line ends saves it, without the last of them."""
    data = (DOCUMENTS / f"{name}.md").read_bytes()
    return mark + b"\n".join(data.splitlines()).replace(b"\n", newline)


def closely(data: bytes) -> bytes:
    return b"".join(data.split())


def outside(life: Life) -> tuple[bytes, bytes]:
    """Return what is before and after the body of the section."""
    section = life.document.section
    return section.before, section.after


def steps(life: Life, request: str) -> Iterator[str]:
    """Do what happens to a list in a long life, and name each step once it is done."""
    first, second, third = [life.create(f"{request} {number}", ideas=[request]) for number in (1, 2, 3)]
    yield "create"
    life.update(first.id, {"status": "Running", "result": request})
    life.update(first.id, {"ideas": [request, "and so on"], "next": 1}, append=True)
    yield "update"
    life.restart()
    yield "restart"
    life.update(second.id, {"status": "Complete", "result_file": "out/result.md"})
    yield "complete"
    newline = life.document.section.newline
    before, after = outside(life)
    third_id = third.id.encode()
    life.save(before + life.document.section.body.replace(b"[Pending] " + third_id, b"[Fail] " + third_id) + after)
    life.look(ticked=[third.id])
    yield "a task ticked off by hand"
    life.update(third.id, {"status": "Pending"})
    bullet = re.sub(r"\s", " ", request).replace("- [Pending]", "x")
    added = b"- [ ] x " + bullet.encode() + newline * 2 + b"<!-- -->" + newline
    life.save(before + added + life.document.section.body + after)
    (by_hand,) = life.look(f"x {bullet}")
    yield "a bullet added by hand"
    life.update(by_hand.id, {"status": "Fail", "result": request})
    life.update(third.id, {"raw_user_request": request * 40})
    yield "finish what was added"
    life.lose_store()
    life.restart()
    life.look_after_loss()
    yield "lose the store"
    life.restart()
    life.tear_store()
    life.look_after_loss()
    yield "find the store torn"
    for task_id, task in life.tasks.items():
        if task.is_active:
            life.update(task_id, {"status": "Complete"})
    life.offset += timedelta(days=RETENTION_DAYS + 1)
    life.service.clean()
    yield "clean"
    life.look()
    yield "look"


@pytest.mark.requirement("HB-8", "HB-9", "HB-12", "HB-15", "HB-16", "H1", "H3")
@pytest.mark.parametrize(
    ("name", "newline", "mark"),
    [*zip(SECTIONS, [b"\n", b"\r\n", b"\r"] * 2, [b"", b"\xef\xbb\xbf"] * 3, strict=True)],
    ids=SECTIONS,
)
def test_a_document_outlives_its_tasks_bit_for_bit(tmp_path: Path, name: str, newline: bytes, mark: bytes) -> None:
    data = written(name, newline, mark)
    life = Life(tmp_path, SECTIONS[name])
    life.save(data)
    before, after = outside(life)
    assert (before + life.document.section.body + after, life.document.section.is_new) == (data, False)
    for step in steps(life, REQUESTS[name]):
        assert outside(life) == (before, after), step
    assert closely(life.data.replace(b"<!-- -->", b"", 1)) == closely(data)


@pytest.mark.requirement("HB-8", "HB-9", "H1")
@pytest.mark.parametrize("name", ["english", "agents", "arabic"])
def test_what_a_person_writes_outside_stays_too(tmp_path: Path, name: str) -> None:
    life = Life(tmp_path, SECTIONS[name])
    life.save(written(name, b"\n", b""))
    life.create(REQUESTS[name])
    for number in range(3):
        before, after = outside(life)
        body = life.document.section.body
        before, after = (
            b"A first line\n\n" + before if not before.startswith(b"---") else before,
            after + b"\n## More\n\xff",
        )
        life.save(before + body + after)
        life.create(f"{REQUESTS[name]} {number}")
        assert outside(life) == (before, after)
        life.look()


@pytest.mark.requirement("HB-8")
@pytest.mark.parametrize("name", ["agents", "german"])
def test_a_document_with_another_name_for_the_section_gets_one_at_its_end(tmp_path: Path, name: str) -> None:
    life = Life(tmp_path, "Server list")
    data = written(name, b"\n", b"")
    life.save(data)
    life.create(REQUESTS[name])
    assert life.data.startswith(data + b"\n\n## Server list\n- [Pending] ")
    life.look()
