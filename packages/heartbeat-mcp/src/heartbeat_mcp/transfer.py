"""The archive on its way between two stores: a file beside the document, or marked tasks in a database (EN-18)."""

from pathlib import Path

from pydantic import ValidationError

from heartbeat_mcp.models import ARCHIVED, HeartbeatTask
from heartbeat_mcp.settings import HeartbeatSettings, locate_archive
from task_core.cli.commands import CommandFailed
from task_core.durable import replace_file
from task_core.files import read_file
from task_core.store import Transaction
from task_core.store.collection import Node

__all__ = ["ArchiveTransfer", "side_file"]


class ArchiveTransfer:
    """Moves the archive of one store along with its document."""

    def __init__(self, settings: HeartbeatSettings) -> None:
        self._archive = settings.archive_path

    def path_beside(self, document: Path) -> Path:
        """Return the path of the archive for the document at ``document``."""
        return locate_archive(document)

    def take_out_archived(self, nodes: list[Node]) -> tuple[list[Node], bytes]:
        """Return the tasks that belong in the document, and the lines of the archive."""
        if self._archive:
            return nodes, self._archive.read_bytes() if self._archive.exists() else b""
        tasks = (HeartbeatTask.model_validate_json(node.line) for node in nodes)
        archived = [task for task in tasks if task.columns.facet]
        plain = (HeartbeatTask.model_validate(task.model_dump(exclude={ARCHIVED})) for task in archived)
        lines = [task.to_json() + b"\n" for task in plain]
        gone = {task.id for task in archived}
        return [node for node in nodes if node.id not in gone], b"".join(lines)

    def add_archived(self, path: Path, work: Transaction[HeartbeatTask]) -> int:
        """Add the tasks of the archive at ``path``, and return their number.

        Raises:
            CommandFailed: a line of it is not a task, or the store has another archive.
        """
        data = read_file(path)[0]
        lines = [line for line in data.splitlines() if line.strip()]
        found: dict[str, HeartbeatTask] = {}
        for number, line in enumerate(lines, 1):
            try:
                task = HeartbeatTask.model_validate_json(line)
            except ValidationError:
                raise CommandFailed(f"line {number} of {path} is not a task: repair or remove it") from None
            found[task.id] = task
        if self._archive:
            there = read_file(self._archive)[0] if self._archive.exists() else b""
            if there not in (b"", data):  # else an import that failed after this left it
                what = f"{self._archive} is the archive of another list"
                raise CommandFailed(f"{what}: move it away, or import into a new store")
            replace_file(self._archive, data).close()
        else:
            for task in found.values():
                if task.id not in work:
                    work.add(task.changed(**{ARCHIVED: True}))
        return len(found)


side_file = ArchiveTransfer
"""The mover of the archive, by the name that commands look for."""
