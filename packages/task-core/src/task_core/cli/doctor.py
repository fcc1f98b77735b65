"""The command ``doctor`` of every server: it prints what is right, what is wrong and how to fix it (DOC-1)."""

import logging
import platform
import sys
from collections.abc import Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from task_core.bootstrap import BadSettings
from task_core.cli.chosen_list import choose_list, describe_place, own_entries, read_settings
from task_core.cli.program import Program
from task_core.cli.settings import ServerSettings, describe_settings, format_setting, load_settings
from task_core.cli.view.plain import discard_output, tolerate_characters
from task_core.doctor import Check, Finding, Level, note, right, wrong
from task_core.errors import TaskError
from task_core.files import describe
from task_core.text import escape_invisible, pluralize

__all__ = ["run_doctor"]

_WIDTH: Final = 22
"""Width of the columns before the text: two blanks, the level, the subject."""


def run_doctor(program: Program, package_version: str, client: str = "") -> int:
    """Print what is right and wrong with ``program``, and return the exit code: 1 if something is wrong."""
    logging.disable()  # a server's warnings are findings here
    every = [Check("versions", partial(_versions, program.distribution or program.name)), *_checks(program, client)]
    found = [(check.subject, finding) for check in every for finding in _findings(check)]
    faults = sum(finding.level is Level.WRONG for _, finding in found)
    end = f"{pluralize(faults, 'fault')} found." if faults else "Nothing is wrong."
    lines = [f"{program.name} {package_version}", *(line for item in found for line in _lines(*item)), end]
    try:
        tolerate_characters(sys.stdout)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
    except OSError:  # the reader is gone or the disk is full
        discard_output(sys.stdout)
    return 1 if faults else 0


def _checks(program: Program, client: str) -> list[Check]:
    clients = Check("clients", partial(_clients, program))
    try:
        settings, origin, _ = choose_list(program, client)
    except BadSettings as error:
        cure = "Set it in the environment that your client gives the server, then run doctor again."
        refused = [wrong(line, cure) for line in str(error).splitlines()]
    else:
        source = [Check("list", lambda: [right(origin)])] if origin else []
        return [clients, *source, Check("settings", partial(_values, settings)), *program.checks(settings)]
    unseen = note("the files were not checked: correct the settings first")
    return [clients, Check("settings", lambda: [*refused, unseen])]


def _clients(program: Program) -> Iterator[Finding]:
    """Yield each client that has the server, with the list that it uses."""
    for entry in own_entries(program):
        from task_core.cli.client_entries import has_own_hook  # noqa: PLC0415 - it is installed if there is an entry

        where = "this project" if entry.scope == "project" else "all projects"
        try:
            settings = load_settings(program.settings_type(), has_client=True, given=read_settings(entry.variables))
            place = "the list of the project in which it starts" if settings.missing else describe_place(settings)
        except (BadSettings, TaskError) as error:
            cure = f"Run {program.name} install {entry.client}, or correct the entry."
            yield wrong(f"{entry.title} ({where}): {error}", cure)
        else:
            hook = ", with a brief at the start of each session" if has_own_hook(program, entry) else ""
            yield right(f"{entry.title} ({where}): {place}{hook}")


def _findings(check: Check) -> Iterator[Finding]:
    try:
        yield from check.look()
    except OSError as error:
        yield wrong(f"it cannot be checked ({describe(error)})", "Fix the cause, then run doctor again.")


def _values(settings: ServerSettings) -> Iterator[Finding]:
    for name, _, _ in describe_settings(type(settings)):
        value = getattr(settings, name.lower())
        origin = "" if name.lower() in settings.model_fields_set else " (default)"
        written = f"'{value}'" if isinstance(value, str | Path) else format_setting(value)
        yield right(f"{name} is {'not set' if value is None else written}{origin}")


def _versions(name: str) -> Iterator[Finding]:
    yield right(f"Python {platform.python_version()} on {platform.system()}")
    for package in (name, "mcp-task-core", "mcp", "pydantic", "filelock"):  # which explain most of what goes wrong
        try:
            yield right(f"{package} {version(package)}")
        except PackageNotFoundError:
            yield wrong(f"{package} is not installed as a package", f"Install {name} again, with pip.")


def _lines(subject: str, finding: Finding) -> Iterator[str]:
    yield f"  {finding.level.value:<7}{subject:<{_WIDTH - 9}}{escape_invisible(finding.text)}"
    if finding.cure:
        yield " " * _WIDTH + "-> " + escape_invisible(finding.cure)
