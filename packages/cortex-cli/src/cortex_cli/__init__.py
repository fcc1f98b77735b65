"""The command ``ctx``: the tasks of a Cortex server in the terminal, with their branches and pull requests."""

from typing import Final

__all__ = ["VERSION"]

VERSION: Final = "0.1.0"
"""The version, written out because reading the metadata of a package costs as much as a whole request (CX-97)."""
