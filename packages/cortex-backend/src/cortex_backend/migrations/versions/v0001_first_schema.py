"""The first schema; an empty database gets the newest one at once, so nothing leads here."""

from typing import Final

__all__ = ["down_revision", "revision"]

revision: Final = "0001"
down_revision: Final = None
