"""The bodies and answers, closed, with their limits and examples."""

__all__: list[str] = []
