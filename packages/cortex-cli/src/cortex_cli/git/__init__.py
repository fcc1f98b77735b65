"""Git as a process of its own; nothing else in the package starts one (CX-65)."""

from cortex_cli.git.client import Git, GitOutput, git_environment

__all__ = ["Git", "GitOutput", "git_environment"]
