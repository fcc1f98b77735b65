"""The services of projects and tasks over one database."""

from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.service.projects import Projects
from cortex_backend.service.repeats import Repeats
from cortex_backend.service.tasks import Tasks

__all__ = ["WorkServices"]


class WorkServices:
    """One of each service; the application keeps them as ``app.state.work``."""

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self.projects = Projects(database, clock)
        self.tasks = Tasks(database, clock)
        self.repeats = Repeats(database, clock)
