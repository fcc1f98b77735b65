"""What the machine itself asks for the same work: bare loops over the disk and over JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

from benchmarks.series import timed
from benchmarks.subjects import Subject

__all__ = ["read_records", "read_seconds", "replace_durably", "replace_seconds"]


def replace_durably(path: Path, data: bytes) -> None:
    """Write ``data`` beside ``path``, sync it, move it there, and sync the folder: the least that a durable save is."""
    temporary = path.with_name(f".{path.name}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def replace_seconds(path: Path, data: bytes) -> float:
    """Return how long ``replace_durably`` takes."""
    return timed(lambda: replace_durably(path, data))


def read_records(subject: Subject, data: bytes) -> int:
    """Read the document with the JSON reader of the standard library, make a record of each task, and count them."""
    document = json.loads(data)
    items = document["tasks"] if isinstance(document, dict) else document
    return len([subject.record.model_validate(item) for item in items])


def read_seconds(subject: Subject, data: bytes) -> float:
    """Return how long ``read_records`` takes."""
    return timed(lambda: read_records(subject, data))
