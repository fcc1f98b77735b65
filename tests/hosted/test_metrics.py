"""The figures of a replica (HO-7)."""

from __future__ import annotations

import socket

import httpx2
import pytest

from task_core.bootstrap import BadSettings
from task_hosted.service import metrics
from task_hosted.service.metrics import Metrics
from task_hosted.service.settings import HostedSettings
from task_hosted.serving import run_hosted
from tests.core.notes import DEADLINE
from tests.hosted.service import Site, hosting
from tests.ports import free_port
from tests.postgres import needs_postgres, store_url
from tests.servers import ServerRecord
from tests.wire.served import PUBLIC_URL


def figures(metrics: Metrics | None) -> dict[str, float]:
    """Return every figure but the buckets and the times of creation."""
    assert metrics
    return {
        f"{sample.name}{sorted(sample.labels.values()) if sample.labels else ''}": sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_created"))
    }


async def use(site: Site) -> None:
    token = site.authority.token("ada")
    await site.call(token, "create_task", title="a secret title")
    await site.call(token, "create_task", title="")
    await site.call(token, "no_such_tool_of_ours")
    await site.create("bob")


@pytest.mark.requirement("HO-7")
async def test_calls_and_commits_are_counted_without_tenants_and_text(tasks_v1: ServerRecord, sqlite: str) -> None:
    async with hosting(tasks_v1, sqlite, metrics_port=1) as site:
        await use(site)
        counted = figures(site.hosted.metrics)
    assert counted["tasks_calls_total['create_task', 'ok']"] == 2
    assert counted["tasks_calls_total['InvalidArguments', 'create_task']"] == 1
    assert counted["tasks_calls_total['UnknownTool', 'invalid call']"] == 1
    assert counted["tasks_call_seconds_count['create_task']"] == 3
    assert counted["tasks_list_wait_seconds_count"] == 2
    assert counted["tasks_commit_seconds_count"] == 2
    assert counted["tasks_commit_transactions_sum"] == 2
    for name in ("tasks_calls_in_flight", "tasks_listeners", "tasks_retries_total", "tasks_unknown_outcomes_total"):
        assert counted[name] == 0
    for word in ("ada", "bob", "secret", "no_such_tool", "issuer"):
        assert word not in str(counted)


@pytest.mark.requirement("HO-7")
async def test_what_is_under_way_is_shown(tasks_v1: ServerRecord, sqlite: str) -> None:
    async with hosting(tasks_v1, sqlite, metrics_port=1) as site:
        with site.hosted.limits.occupy(is_stream=False), site.hosted.limits.occupy(is_stream=True):
            counted = figures(site.hosted.metrics)
    assert (counted["tasks_calls_in_flight"], counted["tasks_listeners"]) == (1, 1)


@needs_postgres
@pytest.mark.requirement("HO-7")
async def test_the_pool_and_lost_connections_are_shown(tasks_v1: ServerRecord) -> None:
    async with hosting(tasks_v1, store_url(), metrics_port=1) as site:
        await use(site)
        counted = figures(site.hosted.metrics)
        assert counted["tasks_pool_connections"] >= 1
        assert counted["tasks_pool_idle_connections"] >= 0
        assert counted["tasks_pool_waiting"] == 0
        metrics = site.hosted.metrics
        assert metrics
        for event in ("retry", "retry", "unknown"):
            metrics.note_store(event, 1)
        counted = figures(metrics)
    assert (counted["tasks_retries_total"], counted["tasks_unknown_outcomes_total"]) == (2, 1)


@pytest.mark.requirement("HO-7")
async def test_figures_are_published_to_this_machine_only_and_to_nobody_who_asks_nothing(
    tasks_v1: ServerRecord, sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "_SILENT_SECONDS", 0.2)
    port = free_port()
    async with hosting(tasks_v1, sqlite, metrics_port=port) as site:
        assert site.hosted.metrics
        site.hosted.metrics.publish()
        async with httpx2.AsyncClient() as client:
            answer = await client.get(f"http://127.0.0.1:{port}/metrics")
            named = await client.get(f"http://localhost:{port}/metrics")
            misled = await client.get(f"http://127.0.0.1:{port}/metrics", headers={"Host": f"evil.example:{port}"})
        assert "tasks_calls_in_flight 0.0" in answer.text
        assert (named.status_code, misled.status_code, "tasks" in misled.text) == (200, 421, False)
        with socket.create_connection(("127.0.0.1", port), DEADLINE) as silent:
            assert silent.recv(1) == b""
        values = {"task_auth_issuer": PUBLIC_URL, "task_public_url": PUBLIC_URL, "task_allowed_hosts": "example.com"}
        settings = HostedSettings.model_validate(values)
        with pytest.raises(BadSettings, match=f"TASK_METRICS_PORT {port} cannot be used: Address already in use"):
            run_hosted(site.hosted, settings, "127.0.0.1", 0)
        assert (await site.post(b"", path="/metrics")).status_code == 404
