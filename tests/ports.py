"""Ports for servers that must know theirs before they start."""

from random import SystemRandom
from socket import create_server

__all__ = ["free_port"]


def free_port(count: int = 1) -> int:
    """Return the first of ``count`` ports that nobody uses.

    They are below those that systems give to whoever asks for any, so that nobody else gets them meanwhile.
    """
    rng = SystemRandom()
    while True:
        first = rng.randrange(10_000, 30_000 - count)
        try:
            for port in range(first, first + count):
                create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return first
