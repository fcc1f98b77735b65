"""The command ``notes-mcp``."""

from task_core.cli.main import run
from task_core.cli.program import Program

__all__ = ["main"]


def main() -> None:
    """Serve, or carry out a command such as doctor or export."""
    run(Program.of("notes_mcp"))


if __name__ == "__main__":
    main()
