"""Markers and settings that every test shares."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import settings

from tests.postgres import stop_shared_server, what_postgres_lacks
from tests.tiers import CHROMIUM, TIERS, tiers_of

# The duration of one example depends on the machine only. What CI sets stays, such as fixed examples.
settings.register_profile("untimed", parent=settings.default, deadline=None)
settings.load_profile("untimed")


# What the tests of all folders make when they are collected stays, so looking for garbage in it is in vain.
gc.set_threshold(20_000)


def pytest_collection_finish() -> None:
    """Spare what is there before the first test every later search for garbage."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)  # also where xdist is switched off
def pytest_xdist_auto_num_workers() -> int | None:
    """Return one and a half for each processor, as tests often wait for a process; a variable of xdist wins."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else (os.cpu_count() or 2) * 3 // 2


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; `tests/requirements.py` holds the ids that one of them may name."""
    config.addinivalue_line("markers", "requirement(*ids): the requirements that this test shows")
    for tier, needs in TIERS.items():
        config.addinivalue_line("markers", f"{tier}: {needs}")


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test its tiers, and skip those that this machine cannot run."""
    lacking = {
        "postgresql": what_postgres_lacks(),
        "browser": None if CHROMIUM.exists() else f"Pages are not tested in a browser: there is no {CHROMIUM}",
    }
    for item in items:
        for tier in tiers_of(item.path):
            item.add_marker(tier)
        tiers = TIERS.keys() & {marker.name for marker in item.iter_markers()}
        if not tiers:
            item.add_marker("quick")
        for reason in filter(None, map(lacking.get, sorted(tiers))):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _browser() -> AsyncIterator[None]:
    """Start the browser once for all tests of this process that drive one."""
    # Only here: with the lowest versions there is no driver of browsers.
    from playwright.async_api import async_playwright  # noqa: PLC0415

    from tests.browser import SharedBrowser  # noqa: PLC0415

    async with async_playwright() as playwright:
        # A container has no user namespaces, and root no sandbox.
        SharedBrowser.browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield
        await SharedBrowser.browser.close()


def pytest_runtest_setup() -> None:
    """Begin every test with the usual umask, collector and log, which a command that a test runs here changes."""
    os.umask(0o022)
    gc.enable()
    logging.disable(logging.NOTSET)


def pytest_sessionfinish() -> None:
    """End what the tests of this process shared."""
    stop_shared_server()
