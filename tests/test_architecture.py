"""The plan of the house, read from the sources: which way imports run, what is public, how large things are."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

from tests import servers
from tests.packaging.projects import PROJECTS, ROOT
from tests.sources import Module, imported, modules

CORE = "task_core"
SERVERS = tuple(record.package for record in servers.PROGRAMS)
BACKEND = "cortex_backend"
CLI = "cortex_cli"
BOARD = "task_board"
HOSTED = "task_hosted"
INSTALL = "mcp_client_install"
FORMATS = "task_formats"
PACKAGES = (CORE, *SERVERS, BACKEND, CLI, BOARD, HOSTED, INSTALL, FORMATS)
PROTOCOL = ("mcp", "mcp_types")

MODULE_LINES: Final = 300
"""Most lines of a module: beyond that it is no longer one thing."""

TEST_LINES: Final = 500
"""Lines that a file of tests may have at most."""

FUNCTION_LINES: Final = 50
"""Lines that a function may have at most, its docstring not counted."""

LAYERS: Final = {
    "models": 0,
    "recurrence": 0,
    "service": 2,
    "view": 2,
    "doctor": 3,
    "moving": 3,
    "server": 4,
    "__main__": 5,
}
"""The layers of a server, lowest first; a module that is not named here is a part, between models and service."""

TASKMASTER_LAYERS: Final = {
    "errors": 0,
    "core": 1,
    "project": 2,
    "codec": 2,
    "settings": 3,
    "direct": 4,
    "view": 5,
    "moving": 5,
    "doctor": 5,
    "tools": 6,
    "prompts": 6,
    "server": 7,
    "__main__": 8,
}
"""The layers of taskmaster-mcp: the three floors of its document, and ``project`` below ``direct`` (TM-1)."""

BACKEND_LAYERS: Final = {"store": 1, "service": 2, "schemas": 2, "api": 3, "serving": 4, "__main__": 5}
"""The layers of the backend; what is not named here, such as its models, is below them (CX-4)."""

EDGE: Final = "task_core.server.faults"
HOOK: Final = "task_core.cli.session_commands"  # whose errors must not stop the session of a client
"""The module with the one place that catches every error: a fault in one call becomes its answer and its trace (P2)."""

CLI_LAYERS: Final = {
    "models": 0,
    "errors": 0,
    "http": 1,
    "git": 1,
    "branches": 1,
    "system_keyring": 1,
    "output": 1,
    "api": 2,
    "config": 2,
    "backend": 3,
    "credentials": 3,
    "remotes": 2,
    "repository": 3,
    "forge": 4,
    "flows": 5,
    "commands": 6,
    "__main__": 7,
}
"""The layers of ``ctx``, lowest first (CX-4)."""

BROAD: Final = {"Exception", "BaseException"}
"""The classes that stand for every error."""

REACHES: Final = {
    "task_formats.backlog.front_matter": {"yaml"},  # which only composes nodes of text, and makes no objects
    "task_core.durable": {"ctypes"},
    "cortex_cli.git.process": {"subprocess"},
    "cortex_cli.http": {"http.client", "ssl"},
    "cortex_mcp.runner": {"subprocess"},
}
"""What a module may import all the same: to exchange two files; and ``ctx`` is there to
call git and the backend."""

CLOSED: Final = {
    *(
        "ctypes",
        "http.client",
        "http.server",
        "marshal",
        "multiprocessing",
        "pickle",
        "pty",
        "runpy",
        "shelve",
        "smtplib",
    ),
    *("ssl", "subprocess", "telnetlib", "urllib.request", "xmlrpc", "ftplib", "httpx", "httpx2", "requests", "yaml"),
}
"""Modules that start processes, reach out over the network or run what they read: no server needs one (SECURITY.md)."""

ALSO_CLOSED: Final = {
    "cortex_mcp": {*("aiohttp", "anyio", "authlib", "http", "httpx2", "jwt", "keyring", "socket", "urllib", "urllib3")}
}
"""What else a package must not import: the token is never seen by this one (CX-5)."""

STARTERS: Final = {
    "cortex_cli.git.process": {"subprocess.Popen"},
    "cortex_mcp.runner": {"subprocess.Popen"},
}
"""The modules that start processes, and with which calls (CX-4)."""

STARTING: Final = {
    *("Popen", "create_subprocess_exec", "create_subprocess_shell", "open_process", "posix_spawn", "posix_spawnp"),
    *("run_process", "startfile", "subprocess_exec", "subprocess_shell"),
}
"""The last names of the calls that start a process without importing ``subprocess``."""

RUNNING: Final = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.fork"}
"""Calls that run what they are given."""

PART: Final = 1
"""The layer of a module that ``LAYERS`` does not name."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def layer_of(module: Module) -> int:
    return LAYERS.get(module.name.split(".")[1], PART) if "." in module.name else PART


