"""Tests that are left out where a program that they need is not installed."""

from __future__ import annotations

from importlib.util import find_spec

# Where only what is quick is tested, with the lowest versions, no browser is driven.
collect_ignore: list[str] = [] if find_spec("playwright") else ["test_search_browser.py"]
