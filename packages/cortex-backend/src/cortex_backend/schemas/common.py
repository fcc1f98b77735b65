"""Types of values in bodies, answers and queries; the published schema has each limit too (CX-10 to CX-15).

The patterns mean the same to Rust, ECMAScript and Python.
"""

import re
from datetime import date
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from cortex_backend.models import MAX_ID

__all__ = [
    "AnswerModel",
    "BranchName",
    "ClosedModel",
    "Deadline",
    "EmailAddress",
    "Id",
    "LongPageQuery",
    "NumberInBody",
    "OneLine",
    "PageAnswer",
    "PageQuery",
    "PlainText",
    "RefName",
    "RepositoryUrl",
    "UserName",
    "VisibleText",
    "WebUrl",
]

_CONTROL: Final = "\\x00-\\x1f\\x7f-\\x9f\u2028\u2029"
"""Control characters and line separators, in a class of characters."""

_BLANK: Final = (
    " \\xa0\\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u202a-\u202f\u205f-\u206f\u2800"
    "\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
)
"""Characters that leave nothing to see, in a class of characters."""

_SEEN: Final = f"[^{_CONTROL}]*[^{_CONTROL}{_BLANK}][^{_CONTROL}]*"

_ONE_LINE: Final = f"^{_SEEN}$"
"""Text without control characters and line separators, in which something can be seen."""

_EMAIL: Final = f"^{_SEEN}@{_SEEN}$"

_VISIBLE: Final = rf"^[^\x00]*[^{_CONTROL}{_BLANK}][^\x00]*$"
"""Text of any number of lines, in which something can be seen."""

_WITHOUT_NUL: Final = r"^[^\x00]*$"
"""Text that PostgreSQL can keep."""

_GROUP: Final = "[0-9A-Fa-f]{1,4}"

_IPV6: Final = rf"\[(({_GROUP}:){{7}}{_GROUP}|({_GROUP}(:{_GROUP}){{0,3}})?::({_GROUP}(:{_GROUP}){{0,2}})?)\]"
"""An address that every parser of URLs takes."""

_HOST: Final = rf"([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|{_IPV6})(:[0-9]{{1,5}})?"

_PATH: Final = "[A-Za-z0-9._~%!$&'()*+,;=:@/-]"

_USER: Final = "[A-Za-z0-9._-]+@"

_REPOSITORY: Final = (
    rf"^(https?://{_HOST}(/{_PATH}*)?|ssh://({_USER})?{_HOST}/{_PATH}+"
    rf"|({_USER}[A-Za-z0-9][A-Za-z0-9.-]*|[A-Za-z0-9-]+\.[A-Za-z0-9.-]+):[A-Za-z0-9._~/-]*[A-Za-z0-9._~-])$"
)
"""A URL over http, https or ssh, or the short form of ssh; a user is the login of ssh and never has a password."""

_REF: Final = "[^\\x00-\\x20\\x7f-\\xa0\u2028\u2029~^:?*\\[\\\\/.{"
"""The beginning of a class of characters that a part of a branch name may have."""

_BRANCH: Final = r"^(feature|bug|docs|fix|chore|refactor)/task-[1-9][0-9]{0,9}-[a-z0-9]+(-[a-z0-9]+)*$"
"""The grammar of the branch of a task (CX-41)."""

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,9}")

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _read_number(value: object) -> object:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        raise ValueError("Give a whole number from 1 to 2147483647")
    return value


def _refuse_words(value: object) -> object:
    # JSON knows no integers: 2.0 is 2 there, but neither "2" nor true is.
    if type(value) not in {int, float}:
        raise ValueError("Give a whole number from 1 to 2147483647")
    return value


def _read_day(value: object) -> object:
    if not isinstance(value, str | date) or (isinstance(value, str) and not _DAY.fullmatch(value)):
        raise ValueError("Give a day as YYYY-MM-DD")
    return value


Id = Annotated[int, Field(ge=1, le=MAX_ID, examples=[42]), BeforeValidator(_read_number)]
"""An id in a path or a query."""

NumberInBody = Annotated[int, Field(ge=1, le=MAX_ID, examples=[42]), BeforeValidator(_refuse_words)]
"""An id, or another number that counts from 1, in a body."""

OneLine = Annotated[str, Field(pattern=_ONE_LINE)]
"""Text on one line that is not blank; its length is set where it is used."""

PlainText = Annotated[str, Field(pattern=_WITHOUT_NUL)]
"""Text of any number of lines; its length is set where it is used."""

VisibleText = Annotated[str, Field(pattern=_VISIBLE)]
"""Text of any number of lines that is not blank; its length is set where it is used."""

EmailAddress = Annotated[str, Field(max_length=254, pattern=_EMAIL, examples=["ada@example.com"])]
"""An address with which a user can log in."""

RepositoryUrl = Annotated[
    str, Field(min_length=1, max_length=2048, pattern=_REPOSITORY, examples=["https://git.example.com/team/app.git"])
]
"""The URL of a repository (CX-10)."""

WebUrl = Annotated[
    str,
    Field(
        max_length=2048,
        pattern=rf"^https?://{_HOST}([/?#][!-~]*)?$",
        examples=["https://git.example.com/team/app/pulls/7"],
    ),
]
"""The address of a web page, without user info (CX-14)."""

RefName = Annotated[
    str,
    Field(min_length=1, max_length=255, pattern=rf"^{_REF}-]{_REF}]*([./]{_REF}]+)*$", examples=["main"]),
]
"""The name of a branch that git takes, which cannot be read as an option."""

BranchName = Annotated[str, Field(max_length=120, pattern=_BRANCH, examples=["feature/task-42-add-export"])]
"""The branch of a task (CX-41)."""

Deadline = Annotated[date, BeforeValidator(_read_day), Field(examples=["2026-12-24"])]


class ClosedModel(BaseModel):
    """A part of a request: fields that it does not know are refused (CX-20)."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerModel(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True, json_schema_mode_override="serialization")


class PageAnswer(AnswerModel):
    """A page of a list: ``total`` counts the entries on all pages, and ``next_cursor`` leads to the next one."""

    total: int
    next_cursor: str | None


_PageLimit = Annotated[int, Field(ge=1, le=100, description="Maximum number of entries on the page.")]
"""The most entries of a page (CX-22)."""


class PageQuery(ClosedModel):
    """Query for a page of a list."""

    limit: _PageLimit = 50
    cursor: str | None = Field(default=None, description="`next_cursor` of the previous page, with the same filters.")


class LongPageQuery(PageQuery):
    """Query for a page of a list that is usually short."""

    limit: _PageLimit = 100


class UserName(AnswerModel):
    """A user, as others see them."""

    id: int = Field(examples=[3])
    name: str = Field(examples=["Ada"])