def is_under(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def imports_where(imports: str, *, of: str, outside: str = "-") -> list[str]:
    return [
        f"{module.name} -> {name}"
        for module in modules().values()
        if is_under(module.name, of) and not is_under(module.name, outside)
        for name in sorted(imported(module))
        if is_under(name, imports)
    ]


def test_the_packages_are_the_ones_that_are_planned() -> None:
    assert {module.package for module in modules().values()} == {*PACKAGES}


def test_in_the_core_only_the_server_folder_knows_the_protocol() -> None:
    assert [line for name in PROTOCOL for line in imports_where(name, of=CORE, outside="task_core.server")] == []


def test_in_the_core_only_the_command_line_is_above_the_server() -> None:
    above = imports_where("task_core.server", of=CORE, outside="task_core.server")
    assert [line for line in above if not line.startswith("task_core.cli")] == []
    assert imports_where("task_core.cli", of=CORE, outside="task_core.cli") == []


def test_no_other_package_names_the_hosted_service() -> None:
    others = [module for module in modules().values() if module.package != HOSTED]
    assert [module.name for module in others if HOSTED in module.path.read_text("utf-8")] == []


def test_the_engine_and_the_service_for_many_users_do_without_each_other() -> None:
    assert imports_where(f"{HOSTED}.service", of=f"{HOSTED}.postgres") == []
    assert imports_where("psycopg", of=HOSTED, outside=f"{HOSTED}.postgres") == []


@pytest.mark.requirement("CX-2")
def test_the_core_and_the_other_servers_do_not_import_a_server() -> None:
    servers = (*SERVERS, BACKEND, CLI, BOARD)
    pairs = [(server, package) for server in servers for package in PACKAGES if package != server]
    assert [line for server, package in pairs for line in imports_where(server, of=package)] == []


@pytest.mark.requirement("CX-2")
def test_the_backend_does_without_the_core_and_the_protocol() -> None:
    assert [line for package in (CORE, *PROTOCOL) for line in imports_where(package, of=BACKEND)] == []


@pytest.mark.requirement("CX-4")
def test_within_the_backend_imports_run_from_api_to_service_to_store_to_models() -> None:
    def layer(name: str) -> int:
        return BACKEND_LAYERS.get(name.split(".")[1], 0) if "." in name else 0

    backward = [
        f"{module.name} -> {name}"
        for module in modules().values()
        if module.package == BACKEND
        for name in imported(module)
        if is_under(name, BACKEND) and layer(name) > layer(module.name)
    ]
    assert backward == []


@pytest.mark.requirement("CX-4")
def test_in_the_backend_only_the_edge_knows_the_web() -> None:
    edges = {"fastapi": "api", "starlette": "api", "uvicorn": "serving"}
    found = [imports_where(package, of=BACKEND, outside=f"{BACKEND}.{folder}") for package, folder in edges.items()]
    assert found == [[], [], []]


def test_within_a_server_imports_run_from_server_to_service_to_models() -> None:
    backward = [
        f"{module.name} -> {name}"
        for module in modules().values()
        if module.package in SERVERS
        for name in imported(module)
        if name in modules()
        and modules()[name].package == module.package
        and layer_of(modules()[name]) > layer_of(module)
    ]
    assert backward == []


@pytest.mark.requirement("TM-1")
def test_within_taskmaster_imports_run_from_tools_to_direct_to_project_to_core() -> None:
    package = "taskmaster_mcp"

    def layer(name: str) -> int:
        return TASKMASTER_LAYERS[name.split(".")[1]] if "." in name else 0

    found = [
        (module.name, name)
        for module in modules().values()
        if module.package == package
        for name in imported(module)
        if is_under(name, package) and name in modules()
    ]
    assert [f"{module} -> {name}" for module, name in found if layer(name) > layer(module)] == []
    tools = {name for module, name in found if is_under(module, f"{package}.tools")}
    assert [name for name in tools if is_under(name, f"{package}.project")] == []


def test_below_its_server_module_a_server_knows_no_protocol() -> None:
    domain = [
        module for module in modules().values() if module.package in SERVERS and layer_of(module) <= LAYERS["service"]
    ]
    found = [(module.name, name) for module in domain for name in imported(module)]
    assert [pair for pair in found if any(is_under(pair[1], name) for name in PROTOCOL)] == []


@pytest.mark.requirement("CX-2")
def test_ctx_does_without_the_core_and_the_protocol() -> None:
    assert [line for package in (CORE, *PROTOCOL) for line in imports_where(package, of=CLI)] == []


@pytest.mark.requirement("CX-4")
def test_within_ctx_imports_run_from_commands_to_flows_to_git_and_backend_to_models() -> None:
    def layer(name: str) -> int:
        return CLI_LAYERS[name.split(".")[1]] if "." in name else 0

    ours = [module for module in modules().values() if module.package == CLI]
    backward = [
        f"{module.name} -> {name}"
        for module in ours
        for name in imported(module)
        if is_under(name, CLI) and layer(name) > layer(module.name)
    ]
    assert [line for line in backward if line != "cortex_cli.models -> cortex_cli.errors"] == []


def test_what_adds_servers_to_clients_does_without_everything_else_of_ours() -> None:
    others = {*PACKAGES, "mcp", "mcp_types"} - {INSTALL}
    assert [line for package in sorted(others) for line in imports_where(package, of=INSTALL)] == []
    assert {line.partition(" ")[0] for package in PACKAGES for line in imports_where(INSTALL, of=package)} - {
        name for name in modules() if is_under(name, INSTALL)
    } == {"task_core.cli.client_entries", "task_core.cli.registration"}


def test_imports_run_in_no_circle() -> None:
    graph = {name: {target for target in imported(module) if target in modules()} for name, module in modules().items()}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_package_imports_it_requires(package: str) -> None:
    used = {
        name.partition(".")[0]
        for module in modules().values()
        if module.package == package
        for name in imported(module)
    }
    foreign = used - sys.stdlib_module_names - {package}
    project = next(project for project in PROJECTS.values() if (project.folder / "src" / package).is_dir())
    extras = [text for extra in project.table.optional_dependencies.values() for text in extra]
    required = {Requirement(text).name.replace("-", "_") for text in [*project.table.dependencies, *extras]}
    renamed = {"task_core": "mcp_task_core", "task_formats": "mcp_task_formats", "yaml": "pyyaml"}
    renamed |= {"mcp_types": "mcp", "pydantic_core": "pydantic", "jwt": "pyjwt"}
    renamed |= {"markdown_it": "markdown_it_py"}
    assert {renamed.get(name, name) for name in foreign} <= required


def bound_names(body: list[ast.stmt]) -> Iterator[tuple[str, bool]]:
    """Yield each name that the statements bind at the top level, and whether an import binds it."""
    for node in body:
        if isinstance(node, Definition):
            yield node.name, False
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not is_type_variable(node.value):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from ((name.id, False) for name in ast.walk(target) if isinstance(name, ast.Name))
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            yield from ((alias.asname or alias.name, True) for alias in node.names)
        elif isinstance(node, ast.If):
            yield from bound_names([*node.body, *node.orelse])


def is_type_variable(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) in {"TypeVar", "ParamSpec"}


def exported(module: Module) -> list[str]:
    assigned = [node for node in module.tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    values = [node.value for node in assigned if ast.unparse(node).startswith("__all__")]
    assert values, f"{module.name} has no __all__"
    assert values[0] is not None
    names: list[str] = ast.literal_eval(values[0])
    return names


def test_a_module_lists_exactly_the_public_names_that_it_defines() -> None:
    wrong: dict[str, set[str]] = {}
    for module in modules().values():
        public = [(name, by_import) for name, by_import in bound_names(module.tree.body) if not name.startswith("_")]
        own = {name for name, by_import in public if not by_import}
        lifted = {name for name, by_import in public if by_import and module.is_init}
        names = set(exported(module))
        wrong[module.name] = (own - names) | (names - own - lifted)
    assert {name: names for name, names in wrong.items() if names} == {}


def test_no_two_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = {}
    for module in modules().values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module.name)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def size(node: Definition) -> int:
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    shown = (docstring.end_lineno or 0) - docstring.lineno + 1 if docstring else 0
    return (node.end_lineno or 0) - node.lineno + 1 - shown


def test_modules_and_functions_stay_small() -> None:
    large = [
        f"{module.name}.{node.name}"
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and size(node) > FUNCTION_LINES
    ]
    assert large == []
    assert longer_than(MODULE_LINES, [module.path for module in modules().values()]) == {}


def test_files_of_tests_stay_small() -> None:
    assert longer_than(TEST_LINES, ROOT.glob("tests/**/*.py")) == {}


def longer_than(limit: int, paths: Iterable[Path]) -> dict[str, int]:
    """Return how many lines each of these files has that exceed the limit."""
    lines = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in paths}
    return {name: count for name, count in lines.items() if count > limit}


