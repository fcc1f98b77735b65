"""Durable file operations that the stores and mirrors share: read whole, replace atomically, append.

A replacement goes through a temporary file in the same folder: write, fsync, rename, fsync of the folder (D1).
Nothing here takes a lock; the caller holds the one of its store.
"""

from __future__ import annotations

from task_core.files.descriptors import NotRegularFile, closing_last
from task_core.files.folder import FolderNotSynced
from task_core.files.held import FileIdentity, HeldFile, describe, identify, identity_of, open_held, read_file
from task_core.files.replacement import (
    FileChanged,
    append_file,
    replace_file,
    replace_held,
    sweep_temporary,
    write_new,
)

__all__ = [
    "FileChanged",
    "FileIdentity",
    "FolderNotSynced",
    "HeldFile",
    "NotRegularFile",
    "append_file",
    "closing_last",
    "describe",
    "identify",
    "identity_of",
    "open_held",
    "read_file",
    "replace_file",
    "replace_held",
    "sweep_temporary",
    "write_new",
]
