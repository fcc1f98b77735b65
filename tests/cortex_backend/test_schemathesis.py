"""What schemathesis finds in the running backend: nothing, and the hole when there is one (CX-120).

The short form has a bounded number of examples and a fixed seed; ``CORTEX_SCHEMATHESIS_EXAMPLES=500`` makes it long,
with another seed each time.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.cortex_backend.backend_fixture import PASSWORD, PreparedData
from tests.processes import ending

pytestmark = [
    pytest.mark.requirement("CX-120"),
    pytest.mark.skipif(
        importlib.util.find_spec("schemathesis") is None, reason="CX-120 is not tested: schemathesis is not installed"
    ),
]

EXAMPLES: Final = os.environ.get("CORTEX_SCHEMATHESIS_EXAMPLES", "")
"""How many examples each operation gets in the long form."""

PEERS: Final = ("owner", "stranger")
"""Users who must not see each other's objects."""

EXCEPTIONS: Final = """
[[operations]]
include-path = "/auth/token"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 429] # RFC 6749: a token that is not good is 400
"""
"""What is right although schemathesis cannot know it."""

PHASES: Final = "examples,coverage,fuzzing,stateful"
ALL_FOUND: Final = 0
SOMETHING_FOUND: Final = 1


@contextmanager
def served(url: str, *options: str) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.cortex_backend.served", url, *options]
    with ending(subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def login_of(role: str) -> dict[str, object]:
    """Return how schemathesis logs in, in the form of Web Fuzzing Commons."""
    fields = {"username": f"{role}@example.com", "password": PASSWORD}
    names = {"usernameField": "email", "passwordField": "password"}
    token = {
        "extractFrom": "body",
        "extractSelector": "/access_token",
        "sendIn": "header",
        "sendName": "Authorization",
        "sendTemplate": "Bearer {token}",
    }
    login = {"verb": "POST", "endpoint": "/auth/login", "contentType": "application/json"}
    return {"name": role, "loginEndpointAuth": {**login, "payloadUserPwd": {**fields, **names}, "token": token}}


def judged(url: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Let schemathesis judge the backend at an address."""
    users = folder / "users.json"
    users.write_text(json.dumps({"schemaVersion": "0.2.0", "auth": [login_of(role) for role in PEERS]}), "utf-8")
    settings = folder / "schemathesis.toml"
    settings.write_text(
        f"[auth.wfc]\npath = {json.dumps(str(users))}\npeers = {json.dumps(PEERS)}\n{EXCEPTIONS}", "utf-8"
    )
    command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.cortex_backend.hooks_for_schemathesis"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    command += ["--config-file", str(settings), "run", f"{url}/openapi.json", "--no-color", "--continue-on-failure"]
    command += ["--generation-database=none", "--suppress-health-check=all", "--request-timeout=30", *options]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)


def size() -> list[str]:
    return [f"--max-examples={EXAMPLES}"] if EXAMPLES else ["--max-examples=4", "--seed=42", "--no-shrink"]


@pytest.mark.long
def test_schemathesis_finds_nothing(sqlite_copy: tuple[str, PreparedData], tmp_path: Path) -> None:
    with served(sqlite_copy[0]) as url:
        found = judged(url, tmp_path, "--checks=all", f"--phases={PHASES}", *size())
    assert found.returncode == ALL_FOUND, found.stdout[-20_000:] + found.stderr


@pytest.mark.sample
@pytest.mark.requirement("CX-120")
def test_schemathesis_finds_nothing_with_the_examples_of_the_description(
    sqlite_copy: tuple[str, PreparedData], tmp_path: Path
) -> None:
    with served(sqlite_copy[0]) as url:
        found = judged(url, tmp_path, "--checks=all", "--phases=examples", "--include-path-regex=^/tasks/$")
    assert found.returncode == ALL_FOUND, found.stdout[-20_000:] + found.stderr


@pytest.mark.long
@pytest.mark.requirement("CX-26")
def test_schemathesis_finds_a_query_that_has_lost_its_member_condition(
    sqlite_copy: tuple[str, PreparedData], tmp_path: Path
) -> None:
    only = ["--checks=object_level_authorization", "--include-path-regex=^/(tasks|projects)/?(\\{[a-z_]+\\})?$"]
    with served(sqlite_copy[0], "--with-a-hole") as url:
        found = judged(url, tmp_path, *only, "--phases=fuzzing,stateful", "--max-examples=20", "--seed=42")
    assert found.returncode == SOMETHING_FOUND, found.stdout[-20_000:] + found.stderr
    assert "ST402" in found.stdout
