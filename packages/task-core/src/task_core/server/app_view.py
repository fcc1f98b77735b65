"""The answers of the list tool as a view within the client, for hosts with MCP Apps (SEP-1865, version 2026-01-26).

Only the standard library is imported here, because the greeting offers the view too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXTENSION", "VIEWED", "VIEW_META", "VIEW_TYPE", "add_view", "read_view", "view_uri"]

EXTENSION: Final = "io.modelcontextprotocol/ui"
"""The name of the extension among the capabilities."""

VIEW_TYPE: Final = "text/html;profile=mcp-app"
"""The MIME type of a view, which a host has to declare."""

VIEW_META: Final = {"ui": {"prefersBorder": True}}
"""Metadata of the view for its host. It names no origins, so the host lets the view reach nothing at all."""

VIEWED: Final = ("server/discover", "tools/list")
"""The requests whose answers mention the view."""


def add_view(
    method: str, answer: dict[str, Any], list_tool: str, extensions: Mapping[str, Mapping[str, Any]] | None
) -> dict[str, Any]:
    """Return the answer to a ``VIEWED`` request with the view of ``list_tool`` in it, for a client that shows views."""
    shown = (extensions or {}).get(EXTENSION, {}).get("mimeTypes")
    if not (list_tool and isinstance(shown, list) and VIEW_TYPE in shown):
        return answer
    if method == "server/discover":
        return {**answer, "capabilities": {**answer["capabilities"], "extensions": {EXTENSION: {}}}}
    link = {"_meta": {"ui": {"resourceUri": view_uri(list_tool)}}}
    return {**answer, "tools": [tool | (link if tool["name"] == list_tool else {}) for tool in answer["tools"]]}


def view_uri(list_tool: str) -> str:
    """Return the URI of the view of a tool; equal ones are the same view."""
    return f"ui://tasks/{list_tool}"


def read_view(list_tool: str) -> str:
    """Return the page that shows the answers of ``list_tool``, and calls it again through the host."""
    from pathlib import Path  # noqa: PLC0415 - it would delay the first answer

    page = Path(__file__).with_suffix(".html").read_text("utf-8")
    return page.replace('data-tool=""', f'data-tool="{list_tool}"', 1)
