"""Traces for whoever asks for them, without the text of tasks (HO-7)."""

from __future__ import annotations

from typing import Final

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.hosted.service import hosting
from tests.servers import ServerRecord

SECRET: Final = "a secret title"  # noqa: S105 - it opens nothing


@pytest.fixture(scope="module")
def spans() -> InMemorySpanExporter:
    """Return what takes the spans of this process."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.mark.requirement("HO-7")
@pytest.mark.parametrize("is_asked_for", [True, False])
async def test_spans_are_made_if_a_variable_of_opentelemetry_is_set_and_hold_no_text(
    tasks_v1: ServerRecord,
    sqlite: str,
    spans: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_asked_for: bool,
) -> None:
    if is_asked_for:
        monkeypatch.setenv("OTEL_SERVICE_NAME", "tasks")
    spans.clear()
    async with hosting(tasks_v1, sqlite) as site:
        async with site.client("grace") as client:
            await use(client)
        made = await site.create("grace", SECRET)
        assert made
    found = [span.to_json() for span in spans.get_finished_spans()]
    assert any('"gen_ai.tool.name": "create_task"' in span for span in found) is is_asked_for
    for span in found:
        assert SECRET not in span
        assert "grace" not in span


async def use(client: Client) -> None:
    await client.call_tool("create_task", {"title": SECRET})
    await client.call_tool("create_task", {"title": SECRET, "priority": SECRET})
    await client.call_tool("get_task", {"id": "unknown"})
    with pytest.raises(MCPError):
        await client.read_resource("tasks://unknown")
