"""The ``hierarchy-mcp`` command, which has no server to start yet."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> int:
    """Say on stderr that the server is not there yet and return exit code 2."""
    print("hierarchy-mcp: this server is not there yet; a later version brings it.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
