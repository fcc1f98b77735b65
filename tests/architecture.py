"""Draws the pictures of ``docs/architecture.md`` from imports and traced calls: ``hatch run architecture``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import groupby, pairwise
from os.path import commonprefix
from typing import Final

from tests.packaging.projects import ROOT
from tests.servers import SERVERS
from tests.sources import imported, modules
from tests.wire.traced import DISK, Step, traced

__all__ = ["FOLDERS", "PAGE", "chains", "passed", "redrawn"]

PAGE: Final = ROOT / "docs" / "architecture.md"

FOLDERS: Final = (
    *("task_core", "task_core.command", "task_core.document_file", "task_core.server", "task_core.store"),
    *("task_core.store.document", "task_hosted.postgres", "task_hosted.service"),
    "heartbeat_mcp.mirror",
)
"""The folders whose floors are drawn."""

_DRAWING: Final = re.compile(r"(<!-- drawing: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def redrawn(page: str) -> str:
    """Return the page with every drawing as the code has it now."""
    return _DRAWING.sub(lambda place: f"{place[1]}\n{_DRAWINGS[place[2]]()}\n\n{place[3]}", page)


def passed(steps: Iterable[Step]) -> dict[str, str]:
    """Return the modules that run in ``steps``, in the order in which they begin, each with its first caller."""
    found: dict[str, str] = {}
    for step in steps:
        caller, module = ["", *(name for name, _ in step)][-2:]
        if caller:
            found.setdefault(caller, "")
        if module != DISK:
            found.setdefault(module, caller)
    return found


def chains(folder: str) -> dict[str, list[str]]:
    """Return for each module of a folder the longest chain of imports, within the folder, that begins with it."""
    names = [name for name, module in modules().items() if module.folder == folder and not module.is_init]

    @cache
    def chain(name: str) -> list[str]:
        below = sorted(imported(modules()[name]).intersection(names))
        return [name.rpartition(".")[2], *max(map(chain, below), key=len, default=[])]

    return {name: chain(name) for name in names}


def _picture(kind: str, lines: Iterable[str]) -> str:
    return "\n".join(["```mermaid", kind, *(f"  {line}" for line in lines), "```"])


def _tree(steps: Iterable[Step], home: str = "task_core.") -> str:
    """Return who calls whom first; modules that call no other share a box with their siblings."""
    found = passed(steps)
    boxes: dict[str, list[str]] = {}
    for module, caller in found.items():
        boxes.setdefault(module if module in found.values() else f"below {caller}", []).append(module)
    numbers = {module: number for number, module in enumerate(found, 1)}
    names = {box: f"box{number}" for number, box in enumerate(boxes, 1)}
    lines = []
    for box, members in boxes.items():
        label = "<br/>".join(f"{numbers[module]} {module.removeprefix(home)}" for module in members)
        arrow = f"{names[found[members[0]]]} --> " if found[members[0]] else ""
        lines.append(f'{arrow}{names[box]}["{label}"]')
    return _picture("flowchart LR", lines)


def _start() -> str:
    steps = traced("tasks_v1_mcp")["start"]
    ends = (number for number, step in enumerate(steps, 1) if step[-1][0] == "task_core.server.stdio")
    return _tree(steps[: next(ends)])


def _end() -> str:
    """Return what an end passes through, with the modules that were waiting for it."""
    steps = traced("tasks_v1_mcp")["end"]
    return _tree(step[:number] for step in steps for number in range(1, len(step) + 1))


def _look() -> str:
    """Return what a look at HEARTBEAT.md passes through from the service on, with the core in two boxes."""
    steps = []
    for step in traced("heartbeat_mcp")["look"]:
        names = [_part(name) if name.startswith("task_core") else name for name, _ in step]
        if "heartbeat_mcp.service" in names:
            steps.append([(name, "") for name, _ in groupby(names[names.index("heartbeat_mcp.service") :])])
    return _tree(steps, "heartbeat_mcp.")


def _save() -> str:
    """Return every way from the store to the disk, and what the engine asks of its own parts."""
    before: Step = []
    lines = []
    for step in traced("tasks_v1_mcp")["create"]:
        begins = [number for number, (_, function) in enumerate(step) if function.startswith("DocumentDatabase.")]
        if begins and (
            step[-1][0] == DISK or step[-1][0].startswith(("task_core.document_file", "task_core.store.document"))
        ):
            way = step[begins[0] - 1 :]
            new = way[max(len(commonprefix([before, way])) - 1, 0) :]
            for above, below in pairwise(new):
                caller, callee, function = (name.rpartition(".")[2] for name in (above[0], *below))
                lines.append(f"{caller}->>{callee}: {function}()")
            before = way
    return _picture("sequenceDiagram", lines)


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


def _modules_of(package: str) -> str:
    lines = ["| | module | what it is for |", "| --- | --- | --- |"]
    for number, name in enumerate(passed(traced(package)["create"]), 1):
        module = modules()[name]
        purpose = (ast.get_docstring(module.tree) or "").partition("\n")[0]
        lines.append(f"| {number} | [{name}](../{module.path.relative_to(ROOT).as_posix()}) | {purpose} |")
    return "\n".join(lines)


def _counts() -> str:
    rows = [f"| `{record.create}` | {len(passed(traced(record.package)['create']))} |" for record in SERVERS]
    return "\n".join(["| call | modules |", "| --- | --- |", *rows])


def _floors() -> str:
    texts = []
    for folder in FOLDERS:
        floors: dict[int, list[str]] = {}
        longest: list[str] = []
        for chain in chains(folder).values():
            floors.setdefault(len(chain), []).append(chain[0])
            longest = max(longest, chain, key=len)
        boxes = [f'floor{number}["{", ".join(floors[number])}"]' for number in sorted(floors, reverse=True)]
        example = " → ".join(longest)
        texts.append(f"`{folder}` ({example}):\n\n{_picture('flowchart TD', [' --> '.join(boxes)])}")
    return "\n\n".join(texts)


_DRAWINGS: Final[dict[str, Callable[[], str]]] = {
    "layers": _layers,
    "call": lambda: _tree(traced("tasks_v1_mcp")["create"]),
    "modules": partial(_modules_of, "tasks_v1_mcp"),
    "counts": _counts,
    "save": _save,
    "look": _look,
    "heartbeat": partial(_modules_of, "heartbeat_mcp"),
    "start": _start,
    "end": _end,
    "floors": _floors,
}
"""What is between the marks of the page, by its name there."""


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text("utf-8")), "utf-8")
    print(_counts())
