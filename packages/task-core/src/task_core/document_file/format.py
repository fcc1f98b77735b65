"""The format of a document, as far as the file and the commands over it must know it."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

from task_core.document_file.source import Source
from task_core.files import ProcessLock

__all__ = ["DocumentFormat", "Rewritten"]


class Rewritten(NamedTuple):
    """A document as a server writes it."""

    data: bytes
    count: int
    """the number of its records"""
    notes: tuple[str, ...] = ()
    """a sentence for each thing that a person wrote but the server reads differently"""


class DocumentFormat(ABC):
    """The format of one server's document, and the way in which that document is shared."""

    head: bytes = b""
    """the bytes with which every document of this server begins"""
    is_private: bool = True
    """true if only the owner may read a new document (S4); otherwise it gets the access of its folder"""
    noun: str = "task"
    """the word for a record"""

    def lock(self, path: Path) -> ProcessLock:
        """Return the lock of the document that ``path`` leads to."""
        # It belongs to the real file, so that processes that reach the store through links share it.
        return ProcessLock.beside(Path(os.path.realpath(path)))

    @abstractmethod
    def rewrite(self, source: Source | None) -> Rewritten:
        """Return the document as a server would write it; None is a document that does not exist.

        Raises:
            StoreDamaged: it is not a complete, valid document of this server.
            StoreNewer: a newer version of the server wrote it.
        """
