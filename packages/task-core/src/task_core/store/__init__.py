"""Persistence engines behind one interface, and what they share."""

from __future__ import annotations

from task_core.store.base import Collection, Store, Transaction
from task_core.store.encoding import Codec, ListCodec
from task_core.store.json_file import JsonFileStore
from task_core.store.memory import MemoryStore

__all__ = ["Codec", "Collection", "JsonFileStore", "ListCodec", "MemoryStore", "Store", "Transaction"]
