"""Messages of the page in the language of the browser."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["LANGUAGES", "Language", "choose_language"]

LANGUAGES: Final = ("en", "zh", "ja")
"""The languages of the page, the default first; each has a file in ``messages``."""

_FOLDER: Final = Path(__file__).parent / "messages"

_CHOICE: Final = re.compile(r"\s*([A-Za-z]{1,8}|\*)(?:-[A-Za-z0-9-]*)?\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?")
"""One entry of Accept-Language: a language with its regions, and its weight."""


class Language:
    """The messages in one language."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._messages: Mapping[str, Mapping[str, str]] = tomllib.loads((_FOLDER / f"{code}.toml").read_text("utf-8"))

    def say(self, key: str, **values: object) -> str:
        """Return the message with this key, such as ``page.search``, about these values."""
        group, _, name = key.partition(".")
        return self._messages[group][name].format(**values)

    def confirm(self, action: str, text: str) -> str:
        """Return that an action was carried out on the task with this text."""
        known = self.find("done", action) or f"{self.name('action', action)}: {{text}}"
        return known.format(text=text)

    def find(self, group: str, word: str) -> str:
        """Return what people should know about a field of a form, or whatever a group says of a word; or nothing."""
        return self._messages[group].get(re.sub(r"\W", "_", word).lower(), "")

    def name(self, group: str, word: str) -> str:
        """Return the name of a status, field or action for people; without a message, its own words."""
        return self.find(group, word) or re.sub(r"(?<=[a-z])(?=[A-Z])|[-_]+", " ", word).strip().capitalize()


_language: Final = cache(Language)


def choose_language(accepted: str) -> Language:
    """Return the language that the header Accept-Language prefers among those of the page."""
    weights: dict[str, float] = {}
    for entry in accepted.split(",")[:20]:
        if found := _CHOICE.fullmatch(entry):
            weights.setdefault(found[1].lower(), float(found[2] or 1))
    known = [code for code in weights if code in LANGUAGES and weights[code] > 0]
    return _language(max(known, key=weights.__getitem__, default=LANGUAGES[0]))
