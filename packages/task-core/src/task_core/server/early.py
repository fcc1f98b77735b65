"""What a command line needs to know of settings before they are imported, which takes time."""

from typing import Final

__all__ = ["LOG_LEVELS", "BadSettings"]

LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""The levels of the log, in upper or lower case, as the standard library names them."""


class BadSettings(ValueError):
    """A setting is missing or bad; the message names each such variable, its value, and what was expected."""
