"""Keeps what is not used from being imported.

``import a.b`` runs ``a/__init__.py`` first, and that of the SDK imports its clients and its other ways to make a
server: a quarter of all modules, of which a server on stdio uses none. Others are imported for what happens to be
installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import cast

__all__ = ["postpone", "without"]


def postpone(package: str) -> None:
    """Run the code of ``package`` only when a name in it is first looked up that is none of its imported modules.

    One that was imported already stays as it is. What holds it has to be imported or postponed before.

    Raises:
        ModuleNotFoundError: there is no such package.
    """
    if package in sys.modules:
        return
    spec = find_spec(package)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    module, loader = module_from_spec(spec), spec.loader

    def run_first(name: str) -> object:
        del vars(module)["__getattr__"]
        loader.exec_module(module)
        return getattr(module, name)

    vars(module)["__getattr__"] = run_first
    sys.modules[package] = module


@contextmanager
def without(package: str) -> Iterator[None]:
    """Have imports of ``package`` fail in the block as if it were not installed, unless it was imported before.

    Code that can do without it does so for good.
    """
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    if package in modules:
        yield
        return
    modules[package] = None
    try:
        yield
    finally:
        del modules[package]
