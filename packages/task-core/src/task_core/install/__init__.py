"""Adds a server to the configuration files of clients and removes it, without touching anything else there."""

__all__: list[str] = []
