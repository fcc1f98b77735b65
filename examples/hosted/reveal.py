"""Root starts everything as a user without rights, who must be able to read the programs: this lets that user do so."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.hosted.layout import ROOT, find_user

__all__ = ["reveal_programs"]

_MARK = "HOSTED_REVEALED"
"""Set in the environment once this program runs where everything is shown."""


def reveal_programs(folder: Path, *, has_network: bool = False) -> None:
    """Start this program again where the user can read the programs and enter ``folder``, unless that is so here.

    That is a mount namespace of its own, in which a private folder, such as ``/root``, shows only the way to them.
    With ``has_network`` this program always starts again, and in a network namespace of its own, which is empty.

    Raises:
        PermissionError: this is not possible.
    """
    places = [Path(sys.base_prefix), Path(sys.prefix), ROOT, folder]
    hidden = [place for place in places if not all(parent.stat().st_mode & 0o001 for parent in place.parents)]
    if find_user() is None or not (hidden or has_network):
        return
    if _MARK in os.environ:
        if hidden:
            raise PermissionError(f"the user 'nobody' cannot read {hidden[0]}: run this as a user other than root")
        return
    os.environ[_MARK] = "yes"
    command = shlex.join(sys.orig_argv)
    script = "\n".join([*_mounts(hidden), f"cd {shlex.quote(str(ROOT))}", f"exec {command}"])
    spaces = ["--mount", "--propagation=private", *(["--net"] if has_network else [])]
    os.execvp("unshare", ["unshare", *spaces, "sh", "-ec", script])  # noqa: S606, S607 - wherever util-linux is


def _mounts(places: Sequence[Path]) -> list[str]:
    """Return the commands that show ``places`` at their paths, and hide what else is in the same top folders."""
    commands = ["mount -t tmpfs -o mode=755 tmpfs /mnt", "mount -t tmpfs -o mode=755 tmpfs /run"]
    for place in places:
        commands += [
            shlex.join(["mkdir", "-p", f"/mnt{place}"]),
            shlex.join(["mount", "--rbind", str(place), f"/mnt{place}"]),
        ]
    tops = sorted({place.parts[1] for place in places})
    return [*commands, *(shlex.join(["mount", "--rbind", f"/mnt/{top}", f"/{top}"]) for top in tops)]
