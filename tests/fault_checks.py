"""What must hold after any call to the operating system has failed within an act, and after the cause is gone."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from heartbeat_mcp.models import SECTION, STORE_ID
from task_core.errors import StoreLocked, StoreUnreadable, StoreWriteFailed
from tests.acts import Act, Bench, Shown, files_in, lay_out
from tests.core.faults import Fault, watched

__all__ = ["Ends", "check_faults"]

TAKEN_BACK_IN_VAIN: Final = "could not be undone"
"""What an error says that could not undo a change."""

Refusal = StoreWriteFailed | StoreUnreadable | StoreLocked


def check_faults(act: Act, folder: Path, codes: Sequence[int], numbers: Iterable[int], *, for_good: bool) -> None:
    """Let each call of the act with one of the numbers fail, with ``codes`` in turn, until a run has no such call."""
    ends = Ends.of(act, folder)
    for number in numbers:
        lay_out(folder, ends.files)
        bench, run = act.begin(folder)
        fault = Fault(number, codes[number % len(codes)], for_good)
        error: Refusal | None = None
        with watched(fault) as calls:
            try:
                run()
            except (StoreWriteFailed, StoreUnreadable, StoreLocked) as caught:
                error = caught
        try:
            _check_outcome(ends, bench, fault, error)
        except AssertionError as found:
            raise AssertionError(f"{fault} in {calls}: {error}") from found
        if len(calls) < number:
            return


def tasks_in(store: bytes | None) -> object:
    """Return what a document holds but for its random id and the receipts, which may have to wait for their file."""
    try:
        document: JsonValue = json.loads(store or b"")
    except ValueError:
        return store
    if not isinstance(document, dict):
        return store
    return {name: value for name, value in document.items() if name not in {SECTION, STORE_ID}}


def requests_in(store: bytes | None) -> list[str]:
    """Return what the tasks of a to-do list are about; a task that a person wrote has another id each time."""
    return sorted(task["raw_user_request"] for task in json.loads(store or b"{}")["tasks"])


@dataclass(frozen=True)
class Ends:
    """The two ends that an act may come to: all as it was before, or all as it is afterwards."""

    act: Act
    files: Mapping[str, bytes]
    """Before the act."""
    before: Shown
    after: Shown
    read: bytes | None
    """The store after tasks were read only, and nothing was done."""
    store: bytes
    """The store after the act."""

    @classmethod
    def of(cls, act: Act, folder: Path) -> Ends:
        """Carry out the act in an empty folder, and return what was before and after."""
        texts = act.prepare(folder)
        files = files_in(folder)
        before = act.bench(folder).shown()
        assert before.keys() == texts
        read = files_in(folder).get(act.bench(folder).store)
        lay_out(folder, files)
        bench, run = act.begin(folder)
        run()
        after = bench.shown()
        assert before.keys() - after.keys() <= {act.deletes}
        return cls(act, files, before, after, read, (folder / bench.store).read_bytes())

    def check_store(self, bench: Bench, *, may_be_old: bool, may_be_new: bool) -> None:
        """Check that the store is whole, that it is one of the two, and that a damaged one was not thrown away."""
        files = files_in(bench.folder)
        old, store = self.files.get(bench.store), files.get(bench.store)
        if self.act.is_exact:
            allowed = ([old] if may_be_old else []) + ([self.store] if may_be_new else [])
            assert tasks_in(store) in map(tasks_in, allowed)
        elif not may_be_new:  # a call that failed may have taken in what a person wrote, as reading alone does
            assert store == old or requests_in(store) == requests_in(self.read)
        if old and not old.endswith((b"}\n", b"]\n")):
            assert old in files.values()

    def check_work_goes_on(self, bench: Bench, *known: Shown, spare: str = "") -> None:
        """Check that a task can be added, that every other is as in one of ``known``, and that nothing is left over."""
        bench.add("later")
        shown = bench.shown()
        assert shown == self.act.bench(bench.folder).shown()
        assert shown.pop("later")
        for text in self.before.keys() | self.after.keys():
            assert shown.pop(text, None) in [tasks.get(text) for tasks in known]
        assert shown == {}
        bench.check()
        names = {name for name in os.listdir(bench.folder) if ".corrupt-" not in name}
        assert names <= bench.kept | {spare}


def _check_next_list(bench: Bench) -> None:
    """Check that reading alone makes good what could not be done (HB-13)."""
    bench.shown()
    bench.check()


def _check_outcome(ends: Ends, bench: Bench, fault: Fault, error: Refusal | None) -> None:
    if error is None:
        ends.check_store(bench, may_be_old=False, may_be_new=True)
        _check_next_list(bench)
        ends.check_work_goes_on(bench, *([ends.before] if ends.act.is_reading else []), ends.after)
        return
    is_taken_back = TAKEN_BACK_IN_VAIN not in error.message
    if isinstance(error, StoreLocked):
        assert fault.code == errno.EACCES, "only this one means that the lock is held"
    else:
        assert os.strerror(fault.code) in error.message
        assert str(bench.folder) not in error.message
    may_be_new = fault.for_good and (ends.act.is_reading or not is_taken_back)
    ends.check_store(bench, may_be_old=True, may_be_new=may_be_new)
    if is_taken_back:
        _check_next_list(bench)
    ends.check_work_goes_on(bench, ends.before, *([] if is_taken_back else [ends.after]))
