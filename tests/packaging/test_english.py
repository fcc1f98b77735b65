"""What users and models read is plain English: words that we do not use, and what to write instead."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.packaging.documents import DOCUMENTS
from tests.packaging.projects import ROOT
from tests.sources import modules

FILES: Final = [*DOCUMENTS, *sorted(ROOT.glob("packages/*/src/**/*.py")), *sorted(ROOT.glob("examples/*/src/**/*.py"))]

INSTEAD: Final = {
    r"(?<!\bthere )\b(is|are) no (?!longer|more\b)\w+": "is not a",
    r"\b(is|are) none of\b": "is not part of",
    r"\b(stands?|stood)\b(?!-)": "is",
    r"\b(tells?|told)\b": "report, name, show, distinguish",
    r"\bbelongs? into\b": "belongs in",
    r"\bsaid of\b|\bspeaks? of\b": "say about",
    r"\b(by|for|of|to|after) who (is|was|has)\b": "whoever",
    r"\bof (those|them) the\b": "the ... of them",
    r"\bfrom \w+ over \w+ to\b": "through",
    r"\bfor ever\b": "forever",
    r"\bmended\b|\bput (it|them|this) right\b": "fixed",
    r"\bcome to pass\b|\bunsaid\b|\bkindness\b": "happen",
    r"\bwhat is new\b": "news, changes",
    r"\bso many (seconds|bytes|characters|days)\b": "this many",
    r"(?m)(^|[\"'.|:;]) *Most (\w+ )?(\w+s) (of|in|on|at|to|that|since|from)\b": "maximum number of",
    r"\bunits? of work\b": "transaction",
    r"\bcleanings?\b": "clean-up",
    r"(?-i:\bElse\b)": "otherwise",
}
"""What to write instead of what a pattern finds; the glossary decides where two words mean one thing."""


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_no_text_uses_a_word_that_has_a_better_one(path: Path) -> None:
    text = re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text("utf-8"))
    found = {
        f"{match[0]!r}: write {better!r}"
        for pattern, better in INSTEAD.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    }
    assert found == set()


@pytest.mark.parametrize(
    "text",
    ["This is no task.", "The file stands beside it.", "what is new", "after who was first", "Most words in a query."],
)
def test_a_word_that_has_a_better_one_is_found(text: str) -> None:
    assert any(re.search(pattern, text, re.IGNORECASE) for pattern in INSTEAD)


def test_no_two_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = {}
    for module in modules().values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module.name)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_the_glossary_has_each_word_once() -> None:
    words = re.findall(r"(?m)^\| ([a-z][^|]*) \|", (ROOT / "docs" / "glossary.md").read_text("utf-8"))
    terms = Counter(word for row in words for word in row.strip().split(", ") if word not in {"term"})
    assert [term for term, count in terms.items() if count > 1] == []
