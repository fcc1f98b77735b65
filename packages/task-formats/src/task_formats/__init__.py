"""Readers and writers for the files of other task trackers: bytes in, neutral records out, and back."""

__all__: list[str] = []
