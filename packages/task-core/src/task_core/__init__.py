"""The core that every task server builds on: records, errors, ids, and one dependable store.

Import what you need from the module that holds it; importing this package alone loads nothing else.
"""

__all__: list[str] = []
