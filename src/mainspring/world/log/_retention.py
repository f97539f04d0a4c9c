"""How many snapshots a log keeps: enough to restart in seconds, not enough to fill the disk.

Beyond a budget of bytes the older snapshots are thinned: every second one loses its body,
the oldest half first, so that they lie denser the newer they are. The first (the run's
beginning) and the newest stay. The records themselves stay too, and the chain with them,
since it covers digests; only opening an instant between two that were dropped takes longer.
"""

from __future__ import annotations

import sqlite3

from mainspring.world.log._format import Kind, Row

__all__ = ["Retention"]

#: This many of the newest are never thinned.
NEWEST = 8


class Retention:
    """Watches the commits of one writer and thins its snapshots."""

    def __init__(self, budget_bytes: int | None) -> None:
        self.budget_bytes = budget_bytes
        self._kept: list[tuple[int, int]] = []
        self._bytes = 0

    def adopt(self, kept: list[tuple[int, int]]) -> None:
        """Begin with the snapshots a log holds already: (record number, bytes)."""
        self._kept = list(kept)
        self._bytes = sum(size for _, size in kept)

    def apply(self, db: sqlite3.Connection, first: int, rows: list[Row]) -> None:
        """After a commit of `rows`, the first of them numbered `first`: thin what is too much."""
        for number, row in enumerate(rows, first):
            if row.kind is Kind.SNAPSHOT:
                self._kept.append((number, len(row.body)))
                self._bytes += len(row.body)
        if self.budget_bytes is None or self._bytes <= self.budget_bytes:
            return
        dropped = self.choose()
        db.executemany(
            "UPDATE record SET body = NULL WHERE number = ? AND kind = ?",
            [(number, int(Kind.SNAPSHOT)) for number, _ in dropped],
        )
        gone = {number for number, _ in dropped}
        self._kept = [kept for kept in self._kept if kept[0] not in gone]
        self._bytes -= sum(size for _, size in dropped)

    def choose(self) -> list[tuple[int, int]]:
        """The snapshots to drop: every second of the older half, until the budget is met."""
        over = self._bytes - (self.budget_bytes or 0)
        candidates = self._kept[1:-NEWEST]
        dropped: list[tuple[int, int]] = []
        for kept in candidates[::2]:
            if over <= 0:
                break
            dropped.append(kept)
            over -= kept[1]
        return dropped
