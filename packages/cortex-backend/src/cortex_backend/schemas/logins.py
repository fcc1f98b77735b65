"""Bodies of logins and their answers (CX-30, CX-34)."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from cortex_backend.schemas.common import ClosedModel, PlainText
from cortex_backend.security.access import ACCESS_SECONDS
from cortex_backend.security.passwords import MAX_PASSWORD, MIN_PASSWORD
from cortex_backend.store.people import MAX_EMAIL

__all__ = [
    "LoginRequest",
    "OAuthCode",
    "OAuthError",
    "PasswordChange",
    "SessionEnd",
    "SessionList",
    "SessionView",
    "TokenAnswer",
    "UserView",
]


_Email = Annotated[PlainText, Field(min_length=3, max_length=MAX_EMAIL, examples=["ada@example.com"])]
_OldPassword = Annotated[str, Field(min_length=1, max_length=MAX_PASSWORD, examples=["correct horse battery"])]
_NewPassword = Annotated[str, Field(min_length=MIN_PASSWORD, max_length=MAX_PASSWORD, examples=["staple on a battery"])]


OAuthCode = Literal["invalid_request", "invalid_grant", "unsupported_grant_type"]
"""The errors of RFC 6749 that a refresh can have."""


class LoginRequest(ClosedModel):
    """E-mail and password of a person, and a name for the device."""

    email: _Email
    password: _OldPassword
    device: Annotated[PlainText, Field(max_length=100, examples=["laptop"])] = ""


class PasswordChange(ClosedModel):
    """The password, and the one to replace it."""

    old: _OldPassword
    new: _NewPassword


class UserView(BaseModel):
    """A user, as they see themselves."""

    id: int
    name: str
    email: str


class SessionEnd(BaseModel):
    """A session, and when it ends if it is not used."""

    id: str
    expires_at: datetime


class SessionView(SessionEnd):
    """One login; ``is_current`` is whether this request belongs to it."""

    device: str
    created_at: datetime
    last_used_at: datetime
    is_current: bool


class SessionList(BaseModel):
    """The sessions that have not ended, newest first."""

    sessions: list[SessionView]


class TokenAnswer(BaseModel):
    """The tokens of a session (CX-30); ``expires_in`` is in seconds."""

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 - the kind of token, as RFC 6750 names it
    expires_in: int = ACCESS_SECONDS
    refresh_token: str
    session: SessionEnd
    user: UserView


class OAuthError(BaseModel):
    """Why a token was refused, as RFC 6749 has it."""

    error: OAuthCode
    error_description: str
