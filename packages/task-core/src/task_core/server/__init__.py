"""The only part of the core that knows the protocol: tools, both transports, settings and the command line."""

__all__: list[str] = []
