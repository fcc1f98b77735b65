"""The files that are generated for tasks (TM-83)."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from task_core.errors import TaskError
from taskmaster_mcp.core.items import TagTasks
from taskmaster_mcp.core.views import is_file_name, name_file, read_id, render_markdown, render_text
from taskmaster_mcp.project.root import ProjectFiles

__all__ = ["Generated", "detect_ending", "generate_files", "remove_task_files"]

_FORMS: Final = {"txt": render_text, "md": render_markdown}


class Generated(NamedTuple):
    """The result of generating task files."""

    count: int
    """tasks with a file"""
    written: int
    """files that were new or differed"""
    removed: int
    """files of tasks that are gone"""
    skipped: list[str]
    """names of files that nobody generated, which stay as they are"""


def detect_ending(folder: Path, tag: str) -> str:
    """Return the ending of the files that are generated in ``folder``: ``md`` if there are such files, else ``txt``."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return "md" if any(it.suffix == ".md" and is_file_name(it.name, tag) for it in paths) else "txt"


def generate_files(
    files: ProjectFiles, tasks: TagTasks, folder: Path, ending: str, report: Callable[[int, int], None]
) -> Generated:
    """Write a file for each task, and remove those of tasks that are gone; files that nobody generated stay."""
    files.make_folder(folder)
    index, render = tasks.index(), _FORMS[ending]
    found = [task for task in tasks.tasks if task.id and index[task.id] == task]
    ids = {task.id for task in found}
    removed = remove_task_files(files, folder, tasks.tag, lambda task_id: task_id not in ids)
    written, skipped = 0, list[str]()
    for done, task in enumerate(found, 1):
        path, data = folder / name_file(task.id, tasks.tag, ending), render(task, index).encode()
        old = _read_generated(files, path, task.id)
        if old is None:
            skipped.append(path.name)
        elif old != data:
            files.write(path, data)
            written += 1
        report(done, len(found))
    return Generated(len(found), written, removed, skipped)


def remove_task_files(files: ProjectFiles, folder: Path, tag: str, is_gone: Callable[[str], bool]) -> int:
    """Remove the files that were generated for tasks whose ids are gone, no others, and return how many."""
    removed = 0
    for path in folder.iterdir():
        with suppress(OSError, TaskError):
            task_id = read_id(files.read(path)) if is_file_name(path.name, tag) else ""
            names = [name_file(task_id, tag, ending) for ending in _FORMS]
            if task_id and path.name in names and is_gone(task_id):
                path.unlink()
                removed += 1
    return removed


def _read_generated(files: ProjectFiles, path: Path, task_id: str) -> bytes | None:
    """Return the file that was generated for a task, empty if there is none; None if something else is there."""
    try:
        data = files.read(path)
    except FileNotFoundError:
        return b""
    except TaskError:
        return None
    return data if read_id(data) == task_id else None
