"""What mkdocs calls while it builds the site (``hooks`` in ``mkdocs.yml``)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from shutil import copy
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.utils.templates import TemplateContext

from tests.docs.dialect import to_python_markdown
from tests.docs.drawings import replace_drawings
from tests.docs.reference import reference_pages
from tests.docs.repository import DOCS, find_documents, place_of, rewrite_links, show_source

__all__ = ["on_files", "on_page_context", "on_page_markdown", "on_post_build"]

LANGUAGES: Final = ("zh", "ja")
"""The languages other than English, which are the folders of their pages too."""

_SOURCES: Final = {place_of(path): path for path in find_documents()}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add all that is not in ``docs``: other documents, what pages link to, the reference, and pictures."""
    for place, path in _SOURCES.items():
        if path.is_relative_to(DOCS):
            continue
        if path.is_file() and path.suffix in {".md", ".png", ".svg"}:
            files.append(File.generated(config, place, abs_src_path=str(path)))
        else:
            level = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, place, content=show_source(path), inclusion=level))
    for place, text in reference_pages().items():
        files.append(File.generated(config, place, content=text))
    for place in [place for place in _SOURCES if place.endswith(".md")]:
        for name, picture in replace_drawings(_text_of(place), "")[1].items():
            if files.get_file_from_path(name) is None:
                files.append(File.generated(config, name, content=picture))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Return the text of a page as Python-Markdown and the site need it."""
    place = page.file.src_uri
    if place == "how-to.md":  # its headings are what users search for; the search takes a word "a" for every "a…"
        page.meta["search"] = {"boost": 3}
    path = _SOURCES.get(place)
    if path is None or path.suffix != ".md":
        return markdown
    up = "../" * (len(PurePosixPath(place).parts) - 1)
    return to_python_markdown(replace_drawings(rewrite_links(markdown, path), up)[0])


def on_page_context(context: TemplateContext, *, page: Page, config: MkDocsConfig, nav: Navigation) -> TemplateContext:  # noqa: ARG001
    """Let the theme label a page in the page's own language."""
    language = PurePosixPath(page.file.src_uri).parts[0]
    config.theme["language"] = language if language in LANGUAGES else "en"
    return context


def on_post_build(*, config: MkDocsConfig) -> None:
    """Give each language the sitemap for which the menu of languages asks before it leads to the same page."""
    site = Path(config.site_dir)
    for language in LANGUAGES:
        copy(site / "sitemap.xml", site / language)


def _text_of(place: str) -> str:
    path = _SOURCES[place]
    return path.read_text("utf-8") if path.suffix == ".md" else ""
