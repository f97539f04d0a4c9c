"""What a skill has done so far, kept so that it can be undone.

While a skill runs, every change of the world first writes down how to reverse it. A skill
that raises, or refuses, is rolled back: the entries run backwards, newest first, and each
finds the rows exactly as they were when it was written. Skills may call skills; an inner
one that fails is undone alone.

Columns are written through NumPy, which asks nobody. So what is written down is what could
change: a row or a column when it is handed out during the call, and at the start of the call
every column that somebody held an array of from before.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Journal"]


class Journal:
    """The undo entries of one call."""

    __slots__ = ("entries", "outer", "touched")

    def __init__(self, outer: Journal | None) -> None:
        self.outer = outer
        self.entries: list[Callable[[], None]] = []
        # What is written down already. Keyed by name and row, so it is emptied when rows move.
        self.touched: set[object] = set()

    def record(self, undo: Callable[[], None]) -> None:
        self.entries.append(undo)

    def first_touch(self, key: object) -> bool:
        """Whether `key` has not been written down since the rows last moved."""
        if key in self.touched:
            return False
        self.touched.add(key)
        return True

    def roll_back(self) -> None:
        entries, self.entries = self.entries, []
        for undo in reversed(entries):
            undo()

    def keep(self) -> None:
        """The call succeeded: what it did becomes part of what the outer call did."""
        if self.outer is not None:
            self.outer.entries.extend(self.entries)
