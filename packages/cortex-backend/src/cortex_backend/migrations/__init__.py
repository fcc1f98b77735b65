"""The schema (CX-40): an empty database gets the newest one at once, an older one is changed by Alembic's scripts."""

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from cortex_backend.models import EventRow

__all__ = ["REVISIONS", "make_alembic_config", "migrate_schema"]

REVISIONS: Final = ("0001", "0002")
"""The revisions of all scripts, oldest first."""

_GUARDS: Final = {
    "sqlite": (
        "CREATE TRIGGER events_update BEFORE UPDATE ON events "
        "BEGIN SELECT RAISE(ABORT, 'events are never changed'); END",
        "CREATE TRIGGER events_delete BEFORE DELETE ON events "
        "BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'events are never changed or deleted'; END $$",
        "CREATE TRIGGER events_change BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_event_change()",
    ),
}
"""The triggers that keep events as they are (CX-44)."""


def make_alembic_config() -> Config:
    """Return the settings of Alembic, whose scripts are in this folder."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def migrate_schema(connection: Connection, found: str | None) -> None:
    """Bring the schema from the revision ``found``, or from nothing, to the newest."""
    config = make_alembic_config()
    config.attributes["connection"] = connection
    if found is not None:
        command.upgrade(config, "head")
        return
    EventRow.metadata.create_all(connection)
    for statement in ("INSERT INTO counters (name, value) VALUES ('events', 0)", *_GUARDS[connection.dialect.name]):
        connection.execute(text(statement))
    command.stamp(config, "head")
