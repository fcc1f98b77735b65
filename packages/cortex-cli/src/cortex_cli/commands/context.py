"""Context of a command: the environment, the terminal, the settings, and the backend (CX-50, CX-55)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TextIO

from cortex_cli.api import Api
from cortex_cli.backend import Backend
from cortex_cli.config import ConfigFile, config_folder, deadline_of, server_origin
from cortex_cli.credentials import Credentials, CredentialsFile, EnvironmentToken
from cortex_cli.errors import InvalidUsage, NotLoggedIn, cancelled
from cortex_cli.models import Settings

__all__ = ["Context"]

_TEXT_LIMIT: Final = 1024 * 1024
"""Characters of a file that are read as the text of a task; the backend takes fewer."""


class Context:
    """One run of ``ctx``."""

    def __init__(
        self, environment: Mapping[str, str], stdin: TextIO, out: TextIO, err: TextIO, *, is_json: bool
    ) -> None:
        self.environment = environment
        self.stdin = stdin
        self.out = out
        self.err = err
        self.is_json = is_json
        self.warnings: list[str] = []
        self.deadline = deadline_of(environment)
        self.folder = config_folder(environment)
        self.config = ConfigFile(self.folder)

    @property
    def can_ask(self) -> bool:
        """True if a person is there who can answer."""
        if self.is_json or self.environment.get("CTX_NO_INPUT") == "1":
            return False
        return self.stdin.isatty() and self.err.isatty()

    def settings(self) -> Settings:
        """Return the settings; ``CTX_URL`` wins over the file."""
        settings = self.config.settings()
        named = self.environment.get("CTX_URL")
        return settings._replace(url=server_origin(named, "CTX_URL")) if named else settings

    def api(self, url: str | None = None) -> Api:
        """Return the API at ``url`` or the configured server, without a login; raise ``NotLoggedIn`` without either."""
        origin = url or self.settings().url
        if origin is None:
            raise NotLoggedIn("no server is set")
        return Api(server_origin(origin, "url"), self.deadline)

    def credentials(self, api: Api) -> Credentials:
        """Return the logins on this machine for the server of ``api``."""
        credentials = Credentials(CredentialsFile(self.folder), api)
        credentials.warnings = self.warnings
        return credentials

    def backend(self) -> Backend:
        """Return the backend as the user who is logged in; nothing is sent or read yet."""
        if self.settings().url is None:
            return Backend(Api("", self.deadline), EnvironmentToken(""))
        api = self.api()
        token = self.environment.get("CTX_TOKEN")
        return Backend(api, EnvironmentToken(token) if token else self.credentials(api))

    def ask(self, question: str, option: str, *, is_secret: bool = False) -> str:
        """Return what the user at the terminal enters, hidden if it is a secret.

        Raise ``InvalidUsage`` if nobody can be asked, and ``Cancelled`` if the user ends the input.
        """
        if not self.can_ask:
            raise InvalidUsage(f"Give {option}: nobody can be asked without a terminal.")
        if is_secret:
            from getpass import getpass  # noqa: PLC0415 - only a person needs it

            try:
                return getpass(f"{question}: ")
            except EOFError:
                raise cancelled() from None
        self.err.write(f"{question}: ")
        self.err.flush()
        line = self.stdin.readline()
        if not line:
            raise cancelled()
        return line.strip()

    def confirm(self, question: str) -> None:
        """Ask the user at the terminal whether to go on; raise ``CortexError`` unless the answer is yes."""
        if self.ask(f"{question} [y/N]", "the command in a terminal").lower() not in {"y", "yes"}:
            raise cancelled()

    def read_text(self, name: str) -> str:
        """Return the text of a file, ``-`` for standard input, without its last line break.

        Raise ``InvalidUsage`` if it cannot be read, is too long, or is not UTF-8.
        """
        try:
            data = self.stdin.buffer.read(_TEXT_LIMIT + 1) if name == "-" else Path(name).read_bytes()
            text = data.decode("utf-8")
        except OSError as error:
            raise InvalidUsage(f"The file cannot be read: {error.strerror}. Check its name.") from None
        except ValueError:
            raise InvalidUsage("The text is not UTF-8. Save it as UTF-8, then call again.") from None
        if len(text) > _TEXT_LIMIT:
            raise InvalidUsage("The text is longer than 1 MiB. Shorten it, then call again.")
        return text.removesuffix("\n").removesuffix("\r")
