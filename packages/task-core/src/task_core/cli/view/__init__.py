"""The commands that show tasks to a person or a script: ``list``, ``show``, ``next`` and ``watch``."""

__all__: list[str] = []
