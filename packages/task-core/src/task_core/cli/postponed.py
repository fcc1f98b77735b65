"""Keeps unused modules from being imported: the SDK's own imports are a quarter of all, and stdio uses none of them."""

import sys
from importlib.util import find_spec, module_from_spec

__all__ = ["postpone"]


def postpone(package: str) -> None:
    """Delay executing ``package`` until a name in it, other than one of its imported modules, is first looked up.

    A package that is already imported stays as it is. Its parent must be imported or postponed before.
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
