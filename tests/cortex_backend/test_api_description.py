"""The published description: as it is kept here, with every status, stable names, and no page (CX-27)."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cortex_backend.backend_fixture import PROBLEM, BackendFixture, Description, PreparedData

pytestmark = pytest.mark.requirement("CX-27")

COPY: Final = Path(__file__).with_name("openapi.json")
"""The description as it was last agreed; CORTEX_KEEP_OPENAPI=1 writes it anew, and the change shows in the diff."""

PUBLIC: Final = {"/healthz", "/readyz", "/openapi.json", "/auth/login", "/auth/token"}


@pytest.fixture
def description(sqlite_template: tuple[Path, PreparedData]) -> Description:
    return sqlite_template[1].description


@pytest.fixture
def published(description: Description) -> Mapping[str, Any]:
    return description.document


@pytest.mark.long  # FastAPI and pydantic of other versions, such as the lowest, describe the same with other words
def test_the_description_is_the_one_that_is_kept_here(published: Mapping[str, Any]) -> None:
    text = json.dumps(published, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if os.environ.get("CORTEX_KEEP_OPENAPI"):
        COPY.write_text(text, "utf-8")
    assert json.loads(COPY.read_text("utf-8")) == published


def test_it_is_of_the_version_with_json_schema(published: Mapping[str, Any]) -> None:
    assert published["openapi"].startswith("3.1.")
    assert published["info"]["title"]


def test_every_operation_has_a_name_of_its_own(description: Description) -> None:
    names = Counter(operation["operationId"] for _, _, operation in description.operations())
    assert [name for name, count in names.items() if count > 1] == []
    assert all(name.isidentifier() for name in names)


def test_every_operation_lists_the_statuses_that_all_have(description: Description) -> None:
    for method, path, operation in description.operations():
        statuses = operation["responses"].keys()
        needed = set() if path in PUBLIC else {"401", "429"}
        needed |= {"413", "415"} if "requestBody" in operation else set()
        assert needed <= statuses, (method, path, needed - statuses)


def test_every_error_is_described_as_a_problem(description: Description) -> None:
    for method, path, operation in description.operations():
        for status, answer in operation["responses"].items():
            if status >= "400" and (path, status) != ("/auth/token", "400"):
                assert list(answer["content"]) == [PROBLEM], (method, path, status)


def schemas(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        if "properties" in value:
            yield value
        for member in value.values():
            yield from schemas(member)
    elif isinstance(value, list):
        for member in value:
            yield from schemas(member)


def test_bodies_are_closed_and_have_examples(description: Description) -> None:
    components = description.document["components"]["schemas"]
    for method, path, operation in description.operations():
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            schema = content["schema"]
            resolved = components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
            if kind == "application/json":
                assert resolved["additionalProperties"] is False, (method, path)
            has_examples = any("example" in place or "examples" in place for place in (content, resolved))
            fields = resolved["properties"].values()
            assert has_examples or all("examples" in field or "const" in field for field in fields), (method, path)


@pytest.mark.requirement("CX-20")
def test_every_parameter_of_a_path_is_named_after_its_resource(description: Description) -> None:
    words = {word for path in description.document["paths"] for word in path.split("/") if "{" in word}
    assert words == {"{project_id}", "{task_id}", "{user_id}", "{session_id}", "{invitation_id}"}


@pytest.mark.requirement("CX-102")
def test_what_is_routed_is_what_is_published(backend: BackendFixture) -> None:
    published = {(method, path.rstrip("/")) for method, path, _ in backend.description.operations()}
    assert {(method, path.rstrip("/")) for method, path in backend.routes()} == published


def keywords(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value.keys()
        for member in value.values():
            yield from keywords(member)
    elif isinstance(value, list):
        for member in value:
            yield from keywords(member)


def test_limits_are_keywords_of_json_schema(published: Mapping[str, Any]) -> None:
    assert {"ge", "gt", "le", "lt", "min_length", "max_length"}.isdisjoint(keywords(published))


def test_the_description_names_no_secret_field_in_an_answer(published: Mapping[str, Any]) -> None:
    fields = {name for schema in schemas(published["components"]) for name in schema["properties"]}
    assert not {name for name in fields if "hash" in name}
