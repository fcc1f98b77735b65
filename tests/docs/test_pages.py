"""The pages of the site lead to each other as documents in a checkout do, and read as they do on a forge."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import yaml

from tests.docs.check_site import faults_of
from tests.docs.dialect import to_python_markdown
from tests.docs.reference import reference_pages
from tests.docs.repository import DOCS, find_documents, place_of, rewrite_links, show_source
from tests.packaging.projects import ROOT
from tests.servers import PROGRAMS


def page_places() -> list[str]:
    """Return the places of all pages in the navigation."""

    def inner(entries: list[dict[str, object]]) -> list[str]:
        values = [value for entry in entries for value in entry.values()]
        return [place for value in values for place in (inner(value) if isinstance(value, list) else [str(value)])]

    text = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    return inner(yaml.safe_load(f"nav:{text}")["nav"])


@pytest.mark.parametrize(
    ("document", "link", "place"),
    [
        ("docs/index.md", "stores.md#postgresql", "stores.md#postgresql"),
        ("docs/zh/index.md", "../../packages/heartbeat-mcp/README.md", "../servers/heartbeat-mcp.md"),
        ("packages/heartbeat-mcp/README.md", "../../docs/stores.md", "../stores.md"),
        ("README.md", "docs/hosting.md", "hosting.md"),
        ("docs/hosting.md", "../README.md#use-it", "overview.md#use-it"),
        ("docs/hosting.md", "../examples/hosted/issuer.py", "files/examples/hosted/issuer.py.md"),
        ("benchmarks/README.md", "hosted.md", "hosted.md"),
    ],
)
def test_a_link_leads_to_the_place_that_the_site_has_for_its_target(document: str, link: str, place: str) -> None:
    assert rewrite_links(f"See [this]({link}).\n", ROOT / document) == f"See [this]({place}).\n"


@pytest.mark.parametrize("text", ["[a](https://example.com)", "[a](#here)", "```json\n[a](stores.md)\n```\n"])
def test_what_is_not_a_link_to_a_file_stays(text: str) -> None:
    assert rewrite_links(text, DOCS / "zh" / "index.md") == text


def test_every_document_that_the_site_has_is_in_its_navigation_once() -> None:
    documents = [place_of(path) for path in find_documents() if path.suffix == ".md"]
    assert sorted(page_places()) == sorted([*documents, *reference_pages()])


def test_the_reference_has_every_tool_argument_setting_and_error_of_every_server() -> None:
    pages = reference_pages()
    for record in PROGRAMS:
        page = pages[f"reference/{record.command}.md"]
        for tool, arguments in record.calls.items():
            section = page.partition(f"### `{tool}`\n")[2].partition("\n### ")[0]
            assert [name for name in arguments if f"| `{name}` |" not in section] == [], tool
        assert [name for name in record.settings_type.model_fields if f"| `{name.upper()}` |" not in page] == []
    assert "| `StoreLocked` |" in pages["reference/errors.md"]
    assert "| `ExecutionOrder` |" in pages["reference/hierarchy-mcp.md"]
    assert "`CORE_FUNCTION_ERROR`, `CIRCULAR_DEPENDENCY`" in pages["reference/taskmaster-mcp.md"]


def test_a_page_shows_a_file_or_all_files_of_a_folder() -> None:
    assert "\n~~~~~~py\n" in show_source(ROOT / "examples" / "hosted" / "issuer.py")
    assert "## `heartbeat-mcp.json`" in show_source(ROOT / "examples" / "clients" / "cursor")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Before\n- one\n- two\n", "Before\n\n- one\n- two\n"),
        ("- one\n  - inner\n  more\n", "- one\n    - inner\n        more\n"),
        ("1. one\n\n   more\n\n   | a |\n   | --- |\n", "1. one\n\n    more\n\n    | a |\n    | --- |\n"),
        ("```sh\nls\n- no list\n```\n", "```sh\nls\n- no list\n```\n"),
        ("<details>\n", "<details markdown>\n"),
    ],
    ids=["after text", "in a list", "paragraphs", "code", "details"],
)
def test_lists_are_written_as_python_markdown_reads_them(text: str, expected: str) -> None:
    assert to_python_markdown(text) == expected


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<script src="https://unpkg.com/x.js"></script>', "loads https://unpkg.com/x.js"),
        ('<link rel="stylesheet" href="//fonts.example/css">', "loads //fonts.example/css"),
        ("<article><ul><li>one</li></ul></article>", "has 1 × <li> for 2 in its document"),
    ],
)
def test_a_page_that_loads_from_elsewhere_or_shows_less_is_found(page: str, fault: str) -> None:
    assert fault in [*faults_of(page, "- one\n- two\n")]


def test_a_page_that_shows_its_document_has_no_fault() -> None:
    page = '<a href="https://example.com">x</a><article><h1>A</h1><ul><li>one</li></ul></article>'
    assert [*faults_of(page, "# A\n\n- one\n")] == []


@pytest.mark.requirement("PE-22")
@pytest.mark.parametrize("language", ["zh", "ja"])
def test_the_start_pages_are_there_in_each_language_with_the_same_commands(language: str) -> None:
    for name in ("index.md", "which-server.md"):
        ours, theirs = ((folder / name).read_text("utf-8") for folder in (DOCS, DOCS / language))
        assert _fenced(ours) == _fenced(theirs)
        assert ours.count("\n## ") == theirs.count("\n## ")
        assert ours.count("\n| ") == theirs.count("\n| ")


def test_the_glossary_has_each_word_once() -> None:
    words = re.findall(r"(?m)^\| ([a-z][^|]*) \|", (DOCS / "glossary.md").read_text("utf-8"))
    terms = Counter(word for row in words for word in row.strip().split(", ") if word not in {"term"})
    assert [term for term, count in terms.items() if count > 1] == []


def _fenced(text: str) -> list[str]:
    return text.split("```")[1::2]
