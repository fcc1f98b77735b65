"""A package's own code runs when it is asked for something, and not for the sake of its modules (START-4)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from task_core.cli.main import postpone


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that notes when its own code runs, with one module."""
    name = "postponed_example"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("import sys\nsys.ran = getattr(sys, 'ran', 0) + 1\nanswer = 42\n")
    (tmp_path / name / "part.py").write_text("half = 21\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "ran", 0, raising=False)
    yield name
    for module in (name, f"{name}.part"):
        sys.modules.pop(module, None)


@pytest.mark.requirement("START-4")
def test_a_module_is_imported_without_the_code_of_its_package(package: str) -> None:
    postpone(package)
    assert import_module(f"{package}.part").half == 21
    assert vars(sys)["ran"] == 0


@pytest.mark.requirement("START-4")
def test_the_code_runs_once_when_a_name_is_asked_for(package: str) -> None:
    postpone(package)
    import_module(f"{package}.part")
    module = import_module(package)
    assert (module.answer, module.answer, module.part.half) == (42, 42, 21)
    assert vars(sys)["ran"] == 1
    with pytest.raises(AttributeError):
        _ = module.nothing


@pytest.mark.requirement("START-4")
def test_a_package_that_was_imported_stays_as_it_is(package: str) -> None:
    module = import_module(package)
    postpone(package)
    assert sys.modules[package] is module
