"""What the command line needs to know about settings before it imports them, which takes time."""

from typing import Final

__all__ = ["LOG_LEVELS", "BadSettings"]

LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""The log levels of the standard library; settings take them in upper or lower case."""


class BadSettings(ValueError):
    """A setting is missing or bad; the message names each such variable, its value, and what was expected."""
