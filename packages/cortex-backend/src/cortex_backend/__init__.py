"""The backend of Cortex: projects and tasks of a team, over REST."""

__all__: list[str] = []
