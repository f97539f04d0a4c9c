"""What two logs say by themselves: their hashes, in columns, and the instants that have one."""

from __future__ import annotations

from typing import Any

import numpy as np

from mainspring.world.log._format import Kind
from mainspring.world.log._reader import LogReader

__all__ = ["Hashes", "every_instant", "first_lone"]


class Hashes:
    """All hashes of a log, in columns."""

    def __init__(self, reader: LogReader) -> None:
        chunks = list(reader.hashes())
        self.times = _joined([c.times_ns for c in chunks], np.dtype("<i8"))
        # As two integers each: comparing a million of them is one instruction a word.
        self.hashes = _joined([c.hashes.view("<c16") for c in chunks], np.dtype("<c16")).view("V16")
        self._chunks = chunks
        self._ends = np.cumsum([len(c.times_ns) for c in chunks])

    def part_row(self, index: int) -> dict[str, int]:
        chunk = int(np.searchsorted(self._ends, index, side="right"))
        row = index - (int(self._ends[chunk - 1]) if chunk else 0)
        found = self._chunks[chunk]
        return dict(zip(found.names, found.parts[row].tolist(), strict=True))

    def odd_parts(self, index: int, other: Hashes, other_index: int) -> tuple[str, ...]:
        a, b = self.part_row(index), other.part_row(other_index)
        return tuple(n for n in [*a, *(m for m in b if m not in a)] if a.get(n) != b.get(n))


def _joined(columns: list[Any], dtype: np.dtype[Any]) -> Any:
    return np.concatenate(columns) if columns else np.empty(0, dtype)


def every_instant(reader: LogReader) -> bool:
    """Whether the log has a hash for each of its instants, in all of its lives."""
    begun = reader.content(reader.record(0))
    resumed = (reader.content(record) for record in reader.of_kind(Kind.RESUMED))
    return all(life.get("hash_every") == "instant" for life in (begun, *resumed))


def first_lone(times_a: Any, times_b: Any, begin_ns: int) -> int | None:
    """The first instant after `begin_ns` that only one of two logs with a hash an instant has."""
    times_a, times_b = times_a[times_a > begin_ns], times_b[times_b > begin_ns]
    if not len(times_a) or not len(times_b):
        return None
    end = min(int(times_a[-1]), int(times_b[-1]))
    lone = np.setxor1d(times_a[times_a <= end], times_b[times_b <= end], assume_unique=True)
    return int(lone[0]) if len(lone) else None
