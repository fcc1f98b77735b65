"""The source files of the packages, and what they import."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.packaging.projects import ROOT

__all__ = ["Module", "imported", "modules"]


class Module(NamedTuple):
    """One source file: its dotted name, its path and its syntax tree."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    @property
    def folder(self) -> str:
        """The dotted name of the folder that it is in."""
        return self.name if self.is_init else self.name.rpartition(".")[0]

    @property
    def is_init(self) -> bool:
        return self.path.name == "__init__.py"


def dotted_name(path: Path, top: Path) -> str:
    return ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, Module]:
    """Return every source file of the packages by its dotted name."""
    found = {}
    for top in sorted(ROOT.glob("packages/*/src")):
        for path in sorted(top.rglob("*.py")):
            name = dotted_name(path, top)
            found[name] = Module(name, path, ast.parse(path.read_text("utf-8")))
    return found


@cache
def imported(module: Module) -> frozenset[str]:
    """Return the dotted names that the module imports, without the last part of a name that is not a module."""
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.add(inner if inner in modules() else str(node.module))
    return frozenset(names - {"__future__"})
