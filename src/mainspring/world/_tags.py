"""Sets of tags, each kept once.

Worlds have many entities and few different sets of tags, so a row holds only the number of
its set. A query looks at the sets, then selects rows by their numbers in one sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mainspring.world._errors import WorldError

__all__ = ["TagSets", "as_tags"]


def as_tags(tags: Iterable[str] | str) -> tuple[str, ...]:
    """Tags as a sorted tuple without repeats; a lone string is one tag."""
    if not isinstance(tags, Iterable):
        raise WorldError(f"{tags!r} cannot be tags", hint="give one string, or several")
    members = {tags} if isinstance(tags, str) else set[Any](tags)
    for tag in members:
        if not isinstance(tag, str) or not tag:
            raise WorldError(f"{tag!r} is not a tag", hint="a tag is a string that is not empty")
    return tuple(sorted(members))


class TagSets:
    """The sets in use, by number; number 0 is the empty one unless a saved state says otherwise."""

    def __init__(self, sets: Iterable[Iterable[str]] = ((),)) -> None:
        self._sets: list[tuple[str, ...]] = [tuple(tags) for tags in sets] or [()]
        self._codes = {tags: code for code, tags in enumerate(self._sets)}
        self._having: dict[str, list[bool]] = {}

    def __getitem__(self, code: int) -> tuple[str, ...]:
        return self._sets[code]

    def code_of(self, tags: tuple[str, ...]) -> int:
        code = self._codes.get(tags)
        if code is None:
            code = self._codes[tags] = len(self._sets)
            self._sets.append(tags)
        return code

    def having(self, tag: str) -> NDArray[np.bool_]:
        """For each set, whether the tag is in it."""
        known = self._having.setdefault(tag, [])
        known.extend(tag in tags for tags in self._sets[len(known) :])
        return np.array(known, dtype=np.bool_)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self._sets)

    def used_by(self, codes: NDArray[Any]) -> tuple[TagSets, NDArray[np.int32]]:
        """The sets that `codes` uses, sorted, and the codes into them.

        Equal tags give an equal result, whatever sets came and went before.
        """
        used = np.flatnonzero(np.bincount(codes, minlength=len(self._sets))).tolist()
        used.sort(key=self._sets.__getitem__)
        remap = np.zeros(len(self._sets), dtype=np.int32)
        remap[used] = np.arange(len(used), dtype=np.int32)
        return TagSets(self._sets[code] for code in used), remap[codes]
