"""One server as a command: what the command line knows of it before anything slow is imported."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from task_core.cli.commands import SideFile
    from task_core.cli.settings import ServerSettings
    from task_core.doctor import Check
    from task_core.document_file import DocumentFormat
    from task_core.server.app import TaskServer
    from task_core.store import Codec, StoreSettings
    from task_core.view import View

__all__ = ["Program", "exists"]

SettingsT = TypeVar("SettingsT", bound="ServerSettings")


class Program(NamedTuple, Generic[SettingsT]):
    """One server as a command; each of its functions imports what it needs, and no more.

    ``codec`` and ``side`` are the document and the file beside it that ``export``, ``import`` and ``restore`` work on;
    a server without a store has no ``codec``. ``greeting`` is the path of the answers that are given while the rest is
    loading. ``distribution`` is empty if it has the name of the command. ``has_database`` is whether a command migrates
    the store.
    """

    name: str
    settings_type: Callable[[], type[SettingsT]]
    build: Callable[[SettingsT], TaskServer]
    checks: Callable[[SettingsT], Iterable[Check]]
    codec: Callable[[], DocumentFormat] | None
    side: Callable[[SettingsT], SideFile | None] = lambda _: None
    greeting: str = ""
    view: Callable[[SettingsT], View] | None = None
    distribution: str = ""
    has_database: bool = True

    @classmethod
    def of(cls, package: str) -> Program[Any]:
        """Return the program of a package, by convention.

        Its module ``settings`` has one subclass of ``ServerSettings``, ``codec`` has ``CODEC``, and ``server`` has
        ``build_server``. It may have ``doctor.checks``, ``transfer.side_file``, ``view.open_view``, ``greeting.json``;
        the package itself may have ``HAS_STORE = False``, ``HAS_DATABASE = False`` and ``DISTRIBUTION``.
        """

        def settings_type() -> type[SettingsT]:
            from task_core.cli.settings import ServerSettings  # noqa: PLC0415 - it imports pydantic

            module = import_module(f"{package}.settings")
            kinds = (it for it in vars(module).values() if isinstance(it, type) and it.__module__ == module.__name__)
            return next(kind for kind in kinds if issubclass(kind, ServerSettings))

        def build(settings: SettingsT) -> TaskServer:
            return import_module(f"{package}.server").build_server(settings)

        def codec() -> DocumentFormat:
            return import_module(f"{package}.codec").CODEC

        def checks(settings: SettingsT) -> Iterable[Check]:
            if exists(f"{package}.doctor"):
                return import_module(f"{package}.doctor").checks(settings)
            from task_core.cli.store_checks import store_checks  # noqa: PLC0415 - serving does not need it

            return store_checks(cast("StoreSettings", settings), cast("Codec[Any]", codec()))

        def side(settings: SettingsT) -> SideFile | None:
            return import_module(f"{package}.transfer").side_file(settings) if exists(f"{package}.transfer") else None

        def view(settings: SettingsT) -> View:
            opened: View = import_module(f"{package}.view").open_view(settings)
            return opened

        module = import_module(package)
        folder = os.path.dirname(str(module.__file__))  # noqa: PTH120 - importing pathlib would take time
        files = _files_in(folder)
        shown = view if "view.py" in files else None
        stored = codec if getattr(module, "HAS_STORE", True) else None
        distribution = getattr(module, "DISTRIBUTION", "")
        name = package.replace("_", "-")
        movable = getattr(module, "HAS_DATABASE", True)
        return cls(
            name, settings_type, build, checks, stored, side, f"{folder}/greeting.json", shown, distribution, movable
        )

    @property
    def entry(self) -> str:
        """The usual name of the server in the configuration of a client."""
        return self.name.removesuffix("-mcp").partition("-")[0]

    def version(self) -> str:
        """Return the version of the distribution, or ``unknown`` if it runs from its folder without being installed."""
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - serving does not need it

        try:
            return version(self.distribution or self.name)
        except PackageNotFoundError:
            return "unknown"

    def description(self) -> str:
        """Return what the distribution is, in one sentence."""
        from importlib.metadata import PackageNotFoundError, metadata  # noqa: PLC0415 - serving does not need it

        try:
            return f"{metadata(self.distribution or self.name)['Summary']}."
        except PackageNotFoundError:
            return ""


def exists(module: str) -> bool:
    """Return whether there is a module of this name, without importing it."""
    from importlib.util import find_spec  # noqa: PLC0415 - serving does not need it

    return find_spec(module) is not None


def _files_in(folder: str) -> list[str]:
    names: list[str] = []
    with suppress(OSError):  # a package in an archive is not in a folder
        names = sorted(os.listdir(folder))  # noqa: PTH208 - importing pathlib would take time
    return names
