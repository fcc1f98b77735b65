"""Keeps what is not used from being imported.

``import a.b`` runs ``a/__init__.py`` first, and that of the SDK imports its clients and its other ways to make a
server: a quarter of all modules, of which a server on stdio uses none.
"""

import sys
from importlib.util import find_spec, module_from_spec

__all__ = ["postpone"]


def postpone(package: str) -> None:
    """Run the code of ``package`` only when a name in it is first looked up that is none of its imported modules.

    One that was imported already stays as it is. What holds it has to be imported or postponed before.
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
