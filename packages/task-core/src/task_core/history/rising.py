"""The longest increasing subsequence: what stays in place where things were put in another order."""

from bisect import bisect_left
from collections.abc import Mapping

__all__ = ["find_rising"]


def find_rising(places: Mapping[str, int], names: list[str]) -> set[str]:
    """Return the most of ``names`` whose places rise: the longest increasing subsequence, by patience sorting."""
    tops: list[int] = []
    ends: list[str] = []
    before: dict[str, str] = {}
    for name in names:
        if name in places:
            pile = bisect_left(tops, places[name])
            tops[pile : pile + 1] = [places[name]]
            ends[pile : pile + 1] = [name]
            before[name] = ends[pile - 1] if pile else ""
    found: set[str] = set()
    name = ends[-1] if ends else ""
    while name:
        found.add(name)
        name = before[name]
    return found
