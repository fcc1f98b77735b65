"""The services of projects, tasks and events over one database."""

from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.service.comments import CommentService
from cortex_backend.service.events import EventService
from cortex_backend.service.projects import ProjectService
from cortex_backend.service.repeats import Repeats
from cortex_backend.service.tasks import TaskService
from cortex_backend.service.watch import EventWatch

__all__ = ["WorkServices"]


class WorkServices:
    """One of each service; the application keeps them as ``app.state.work``."""

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self.projects = ProjectService(database, clock)
        self.tasks = TaskService(database, clock)
        self.comments = CommentService(database, clock)
        self.events = EventService(database)
        self.repeats = Repeats(database, clock)
        self.watch = EventWatch(database)
