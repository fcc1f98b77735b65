"""The application as a whole: one form for errors, its health, its description, its keys (CX-23, CX-27, CX-33)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fastapi import Request
from pydantic import SecretStr
from sqlalchemy import text

from cortex_backend.api.app import build_app
from cortex_backend.database import CortexDatabase, DatabaseRefused, open_database
from cortex_backend.problems import Problem
from cortex_backend.settings import BackendSettings, SettingsError
from tests.cortex_backend.auth_client import AuthClient, open_auth_client
from tests.cortex_backend.backend_fixture import MovableClock, as_problem, settings_for
from tests.postgres import PostgresServer

pytestmark = pytest.mark.requirement("CX-23")


@pytest.fixture
def auth(tmp_path: Path) -> Iterator[AuthClient]:
    with open_auth_client(tmp_path / "cortex.db") as opened:
        yield opened


@pytest.mark.requirement("CX-21")
def test_a_backend_says_that_it_is_well(auth: AuthClient) -> None:
    for path in ("/healthz", "/readyz"):
        answer = auth.client.get(path)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.requirement("CX-21")
def test_a_backend_over_another_schema_is_not_ready(auth: AuthClient) -> None:
    with auth.database.write() as db:
        db.execute(text("UPDATE alembic_version SET version_num = 'of the future'"))
    as_problem(auth.client.get("/readyz"), 503, "Unavailable")
    assert auth.client.get("/healthz").status_code == 200


def test_an_unknown_path_is_a_problem(auth: AuthClient) -> None:
    problem = as_problem(auth.client.get("/no/such%07path"), 404, "NotFound")
    assert problem["instance"] == "/no/such%07path"


def test_a_refused_method_comes_with_those_that_there_are(auth: AuthClient) -> None:
    for path, allowed in (("/healthz", "GET"), ("/auth/login", "POST"), ("/auth/sessions/x", "DELETE")):
        answer = auth.client.request("TRACE", path)
        as_problem(answer, 405, "MethodNotAllowed")
        assert answer.headers["allow"] == allowed


def test_what_is_not_json_is_a_problem(auth: AuthClient) -> None:
    for body in ("{", "[" * 200_000, "1" * 5_000, ""):
        answer = auth.client.post("/auth/login", content=body, headers={"Content-Type": "application/json"})
        assert as_problem(answer, 422, "InvalidArguments")["errors"]


def test_a_fault_shows_nothing_of_the_inside(auth: AuthClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(auth.app.state.logins, "authenticate", fail)
    answer = auth.client.get("/auth/me", headers={"Authorization": "Bearer x"})
    as_problem(answer, 500, "InternalError")
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.requirement("CX-27")
def test_there_is_no_page_that_loads_scripts_from_elsewhere(auth: AuthClient) -> None:
    for path in ("/docs", "/redoc", "/docs/oauth2-redirect"):
        as_problem(auth.client.get(path), 404, "NotFound")


@pytest.mark.requirement("CX-27")
def test_the_description_has_every_status_with_the_schema_of_problems(auth: AuthClient) -> None:
    found = auth.client.get("/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    me = found["paths"]["/auth/me"]["get"]
    assert [*me["responses"]] == ["200", "401", "408", "413", "415", "422", "429", "500", "503"]
    assert me["security"] == [{"token": []}]
    kind = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
    assert me["responses"]["401"]["content"] == kind
    assert me["summary"] == "Get Me"
    refused = found["paths"]["/auth/token"]["post"]["responses"]["400"]["content"]
    assert refused == {"application/json": {"schema": {"$ref": "#/components/schemas/OAuthError"}}}
    assert "HTTPValidationError" not in json.dumps(found)
    assert auth.app.openapi() is auth.app.openapi()


def test_an_endpoint_can_have_a_problem_of_its_own(auth: AuthClient) -> None:
    def refuse(_: Request) -> None:
        raise Problem("NotFound", kind="thing")

    auth.app.add_api_route("/thing", refuse)
    try:
        assert "no such thing" in as_problem(auth.client.get("/thing"), 404, "NotFound")["detail"]
    finally:
        auth.app.router.routes.pop()  # the application is shared


@pytest.mark.requirement("CX-33")
def test_a_token_is_good_as_long_as_the_key_that_signed_it_is_there(tmp_path: Path) -> None:
    path, clock = tmp_path / "cortex.db", MovableClock()
    old, new = "o" * 32, "n" * 32

    def settings(*keys: str) -> BackendSettings:
        return BackendSettings(database_url=f"sqlite:///{path}", secret_keys=SecretStr(", ".join(keys)))

    with open_auth_client(path, settings=settings(old)) as auth:
        tokens = auth.tokens()
    with open_auth_client(path, clock, settings(new, old)) as auth:
        assert auth.is_in(tokens)
        newer = auth.tokens()
    with open_auth_client(path, clock, settings(new)) as auth:
        assert auth.is_in(newer)
        assert not auth.is_in(tokens)
        assert auth.is_in(auth.refresh(tokens).json())


@pytest.mark.requirement("CX-33")
def test_a_backend_without_usable_keys_does_not_start_and_closes_its_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'cortex.db'}"
    with pytest.raises(SettingsError, match="keys of 32 bytes"):
        build_app(BackendSettings(database_url=url, secret_keys=SecretStr("short")))


@pytest.mark.requirement("CX-40")
def test_a_backend_over_a_newer_schema_does_not_start(auth: AuthClient) -> None:
    with auth.database.write() as db:
        db.execute(text("UPDATE alembic_version SET version_num = 'of the future'"))
    with pytest.raises(DatabaseRefused, match="newer than this program"):
        build_app(settings_for(auth.app.state.settings.database_url))


@pytest.mark.requirement("CX-40")
def test_postgresql_is_migrated_by_its_owner_before_a_backend_starts(postgres: PostgresServer) -> None:
    settings = settings_for(postgres.url(postgres.new_database()))
    with pytest.raises(DatabaseRefused, match="Run: cortex-backend migrate"):
        open_database(settings.database_url)
    with closing(CortexDatabase(settings.database_url)) as database:
        database.migrate()
    with closing(open_database(settings.database_url)) as database:
        database.check_schema()
