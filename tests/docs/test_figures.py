"""The picture of the README shows what the benchmarks have measured."""

import re

from tests.docs.figures import PICTURE, draw


def test_the_picture_shows_what_was_measured() -> None:
    assert PICTURE.read_text("utf-8") == draw(), "run `python3 hatchw run figures`"


def test_the_picture_loads_nothing() -> None:
    assert re.findall(r"https?://\S+?(?=\")|url\(|@import|<script|<image", draw()) == ["http://www.w3.org/2000/svg"]
