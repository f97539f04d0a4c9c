"""How often a recording looks at the state.

Looks fall on multiples of a period, at the first instant at or after each, so that two runs
of one scene are looked at in the same places and can be compared. Left to itself a recording
widens the period (by doubling, so that the sparser places are among the denser) until hashing
costs at most a hundredth of the run. It takes a snapshot whenever the run has computed for
some thirty milliseconds since the last one, because that bounds how long it takes to come from a
snapshot to any instant, whatever the scene costs.

The wall clock decides only what is noted, never what happens.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Literal, TypeAlias

from mainspring.clock import TimeError, time_ns
from mainspring.world.log._errors import RunRecordingError

__all__ = ["Cadence", "Every", "parse_every"]

#: How often: seconds of simulation time, "instant", "auto", or None for never.
Every: TypeAlias = "float | Fraction | Literal['instant', 'auto'] | None"

BASE_NS = 1_000_000_000
WIDEST = 64
COST_LIMIT = 0.01
SNAPSHOT_BUSY_NS = 30_000_000
SNAPSHOT_COST_LIMIT = 0.03
_NEVER = 2**63 - 1


class Cadence:
    """When the next look is due, and whether it should be a snapshot."""

    def __init__(self, hash_every: Every, snapshot_every: Every) -> None:
        self._auto_hash = hash_every == "auto"
        self._hash_ns = _period(hash_every, "hash_every")
        self._auto_snapshot = snapshot_every == "auto"
        self._snapshot_ns = _period(snapshot_every, "snapshot_every")
        self._wide = 1
        self._busy_ns = time.thread_time_ns()
        self._snapshot_busy_ns = self._busy_ns
        self._snapshot_cost_ns = 0
        self._last_cost_ns = _NEVER
        self._next_snapshot = 0
        self._next_hash = 0

    def begin(self, after_ns: int) -> int:
        """The time of the first look after `after_ns`."""
        self._next_hash = _following(self._hash_ns, after_ns)
        self._next_snapshot = (
            _NEVER if self._auto_snapshot else _following(self._snapshot_ns, after_ns)
        )
        return self._next(after_ns)

    def wants_hash(self, time_ns: int) -> bool:
        return time_ns >= self._next_hash

    def wants_snapshot(self, time_ns: int) -> bool:
        if not self._auto_snapshot:
            return time_ns >= self._next_snapshot
        busy_ns = time.thread_time_ns() - self._snapshot_busy_ns
        return busy_ns >= max(SNAPSHOT_BUSY_NS, self._snapshot_cost_ns / SNAPSHOT_COST_LIMIT)

    def next_look(self, time_ns: int, began_busy_ns: int, snapshot: bool) -> int:
        """The time of the look after the one at `time_ns`, which began at `began_busy_ns` of this
        thread's CPU time."""
        now_ns = time.thread_time_ns()
        if snapshot:
            self._snapshot_busy_ns = now_ns
            # One that the system held up says nothing about the next: two would have to be dear.
            cost_ns = now_ns - began_busy_ns
            self._snapshot_cost_ns = min(cost_ns, self._last_cost_ns)
            self._last_cost_ns = cost_ns
            self._next_snapshot = (
                _NEVER if self._auto_snapshot else _following(self._snapshot_ns, time_ns)
            )
        elif self._auto_hash:
            self._adapt(now_ns - began_busy_ns, now_ns - self._busy_ns)
        self._busy_ns = now_ns
        if time_ns >= self._next_hash:
            self._next_hash = _following(self._hash_ns * self._wide, time_ns)
        return self._next(time_ns)

    def _next(self, time_ns: int) -> int:
        # Whether a snapshot is worth its cost is asked once a period even when nothing is hashed.
        ask = _following(BASE_NS * self._wide, time_ns) if self._auto_snapshot else _NEVER
        return min(self._next_hash, self._next_snapshot, ask)

    def _adapt(self, cost_ns: int, since_last_ns: int) -> None:
        if cost_ns > COST_LIMIT * since_last_ns and self._wide < WIDEST:
            self._wide *= 2
        elif cost_ns * 4 < COST_LIMIT * since_last_ns and self._wide > 1:
            self._wide //= 2


def parse_every(text: str) -> Every:
    """The other way round of `str`: as a log has it, or a command line."""
    words: dict[str, Every] = {"auto": "auto", "instant": "instant", "none": None}
    if text.lower() in words:
        return words[text.lower()]
    return Fraction(text) if "/" in text else Fraction(time_ns(text), 1_000_000_000)


def _period(every: Every, name: str) -> int:
    if every is None:
        return _NEVER
    if every == "instant":
        return 1
    if every == "auto":
        return BASE_NS
    try:
        period_ns = time_ns(every)
    except TimeError:
        period_ns = -1
    if period_ns < 0:
        raise RunRecordingError(
            f"{name} is a number of seconds, 'instant', 'auto' or None, not {every!r}"
        )
    return max(1, period_ns)


def _following(period_ns: int, time_ns: int) -> int:
    """The first multiple of the period after `time_ns`."""
    if period_ns >= _NEVER:
        return _NEVER
    return (time_ns // period_ns + 1) * period_ns
