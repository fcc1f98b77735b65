"""The passwords of the database, made up once and kept in files that only the user can read."""

from __future__ import annotations

import json
import secrets
from typing import NamedTuple

from examples.hosted.layout import Layout

__all__ = ["OWNER", "SERVER", "SUPERUSER", "Passwords", "load_passwords"]

SUPERUSER = "postgres"
OWNER = "task_owner"
"""The role that owns the tables: it migrates them, and nobody serves as it."""
SERVER = "task_server"
"""The role of the servers: row-level security holds for it, and it owns nothing."""


class Passwords(NamedTuple):
    """One password for each role."""

    superuser: str
    replication: str
    owner: str
    server: str


def load_passwords(layout: Layout) -> Passwords:
    """Return the passwords of the deployment, and write the files that ``PGPASSFILE`` names for its roles."""
    path = layout.folder / "passwords.json"
    if not path.exists():
        layout.write(path.name, json.dumps([secrets.token_urlsafe(24) for _ in Passwords._fields]))
    passwords = Passwords(*json.loads(path.read_text("utf-8")))
    _write_pgpass(layout, SUPERUSER, passwords.superuser)
    _write_pgpass(layout, OWNER, passwords.owner)
    _write_pgpass(layout, SERVER, passwords.server)
    return passwords


def _write_pgpass(layout: Layout, role: str, password: str) -> None:
    layout.write(f"{role}.pgpass", f"*:*:*:{role}:{password}\n")
