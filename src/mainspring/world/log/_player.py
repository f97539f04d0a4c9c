"""Playing a log back: the recorded inputs into a scene, each at its instant.

The promise: given the scene the run began with, `advance_to` leaves it as the recorded run
was at that time, whatever mode or frame rate the run had: what its frames decided is in the
log as inputs and skips, and everything else follows.

While a player holds a scene, its inbox is closed to everybody else. What the simulation
itself puts is matched with the number it was given then; threads that still send are told
that their input was taken, and it is dropped, for what they said at that time is in the log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from mainspring.clock import CallbackError, ClockError, Input
from mainspring.errors import MainspringError
from mainspring.world.log._errors import LogBuildError, LogCorruptError
from mainspring.world.log._format import InputGroup, Record, Skip
from mainspring.world.log._reader import LogReader
from mainspring.world.log._states import Snapshot, decode_snapshot, restore

__all__ = ["Player"]

_NEVER = 2**63 - 1


class Player:
    """Drives one scene along one log."""

    def __init__(self, scene: Any, reader: LogReader) -> None:
        self.scene = scene
        self.reader = reader
        self._clock = scene.time
        self._inbox = scene.time.inbox
        self._groups: Iterator[InputGroup] = iter(())
        self._next_group: InputGroup | None = None
        self._skips: Iterator[Skip] = iter(())
        self._next_skip: Skip | None = None
        self._refused: MainspringError | None = None
        self._own: Iterator[tuple[int, int]] = iter(())
        self._next_own: tuple[int, int] | None = None
        self._last_seq = 0
        #: Inputs the simulation has put that no logged instant has drained yet.
        self.own_waiting: list[Input] = []
        #: Called with each group just before its instant, for those who look on.
        self.on_group: Callable[[InputGroup], None] | None = None
        scene.start()
        self._inbox.drain()
        self._inbox.stand_in = self._stand_in
        self._clock._kernel.hook("feed", self._feed)
        self._seek()

    def release(self) -> None:
        """Open the inbox again; what the simulation put and nobody drained waits in it."""
        if self._inbox.stand_in == self._stand_in:
            self._inbox.stand_in = None
            self._clock._kernel.hook("feed", None)
            self._clock._kernel.feed_at = _NEVER
            self._inbox.feed(self.own_waiting)

    # ------------------------------------------------------------------ where to begin

    @property
    def last_instant(self) -> int:
        """The instant that ran last; -1 before the first."""
        instant: int = self._clock._kernel.last_instant
        return instant

    def restore_before(self, time_ns: int) -> None:
        """Go to the nearest kept snapshot whose instant lies before `time_ns`."""
        record = self.reader.snapshot_before(time_ns)
        if record is None:
            raise LogCorruptError(f"{self.reader.path} holds no snapshot before {time_ns} ns")
        self.restore(record)

    def restore(self, record: Record) -> None:
        """Go to a snapshot."""
        snapshot = self.snapshot(record)
        self._last_seq = snapshot.last_seq
        try:
            restore(self.scene, snapshot.captured, snapshot.last_seq + 1)
        except ClockError as error:
            raise LogBuildError(
                f"the snapshot at {record.last_ns} ns does not fit the scene: {error.message}",
                hint=error.hint,
            ) from error
        self.own_waiting = snapshot.waiting
        self._seek()

    def snapshot(self, record: Record) -> Snapshot:
        """What a snapshot holds."""
        if record.body is None:
            raise LogCorruptError(f"the content of {record} is gone")
        result: Snapshot = self.reader._decoded(record, decode_snapshot)
        return result

    @property
    def last_seq(self) -> int:
        """The last sequence number that was drained."""
        return self._last_seq

    def _seek(self) -> None:
        """Read on from the first instant that has not run."""
        since = self.last_instant + 1
        self._groups = self.reader.inputs(since)
        self._await(next(self._groups, None))
        # A skip that begins at the last instant comes after it.
        self._skips = (
            skip
            for skip in self.reader.skips(since - 1)
            if skip.from_ns >= since or skip.ran  # going there twice is going there once
        )
        self._next_skip = next(self._skips, None)
        self._own = self.reader.own(since)
        self._next_own = next(self._own, None)

    # ------------------------------------------------------------------ playing

    def advance_to(self, time_ns: int) -> None:
        """Run every instant before `time_ns`, with its inputs; `now` is `time_ns` afterwards."""
        while self._next_skip is not None and self._next_skip.from_ns < time_ns:
            if not self._advance(self._next_skip.from_ns):
                return
            self._skip(self._next_skip)
            self._next_skip = next(self._skips, None)
        self._advance(time_ns)

    def run_instant(self, time_ns: int) -> None:
        """Run the instant at `time_ns` as well, when there is one; `now` stays there."""
        self.advance_to(time_ns + 1)
        self._clock._kernel.now = time_ns

    def _advance(self, until_ns: int) -> bool:
        """Run on; whether it came that far, and nobody stopped it."""
        now: int = self._clock.now
        if until_ns > now:
            self._run(ns=until_ns - now)
            now = self._clock.now
        return now >= until_ns

    def _run(self, **how_far: int) -> None:
        try:
            self._clock.advance(**how_far)
        except CallbackError:
            refused, self._refused = self._refused, None
            if refused is not None:
                raise refused from None  # it is the log that does not fit, and no callback
            raise

    def _skip(self, skip: Skip) -> None:
        if skip.ran and self.last_instant < skip.from_ns:
            self._run(instants=1)
        self._clock.skip_to(skip.to_ns)

    def _await(self, group: InputGroup | None) -> None:
        # The kernel calls at the instant of the group, so that those between cost nothing.
        self._next_group = group
        self._clock._kernel.feed_at = _NEVER if group is None else group.time_ns

    def _feed(self, time_ns: int) -> None:
        """An instant begins, for which there are inputs."""
        group = self._next_group
        try:
            while group is not None and group.time_ns <= time_ns:
                self._feed_group(group)
                group = next(self._groups, None)
        except MainspringError as error:
            self._refused = error
            raise
        self._await(group)

    def _feed_group(self, group: InputGroup) -> None:
        if self.on_group is not None:
            self.on_group(group)
        own = {item.seq: item for item in self.own_waiting}
        given = []
        for item in group.inputs:
            mine = own.pop(item.seq, None)
            # What the simulation put itself is taken as it is now: when it differs from then,
            # that is a difference worth finding, and not one to paper over.
            given.append(mine or Input(item.seq, item.kind, item.payload, item.source))
        self.own_waiting = list(own.values())
        self._last_seq = max(self._last_seq, group.inputs[-1].seq)
        try:
            self._inbox.feed(given)
        except MainspringError as error:
            raise LogBuildError(
                f"the inputs at {group.time_ns} ns do not fit the scene: {error.message}",
                hint=error.hint,
            ) from error

    def _stand_in(self, kind: str, payload: Any, source: str) -> int:
        inside = self._clock.inside and threading.get_ident() == self._clock._owner
        if not inside:
            return self._last_seq + 1
        now = self._clock.now
        while self._next_own is not None and self._next_own[0] < now:
            self._next_own = next(self._own, None)
        if self._next_own is not None and self._next_own[0] == now:
            seq = self._next_own[1]
            self._next_own = next(self._own, None)
        else:
            # More than the log knows of: past its end, or a run that differs from it.
            waiting = self.own_waiting[-1].seq if self.own_waiting else 0
            seq = max(self._last_seq, waiting) + 1
        self.own_waiting.append(Input(seq, kind, payload, source))
        return seq
