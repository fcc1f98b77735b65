"""The caller, as the rules see one."""

from typing import NamedTuple

__all__ = ["Caller"]


class Caller(NamedTuple):
    """The user and the session of a request whose access token is valid (CX-31)."""

    user_id: int
    session_id: str
    name: str = ""
