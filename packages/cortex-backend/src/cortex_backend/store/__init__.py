"""The SQL: queries whose conditions hold what the caller may see."""

__all__: list[str] = []
