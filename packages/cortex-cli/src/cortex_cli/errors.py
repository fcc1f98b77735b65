"""The errors of ``ctx``, each with its code, its exit code and its message in one place (CX-54, CX-95).

A message is one sentence that says what to do next;
what git or a server said is in the details, shortened and with invisible characters escaped.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

__all__ = [
    "CANCELLED",
    "ECHO_LIMIT",
    "ERRORS",
    "NO_LOGIN",
    "REFUSED",
    "REPOSITORY",
    "UNREACHABLE",
    "USAGE",
    "BackendRefused",
    "BackendUnreachable",
    "CortexError",
    "InvalidUsage",
    "NotLoggedIn",
    "TimedOut",
    "cancelled",
    "echo",
    "escape_invisible",
    "file_trouble",
    "make_error",
    "nearest",
]

REFUSED, USAGE, CANCELLED, NO_LOGIN, UNREACHABLE, REPOSITORY = range(1, 7)
"""Exit codes (CX-54): the rules of the backend forbid it; an option, a setting or an argument is wrong; the person said
no; there is no login, or it is refused; the backend or a forge is out of reach, too slow, too busy or broken; git or
the state of the repository is in the way."""

ERRORS: Final[Mapping[str, tuple[int, str]]] = {
    "TaskNotFound": (REFUSED, "Task #{id} not found."),
    # The id of the request finds it in the log of the backend (CX-63).
    "BackendError": (
        UNREACHABLE,
        "The server failed ({status}: {reason}). Try again later, or report request {request_id}.",
    ),
    "ForgeAuthFailed": (
        NO_LOGIN,
        "{host} did not allow it ({status}: {reason}). Use a token that may create pull requests, then call again.",
    ),
    "ForgeFailed": (UNREACHABLE, "{host} did not do what was asked ({reason}). Call again later."),
}
"""Exit code and sentence of each code without a class; ``git_errors`` has the table of those of the repository."""

ECHO_LIMIT: Final = 200
"""Characters of input that one error repeats at most."""

_INVISIBLE: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Control, direction, zero-width and tag characters, and halves of a character: they hide or disguise text."""

_USER_INFO: Final = re.compile(r"(?<=://)[^/\s]*@")
"""A user name, and perhaps a password with ``@`` in it, in a URL."""


def escape_invisible(text: str) -> str:
    r"""Return ``text`` with control, bidi, tag and zero-width characters as ``\u{…}``, line breaks included (CX-53)."""
    return _INVISIBLE.sub(lambda match: f"\\u{{{ord(match.group()):x}}}", text)


def echo(text: str, limit: int = ECHO_LIMIT) -> str:
    """Return the part of ``text`` that an error repeats: at most ``limit`` characters, all visible."""
    # A password that is cut off before its end would not be known as one.
    shown = escape_invisible(_USER_INFO.sub("", text)[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the up to three ``known`` names that are most like ``name``, nearest first."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    return get_close_matches(name[:ECHO_LIMIT], list(known), n=3, cutoff=0.5)


class CortexError(Exception):
    """A failure that the caller can understand and act on; the base of all of them.

    ``code`` is the stable name that programs match on.
    """

    exit_code: int = REFUSED
    code: str = ""

    def __init__(
        self,
        message: str,
        details: Mapping[str, object] | None = None,
        *,
        code: str = "",
        exit_code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message: str = message
        self.details: dict[str, object] = dict(details or {})
        self.code = code or self.code or type(self).__name__
        if exit_code is not None:
            self.exit_code = exit_code
        self.warnings: list[str] = []
        """Warnings from before the failure, for the answer."""


class InvalidUsage(CortexError):
    """An option, an argument, a setting or a file of settings is wrong; ``message`` says which and what to do."""

    exit_code = USAGE
    code = "InvalidArguments"


class NotLoggedIn(CortexError):
    """There is no login for the server, or the server no longer accepts it (CX-62)."""

    exit_code = NO_LOGIN

    def __init__(self, reason: str = "") -> None:
        details = {"reason": reason} if reason else {}
        super().__init__("Not logged in. Please run 'ctx auth login' first, in a terminal.", details)


class TimedOut(CortexError):
    """The command took longer than ``CTX_TIMEOUT`` allows."""

    exit_code = UNREACHABLE
    code = "Timeout"

    def __init__(self, seconds: float) -> None:
        message = f"The command took longer than {seconds:g} seconds. See 'ctx tasks status', then try again."
        super().__init__(message, {"seconds": seconds})


class BackendUnreachable(CortexError):
    """The backend does not answer: it is down, the address is wrong, or TLS fails."""

    exit_code = UNREACHABLE

    def __init__(self, origin: str, reason: str) -> None:
        super().__init__(
            f"The server {echo(origin)} cannot be reached ({echo(reason)}). Check the address and the network, "
            "then try again.",
            {"url": echo(origin), "reason": echo(reason)},
        )


class BackendRefused(CortexError):
    """The backend refused the request by its rules; the code and the sentence are its own (CX-23)."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, object]) -> None:
        usage = USAGE if code in {"InvalidArguments", "InvalidCursor"} else REFUSED
        exit_code = {429: UNREACHABLE, 401: NO_LOGIN}.get(status, usage)
        super().__init__(message, details, code=code, exit_code=exit_code)
        self.status = status


def file_trouble(path: str, what: str, cure: str) -> InvalidUsage:
    """Return the error of a file of ``ctx`` that cannot be used; the file is left as it is."""
    return InvalidUsage(f"{echo(path)} {what}. {cure}", {"file": echo(path)})


def cancelled(exit_code: int = CANCELLED) -> CortexError:
    """Return the error of a person at the terminal who said no, or ended the command."""
    return CortexError("Cancelled.", code="Cancelled", exit_code=exit_code)


def make_error(code: str, **details: object) -> CortexError:
    """Return an error of the table, whose sentence ``details`` fill."""
    exit_code, sentence = ERRORS[code]
    shown = {name: echo(value) if isinstance(value, str) else value for name, value in details.items()}
    return CortexError(sentence.format_map(shown), shown, code=code, exit_code=exit_code)
