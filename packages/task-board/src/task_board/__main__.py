"""The command ``task-board``."""

import argparse
import os
import sys
import threading
import webbrowser
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

import anyio

from task_board.servers import find_servers, open_stores
from task_board.web.app import BoardApp
from task_core.bootstrap import BadSettings, log_to_stderr
from task_core.server.transports.connections import listen, serve

__all__ = ["main"]

_HOST: Final = "127.0.0.1"
"""The only address at which the page is served."""


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the board until SIGTERM, SIGINT or SIGHUP comes; exit with 2 for a bad option or setting."""
    parser = _parser()
    options = parser.parse_args(argv)
    os.umask(0o077)  # new files are for their owner only, as those of the servers
    log_to_stderr("WARNING")
    try:
        stores, left_out = open_stores(options.stores, find_servers())
        sys.stderr.write("".join(f"{line}\n" for line in left_out))
        with listen(_HOST, options.port) as listener:
            port: int = listener.getsockname()[1]
            board = BoardApp(stores, port)
            app = board.build()
            link = f"http://{_HOST}:{port}/?token={board.keys.token}"
            sys.stdout.write(f"Open this link; it has the key to the page: {link}\n")
            sys.stdout.flush()
            if not options.no_browser:
                # Not here: a browser in the terminal would come back only once it has ended.
                threading.Thread(target=webbrowser.open, args=[link], daemon=True).start()
            anyio.run(serve, app, listener, board)
    except BadSettings as error:
        parser.exit(2, f"task-board: {error}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="task-board", description="Show the tasks of the MCP task servers in a browser."
    )
    parser.add_argument(
        "stores",
        nargs="*",
        metavar="SERVER[=PATH]",
        help="a store to show: a server such as tasks-v1, and where its tasks are if no setting in the environment "
        "says so (default: every installed server whose settings are valid)",
    )
    parser.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1 (default: any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="only print the link")
    parser.add_argument("--version", action="version", version=f"task-board {version('mcp-task-board')}")
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 65535, not '{text}'")
    return int(text)


if __name__ == "__main__":
    main()
