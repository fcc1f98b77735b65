"""One server as a command: what the command line knows of it before anything slow is imported."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from task_core.cli.commands import SideFile
    from task_core.cli.settings import ServerSettings
    from task_core.doctor import Check
    from task_core.document_file import DocumentFormat
    from task_core.server.app import TaskServer
    from task_core.view import BoardActions, View

__all__ = ["Program"]


class Program(NamedTuple):
    """One server as a command; each of its functions imports what it needs, and no more.

    ``codec`` and ``side`` are the document and the file beside it that ``export``, ``import`` and ``restore`` work on;
    a server without a store has no ``codec``. ``greeting`` is the path of the answers that are given while the rest is
    loading. ``distribution`` is empty if it has the name of the command. ``has_database`` is whether the store may be
    in a database: only then are there commands that move tasks.
    """

    name: str
    settings_type: Callable[[], type[Any]]
    build: Callable[[Any], TaskServer]
    checks: Callable[[Any], Iterable[Check]]
    codec: Callable[[], DocumentFormat] | None
    side: Callable[[Any], SideFile | None] = lambda _: None
    greeting: str = ""
    view: Callable[[Any], View] | None = None
    actions: Callable[[], BoardActions] | None = None
    distribution: str = ""
    has_database: bool = True

    @classmethod
    def of(cls, package: str) -> Program:
        """Return the program of a package, by convention.

        Its module ``settings`` has one subclass of ``ServerSettings``, ``codec`` has ``CODEC``, and ``server`` has
        ``build_server``. It may have ``doctor.checks``, ``transfer.side_file``, ``view.open_view``, ``greeting.json``;
        the package itself may have ``HAS_STORE = False``, ``HAS_DATABASE = False`` and ``DISTRIBUTION``.
        """
        module = import_module(package)
        folder = os.path.dirname(str(module.__file__))  # noqa: PTH120 - importing pathlib would take time

        def has(part: str) -> bool:
            return os.path.isfile(f"{folder}/{part}.py")  # noqa: PTH113 - as above

        def load(part: str) -> Any:  # noqa: ANN401 - a module
            return import_module(f"{package}.{part}")

        def settings_type() -> type[ServerSettings]:
            from task_core.cli.settings import ServerSettings  # noqa: PLC0415 - it imports pydantic

            own = (it for it in vars(load("settings")).values() if isinstance(it, type))
            return next(it for it in own if it.__module__ == f"{package}.settings" and issubclass(it, ServerSettings))

        def checks(settings: Any) -> Iterable[Check]:  # noqa: ANN401 - the program's own settings
            if has("doctor"):
                return load("doctor").checks(settings)
            from task_core.cli.store_checks import store_checks  # noqa: PLC0415 - serving does not need it

            return store_checks(settings, load("codec").CODEC)

        return cls(
            package.replace("_", "-"),
            settings_type,
            build=lambda settings: load("server").build_server(settings),
            checks=checks,
            codec=(lambda: load("codec").CODEC) if getattr(module, "HAS_STORE", True) else None,
            side=lambda settings: load("transfer").side_file(settings) if has("transfer") else None,
            greeting=f"{folder}/greeting.json",
            view=(lambda settings: load("view").open_view(settings)) if has("view") else None,
            actions=(lambda: load("view").ACTIONS) if has("view") and getattr(module, "HAS_STORE", True) else None,
            distribution=getattr(module, "DISTRIBUTION", ""),
            has_database=getattr(module, "HAS_DATABASE", True),
        )

    @property
    def entry(self) -> str:
        """The usual name of the server in the configuration of a client."""
        return self.name.removesuffix("-mcp").partition("-")[0]

    def version(self) -> str:
        """Return the version of the distribution, or ``unknown`` if it runs from its folder without being installed."""
        return self._find_metadata("Version") or "unknown"

    def description(self) -> str:
        """Return what the distribution is, in one sentence."""
        summary = self._find_metadata("Summary")
        return f"{summary}." if summary else ""

    def _find_metadata(self, key: str) -> str:
        from importlib.metadata import PackageNotFoundError, metadata  # noqa: PLC0415 - serving does not need it

        try:
            return metadata(self.distribution or self.name)[key]
        except PackageNotFoundError:
            return ""
