"""Root starts everything as a user without rights, who must be able to read the programs: this lets that user do so."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.hosted.layout import ROOT, Layout

__all__ = ["reveal_programs"]

_MARK = "HOSTED_REVEALED"
"""Set in the environment once this program runs where everything is shown."""


def reveal_programs(layout: Layout) -> None:
    """Start this program again where the user can read what it needs, if the user cannot read it here.

    That is a mount namespace of its own. In it, a private folder, such as ``/root``, shows only the way to the programs.

    Raises:
        PermissionError: this is not possible.
    """
    places = [Path(sys.base_prefix), Path(sys.prefix), ROOT, layout.folder]
    hidden = [place for place in places if not all(parent.stat().st_mode & 0o001 for parent in place.parents)]
    if layout.user is None or not hidden:
        return
    if _MARK in os.environ:
        raise PermissionError(f"the user 'nobody' cannot read {hidden[0]}: run this as a user other than root")
    os.environ[_MARK] = "yes"
    command = shlex.join(sys.orig_argv)
    script = "\n".join([*_mounts(hidden), f"cd {shlex.quote(str(ROOT))}", f"exec {command}"])
    os.execvp("unshare", ["unshare", "--mount", "--propagation=private", "sh", "-ec", script])


def _mounts(places: Sequence[Path]) -> list[str]:
    """Return the commands that show ``places`` at their paths, and hide what else is in the same top folders."""
    commands = ["mount -t tmpfs -o mode=755 tmpfs /mnt"]
    for place in places:
        commands += [shlex.join(["mkdir", "-p", f"/mnt{place}"]), shlex.join(["mount", "--rbind", str(place), f"/mnt{place}"])]
    tops = sorted({place.parts[1] for place in places})
    return [*commands, *(shlex.join(["mount", "--rbind", f"/mnt/{top}", f"/{top}"]) for top in tops)]
