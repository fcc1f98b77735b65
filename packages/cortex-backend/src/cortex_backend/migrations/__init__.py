"""The migrations of the schema, which Alembic runs."""

__all__: list[str] = []
