"""Folders of Backlog.md: where they are, and what each one says about its files."""

import os
import re
from pathlib import Path, PurePosixPath
from typing import Final

__all__ = ["CONFIGS", "ROOT_CONFIG", "find", "kind_of"]

ROOT_CONFIG: Final = "backlog.config.yml"
CONFIGS: Final = ("config.yml", "config.yaml")
_FOLDERS: Final = ("tasks", "drafts", "completed", "archive", "milestones", "docs", "decisions")
_DIRECTORY = re.compile(r"^backlog_?directory:[ \t]*['\"]?([^'\"\n#]+)", re.MULTILINE | re.IGNORECASE)


def find(path: Path) -> list[Path]:
    """Return the configuration and the Markdown files at ``path``: one file, the folder of Backlog.md, or a project."""
    if path.is_file():
        return [path] if path.suffix.lower() == ".md" else []
    if path.name.lower() in _FOLDERS[:3] and not (path / "tasks").is_dir():
        return _find_markdown(path)
    candidates = [path, path / "backlog", path / ".backlog"]
    config = path / ROOT_CONFIG
    found = [file for file in (config,) if file.is_file()]
    if found and (match := _DIRECTORY.search(config.read_bytes().decode("utf-8", "replace"))):
        place = PurePosixPath(match[1].strip())
        if not place.is_absolute() and ".." not in place.parts:
            candidates.insert(0, path / place)
    for folder in candidates:
        configs = [file for name in CONFIGS if (file := folder / name).is_file()]
        if (folder / "tasks").is_dir():
            markdown = [file for name in _FOLDERS for file in _find_markdown(folder / name)]
            return found + configs + markdown
    return []


def kind_of(name: str, root: str) -> str:
    """Return the folder below ``root`` that a file is in; its files say ``archive/milestones`` for milestones there."""
    folders = name.removeprefix(f"{root}/").lower().split("/")[:-1]
    kind = next((folder for folder in folders if folder in _FOLDERS), "tasks")
    return "milestones" if kind == "archive" and "milestones" in folders else kind


def _find_markdown(folder: Path) -> list[Path]:
    names = (
        os.path.join(place, name)  # noqa: PTH118 - thousands of paths, which are compared as text
        for place, _, files in os.walk(folder)
        for name in files
        if name.lower().endswith(".md")
    )
    return [file for name in sorted(names, key=_natural) if (file := Path(name)).is_file()]


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that puts ``task-9`` before ``task-10``."""
    parts = re.split(r"(\d+)", text.casefold())
    return [(1, int(part), "") if part.isascii() and part.isdigit() else (0, 0, part) for part in parts]
