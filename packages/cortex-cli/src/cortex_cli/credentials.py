"""Logins of ``ctx``: keeps and refreshes their tokens (CX-60, CX-62, CX-64)."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from cortex_cli.api import Api
from cortex_cli.config import read_json_object, write_private
from cortex_cli.errors import BackendRefused, NotLoggedIn, file_trouble
from cortex_cli.models import CortexUser, Deadline, LoginSession, LoginTokens, Malformed, as_json, read_as
from cortex_cli.system_keyring import Keyring

__all__ = ["Credentials", "CredentialsFile", "EnvironmentToken", "StoredLogin"]

_FILE: Final = "credentials.json"

_IN_KEYRING: Final = "keyring"
"""The value in the file in place of a refresh token that the system's keyring keeps."""

_MARGIN: Final = 30.0
"""Seconds before its end from which an access token is not used any longer."""

_LOCK_SECONDS: Final = 30.0
"""Seconds to wait for another ``ctx`` that refreshes the login: longer than its request may take."""

_POLL_SECONDS: Final = 0.05


class StoredLogin(NamedTuple):
    """One login as the file keeps it; ``access_ends_at`` in seconds since 1970."""

    user: CortexUser
    session_id: int | str
    session_expires_at: str | None
    access_token: str
    access_ends_at: float | int
    refresh_token: str

    @property
    def storage(self) -> str:
        """Storage of the refresh token: ``keyring`` or ``file``."""
        return "keyring" if self.refresh_token == _IN_KEYRING else "file"


