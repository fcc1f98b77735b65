"""The names of task branches: made from a task, and read back without trusting them (CX-41)."""

import re
from hashlib import sha256
from typing import Final
from unicodedata import combining, normalize

from cortex_cli.models import MAX_ID, TASK_TYPES

__all__ = ["is_branch_name", "make_branch_name", "parse_branch", "slugify"]

_NAME: Final = re.compile(rf"(?:{'|'.join(TASK_TYPES)})/task-([1-9][0-9]{{0,9}})-[a-z0-9]+(?:-[a-z0-9]+)*")

_MAX_NAME: Final = 120

_MAX_SLUG: Final = 40

_GIT_FORBIDS: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]|\.\.|@\{|//|/\.|\.lock(/|$)|^[-/.]|[/.]$|^@$")
"""Characters that git does not allow in the name of a branch, and a dash at its start."""


def slugify(title: str, task_id: int) -> str:
    """Return the words of a title in at most 40 ASCII letters, digits and single dashes; always the same ones.

    A title without any gives 8 hex digits of the SHA-256 of the task's id.
    """
    letters = "".join(char for char in normalize("NFKD", title) if not combining(char))
    slug = re.sub("[^a-z0-9]+", "-", re.sub("[A-Z]", lambda match: match[0].lower(), letters)).strip("-")
    if len(slug) > _MAX_SLUG:
        head, _, cut = slug[: _MAX_SLUG + 1].rpartition("-")
        slug = head or cut[:_MAX_SLUG]
    return slug or sha256(str(task_id).encode()).hexdigest()[:8]


def make_branch_name(task_type: str, task_id: int, title: str) -> str:
    """Return the name for the branch of a task: ``feature/task-42-fix-login``."""
    return f"{task_type}/task-{task_id}-{slugify(title, task_id)}"


def parse_branch(name: str | None) -> int | None:
    """Return the id in the name of a task branch, or None when it is not exactly of that form."""
    match = _NAME.fullmatch(name or "")
    if match is None or len(match[0]) > _MAX_NAME or int(match[1]) > MAX_ID:
        return None
    return int(match[1])


def is_branch_name(name: str) -> bool:
    """Return whether git allows the name for a branch, or for a remote, and no option begins like it."""
    return 0 < len(name) <= 250 and _GIT_FORBIDS.search(name) is None
