"""The errors of this server besides those of the core (source: requirements 3.3)."""

from collections.abc import Sequence
from typing import Final

from task_core.errors import TaskError, make_details, quote_names

__all__ = ["NOT_COUNTED", "NoHeartbeatFile", "PathOutsideWorkspace", "ReadOnlyField", "ReservedField"]

NOT_COUNTED: Final = (
    "(a link, a file whose store is a link, the home folder, and a folder that everybody may write to do not count)"
)
"""The places where the server does not search for HEARTBEAT.md."""


class NoHeartbeatFile(TaskError):
    """No setting names a list, and the client's project has none."""

    def __init__(self) -> None:
        super().__init__(
            "No list was found: neither the client's folder nor one above it in its repository has a HEARTBEAT.md "
            f"{NOT_COUNTED}. Ask the user to create HEARTBEAT.md in the project's folder, start the client in a "
            "folder that has one, or set HEARTBEAT_FILE_PATH, or TASK_STORE for a list without the file."
        )


class ReadOnlyField(TaskError):
    """An update names a field that only the server sets."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"Leave out {quote_names(names)} and call again: the server sets such fields itself.",
            make_details("fields", names),
        )


class ReservedField(TaskError):
    """An extra field has the name of a predefined one."""

    def __init__(
        self,
        names: Sequence[str],
        advice: str = " or choose another name: it is a predefined field, not an extra one.",
    ) -> None:
        super().__init__(
            f"Leave out {quote_names(names)}{advice}",
            make_details("fields", names),
        )


class PathOutsideWorkspace(TaskError):
    """A path leads out of the folder that it must stay in, or has a form that is not accepted."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"Give '{field}' as a path inside the workspace or an http(s) URL: {why}.", {"field": field})