def catches_all(handler: ast.ExceptHandler) -> bool:
    """Return whether the handler ends every error here, and does not pass it on."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    last = handler.body[-1]
    is_passed_on = isinstance(last, ast.Raise) and last.exc is None
    return not is_passed_on and any(name is None or ast.unparse(name) in BROAD for name in caught)


def suppresses_all(call: ast.Call) -> bool:
    return ast.unparse(call.func).endswith("suppress") and any(ast.unparse(name) in BROAD for name in call.args)


def broad_places(module: Module) -> set[str]:
    """Return the functions of a module in which every error is caught and goes no further."""
    found = set()
    for function in ast.walk(module.tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                is_broad = isinstance(node, ast.ExceptHandler) and catches_all(node)
                if is_broad or (isinstance(node, ast.Call) and suppresses_all(node)):
                    found.add(f"{module.name}.{function.name}")
    return found


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("try: pass\n    except Exception: pass", True),
        ("try: pass\n    except: pass", True),
        ("try: pass\n    except (ValueError, BaseException) as e: log(e)", True),
        ("with contextlib.suppress(Exception): pass", True),
        ("try: pass\n    except BaseException: raise ValueError from None", True),
        ("try: pass\n    except BaseException:\n        undo()\n        raise", False),
        ("try: pass\n    except OSError: pass", False),
        ("with suppress(OSError): pass", False),
    ],
)
def test_a_broad_except_is_found_in_every_form(body: str, *, is_found: bool) -> None:
    module = Module("m", Path("m.py"), ast.parse(f"def f():\n    {body}\n"))
    assert broad_places(module) == ({"m.f"} if is_found else set())


@pytest.mark.requirement("P2")
def test_every_error_is_caught_only_where_a_call_is_answered() -> None:
    found = {name: len(broad_places(module)) for name, module in modules().items() if broad_places(module)}
    assert found == {EDGE: 1, HOOK: 1}


@pytest.mark.requirement("CX-4", "CX-5")
def test_no_module_starts_processes_reaches_out_or_runs_what_it_reads() -> None:
    reaching: dict[str, set[str]] = {}
    starting: dict[str, set[str]] = {}
    running: dict[str, set[str]] = {}
    for module in modules().values():
        shut = CLOSED | ALSO_CLOSED.get(module.package, set())
        reaching[module.name] = {name for name in imported(module) if any(is_under(name, closed) for closed in shut)}
        calls = {ast.unparse(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
        starting[module.name] = {call for call in calls if call.rpartition(".")[2] in STARTING}
        running[module.name] = calls & RUNNING
    assert non_empty(reaching) == REACHES
    assert non_empty(starting) == STARTERS
    assert non_empty(running) == {}


def non_empty(found: dict[str, set[str]]) -> dict[str, set[str]]:
    return {name: names for name, names in found.items() if names}
