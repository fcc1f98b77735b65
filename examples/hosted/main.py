"""Start, show and stop the whole deployment on this machine (HO-9).

``python -m examples.hosted.main up`` starts what does not run yet, ``down`` stops everything and keeps the data, and
``token USER`` prints a token with which a client is that user. README.md says more.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from examples.hosted.cluster import (
    end_postgres,
    etcd_member,
    find_primary,
    is_complete,
    patroni,
    wait_until,
)
from examples.hosted.daemons import Daemon, Daemons
from examples.hosted.database import prepare_database, takes_writes
from examples.hosted.layout import MEMBERS, NODES, REPLICAS, ROOT, Layout
from examples.hosted.listen import listen
from examples.hosted.passwords import load_passwords
from examples.hosted.programs import ProgramMissing
from examples.hosted.reveal import reveal_programs
from examples.hosted.services import ask_for_token, is_serving, issuer, proxy, replica
from tests.servers import SERVERS

__all__ = ["Deployment", "main"]

_START_SECONDS: Final = 120.0


class Deployment:
    """All programs of one deployment, in the order in which they start."""

    def __init__(
        self,
        layout: Layout,
        package: str = "tasks_v1_mcp",
        *,
        settings: Mapping[str, str] | None = None,
        within: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        """Serve with the code in ``package``; ``within`` returns the command that starts programs on a machine."""
        self.layout = layout
        self.daemons = Daemons(layout)
        self._within = within
        self._passwords = load_passwords(layout)
        self.etcd = [etcd_member(layout, machine) for machine in MEMBERS]
        self.patroni = [patroni(layout, node, self._passwords) for node in NODES]
        replicas = [replica(layout, machine, package, settings or {}) for machine in REPLICAS]
        self.front = [issuer(layout), *replicas, proxy(layout)]

    @property
    def all(self) -> list[Daemon]:
        """Every program."""
        return [*self.etcd, *self.patroni, *self.front]

    def start(self) -> None:
        """Start what does not run, and wait until a call would be answered.

        Raises:
            ChildProcessError: a program has ended.
            TimeoutError: something has not come up.
        """
        self.start_database()
        for daemon in self.front:
            self.run(daemon)
        self._wait(is_serving, "the start of the servers", self.all)

    def start_database(self) -> None:
        """Start the cluster, and make the roles and tables; it raises errors as ``start`` does."""
        for machine in (*MEMBERS, *NODES):
            self.layout.create(machine)
        daemons = (*self.etcd, *self.patroni)
        for daemon in daemons:
            self.run(daemon)
        self._wait(takes_writes, "the election of a primary", daemons)
        prepare_database(self.layout, self._passwords)
        self._wait(is_complete, "the start of all nodes", daemons)

    def stop(self) -> int:
        """Stop everything that runs, in reverse order, and return how many programs there were."""
        count = sum(map(self.daemons.stop, (reversed(self.front), self.patroni)))
        return count + end_postgres(self.layout) + self.daemons.stop(self.etcd)

    def _wait(self, is_done: Callable[[Layout], bool], what: str, daemons: Sequence[Daemon]) -> None:
        def look() -> bool:
            for daemon in daemons:
                if not self.daemons.find(daemon.name):
                    log = self.layout.folder / "logs" / f"{daemon.name}.log"
                    raise ChildProcessError(f"{daemon.name} has ended: {log} says why")
            return is_done(self.layout)

        wait_until(look, what, _START_SECONDS)

    def run(self, daemon: Daemon) -> None:
        """Start a program on its machine, unless it runs."""
        self.daemons.start(daemon, self._within(daemon.machine))


def main() -> None:
    """Carry out one command; the exit code is 1 if it failed."""
    options = _parser().parse_args()
    layout = Layout(options.folder.absolute(), options.port)
    with suppress(KeyboardInterrupt):
        _carry_out(layout, options)


def _carry_out(layout: Layout, options: argparse.Namespace) -> None:
    try:
        if options.command == "token":
            print(ask_for_token(layout, options.user))
        elif options.command == "listen":
            _listen(layout, options.user, options.replica)
        elif options.command == "up":
            reveal_programs(layout.folder)
            _up(layout, options.server)
        elif not layout.folder.exists():
            print(f"Nothing runs: there is no folder {layout.folder}.")
        elif options.command == "down":
            print(f"Stopped {Deployment(layout).stop()} programs. The data stays in {layout.folder}.")
        else:
            _show_status(Deployment(layout))
    except (ProgramMissing, OSError) as error:
        sys.exit(f"{options.command}: {error}")


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--folder", type=Path, default=ROOT / ".hosted", help="for all data (default: %(default)s)")
    common.add_argument("--port", type=int, default=7400, help="of the proxy; others follow (default: %(default)s)")
    parser = argparse.ArgumentParser(description="Three database nodes, two servers and a proxy on this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", parents=[common], help="start what does not run yet")
    servers = [record.name for record in SERVERS if "sqlite" in record.engines]
    up.add_argument("--server", choices=servers, default="tasks-v1", help="default: %(default)s")
    commands.add_parser("down", parents=[common], help="stop everything, and keep the data")
    commands.add_parser("status", parents=[common], help="show what runs")
    commands.add_parser("token", parents=[common], help="print a token").add_argument("user", help="any name")
    listener = commands.add_parser("listen", parents=[common], help="show the changes of a user's list")
    listener.add_argument("user", help="any name")
    listener.add_argument("--replica", choices=REPLICAS, default=REPLICAS[-1], help="default: %(default)s")
    return parser


def _up(layout: Layout, server: str) -> None:
    layout.create()
    settings = {name: value for name, value in os.environ.items() if name.startswith("TASK_")}
    deployment = Deployment(layout, f"{server.replace('-', '_')}_mcp", settings=settings)
    deployment.start()
    _show_status(deployment)
    print(f"\n{server}-mcp is at {layout.public_url}\nfor whoever brings a token of {layout.issuer_url}.")


def _listen(layout: Layout, user: str, machine: str) -> None:
    def report(change: str) -> None:
        print(f"{machine}: {change}" if change else f"Listening to {machine}; Ctrl+C ends this.", flush=True)

    url = f"http://{layout.address('server', machine)}/mcp"
    asyncio.run(listen(url, ask_for_token(layout, user), report))


def _show_status(deployment: Deployment) -> None:
    for daemon in deployment.all:
        process = deployment.daemons.find(daemon.name)
        print(f"{daemon.name:16} {f'runs as process {process.pid}' if process else 'does not run'}")
    print(f"{'primary':16} {find_primary(deployment.layout) or 'none'}")


if __name__ == "__main__":
    main()
