"""A table in a TOML file is put, changed and removed without touching anything around it."""

from __future__ import annotations

import tomllib
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_client_install.edits.documents import add_entry, read_entry, remove_entries, trace
from mcp_client_install.text import BadConfiguration, JsonValue
from tests.install.jsonc_documents import EXAMPLES

ENTRY: Final[dict[str, JsonValue]] = {"command": "/bin/x", "args": [], "env": {"F": "/p"}}
OWN: Final[dict[str, JsonValue]] = {**ENTRY, "command": "/bin/hierarchy-mcp"}
WHERE = ["mcp_servers", "x"]
BLOCK = '[mcp_servers.x]\ncommand = "/bin/x"\nargs = []\n\n[mcp_servers.x.env]\nF = "/p"\n'

DOCUMENTS = {
    "nothing": "",
    "one line break": "\n",
    "one setting": 'model = "m"\n',
    "a last line without an end": 'model = "m"',
    "a blank last line": 'model = "m"\n\n',
    "a note at the end": "a = 1\n# [mcp_servers.x]\n",
    "Windows lines": 'model = "m"\r\n\r\n[a]\r\nb = 1\r\n',
    "Windows lines, the last without an end": 'model = "m"\r\n[a]\r\nb = 1',
    "other servers": '[mcp_servers.a]\ncommand = "q"\n\n# mine\n[p."/x"]\nt = 1\n\n[mcp_servers.b]\ncommand = "z"\n',
    "dotted keys": 'mcp_servers.a.command = "q"\n[t]\nx = 1\n',
    "a header of its own": "[mcp_servers]\n\n[mcp_servers.a]\ncommand = 'q'\n",
    "arrays like headers": "a = [\n[1],\n['x'],\n]\n[[mcp]]\nb = '''\n[mcp_servers.x]\n'''\n",
    "a byte order mark": "\ufeffa = 1\n",
}


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_what_is_added_and_removed_leaves_every_byte_as_it_was(text: str) -> None:
    data = text.encode()
    added = add_entry(data, ".toml", WHERE, ENTRY)
    assert added.startswith(data.rstrip(b"\n"))
    assert read_entry(added, ".toml", WHERE) == ENTRY
    assert add_entry(added, ".toml", WHERE, ENTRY) == added
    assert remove_entries(added, (data, {tuple(WHERE): ENTRY}), ".toml", [WHERE]) == data


NOTE = "# [mcp_servers.github]{end}# token{end}{end}"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("after", ["", "[b]"])
def test_a_comment_after_the_entry_stays_in_lines_of_any_system(end: str, after: str) -> None:
    added = add_entry(f"a = 1{end}".encode(), ".toml", WHERE, ENTRY)
    note = f"{end}{NOTE}{after}".replace("{end}", end).encode()
    left = remove_entries(added + note, None, ".toml", [WHERE])
    assert left == f"a = 1{end}".encode() + note


@settings(max_examples=EXAMPLES)
@given(
    st.sampled_from(["", "a = 1", "a = 1\n", "a = 1\r\nb = 2\r\n", "# note"]),
    st.dictionaries(st.sampled_from("FGH"), st.just("p"), min_size=1),
)
def test_an_entry_that_was_changed_goes_as_exactly_as_one_that_was_not(text: str, env: dict[str, str]) -> None:
    data = text.encode()
    entries: list[dict[str, JsonValue]] = [{**OWN, "env": {}}, {**OWN, "env": {**env}}]
    changed = add_entry(add_entry(data, ".toml", WHERE, entries[0]), ".toml", WHERE, entries[1])
    history = trace(changed, [data], ".toml", "mcp_servers")
    assert history == (data, {tuple(WHERE): entries[1]})
    assert remove_entries(changed, history, ".toml", [WHERE]) == data


@pytest.mark.parametrize("text", [text for name, text in DOCUMENTS.items() if name != "arrays like headers"])
def test_what_others_append_stays(text: str) -> None:
    data = text.encode()
    theirs = b"\n\n# of a project\n[projects.'/x']\ntrusted = true\n"
    left = remove_entries(add_entry(data, ".toml", WHERE, ENTRY) + theirs, None, ".toml", [WHERE])
    assert left is not None
    assert left.endswith(theirs.lstrip())
    assert left.startswith(data.rstrip())
    assert b"mcp_servers.x" not in left.replace(b"# [mcp_servers.x]", b"")


