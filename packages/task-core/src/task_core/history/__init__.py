"""What was changed in a list, by whom, and from what: the history that changes can be undone by (AG-3 to AG-5)."""

from task_core.history.changes import (
    HISTORY_DAYS,
    MAX_BYTES,
    OUTSIDE,
    Change,
    Origin,
    Recorder,
    Step,
    TreePlace,
    made_by,
)

__all__ = ["HISTORY_DAYS", "MAX_BYTES", "OUTSIDE", "Change", "Origin", "Recorder", "Step", "TreePlace", "made_by"]
