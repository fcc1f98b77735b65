"""The log of a server: lines on stderr, which never hold it up."""

import logging
import sys
from select import select

__all__ = ["log_to_stderr"]


def log_to_stderr(level: str) -> None:
    """Write what is logged at ``level`` and above to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    if sys.platform != "win32":  # pragma: no branch - select works on sockets only there
        # A client that does not read what is logged must not stop the server: the line is dropped (P3).
        handler.addFilter(lambda _: bool(select((), (sys.stderr,), (), 0)[1]))
    format_ = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(handlers=[handler], level=level, format=format_)
