"""The engine that keeps records in one JSON document, which people read and edit too."""

from task_core.store.document.codec import Codec, ListCodec
from task_core.store.document.engine import DocumentDatabase

__all__ = ["Codec", "DocumentDatabase", "ListCodec"]
