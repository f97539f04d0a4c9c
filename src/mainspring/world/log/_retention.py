"""How many snapshots a log keeps: enough to restart in seconds, not enough to fill the disk.

Beyond a budget of bytes the snapshots are thinned so that they lie denser the newer they are:
those lose their bodies first that leave the smallest gap for their age. The first (the run's
beginning) and the newest stay. The records themselves stay too, and the chain with them,
since it covers digests; only opening an instant between two that were dropped takes longer.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from mainspring.world.log._format import Kind, Row

__all__ = ["Kept", "Retention"]

#: This many of the newest are never thinned.
NEWEST = 8
#: Once over the budget, this part of it is made free, so that thinning is rare.
SLACK = 16


class Kept(NamedTuple):
    """A snapshot whose state is in the log."""

    number: int
    time_ns: int
    size: int


class Retention:
    """Watches the commits of one writer and thins its snapshots."""

    def __init__(self, budget_bytes: int | None) -> None:
        self.budget_bytes = budget_bytes
        self._kept: list[Kept] = []
        self._bytes = 0

    def adopt(self, kept: list[Kept]) -> None:
        """Begin with the snapshots a log holds already."""
        self._kept = list(kept)
        self._bytes = sum(snapshot.size for snapshot in kept)

    def apply(self, db: sqlite3.Connection, first: int, rows: list[Row]) -> None:
        """After a commit of `rows`, the first of them numbered `first`: thin what is too much."""
        for number, row in enumerate(rows, first):
            if row.kind is Kind.SNAPSHOT:
                self._kept.append(Kept(number, row.last_ns, len(row.body)))
                self._bytes += len(row.body)
        if self.budget_bytes is None or self._bytes <= self.budget_bytes:
            return
        dropped = self.choose(self._bytes - self.budget_bytes + self.budget_bytes // SLACK)
        db.executemany(
            "UPDATE record SET body = NULL WHERE number = ? AND kind = ?",
            [(snapshot.number, int(Kind.SNAPSHOT)) for snapshot in dropped],
        )
        gone = {snapshot.number for snapshot in dropped}
        self._kept = [kept for kept in self._kept if kept.number not in gone]
        self._bytes -= sum(snapshot.size for snapshot in dropped)

    def choose(self, too_much: int) -> list[Kept]:
        """The snapshots to drop, no two of them neighbours: least gap for their age first."""
        kept, now_ns = self._kept, self._kept[-1].time_ns

        def gap_for_age(i: int) -> float:
            gap_ns = kept[i + 1].time_ns - kept[i - 1].time_ns
            return gap_ns / (now_ns - kept[i].time_ns + 1)

        dropped: list[Kept] = []
        taken: set[int] = set()
        for i in sorted(range(1, len(kept) - NEWEST), key=gap_for_age):
            if too_much <= 0:
                break
            if i - 1 in taken or i + 1 in taken:
                continue
            taken.add(i)
            dropped.append(kept[i])
            too_much -= kept[i].size
        return dropped
