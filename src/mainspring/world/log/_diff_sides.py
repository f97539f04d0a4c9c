"""One of two runs that are compared: run again, wherever it is asked to."""

from __future__ import annotations

from collections.abc import Iterator

from mainspring.world.log._player import Player
from mainspring.world.log._reader import LogReader
from mainspring.world.log._replay import (
    Build,
    HashChecker,
    HashMismatch,
    build_scene,
    resumed_changes,
)
from mainspring.world.log._states import Captured, capture, restore
from mainspring.world.log._trace import Step, trace_instant

__all__ = ["Side"]


class Side:
    """One of the two runs, to be run again."""

    def __init__(self, reader: LogReader, build: Build | None) -> None:
        self.reader = reader
        self.build = build
        self.scene, self.changes = build_scene(reader, build)
        self.changes += resumed_changes(reader)
        self.player = Player(self.scene, reader)

    def again(self) -> Side:
        return Side(self.reader, self.build)

    def restore(self, captured: Captured) -> None:
        restore(self.scene, captured, self.player._last_seq + 1)
        self.player.own_waiting = []
        self.player._seek()

    def to_after(self, time_ns: int) -> Captured:
        """The state after the instant at `time_ns`, from the nearest snapshot."""
        self.player.restore_before(time_ns + 1)
        if self.player.last_instant < time_ns:
            self.player.run_instant(time_ns)
        return capture(self.scene)

    def walk(self, until_ns: int) -> Iterator[tuple[int, Captured]]:
        """Instant by instant, with the state after each, up to and including `until_ns`."""
        while (at_ns := self.scene.time.next_instant) is not None and at_ns <= until_ns:
            self.player.run_instant(at_ns)
            yield at_ns, capture(self.scene)

    def trace(self, time_ns: int) -> list[Step]:
        """The steps of the instant at `time_ns`, which is the next one."""
        self.player.advance_to(time_ns)
        return trace_instant(self.scene, lambda: self.player.run_instant(time_ns))

    def leaves_its_log(self, after_ns: int, until_ns: int) -> HashMismatch | None:
        """Where running on from the instant at `after_ns`, at which the scene stands, gives another
        hash than the log has before `until_ns`, or has next when it has none there."""
        checker = HashChecker(self.scene, self.reader, after_ns)
        try:
            self.player.advance_to(until_ns)
            if not checker.compared and checker.next_ns is not None:
                self.player.advance_to(checker.next_ns + 1)
        finally:
            checker.detach()
        return checker.mismatch

    def close(self) -> None:
        self.player.release()
        self.scene.stop()