class CredentialsFile:
    """The file with all logins, by server; only its owner can read it, and its folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / _FILE

    def read(self, origin: str) -> StoredLogin | None:
        """Return the login for one server, or None if there is none.

        Raise ``InvalidUsage`` if the file cannot be read or is damaged, or if others can read it or its folder.
        """
        entry = self._entries().get(origin)
        if entry is None:
            return None
        try:
            return read_as(StoredLogin, entry)
        except Malformed:
            raise file_trouble(str(self.path), "is damaged", "Remove it, then run 'ctx auth login'.") from None

    def write(self, origin: str, login: StoredLogin | None) -> None:
        """Keep the login for one server, or forget it; hold the lock meanwhile."""
        entries = self._entries()
        entries.pop(origin, None)
        write_private(self.path, entries if login is None else {**entries, origin: as_json(login)})

    @contextmanager
    def locked(self, deadline: Deadline) -> Iterator[None]:
        """Keep every other ``ctx`` from refreshing a login or changing the file."""
        path = self.path.with_suffix(".lock")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            raise file_trouble(str(path), f"cannot be opened ({error.strerror})", "Fix its permissions.") from None
        try:
            waiting = Deadline(deadline.limit(_LOCK_SECONDS))
            while not _is_locked(descriptor):
                time.sleep(waiting.limit(_POLL_SECONDS))
            yield
        finally:
            os.close(descriptor)  # which frees the lock, as the end of the process does

    def _entries(self) -> dict[str, object]:
        for path, mode in ((self.path.parent, "700"), (self.path, "600")):
            try:
                is_open = os.name == "posix" and path.stat().st_mode & 0o077
            except FileNotFoundError:
                continue
            except OSError as error:
                raise file_trouble(str(path), f"cannot be read ({error.strerror})", "Fix its permissions.") from None
            if is_open:
                raise file_trouble(str(path), "can be read by other users", f"Run 'chmod {mode}' on it.")
        return read_json_object(self.path) or {}


def _is_locked(descriptor: int) -> bool:
    """Try to take the lock, and return whether that was possible."""
    try:
        if sys.platform == "win32":  # pragma: no cover - the lock of Windows
            import msvcrt  # noqa: PLC0415 - it exists on Windows only

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - it does not exist on Windows

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class EnvironmentToken:
    """The access token from ``CTX_TOKEN``, which is kept nowhere and cannot be refreshed; empty if no server is set."""

    def __init__(self, token: str) -> None:
        self._token = token

    def access_token(self) -> str:
        """Return the token; raise ``NotLoggedIn`` if there is none."""
        if not self._token:
            raise NotLoggedIn("no server is set")
        return self._token

    def renew(self, rejected: str) -> str:  # noqa: ARG002 - there is only one
        """Raise ``NotLoggedIn``: there is no other token."""
        raise NotLoggedIn("the server does not accept CTX_TOKEN")

    def known_user(self) -> CortexUser | None:
        """Return None: a token is not read."""
        return None


class Credentials:
    """The login for one server; refreshed by one process for all that need it (CX-62)."""

    def __init__(
        self, store: CredentialsFile, api: Api, keyring: Keyring | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self.warnings: list[str] = []
        """Warnings for the person about the storage of tokens."""
        self._store = store
        self._api = api
        self._keyring = keyring or Keyring()
        self._now = now

    def login(self) -> StoredLogin:
        """Return the login as it is kept; raise ``NotLoggedIn`` if there is none."""
        login = self._store.read(self._api.origin)
        if login is None:
            raise NotLoggedIn
        return login

    def access_token(self) -> str:
        """Return a token that has not ended, refreshed if need be; raise ``NotLoggedIn`` if there is none."""
        login = self.login()
        return login.access_token if self._is_fresh(login) else self.renew(login.access_token)

    def renew(self, rejected: str) -> str:
        """Return a token other than ``rejected``, perhaps another process's; raise ``NotLoggedIn`` if there is none."""
        with self._store.locked(self._api.deadline):
            login = self.login()
            if login.access_token != rejected and self._is_fresh(login):
                return login.access_token
            tokens = self._refresh(login)
            is_insecure = login.storage == "file"
            self._keep(tokens, login.user, LoginSession(login.session_id, login.session_expires_at), is_insecure)
        return tokens.access_token

    def known_user(self) -> CortexUser | None:
        """Return the user who logged in."""
        return self.login().user

    def log_in(self, email: str, password: str, device: str, *, is_insecure: bool = False) -> StoredLogin:
        """Log in and keep the tokens, in the file without a warning if ``is_insecure``; raise as ``Api.call`` does."""
        self._store.read(self._api.origin)  # a file that others can read is refused before anything is sent
        body = {"email": email, "password": password, "device": device[:100]}
        tokens = self._api.call("POST", "/auth/login", body=body).read(LoginTokens)
        if tokens.user is None or tokens.session is None:
            raise NotLoggedIn("the server did not name the user and the session")
        with self._store.locked(self._api.deadline):
            login = self._keep(tokens, tokens.user, tokens.session, is_insecure)
        if login.storage == "file" and not is_insecure:
            self.warnings.append(
                f"No keyring was found, so the refresh token is kept in {self._store.path}, which only you can read. "
                "Pass --insecure-storage to accept that without a warning."
            )
        return login

    def forget(self) -> None:
        """Remove the login and its tokens from this machine."""
        with self._store.locked(self._api.deadline):
            login = self._store.read(self._api.origin)
            if login is not None and login.storage == "keyring":
                self._keyring.delete(self._api.origin)
            self._store.write(self._api.origin, None)

    def _is_fresh(self, login: StoredLogin) -> bool:
        return login.access_ends_at - _MARGIN > self._now()

    def _refresh(self, login: StoredLogin) -> LoginTokens:
        token = self._keyring.get(self._api.origin) if login.storage == "keyring" else login.refresh_token
        if token is None:
            raise NotLoggedIn("the keyring did not give the refresh token")
        form = {"grant_type": "refresh_token", "refresh_token": token}
        try:
            return self._api.call("POST", "/auth/token", form=form).read(LoginTokens)
        except BackendRefused as error:
            if error.status == 429:
                raise
            raise NotLoggedIn("the server does not accept the login any longer") from None

    def _keep(self, tokens: LoginTokens, user: CortexUser, session: LoginSession, is_insecure: bool) -> StoredLogin:  # noqa: FBT001
        is_in_keyring = not is_insecure and self._keyring.set(self._api.origin, tokens.refresh_token)
        login = StoredLogin(
            user,
            session.id,
            session.expires_at,
            tokens.access_token,
            self._now() + tokens.expires_in,
            _IN_KEYRING if is_in_keyring else tokens.refresh_token,
        )
        self._store.write(self._api.origin, login)
        return login
