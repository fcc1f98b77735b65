"""JSON with comments is read strictly, and edited without touching anything but the one member."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_client_install.edits.documents import add_entry, read_entry, remove_entries, trace
from mcp_client_install.edits.json_edits import drop, load, put
from mcp_client_install.text import BadConfiguration, JsonValue
from tests.install.jsonc_documents import EXAMPLES, documents

ENTRY: Final[dict[str, JsonValue]] = {"command": "/bin/x", "args": [], "env": {"F": "/p"}}
WHERE = ["mcpServers", "x"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1', "Expecting ',' delimiter: line 1 column 8"),
        ("{", "in double quotes: line 1 column 2"),
        ('{"a"', "Expecting ':' delimiter"),
        ('{"a":', "Expecting value"),
        ('{"a": 1 "b": 2}', "Expecting ',' delimiter: line 1 column 9"),
        ('{"a": [1 2]}', "Expecting ',' delimiter"),
        ('{"a": [1, 2', "Expecting ',' delimiter"),
        ('{"a": [,]}', "Expecting value"),
        ('{"a": 1,,}', "in double quotes"),
        ('{"a": [1, // one\n,]}', "Expecting value: line 2 column 1"),
        ("{,}", "in double quotes"),
        ("{'a': 1}", "in double quotes"),
        ("{a: 1}", "in double quotes"),
        ('{\n  "a": 1,\n  "a": 2\n}', "the key 'a' appears twice"),
        ('{"x": {"k\\u0000": 1, "k\\u0000": 2}}', "the key 'k\\u{0}' appears twice"),
        ('{"a": 1} {"b": 2}', "Extra data: line 1 column 10"),
        ('{"a": 1}}', "Extra data"),
        ('{"a": /* never ended', "Expecting value"),
        ('{"a": "never ended', "Unterminated string"),
        ('{"a": "\n"}', "Invalid control character"),
        ('{"a": "\\x"}', "Invalid \\escape"),
        ('{"a": NaN}', "NaN is not a value of JSON"),
        ('{"a": 01}', "Expecting ',' delimiter"),
        ('{"a": ' + "1" * 5000 + "}", "Exceeds the limit"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "recursion"),
        ("[1]", "the file is not a JSON object"),
        ("null", "the file is not a JSON object"),
        ("// only a note", "Expecting value"),
        ("<<<<<<< HEAD\n{}", "Expecting value"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_not_one_complete_object_is_refused_with_the_place(text: str, said: str) -> None:
    with pytest.raises(BadConfiguration) as caught:
        load(text)
    assert said in str(caught.value)


EDITS = {
    "nothing": ("", '{\n  "s": {\n    "x": 1\n  }\n}\n'),
    "blank, with Windows lines": ("\r\n", '\r\n{\r\n  "s": {\r\n    "x": 1\r\n  }\r\n}\r\n'),
    "empty": ("{}", '{\n  "s": {\n    "x": 1\n  }\n}'),
    "empty, on two lines": ("{\n}\n", '{\n  "s": {\n    "x": 1\n  }\n}\n'),
    "empty, with a note": ("{\n  // none\n}", '{\n  // none\n  "s": {\n    "x": 1\n  }\n}'),
    "an empty container": ('{\n    "s": {}\n}', '{\n    "s": {\n        "x": 1\n    }\n}'),
    "one line": ('{"a": 1}', '{"a": 1, "s": {"x": 1}}'),
    "one line, trailing comma": ('{"a": 1,}', '{"a": 1, "s": {"x": 1},}'),
    "one line, an empty container": ('{"a": 1, "s": {}}', '{"a": 1, "s": {"x": 1}}'),
    "one line, a note": ('{"a": 1, "s": { /* none */ }}', '{"a": 1, "s": { /* none */ "x": 1 }}'),
    "tabs": ('{\n\t"s": {\n\t\t"b": 2\n\t}\n}', '{\n\t"s": {\n\t\t"b": 2,\n\t\t"x": 1\n\t}\n}'),
    "trailing comma": ('{\n  "s": {\n    "b": 2,\n  },\n}', '{\n  "s": {\n    "b": 2,\n    "x": 1,\n  },\n}'),
    "a note at the end": (
        '{\n  "s": {\n    "b": 2 // two\n    // three\n  }\n}',
        '{\n  "s": {\n    "b": 2, // two\n    // three\n    "x": 1\n  }\n}',
    ),
    "a comma, then a note": (
        '{\n  "s": {\n    "b": 2, // two \n  }\n}',
        '{\n  "s": {\n    "b": 2, // two \n    "x": 1,\n  }\n}',
    ),
    "Windows lines": (
        '{\r\n  "s": {\r\n    "b": 2\r\n  }\r\n}',
        '{\r\n  "s": {\r\n    "b": 2,\r\n    "x": 1\r\n  }\r\n}',
    ),
    "members on the line of the brace": ('{ "s": { "b": 2,\n "c": 3 } }', '{ "s": { "b": 2,\n "c": 3,\n "x": 1 } }'),
    "braces on lines of their own": ('{\n  "s":\n  {\n  }\n}', '{\n  "s":\n  {\n    "x": 1\n  }\n}'),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_a_member_is_put_last_in_the_style_of_the_document(old: str, new: str) -> None:
    assert put(old, ["s", "x"], 1) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"s": {"x": 1, "b": 2}}', '{"s": { "b": 2}}'),
        ('{\n  "s": {\n    "x": 1,\n    "b": 2\n  }\n}', '{\n  "s": {\n    "b": 2\n  }\n}'),
        ('{"s": {"b": 2, "x": 1, "c": 3}}', '{"s": {"b": 2, "c": 3}}'),
        ('{"s": {"b": 2 /* b */ , /* x */ "x": 1 /* c */ }}', '{"s": {"b": 2 /* b */  /* x */ /* c */ }}'),
        ('{"s": {"b": 2, "x": 1,}}', '{"s": {"b": 2,}}'),
        ('{"s": {\n  // mine\n  "x": 1\n}}', '{"s": {\n  // mine\n}}'),
        ('{"s": {\n  "x": 1\n}}', '{"s": {}}'),
        ('{"s": { // mine\n  "x": 1 }}', '{"s": { // mine\n }}'),
        ('{"s": {"b": 2, // mine\r\n  "x": 1}}', '{"s": {"b": 2 // mine\r\n}}'),
        ('{"s": {"x": 1 // x */\n, "b": 2}}', '{"s": { // x */\n "b": 2}}'),
    ],
)
def test_a_member_goes_with_its_comma_and_without_the_notes_of_others(old: str, new: str) -> None:
    assert drop(old, ["s", "x"]) == new


def test_an_entry_is_changed_where_it_differs_and_keeps_what_else_is_in_it() -> None:
    old = '{"mcpServers": {"x": {\n  "command": "/old", // mine\n  "env": {"F": "/p"},\n  "timeout": 5\n}}}'
    new = put(old, WHERE, {**ENTRY, "env": {"F": "/p", "G": "é"}})
    assert new == (
        '{"mcpServers": {"x": {\n  "command": "/bin/x", // mine\n  "env": {"F": "/p", "G": "é"},\n  "timeout": 5,\n'
        '  "args": []\n}}}'
    )


@pytest.mark.parametrize("text", ['{"mcpServers": []}', '{"mcpServers": {"x": {"env": 5}}}', '{"mcpServers": 1}'])
def test_what_should_be_an_object_and_is_not_is_refused_or_replaced_within_the_entry(text: str) -> None:
    if '"x"' in text:
        assert load(put(text, WHERE, ENTRY))["mcpServers"] == {"x": ENTRY}
    else:
        with pytest.raises(BadConfiguration, match="'mcpServers' is not an object"):
            add_entry(text.encode(), ".json", WHERE, ENTRY)
        with pytest.raises(BadConfiguration, match="'mcpServers' is not an object"):
            read_entry(text.encode(), ".json", WHERE)


@settings(max_examples=EXAMPLES)
@given(documents(), st.booleans())
def test_what_is_added_and_removed_leaves_every_byte_as_it_was(text: str, is_marked: bool) -> None:
    data = ("\ufeff" * is_marked + text).encode()
    added = add_entry(data, ".json", WHERE, ENTRY)
    assert add_entry(added, ".json", WHERE, ENTRY) == added
    expected = load(text)
    assert read_entry(added, ".json", WHERE) == ENTRY
    servers = expected.get("mcpServers", {})
    assert isinstance(servers, dict)
    assert load(added.decode().removeprefix("\ufeff")) == {**expected, "mcpServers": {**servers, "x": ENTRY}}
    assert remove_entries(added, (data, {tuple(WHERE): ENTRY}), ".json", [WHERE]) == data


@settings(max_examples=EXAMPLES)
@given(documents())
def test_what_others_have_changed_in_the_meantime_stays(text: str) -> None:
    data = text.encode()
    added = put(add_entry(data, ".json", WHERE, ENTRY).decode(), ["theirs"], "new").encode()
    assert trace(added, [data], ".json", "mcpServers") is None
    left = remove_entries(added, None, ".json", [WHERE])
    assert left is not None
    servers = load(text).get("mcpServers", {})
    assert load(left.decode()) == {**load(text), "mcpServers": servers, "theirs": "new"}


@settings(max_examples=EXAMPLES)
@given(documents())
def test_without_its_former_state_a_document_keeps_all_but_blanks_in_what_was_empty(text: str) -> None:
    dropped = drop(put(text, WHERE, 1), WHERE)
    if load(text).get("mcpServers"):
        assert dropped == text
    assert load(dropped) == {**load(text), "mcpServers": load(text).get("mcpServers", {})}


@settings(max_examples=EXAMPLES)
@given(documents(), st.permutations("xyz"))
def test_whatever_servers_go_and_in_which_order_what_stays_is_as_if_they_had_never_come(
    text: str, order: list[str]
) -> None:
    entries: dict[str, Any] = {name: {"command": f"/bin/{name}/hierarchy-mcp", "args": [], "env": {}} for name in "xyz"}
    for before in (text.encode(), None):
        data: bytes | None = before
        for name, added in entries.items():
            data = add_entry(data, ".json", ["mcpServers", name], added)
        left = {**entries}
        copies = [] if before is None else [before, b"{", add_entry(before, ".json", ["mcpServers", "x"], left["x"])]
        for name in order:
            assert data is not None
            history = trace(data, copies, ".json", "mcpServers")
            assert history == (before, {("mcpServers", key): entry for key, entry in left.items()})
            data = remove_entries(data, history, ".json", [["mcpServers", name]])
            del left[name]
        assert data == before


@settings(max_examples=EXAMPLES)
@given(documents(), st.lists(st.sampled_from("abc"), max_size=3), st.lists(st.sampled_from("abc"), max_size=3))
def test_an_entry_that_was_changed_goes_as_exactly_as_one_that_was_not(
    text: str, first: list[str], second: list[str]
) -> None:
    before = data = text.encode()
    for words in (first, second):
        entry: dict[str, Any] = {"command": ["/bin/hierarchy-mcp", *words], "env": dict.fromkeys(words, "p")}
        data = add_entry(data, ".json", WHERE, entry)
    history = trace(data, [before], ".json", "mcpServers")
    assert history is not None
    assert remove_entries(data, history, ".json", [WHERE]) == before


@settings(max_examples=EXAMPLES)
@given(documents(), st.sampled_from(["// mine {\n", "/* mine */", "// mine */\r\n"]), st.booleans())
def test_no_comment_outside_the_entry_is_ever_lost(text: str, note: str, is_after: bool) -> None:
    added = add_entry(text.encode(), ".json", WHERE, ENTRY).decode()
    end = added.index("}", added.index("}", added.rindex('"F"')) + 1) + 1
    at = end if is_after else added.rindex('"x"')
    left = remove_entries(f"{added[:at]}{note}{added[at:]}".encode(), None, ".json", [WHERE])
    assert left is not None
    assert left.decode().count("mine") == 1


@pytest.mark.parametrize("before", [None, b"", b"  \n", b"{}", b'{"mcpServers": {}}', b"\xef\xbb\xbf{\r\n}\r\n"])
def test_a_document_that_said_nothing_is_as_it_was_before(before: bytes | None) -> None:
    added = add_entry(before, ".json", WHERE, ENTRY)
    assert remove_entries(added, (before, {tuple(WHERE): ENTRY}), ".json", [WHERE]) == before


def test_what_is_left_empty_stays_if_nobody_knows_what_was_before() -> None:
    added = add_entry(b'{"a": 1}', ".json", WHERE, ENTRY)
    assert remove_entries(added, None, ".json", [WHERE]) == b'{"a": 1, "mcpServers": {}}'


def test_what_is_not_utf_8_is_refused() -> None:
    with pytest.raises(BadConfiguration, match="not UTF-8 text"):
        add_entry('{"a": "é"}'.encode("latin-1"), ".json", WHERE, ENTRY)
    with pytest.raises(BadConfiguration, match="not UTF-8 text"):
        add_entry(b"{}", ".json", WHERE, {**ENTRY, "command": "/home/\udce9"})
