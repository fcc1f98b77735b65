"""Draws the pictures of ``docs/architecture.md`` from imports and a traced call: ``hatch run architecture``.

It also prints the modules that a ``task_create`` and a ``create_task`` pass through, in order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Final

from tests.packaging.projects import ROOT
from tests.servers import SERVERS
from tests.sources import imported, modules
from tests.wire.traced import Step, traced

__all__ = ["PAGE", "passed", "redrawn"]

PAGE: Final = ROOT / "docs" / "architecture.md"

_DRAWING: Final = re.compile(r"(<!-- drawing: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def redrawn(page: str) -> str:
    """Return the page with every drawing as the code has it now."""
    return _DRAWING.sub(lambda place: f"{place[1]}\n{_DRAWINGS[place[2]]()}\n\n{place[3]}", page)


def passed(steps: Iterable[Step]) -> dict[str, str]:
    """Return the modules that run in ``steps``, in the order in which they begin, each with its first caller."""
    found: dict[str, str] = {}
    for step in steps:
        caller, module = ["", *step][-2:]
        if caller:
            found.setdefault(caller, "")
        found.setdefault(module, caller)
    return found


def _picture(kind: str, lines: Iterable[str]) -> str:
    return "\n".join(["```mermaid", kind, *(f"  {line}" for line in lines), "```"])


def _call() -> str:
    """Return who calls whom first; modules that call no other share a box with their siblings."""
    found = passed(traced("tasks_v1_mcp"))
    boxes: dict[str, list[str]] = {}
    for module, caller in found.items():
        boxes.setdefault(module if module in found.values() else f"below {caller}", []).append(module)
    numbers = {module: number for number, module in enumerate(found, 1)}
    names = {box: f"box{number}" for number, box in enumerate(boxes, 1)}
    lines = []
    for box, members in boxes.items():
        label = "<br/>".join(f"{numbers[module]} {module.removeprefix('task_core.')}" for module in members)
        arrow = f"{names[found[members[0]]]} --> " if found[members[0]] else ""
        lines.append(f'{arrow}{names[box]}["{label}"]')
    return _picture("flowchart LR", lines)


def _layers() -> str:
    """Return which part imports which; what a part also reaches through another part is left out."""
    below: dict[str, set[str]] = {}
    for module in modules().values():
        names = {_part(name) for name in imported(module) if name in modules() or name.startswith("mcp.")}
        below.setdefault(_part(module.name), set()).update(names - {_part(module.name)})
    reached = {part: set[str]().union(*(below.get(name, ()) for name in names)) for part, names in below.items()}
    lines = [f"{part} --> {name}" for part in sorted(below) for name in sorted(below[part] - reached[part])]
    return _picture("flowchart TD", ['mcp["mcp, the SDK"]', *lines])


def _part(module: str) -> str:
    first, *rest = module.split(".")
    return (
        f"{first}.{rest[0]}"
        if first == "task_core" and rest[:1] in (["command"], ["document_file"], ["server"], ["store"])
        else first
    )


def _modules() -> str:
    lines = ["| | module | what it is for |", "| --- | --- | --- |"]
    for number, name in enumerate(passed(traced("tasks_v1_mcp")), 1):
        module = modules()[name]
        purpose = (ast.get_docstring(module.tree) or "").partition("\n")[0]
        lines.append(f"| {number} | [{name}](../{module.path.relative_to(ROOT).as_posix()}) | {purpose} |")
    return "\n".join(lines)


def _counts() -> str:
    rows = [f"| `{record.create}` | {len(passed(traced(record.package)))} |" for record in SERVERS]
    return "\n".join(["| call | modules |", "| --- | --- |", *rows])


_DRAWINGS: Final[dict[str, Callable[[], str]]] = {
    "layers": _layers,
    "call": _call,
    "modules": _modules,
    "counts": _counts,
}
"""The text between the marks of the page, by its name there."""


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text("utf-8")), "utf-8")
    for package in ("heartbeat_mcp", "tasks_v1_mcp"):
        names = [*passed(traced(package))]
        print(f"{package}: {len(names)} modules\n" + "".join(f"  {name}\n" for name in names))
