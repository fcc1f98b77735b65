"""The endpoints of logins: in, on, and out (CX-21, CX-30 to CX-35)."""

from ipaddress import ip_address
from typing import Annotated, Final
from urllib.parse import parse_qs

from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from cortex_backend.api.dependencies import CurrentCaller, CurrentLogins
from cortex_backend.api.responses import json_reply
from cortex_backend.enums import EventKind
from cortex_backend.schemas.logins import (
    LoginRequest,
    OAuthCode,
    OAuthError,
    PasswordChange,
    SessionList,
    TokenAnswer,
    UserView,
)
from cortex_backend.settings import BackendSettings

__all__ = ["router"]

router = APIRouter(prefix="/auth", tags=["auth"])

_FORM: Final = {
    "type": "object",
    "properties": {
        "grant_type": {"type": "string", "const": "refresh_token"},
        "refresh_token": {"type": "string", "examples": ["IE7ca20rh7UGL2tOX-B96A.1.JBSscfUT5QV3l9T_Xzj4lWGMB1Cp"]},
    },
    "required": ["grant_type", "refresh_token"],
}
"""The schema of what ``/auth/token`` takes."""


def _address(request: Request) -> str:
    """Return the address of the client: the last one in ``X-Forwarded-For`` that is not a proxy of ours (CX-35)."""
    settings: BackendSettings = request.app.state.settings
    address = request.client.host if request.client else ""
    hops = [hop.strip() for hop in ",".join(request.headers.getlist("x-forwarded-for")).split(",")]
    while hops and settings.trusts(address):
        hop = hops.pop()
        try:
            address = str(ip_address(hop))
        except ValueError:
            break
    return address[:45]


def _refuse(error: OAuthCode, description: str) -> Response:
    return JSONResponse(OAuthError(error=error, error_description=description).model_dump(), 400)


@router.post("/login", responses={401: {}})
def _log_in(body: LoginRequest, request: Request, logins: CurrentLogins) -> TokenAnswer:
    """Begin a session: return its tokens."""
    return logins.log_in(body.email, body.password, body.device, _address(request))


@router.post(
    "/token",
    response_model=TokenAnswer,
    responses={400: {"model": OAuthError, "description": "The token was refused."}},
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/x-www-form-urlencoded": {"schema": _FORM}}}
    },
)
async def _refresh_token(request: Request, logins: CurrentLogins) -> Response:
    """Exchange a refresh token for new tokens (RFC 6749); it stays good until one of those is used."""
    try:
        form = parse_qs((await request.body()).decode(), keep_blank_values=True, max_num_fields=20)
        (grant_type,) = form.get("grant_type", [])
        if grant_type != "refresh_token":
            return _refuse("unsupported_grant_type", "Give grant_type=refresh_token.")
        (token,) = form.get("refresh_token", [])
    except ValueError:
        return _refuse("invalid_request", "Give grant_type and refresh_token once each, as a form.")
    answer = await run_in_threadpool(logins.refresh, token)
    if answer is None:
        return _refuse("invalid_grant", "The refresh token is not valid, or its session has ended. Log in again.")
    return json_reply(answer)


@router.post("/logout", status_code=204, response_class=Response)
def _log_out(caller: CurrentCaller, logins: CurrentLogins) -> None:
    """End this session."""
    logins.end(caller, caller.session_id, EventKind.LOGOUT)


@router.get("/me")
def _get_me(caller: CurrentCaller, logins: CurrentLogins) -> UserView:
    """Return the user whose token this is."""
    return logins.user(caller)


@router.get("/sessions")
def _list_sessions(caller: CurrentCaller, logins: CurrentLogins) -> SessionList:
    """Return the sessions of the user that have not ended, newest first."""
    return logins.sessions(caller)


@router.delete("/sessions/{session_id}", status_code=204, response_class=Response, responses={404: {}})
def _end_session(session_id: Annotated[str, Path(max_length=64)], caller: CurrentCaller, logins: CurrentLogins) -> None:
    """End a session of the user."""
    logins.end(caller, session_id)


@router.post("/password", status_code=204, response_class=Response, responses={403: {}})
def _change_password(body: PasswordChange, request: Request, caller: CurrentCaller, logins: CurrentLogins) -> None:
    """Change the password of the user, and end the other sessions."""
    logins.change_password(caller, body.old, body.new, _address(request))
