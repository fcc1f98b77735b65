"""Runs the migrations on the connection that ``CortexDatabase`` gives; Alembic loads this module by its path."""

from alembic import context

from cortex_backend.models import EventRow

__all__: list[str] = []

context.configure(connection=context.config.attributes["connection"], target_metadata=EventRow.metadata)
context.run_migrations()
