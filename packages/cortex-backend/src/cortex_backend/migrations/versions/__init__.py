"""One module for each step of the schema."""

from typing import Final

__all__ = ["REVISIONS"]

REVISIONS: Final = ("0001", "0002")
"""The revisions of all steps, oldest first."""
