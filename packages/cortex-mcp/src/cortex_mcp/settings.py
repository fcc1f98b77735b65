"""The settings of this server, read once from the environment."""

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field

from task_core.cli.settings import AbsolutePath, ServerSettings

__all__ = ["CortexMcpSettings"]

_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class CortexMcpSettings(ServerSettings):
    """Settings: the ``ctx`` to run, its directory, and its time."""

    in_project = (("cortex_repo", ""),)

    cortex_repo: Annotated[
        AbsolutePath | None,
        Field(description="Folder of the repository for calls that name none; default: the current folder."),
    ] = None
    cortex_workspace: Annotated[
        AbsolutePath | None,
        Field(description="Folder that the directory of a call must be in; default: that of CORTEX_REPO."),
    ] = None
    cortex_ctx: Annotated[
        AbsolutePath | None,
        Field(description="Absolute path of ctx; default: the one beside this Python, then the one on PATH."),
    ] = None
    cortex_list_timeout: Annotated[_Seconds, Field(description="Seconds for a call that only reads.")] = 30.0
    cortex_git_timeout: Annotated[_Seconds, Field(description="Seconds for a call that changes a repository.")] = 60.0

    @property
    def directory(self) -> Path:
        """The folder for calls that name none."""
        return self.cortex_repo or Path.cwd()

    @property
    def workspace(self) -> Path:
        """The folder that the directory of a call must be in, without links."""
        return Path(os.path.realpath(self.cortex_workspace or self.directory))
