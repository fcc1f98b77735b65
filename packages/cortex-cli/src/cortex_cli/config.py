"""The folder where ``ctx`` keeps its files, and its settings there (CX-55).

The environment wins: ``CTX_URL``, ``CTX_TOKEN``, ``CTX_CONFIG_DIR``, ``CTX_TIMEOUT``, ``CTX_NO_INPUT``, ``CTX_DEBUG``.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cortex_cli.errors import InvalidUsage, echo, file_trouble, nearest
from cortex_cli.http import UnsafeUrl, origin_of
from cortex_cli.models import MAX_ID, Deadline, Settings

__all__ = [
    "KEYS",
    "ConfigFile",
    "check_key",
    "config_folder",
    "deadline_of",
    "parse_setting",
    "read_json_object",
    "server_origin",
    "write_private",
]

KEYS: Final = Settings._fields
"""The names of the settings."""

_FILE: Final = "config.json"

_FLAGS: Final = {"true": True, "false": False}


def config_folder(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the folder with the settings and the logins; it need not exist yet."""
    if named := environment.get("CTX_CONFIG_DIR"):
        return Path(named)
    if platform == "win32":
        return Path(environment.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "cortex"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "cortex"
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "cortex"


def deadline_of(environment: Mapping[str, str]) -> Deadline:
    """Return the deadline of ``CTX_TIMEOUT``, in seconds, or none; raise ``InvalidUsage`` if it is not positive."""
    value = environment.get("CTX_TIMEOUT")
    if not value:
        return Deadline()
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise InvalidUsage(f"CTX_TIMEOUT must be a number of seconds, not '{echo(value)}'.", {"name": "CTX_TIMEOUT"})
    return Deadline(seconds)


def server_origin(url: str, name: str) -> str:
    """Return the origin of the server at ``url``, the value of the option or setting ``name`` (CX-61).

    Raise ``InvalidUsage`` if a token may not be sent there, or if the URL is more than an origin.
    """
    try:
        origin = origin_of(url)
    except UnsafeUrl as error:
        raise InvalidUsage(f"{name} {error}.", {"name": name}) from None
    if url.partition("://")[2].rstrip("/").count("/") or "?" in url or "#" in url:
        raise InvalidUsage(f"{name} must end after the host and the port.", {"name": name})
    return origin


def check_key(key: str) -> None:
    """Raise ``InvalidUsage``, with the nearest names, if there is no setting ``key``."""
    if key not in KEYS:
        near = nearest(key, KEYS)
        advice = f"Did you mean '{near[0]}'?" if near else f"Use one of: {', '.join(KEYS)}."
        raise InvalidUsage(f"There is no setting '{echo(key)}'. {advice}", {"key": echo(key), "near": near})


def parse_setting(key: str, text: str) -> object:
    """Return the value that ``text`` is for ``key``; raise ``InvalidUsage`` if the key or the value is wrong."""
    check_key(key)
    if key == "url":
        return server_origin(text, "url")
    if key == "default_project":
        if text.isascii() and text.isdecimal() and 0 < int(text[:11]) <= MAX_ID:
            return int(text)
        raise InvalidUsage("default_project must be the id of a project. See 'ctx projects list'.", {"key": key})
    if text not in _FLAGS:
        raise InvalidUsage(f"{key} must be true or false, not '{echo(text)}'.", {"key": key})
    return _FLAGS[text]


class ConfigFile:
    """The file with the settings; a missing one is empty, a damaged one is an error."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    def settings(self) -> Settings:
        """Return all settings, defaults included; raise ``InvalidUsage`` if the file has anything else."""
        found = read_json_object(self._path) or {}
        for key, value in found.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            try:
                is_right = parse_setting(key, text) == value
            except InvalidUsage as error:
                raise file_trouble(str(self._path), "has a wrong setting", error.message) from None
            if not is_right:
                raise file_trouble(str(self._path), f"has a wrong value for {key}", f"Run 'ctx config unset {key}'.")
        return Settings(**found)  # pyrefly: ignore[bad-argument-type] # checked above

    def change(self, key: str, value: object) -> None:
        """Set ``key``, or remove it if the value is None."""
        known = read_json_object(self._path) or {}
        known.pop(key, None)
        write_private(self._path, known if value is None else {**known, key: value})


def read_json_object(path: Path) -> dict[str, object] | None:
    """Return the JSON object in a file, or None without a file; raise ``InvalidUsage`` if it is anything else."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_trouble(str(path), f"cannot be read ({error.strerror})", "Fix its permissions.") from None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise file_trouble(str(path), "is damaged", "Repair it, or remove it and begin again.")
    return value


def write_private(path: Path, value: Mapping[str, object]) -> None:
    """Replace a file by a JSON object that only its owner can read: written aside, synced and renamed.

    Raise ``InvalidUsage`` if that is not possible; the file is as it was.
    """
    aside = path.with_name(f"{path.name}.{os.urandom(6).hex()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        try:
            with open(os.open(aside, flags, 0o600), "wb") as file:  # noqa: PTH123 - pathlib opens no descriptor
                file.write(json.dumps(value, indent=2).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise file_trouble(str(path), f"cannot be written ({error.strerror})", "Nothing was changed there.") from None
