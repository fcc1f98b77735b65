"""The services of projects, tasks and events over one database."""

from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.service.comments import Comments
from cortex_backend.service.event_notifier import EventNotifier
from cortex_backend.service.events import Events
from cortex_backend.service.projects import Projects
from cortex_backend.service.repeats import Repeats
from cortex_backend.service.tasks import Tasks

__all__ = ["WorkServices"]


class WorkServices:
    """One of each service; the application keeps them as ``app.state.work``."""

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self.projects = Projects(database, clock)
        self.tasks = Tasks(database, clock)
        self.comments = Comments(database, clock)
        self.events = Events(database)
        self.repeats = Repeats(database, clock)
        self.notifier = EventNotifier(database)
