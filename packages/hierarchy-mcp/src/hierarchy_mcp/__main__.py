"""The command ``hierarchy-mcp``."""

from task_core.cli.main import run
from task_core.cli.program import Program

__all__ = ["main"]


def main() -> None:
    """Run the server or one of its commands, as the command line and the environment say."""
    run(Program.of("hierarchy_mcp"))


if __name__ == "__main__":
    main()
