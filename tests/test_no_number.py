"""What is not a number in JSON is never read from a document, however the document is read (L1, TOOL-3)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, TypeVar

import pytest

from heartbeat_mcp.codec import CODEC as HEARTBEAT
from heartbeat_mcp.models import HeartbeatTask
from hierarchy_mcp.codec import CODEC as HIERARCHY
from hierarchy_mcp.models import HierarchyTask
from task_core.document_file.source import Source
from task_core.errors import StoreDamaged
from task_core.models import Record
from task_core.store import Codec
from task_core.store.collection import Node
from tasks_v1_mcp.codec import CODEC as TASKS_V1
from tasks_v1_mcp.models import StoredTask

RecordT = TypeVar("RecordT", bound=Record)

MOMENT: Final = datetime(2026, 3, 1, tzinfo=UTC)

FIELDS: Final = {"id": "a", "created_at": MOMENT, "updated_at": MOMENT, "mood": 0.5, "moods": [{"now": 0.25}]}
"""What each task here has; the last two fields no server knows."""


def check(codec: Codec[RecordT], record: RecordT, literal: bytes, known: bytes) -> None:
    """Check that a document as it is written is read, and is damaged with ``literal`` for a number in it."""
    blocks = codec.encode([Node(record.id, "", record.to_json())])
    good = codec.document(blocks, {})
    assert codec.decode(Source("good", good)).blocks == blocks
    bad = good.replace(known, literal)
    assert bad != good
    with pytest.raises(StoreDamaged) as caught:
        codec.decode(Source("bad", bad))
    assert caught.value.details["line"] == bad[: bad.index(literal)].count(b"\n") + 1


@pytest.mark.requirement("L1", "TOOL-3", "ST-3")
@pytest.mark.parametrize("known", [b"0.5", b"0.25"], ids=["field", "nested"])
@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_document_with_nan_or_infinity_is_damaged_in_every_server(literal: bytes, known: bytes) -> None:
    check(HEARTBEAT, HeartbeatTask.model_validate({**FIELDS, "raw_user_request": "x"}), literal, known)
    check(TASKS_V1, StoredTask.model_validate({**FIELDS, "title": "x"}), literal, known)
    hierarchy = {name: value for name, value in FIELDS.items() if not name.endswith("_at")}
    check(HIERARCHY, HierarchyTask.model_validate({**hierarchy, "name": "x"}), literal, known)