LINES = st.sampled_from(["", "# note", "a = 1", 'b = "x"', "[t]", "[t.u]", "[mcp_servers.y]", 'c = """\n[mcp]\n"""'])


@settings(max_examples=EXAMPLES)
@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_document_is_as_it_was_after_both(lines: list[str], end: str, is_ended: bool) -> None:
    text = end.join(line.replace("\n", end) for line in lines) + end * (is_ended and bool(lines))
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    data = text.encode()
    added = add_entry(data, ".toml", WHERE, ENTRY)
    assert tomllib.loads(added.decode())["mcp_servers"]["x"] == ENTRY
    assert remove_entries(added, (data, {tuple(WHERE): ENTRY}), ".toml", [WHERE]) == data
    again = remove_entries(added, None, ".toml", [WHERE])
    assert again == data or not data.strip()


def test_a_new_table_comes_after_a_blank_line_in_the_lines_of_the_file() -> None:
    assert add_entry(None, ".toml", WHERE, ENTRY) == BLOCK.encode()
    assert add_entry(b"a = 1\r\n", ".toml", WHERE, ENTRY) == f"a = 1\n\n{BLOCK}".replace("\n", "\r\n").encode()


def test_an_entry_is_changed_where_it_differs_and_keeps_what_else_is_in_it() -> None:
    old = (
        'a = 1\n\n[mcp_servers.x]\ncommand = "/old" # mine\nenabled = true\n\n'
        '[mcp_servers.x.env]\nF = "/p"\n# end\n[z]\n'
    )
    new = add_entry(old.encode(), ".toml", WHERE, {**ENTRY, "env": {"G": "é"}}).decode()
    assert new == (
        'a = 1\n\n[mcp_servers.x]\ncommand = "/bin/x" # mine\nenabled = true\nargs = []\n\n'
        '[mcp_servers.x.env]\nF = "/p"\nG = "é"\n# end\n[z]\n'
    )
    assert remove_entries(new.encode(), None, ".toml", [WHERE]) == b"a = 1\n# end\n[z]\n"
    crlf = old.replace("\n", "\r\n").encode()
    changed = add_entry(crlf, ".toml", WHERE, ENTRY)
    assert b"\n" not in changed.replace(b"\r\n", b"")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "Invalid value"),
        ("a = 1\na = 2\n", "Cannot overwrite a value"),
        ("[a]\n[a]\n", "Cannot declare"),
        ("[mcp_servers.x\n", "Expected"),
        ("a = " + "[" * 5000 + "]" * 5000, "recursion"),
        ("mcp_servers = 1\n", "'mcp_servers' is not an object"),
        ('mcp_servers = { y = { command = "q" } }\n', "written in a way that cannot be changed safely"),
        ("[[mcp_servers]]\na = 1\n", "'mcp_servers' is not an object"),
        ('[mcp_servers]\nx = { command = "q" }\n', "'mcp_servers.x' is not written as a table of its own"),
        ('mcp_servers.x.command = "q"\n', "'mcp_servers.x' is not written as a table of its own"),
        ("[mcp_servers.x]\na = 1\n[t]\n[mcp_servers.x.env]\nb = 1\n", "'mcp_servers.x' is not written as a table"),
        ("[mcp_servers.x]\na = '''\n[b]\n'''\n", "'mcp_servers.x' cannot be changed safely"),
    ],
)
def test_what_cannot_be_read_or_changed_safely_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadConfiguration, match=said):
        add_entry(text.encode(), ".toml", WHERE, ENTRY)


def test_an_entry_that_is_not_a_table_of_its_own_is_not_removed() -> None:
    with pytest.raises(BadConfiguration, match="not written as a table of its own"):
        remove_entries(b'mcp_servers.x.command = "q"\n', None, ".toml", [WHERE])
