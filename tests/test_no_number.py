"""What is no number in JSON is never read from a document, in whichever way the document is read (L1, TOOL-3)."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Final, TypeVar

import pytest

from heartbeat_mcp.models import Task as HeartbeatTask
from hierarchy_mcp.codec import ForestCodec
from hierarchy_mcp.models import Task as HierarchyTask
from task_core.models import Record
from task_core.store import ListCodec
from task_core.store.encoding import Codec, Damaged, Decoded, Kept
from task_core.store.lines import Lines
from tasks_v1_mcp.models import StoredTask

RecordT = TypeVar("RecordT", bound=Record)

MOMENT: Final = datetime(2026, 3, 1, tzinfo=timezone.utc)

FIELDS: Final = {"id": "a", "created_at": MOMENT, "updated_at": MOMENT, "mood": 0.5, "moods": [{"now": 0.25}]}
"""What each task here has; the last two fields no server knows."""


def check(codec: Codec[RecordT], record: RecordT, literal: bytes, known: bytes) -> None:
    """Check that a document that stands as written is read, and is damaged with ``literal`` for a number in it."""
    good = codec.assemble(Lines.of({record.id: codec.encode(record)}), Kept())
    assert codec.decode_written(good, Decoded())
    bad = good.replace(known, literal)
    assert bad != good
    assert codec.decode_written(bad, Decoded()) is None
    with pytest.raises(Damaged):
        codec.decode(bad, codec.decode(good))


@pytest.mark.requirement("L1", "TOOL-3")
@pytest.mark.parametrize("known", [b"0.5", b"0.25"], ids=["field", "nested"])
@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_document_with_what_is_no_number_is_damaged_in_every_server(literal: bytes, known: bytes) -> None:
    heartbeat = HeartbeatTask.model_validate({**FIELDS, "raw_user_request": "x"})
    check(ListCodec(HeartbeatTask, index_field="id_to_index"), heartbeat, literal, known)
    check(ListCodec(StoredTask), StoredTask.model_validate({**FIELDS, "title": "x"}), literal, known)
    hierarchy = {name: value for name, value in FIELDS.items() if not name.endswith("_at")}
    check(ForestCodec(), HierarchyTask.model_validate({**hierarchy, "name": "x"}), literal, known)
