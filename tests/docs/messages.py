"""The texts that code can produce: each string and template in it, with an ellipsis for whatever is filled in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.sources import modules

__all__ = ["FILLED_IN", "all_messages", "messages_in"]

FILLED_IN = "…"
"""What stands for a value in a text."""


@cache
def all_messages() -> frozenset[str]:
    """Return every text in the packages of the workspace."""
    return frozenset(text for module in modules().values() for text in messages_in(module.tree))


def messages_in(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in a piece of code, but for docstrings."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            inner.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in node.values}
            yield "".join(_text(part) for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield re.sub(r"\{\w*(?::\w+)?\}", FILLED_IN, node.value)


def _text(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else FILLED_IN
