"""The tasks of a tasks file as claims see them: each is ``TAG:ID`` (AG-11)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from task_core.claims.claim import Claim
from task_core.history.changes import Change, Step
from taskmaster_mcp.codec import TagDocument
from taskmaster_mcp.core.items import ProjectItem, TagTasks

__all__ = ["ClaimedTags"]


@dataclass
class ClaimedTags:
    """A document, and what a transaction has changed in it: ``ChangedTasks``."""

    document: TagDocument
    history: list[Change]
    _indexes: dict[str, dict[str, ProjectItem]] = field(default_factory=dict)
    """the items of each tag by their ids, as they were when first asked for"""

    kept_claims = "[]"
    ended = ()

    @property
    def claims(self) -> list[Claim]:
        """The claims on open tasks."""
        return self.document.claims

    @claims.setter
    def claims(self, claims: list[Claim]) -> None:
        self.document.claims = claims

    def keep_claims(self, text: str) -> None:
        """Do nothing: session files have the claims."""

    def note_steps(self, steps: Sequence[Step]) -> None:
        """Keep in the history what was done to claims."""
        self.document.taken += steps

    def is_open(self, task_id: str) -> bool:
        """Return whether there is a task or subtask with this id on which work is left."""
        item = self._find(task_id)
        return item is not None and not item.is_settled

    def above(self, task_id: str) -> list[str]:
        """Return the id of the task that a subtask belongs to."""
        item = self._find(task_id)
        return [f"{task_id.removesuffix(item.id)}{item.parent.id}"] if item and item.parent else []

    def _find(self, task_id: str) -> ProjectItem | None:
        for tag in self.document.tags:
            if task_id.startswith(f"{tag}:"):
                if tag not in self._indexes:
                    self._indexes[tag] = TagTasks(tag, self.document.members[tag].kept).index()
                if found := self._indexes[tag].get(task_id.removeprefix(f"{tag}:")):
                    return found
        return None
