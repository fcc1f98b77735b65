"""A backend for a judge: no limit stops the judge, and on request one query has lost its member condition.

``python -m tests.cortex_backend.served URL`` serves the database at this address until it is ended; ``--with-a-hole``
makes a task readable for everybody by its id. The address of the backend is printed once it answers.
"""

from __future__ import annotations

import re
import socket
import sys
from typing import Final

import uvicorn
from sqlalchemy import Engine, event

from cortex_backend.api.app import build_app
from cortex_backend.service import rates
from cortex_backend.store import attempts
from tests.cortex_backend.application import CHEAP
from tests.cortex_backend.backend_fixture import settings_for

MANY: Final = 10**9
"""More requests than a judge can make."""

CONDITION: Final = re.compile(r"memberships\.user_id = (\S+)")


def _without_condition(
    _connection: object, _cursor: object, statement: str, parameters: object, *_: object
) -> tuple[str, object]:
    if statement.startswith("SELECT") and re.search(r"WHERE tasks\.id = ", statement):
        statement = CONDITION.sub(r"memberships.role = 'owner' AND \1 > 0", statement)
    return statement, parameters


def main(url: str, *options: str) -> None:
    """Serve until a signal comes."""
    setattr(rates, "PER_MINUTE", MANY)  # noqa: B010 - it is final for everybody else
    for name in ("PAIR_LIMIT", "ADDRESS_LIMIT", "EMAIL_LIMIT"):
        setattr(attempts, name, MANY)
    if "--with-a-hole" in options:
        event.listen(Engine, "before_cursor_execute", _without_condition, retval=True)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            build_app(settings_for(url), hasher=CHEAP),
            http="h11",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
        )
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
