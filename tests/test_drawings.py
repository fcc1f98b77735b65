"""``docs/architecture.md`` shows the code as it is, and a call stays small enough to be shown."""

from __future__ import annotations

import ast
import re
from typing import Final

from tests.architecture import PAGE, passed, redrawn
from tests.servers import SERVERS
from tests.sources import modules
from tests.wire.traced import traced

FEW: Final = 34
"""Modules that a call which creates a task may pass at most."""

OTHERS: Final = {"tasks_v1_mcp": 26}
"""The same for the server that keeps neither a file nor a tree nor layers."""

PICTURE_LINES: Final = 32
"""Lines of a picture beyond which nobody follows it."""


def test_a_call_that_creates_a_task_passes_through_few_modules_and_the_pictures_show_them() -> None:
    counts = {record.package: len(passed(traced(record.package))) for record in SERVERS}
    assert {package: count for package, count in counts.items() if count > OTHERS.get(package, FEW)} == {}
    page = PAGE.read_text("utf-8")
    assert redrawn(page) == page, "run: python3 hatchw run architecture"


def test_a_picture_is_small_enough_to_follow() -> None:
    sizes = [len(picture.splitlines()) for picture in re.findall(r"```mermaid\n(.*?)```", PAGE.read_text(), re.DOTALL)]
    assert sizes
    assert max(sizes) <= PICTURE_LINES


def test_every_class_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([A-Z][a-z]\w+)", PAGE.read_text("utf-8")))
    nodes = [node for module in modules().values() for node in module.tree.body]
    assert named - {node.name for node in nodes if isinstance(node, ast.ClassDef)} == set()
