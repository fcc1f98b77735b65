"""The keys that sign tokens (CX-33)."""

import os
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

from cortex_backend.settings import BackendSettings, SettingsError

__all__ = ["load_keys"]

_KEY_BYTES: Final = 32
"""Bytes that a key must have: as many as the digest of HS256."""


def load_keys(settings: BackendSettings) -> dict[str, bytes]:
    """Return the keys by name, the one that signs first; with SQLite, make the file of keys if there are none yet.

    Raises ``SettingsError`` if the file has no key or a key that is too short, or if other users can read it.
    """
    if settings.secret_keys is not None:
        return _parse(settings.secret_keys.get_secret_value(), "CORTEX_SECRET_KEYS")
    if settings.secret_file is None and not settings.is_sqlite:
        raise SettingsError("Set CORTEX_SECRET_KEYS or CORTEX_SECRET_FILE: with PostgreSQL, no key is made by itself.")
    path = (settings.secret_file or settings.database_file.with_suffix(".key")).expanduser()
    try:
        if settings.is_sqlite:
            _make(path)
        if os.name != "nt" and path.stat().st_mode & 0o077:
            raise SettingsError(f"Others may read {path}, which holds the keys: run chmod 600 on it.")
        return _parse(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise SettingsError(f"{path}, which holds the keys, cannot be used: {error.strerror}.") from None


def _parse(text: str, source: str) -> dict[str, bytes]:
    secrets = [word.strip().encode() for word in text.split(",") if word.strip()]
    if not secrets or any(len(secret) < _KEY_BYTES for secret in secrets):
        raise SettingsError(f"{source} must hold keys of {_KEY_BYTES} bytes or more, separated by commas.")
    return {sha256(b"cortex key name:" + secret).hexdigest()[:16]: secret for secret in secrets}


def _make(path: Path) -> None:
    """Write a new key to ``path`` unless it exists; of processes that start at once, all get the same one."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token_hex(_KEY_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink()
