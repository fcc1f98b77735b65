"""The only part of the core that knows the protocol: tools, resources, prompts and both transports."""

__all__: list[str] = []
