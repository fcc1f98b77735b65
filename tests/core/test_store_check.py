"""Somebody can have a say in every transaction before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from task_core.errors import InvalidArguments
from task_core.store import Transaction
from tests.core.notes import Note, add, ids, open_store


@pytest.mark.parametrize("name", ["notes.json", "notes.db"])
def test_the_check_comes_before_the_work_and_its_error_ends_the_transaction_without_a_change(
    name: str, tmp_path: Path
) -> None:
    store = open_store(tmp_path / name)
    add(store, "first")
    token = store.changes(None, 0).token
    seen: list[str] = []

    def refuse(tasks: Transaction[Note]) -> None:
        seen.append(tasks.token)
        raise InvalidArguments([("id", "the tasks have changed")])

    usual, store.check = store.check, refuse
    with pytest.raises(InvalidArguments), store.transaction():
        pytest.fail("the work has begun")
    assert seen == [token]
    assert store.changes(None, 0).token == token
    store.check = usual
    add(store, "second")
    assert ids(store) == ["first", "second"]
    store.close()
