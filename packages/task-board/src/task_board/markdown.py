"""Markdown of tasks as harmless HTML: it loads nothing, and only links lead away."""

import re
from collections.abc import Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape
from typing_extensions import override

__all__ = ["is_plain", "render_markdown"]

_SCHEMES: Final = re.compile(r"(https?|mailto):", re.IGNORECASE)

_LONGEST: Final = 100_000
"""Characters that are rendered; longer text is shown as it is."""


class _Parser(MarkdownIt):
    @override
    def validateLink(self, url: str) -> bool:
        return _SCHEMES.match(url) is not None


class _Renderer(RendererHTML):
    """Links open in a new tab and reveal nothing about this page; an image is only named, a heading only bold."""

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        tokens[idx].attrs |= {"rel": "noreferrer noopener", "target": "_blank"}
        is_empty = tokens[idx + 1].type == "link_close"
        name = str(escape(tokens[idx].attrGet("href"))) if is_empty else ""
        return self.renderToken(tokens, idx, options, env) + name

    def heading_open(self, *_: object) -> str:
        return '<p class="heading">'

    def heading_close(self, *_: object) -> str:
        return "</p>\n"

    @override
    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return str(Markup("[{}]").format(tokens[idx].content or tokens[idx].attrGet("src")))


_PARSER: Final = _Parser("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])


def render_markdown(text: str) -> Markup:
    """Return ``text`` as HTML; HTML in it is shown as text."""
    if len(text) > _LONGEST:
        return Markup("<pre>{}</pre>").format(text)
    return Markup(_PARSER.render(text))  # noqa: S704 - the parser lets no HTML through, and the links are checked


def is_plain(text: str) -> bool:
    """Return whether ``text`` is only one paragraph as Markdown."""
    return render_markdown(text) == f"<p>{escape(text)}</p>\n"
