"""Documents in JSON with comments, as people and programs write them."""

from __future__ import annotations

import json
from typing import Final

from hypothesis import strategies as st

__all__ = ["EXAMPLES", "documents"]

EXAMPLES: Final = 20
"""Documents that each property is tried with; the tables of edits name the cases that matter."""

_KEYS: Final = st.sampled_from(["a", "theme", "mcpServers", "other", "ключ", "a.b", 'q"', "\\"])
_BLANKS: Final = st.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", "  \n\n"])
_COMMENTS: Final = st.sampled_from(["", "", "", "// a, {note}\n", "/* b */", "/* \n } */", "// 'c' \r\n", "//\n"])


@st.composite
def _gaps(draw: st.DrawFn) -> str:
    return draw(_BLANKS) + draw(_COMMENTS) + draw(_BLANKS)


_SCALARS: Final = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**20), st.sampled_from(["", "x", "// no", "/*", "}", "é\n"])
).map(json.dumps)


@st.composite
def _containers(draw: st.DrawFn, values: st.SearchStrategy[str], *, is_object: bool) -> str:
    keys = draw(st.lists(_KEYS, max_size=3, unique=True))
    texts: list[str] = []
    for key in keys:
        name = f"{json.dumps(key)}{draw(_gaps())}:{draw(_gaps())}" if is_object else ""
        texts.append(f"{draw(_gaps())}{name}{draw(values)}{draw(_gaps())}")
    comma = f",{draw(_gaps())}" if texts and draw(st.booleans()) else ""
    inner = ",".join(texts) + comma if texts else draw(_gaps())
    return f"{{{inner}}}" if is_object else f"[{inner}]"


_VALUES: Final = st.recursive(
    _SCALARS,
    lambda values: _containers(values, is_object=True) | _containers(values, is_object=False),
    max_leaves=6,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw the text of an object, whose ``mcpServers``, if there are any, are an object."""
    servers = draw(_containers(_VALUES, is_object=True))
    head = f"{draw(_gaps())}{json.dumps('mcpServers')}{draw(_gaps())}:{draw(_gaps())}{servers}{draw(_gaps())}"
    other = f"{draw(_gaps())}{json.dumps('z')}:{draw(_VALUES)}{draw(_gaps())}"
    members = draw(st.permutations(draw(st.sampled_from([[], [head], [other], [head, other]]))))
    comma = f",{draw(_gaps())}" if members and draw(st.booleans()) else ""
    inner = ",".join(members) + comma if members else draw(_gaps())
    return f"{draw(_gaps())}{{{inner}}}{draw(_gaps())}"
