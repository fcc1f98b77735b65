"""Who calls: passwords, tokens, sessions, and how often somebody may try."""

__all__: list[str] = []
