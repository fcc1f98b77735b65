"""The description of the API: what FastAPI derives, with every status that can come (CX-27)."""

from typing import Any, Final

from cortex_backend.api.responses import MEDIA_TYPE, ProblemBody

__all__ = ["complete_description"]

_PROBLEM: Final = {
    "description": "A problem: `code` names it, `detail` says what to do.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}},
}

_ANYWHERE: Final = (408, 413, 415, 422, 429, 500, 503)
"""The statuses of problems that every request can have, from its limits or from a failure of the server."""


def complete_description(description: dict[str, Any]) -> dict[str, Any]:
    """Return a description of OpenAPI in which each operation has all statuses, with the schema of problems."""
    schemas = description["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = ProblemBody.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs")
    schemas["ProblemBody"] = problem
    for path in description["paths"].values():
        for operation in path.values():
            operation["summary"] = operation["summary"].strip()
            responses = operation["responses"]
            statuses = (
                {int(status) for status in responses} | {*_ANYWHERE} | ({401} if "security" in operation else set())
            )
            for status in sorted(statuses):
                if status >= 400 and not _has_own_schema(responses.get(str(status), {})):
                    responses[str(status)] = _PROBLEM
            operation["responses"] = dict(sorted(responses.items()))
    return description


def _has_own_schema(response: dict[str, Any]) -> bool:
    schema = response.get("content", {}).get("application/json", {}).get("schema", {})
    return "$ref" in schema and not schema["$ref"].endswith("/HTTPValidationError")
