"""The store in which a server keeps its tasks, and the engines that keep its rows."""

from task_core.store.base import ROOTS, Kind
from task_core.store.codec import Codec, ListCodec
from task_core.store.collection import Collection
from task_core.store.database import MemoryDatabase
from task_core.store.open import Address, Engine, StoreSettings, open_store
from task_core.store.statements import Order, Selection
from task_core.store.store import Store
from task_core.store.transaction import Transaction

__all__ = [
    "ROOTS",
    "Address",
    "Codec",
    "Collection",
    "Engine",
    "Kind",
    "ListCodec",
    "MemoryDatabase",
    "Order",
    "Selection",
    "Store",
    "StoreSettings",
    "Transaction",
    "open_store",
]
