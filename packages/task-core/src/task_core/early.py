"""What the command line needs to know about settings before it imports them, which takes time."""

import sys
from typing import Final

__all__ = ["LOG_LEVELS", "BadSettings", "log_to_stderr"]

LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""The log levels of the standard library; settings take them in upper or lower case."""


class BadSettings(ValueError):
    """A setting is missing or bad; the message names each such variable, its value, and what was expected."""


def log_to_stderr(level: str) -> None:
    """Write what is logged at ``level`` and above to stderr."""
    import logging  # noqa: PLC0415 - it would delay the first answer

    handler = logging.StreamHandler(sys.stderr)
    if sys.platform != "win32":  # pragma: no branch - select works on sockets only there
        from select import select  # noqa: PLC0415 - as above

        # A client that does not read what is logged must not stop the server: the line is dropped (P3).
        handler.addFilter(lambda _: bool(select((), (sys.stderr,), (), 0)[1]))
    format_ = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(handlers=[handler], level=level, format=format_)
