"""Markdown of tasks as harmless HTML: it loads nothing, only links lead away, and it hides nothing that models read."""

import re
from collections.abc import Iterator, Sequence
from string import punctuation
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape
from typing_extensions import override

from task_core.text import escape_invisible

__all__ = ["headline", "is_plain", "render_markdown", "show_invisible"]

_SCHEMES: Final = re.compile(r"(https?|mailto):", re.IGNORECASE)

_LINE: Final = re.compile(r"[^\t\r\n]+")

_MARKS: Final = re.compile(r"\A(?:#{1,6}\s+|>\s*|[-*+]\s+)*(?:\[[ xX]\]\s+)?(?=\S)")
"""The marks of a heading, quotes, bullets and a checkbox, before the text of a line."""

_HEADLINE: Final = 300
"""Characters of a first line that are shown."""

_LONGEST: Final = 100_000
"""Characters that are rendered; longer text is shown as it is."""


class _Parser(MarkdownIt):
    @override
    def validateLink(self, url: str) -> bool:
        return _SCHEMES.match(url) is not None


class _Renderer(RendererHTML):
    """Links open in a new tab and reveal nothing about this page; an image is only named, a heading only bold.

    The language of a block of code is shown above it.
    """

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
        return str(Markup("[{}]").format(_describe_image(tokens[idx])))

    @override
    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        language = Markup('<p class="hint">{}</p>\n').format(tokens[idx].info) if tokens[idx].info.strip() else ""
        return language + super().fence(tokens, idx, options, env)


_PARSER: Final = _Parser("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])


def render_markdown(text: str) -> Markup:
    """Return ``text`` as HTML; HTML in it is shown as text, and all of it as it is where HTML would leave some out."""
    text = show_invisible(text)
    tokens = _PARSER.parse(text) if len(text) <= _LONGEST else []
    if len(text) > _LONGEST or _loses_text(text, tokens):
        return Markup("<pre>{}</pre>").format(text)
    shown = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return Markup(shown)  # noqa: S704 - the parser lets no HTML through, and the links are checked


def headline(text: str) -> str:
    """Return the first line of ``text`` without the marks of Markdown, and "…" if there is more."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    inline = _PARSER.parseInline(_MARKS.sub("", lines[0][:_HEADLINE]))
    words = "".join(part.content for token in inline for part in token.children or [])
    is_cut = len(lines) > 1 or len(lines[0]) > _HEADLINE
    return show_invisible((words or lines[0][:_HEADLINE]) + (" …" if is_cut else ""))


def show_invisible(text: str) -> str:
    """Return ``text`` with its invisible characters in letters; line breaks and tabs stay."""
    return _LINE.sub(lambda line: escape_invisible(line[0]), text)


def is_plain(text: str) -> bool:
    """Return whether ``text`` is only one paragraph as Markdown."""
    return render_markdown(text) == f"<p>{escape(text)}</p>\n"


def _loses_text(text: str, tokens: Sequence[Token]) -> bool:
    """Return whether anything but punctuation and blanks is missing: a surplus cell, or what is nested too deeply."""
    shown = iter("".join(_shown_texts(tokens)))
    wanted = (char for char in unescapeAll(text) if not char.isspace() and char not in punctuation)
    return not all(char in shown for char in wanted)


def _shown_texts(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield what the page shows of some tokens, in the order of the text; of a link also the address."""
    addresses: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            addresses.append("" if token.info == "auto" else str(token.attrGet("href")))
        elif token.type == "link_close":
            yield addresses.pop()
        elif token.type == "image":
            yield _describe_image(token)
        elif token.children:
            yield from _shown_texts(token.children)
        else:
            yield f"{token.info}{token.content}"  # the info is the language of code, or the number in a list


def _describe_image(image: Token) -> str:
    return f"{image.content} {image.attrGet('src')}".strip()
