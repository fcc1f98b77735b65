"""The command ``mcp-task-hosted``, which shows the settings of a hosted server."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib.metadata import version

from task_core.cli.settings import describe_environment
from task_hosted.service.settings import HostedSettings

__all__ = ["main"]

_USAGE = """\
Show the settings of a server for many users over HTTP. Start a server with them as usual, for example:

  heartbeat-mcp --transport http --port 8000
"""


def main() -> None:
    """Print the settings."""
    parser = ArgumentParser("mcp-task-hosted", description=_USAGE, formatter_class=RawDescriptionHelpFormatter)
    parser.epilog = describe_environment(HostedSettings)
    parser.add_argument("--version", action="version", version=f"mcp-task-hosted {version('mcp-task-hosted')}")
    parser.parse_args()
    parser.print_help()


if __name__ == "__main__":
    main()
