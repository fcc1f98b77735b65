"""How the database that the settings name is opened (CX-40)."""

from cortex_backend.database import CortexDatabase
from cortex_backend.settings import BackendSettings

__all__ = ["open_database"]


def open_database(settings: BackendSettings) -> CortexDatabase:
    """Return the database with the schema of this version; SQLite migrates itself (CX-40).

    Raises:
        DatabaseRefused: it cannot be reached, or its schema is another one.
    """
    database = CortexDatabase(settings.database_url)
    try:
        if database.is_sqlite:
            database.migrate()
        else:
            database.check_schema()
    except BaseException:
        database.close()
        raise
    return database
