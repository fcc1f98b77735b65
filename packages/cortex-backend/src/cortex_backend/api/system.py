"""Endpoints for the health of the backend and the description of its API."""

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel

from cortex_backend.database import CortexDatabase, DatabaseRefused
from cortex_backend.problems import Problem

__all__ = ["Health", "router"]

router = APIRouter(tags=["system"])


class Health(BaseModel):
    """The backend is well."""

    status: Literal["ok"] = "ok"


@router.get("/healthz")
async def _get_health() -> Health:
    """Return whether the process answers."""
    return Health()


@router.get("/readyz")
def _get_readiness(request: Request) -> Health:
    """Return whether the database can be reached and has the schema of this version."""
    database: CortexDatabase = request.app.state.database
    try:
        database.check_schema()
    except DatabaseRefused as error:
        raise Problem("Unavailable") from error
    return Health()


@router.get("/openapi.json")
def _get_openapi(request: Request) -> dict[str, Any]:
    """Return this description."""
    description: dict[str, Any] = request.app.openapi()
    return description
