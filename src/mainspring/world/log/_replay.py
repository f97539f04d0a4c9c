"""`replay`: run a log again and say whether everything came out the same.

The promise: `identical` means that every hash in the log, at every instant it was taken, is
the hash the replay came to. Otherwise the report names the first instant that differs and
the parts of the state that do. A replay runs as fast as it goes, far faster than real time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from mainspring.clock import CallbackError, Time, format_ns, time_ns
from mainspring.world.log._errors import LogError
from mainspring.world.log._format import Kind
from mainspring.world.log._player import Player
from mainspring.world.log._reader import LogReader
from mainspring.world.log._recipe import Recipe, versions
from mainspring.world.log._states import capture

__all__ = ["Build", "HashMismatch", "Progress", "ReplayReport", "replay"]

#: What builds the scene when the log's own recipe should not be used.
Build: TypeAlias = Callable[[], Any]
#: Told how far a replay has come: simulation time done and simulation time in all.
Progress: TypeAlias = Callable[[int, int], None]

_SLICE_NS = 10_000_000_000


class HashMismatch(msgspec.Struct, frozen=True):
    """The first instant whose state differs from the log."""

    time_ns: int
    """The instant."""
    parts: tuple[str, ...]
    """The parts of the state that differ, such as `scripts/Arm`."""
    after_ns: int
    """The last instant that was still the same; what differs arose after it."""
    message: str


class ReplayReport(msgspec.Struct, frozen=True):
    """What a replay found."""

    path: str
    identical: bool
    start_ns: int
    end_ns: int
    instants: int
    inputs: int
    hashes: int
    """How many hashes of the log were compared."""
    wall_ns: int
    difference: HashMismatch | None = None
    error: str | None = None
    """The error the run ended with, when it ended with one; the same in log and replay."""
    changes: tuple[str, ...] = ()
    """What is different about code, settings or versions since the run was recorded."""

    @property
    def speed(self) -> float:
        """Simulated seconds for each second of wall time."""
        return (self.end_ns - self.start_ns) / max(self.wall_ns, 1)

    def __str__(self) -> str:
        if self.identical and not self.hashes:
            return (
                f"nothing to compare: the log has no hash in the {self.instants} instants that ran"
            )
        if self.identical:
            return (
                f"identical: {self.instants} instants, {self.inputs} inputs, "
                f"{self.hashes} hashes, {self.speed:.0f} times real time"
            )
        assert self.difference is not None
        return f"differs: {self.difference.message}"


def replay(
    path: str | Path,
    *,
    build: Build | None = None,
    until: Time | None = None,
    from_snapshot: Time | None = None,
    progress: Progress | None = None,
) -> ReplayReport:
    """Replay the log at `path`.

    - `build`: builds the scene; without it the log's own recipe does.
    - `until`: stop before this time, such as "12.5s" or 12.5.
    - `from_snapshot`: begin at the last snapshot before this time instead of at the start.
    """
    with LogReader(path) as reader:
        for _ in reader.records():
            pass  # the chain first: what follows rests on it
        return _Replay(reader, build).run(until, from_snapshot, progress)


def not_in_run(path: Path, ns: int, start_ns: int, end_ns: int) -> LogError:
    """What to say about a time that a run does not have."""
    return LogError(
        f"{format_ns(ns)} is not in {path}",
        hint=f"the run goes from {format_ns(start_ns)} to {format_ns(end_ns)}",
    )


def build_scene(
    reader: LogReader, build: Build | None, *, watchers: bool = False
) -> tuple[Any, list[str]]:
    """The scene of a log, and what has changed since it was recorded.

    Subsystems that only looked at the run are left out unless `watchers` or the caller's own
    `build` brings them: they change nothing, and a recorder would record once more.
    """
    header = reader.content(reader.record(0))
    try:
        recipe = Recipe(**header["recipe"])
        then = dict(header["versions"])
    except (KeyError, TypeError) as error:
        raise LogError(
            f"{reader.path}: the header says {error}, which is not known here"
        ) from error
    scene = recipe.build() if build is None else build()
    changes = recipe.changes(scene)
    if build is None and not watchers:
        for subsystem in tuple(scene.subsystems.values()):
            if subsystem.watching:
                scene.remove(subsystem)
    now = versions()
    changes += [
        f"{name} was {then[name]} and is {now[name]}"
        for name in then
        if now.get(name, then[name]) != then[name]
    ]
    return scene, changes


def resumed_changes(reader: LogReader) -> list[str]:
    """What was different already when the run was resumed, and when that was."""
    notes = map(reader.content, reader.of_kind(Kind.RESUMED))
    return [
        f"when it went on at {format_ns(note['at_ns'])}: {change}"
        for note in notes
        for change in note.get("changes", ())
    ]


class HashChecker:
    """Compares a scene's hashes with those of a log, at the instants the log has them."""

    def __init__(
        self, scene: Any, reader: LogReader, after_ns: int, last_ns: int = 2**63 - 2
    ) -> None:
        self._scene = scene
        self._expected = self._all(reader, after_ns, last_ns)
        self._next = next(self._expected, None)
        self.compared = 0
        self.same_ns = after_ns
        self.mismatch: HashMismatch | None = None
        self._schedule()

    @staticmethod
    def _all(
        reader: LogReader, after_ns: int, last_ns: int
    ) -> Iterator[tuple[int, bytes, tuple[str, ...], list[int]]]:
        for chunk in reader.hashes(after_ns, last_ns + 1):
            times = chunk.times_ns.tolist()
            for i, at_ns in enumerate(times):
                if after_ns < at_ns <= last_ns:
                    yield at_ns, chunk.hashes[i].tobytes(), chunk.names, chunk.parts[i].tolist()

    @property
    def next_ns(self) -> int | None:
        """The instant of the hash that is compared next."""
        return None if self._next is None else self._next[0]

    def _schedule(self) -> None:
        if self._next is not None and self.mismatch is None:
            self._scene.time.observers.once_after(self._next[0], self.check)

    def detach(self) -> None:
        self._scene.time.observers.cancel(self.check)

    def check(self, time_ns: int) -> None:
        assert self._next is not None
        expected_ns, expected, names, parts = self._next
        if time_ns != expected_ns:
            self._differs(expected_ns, (), f"the log has an instant at {format_ns(expected_ns)}; "
                          f"the replay went on to {format_ns(time_ns)}")  # fmt: skip
            return
        captured = capture(self._scene)
        digest, halves = captured.hashed()
        if digest != expected:
            now = {
                name: int.from_bytes(halves[i * 8 : i * 8 + 8], "little")
                for i, name in enumerate(captured.names)
            }
            then = dict(zip(names, parts, strict=True))
            odd = tuple(n for n in [*then, *(m for m in now if m not in then)]
                        if then.get(n) != now.get(n))  # fmt: skip
            self._differs(time_ns, odd, f"at {format_ns(time_ns)} the state of "
                          f"{', '.join(odd) or 'the scene'} differs")  # fmt: skip
            return
        self.compared += 1
        self.same_ns = time_ns
        self._next = next(self._expected, None)
        self._schedule()

    def _differs(self, time_ns: int, parts: tuple[str, ...], message: str) -> None:
        self.mismatch = HashMismatch(time_ns, parts, self.same_ns, message)
        self._scene.time.stop()


class _Replay:
    """One replay of one log."""

    def __init__(self, reader: LogReader, build: Build | None) -> None:
        self.reader = reader
        self.scene, self.changes = build_scene(reader, build)
        self.changes += resumed_changes(reader)
        self.inputs = 0

    def run(
        self, until: Time | None, from_snapshot: Time | None, progress: Progress | None
    ) -> ReplayReport:
        began = time.perf_counter_ns()
        until_ns = None if until is None else self._within(until)
        snapshot_ns = None if from_snapshot is None else self._within(from_snapshot)
        player = Player(self.scene, self.reader)
        player.on_group = self._count
        clock = self.scene.time
        error: str | None = None
        mismatch: HashMismatch | None = None
        checker: HashChecker | None = None
        try:
            mismatch = self._begin(player, snapshot_ns)
            start_ns, first = clock.now, clock.instants
            end_ns = self._end_ns()
            if until_ns is not None:
                end_ns = min(end_ns, until_ns)
            if mismatch is None:
                checker = HashChecker(self.scene, self.reader, player.last_instant)
                error = self._play(player, checker, start_ns, end_ns, progress)
                mismatch = checker.mismatch
            if mismatch is None and checker is not None and checker._next is not None:
                mismatch = self._missed(checker, end_ns)
        finally:
            if checker is not None:
                checker.detach()
            player.release()
            self.scene.stop()
        return ReplayReport(
            str(self.reader.path),
            mismatch is None,
            start_ns,
            clock.now,
            clock.instants - first,
            self.inputs,
            0 if checker is None else checker.compared,
            time.perf_counter_ns() - began,
            mismatch,
            error,
            tuple(self.changes),
        )

    def _end_ns(self) -> int:
        """Where the log ends; an instant that ended the run with an error is run again."""
        errors = [at_ns for kind, at_ns, _ in self.reader.events() if kind == "error"]
        return max([self.reader.end_ns(), *(at_ns + 1 for at_ns in errors)])

    def _count(self, group: Any) -> None:
        self.inputs += len(group.inputs)

    def _within(self, time: Time) -> int:
        """A time of the run in nanoseconds; an error that says from when to when it goes."""
        ns = time_ns(time)
        start_ns = int(self.reader.content(self.reader.record(0))["start_ns"])
        if not start_ns <= ns <= self._end_ns():
            raise not_in_run(self.reader.path, ns, start_ns, self._end_ns())
        return ns

    def _begin(self, player: Player, snapshot_ns: int | None) -> HashMismatch | None:
        """Bring the scene to where the replay begins; the built scene must be the logged one."""
        first = next(self.reader.of_kind(Kind.SNAPSHOT), None)
        if first is None:
            raise LogError(f"{self.reader.path} holds no snapshot of the beginning")
        header = self.reader.content(self.reader.record(0))
        if snapshot_ns is not None:
            player.restore_before(snapshot_ns + 1)
            return None
        carries_code = any(getattr(p, "carries_code", False) for p in self.scene.parts.values())
        if header["parent"] or first.last_ns >= 0 or first.body is None or carries_code:
            # A run that did not begin at zero begins with its first snapshot; so does one whose
            # code changed while it ran, for the files hold the code of its end.
            player.restore_before(first.last_ns + 1 if first.body else 2**63 - 1)
            return None
        logged = player.snapshot(first).captured
        built = capture(self.scene)
        odd = tuple(
            name
            for name in [*logged.parts, *(n for n in built.parts if n not in logged.parts)]
            if logged.parts.get(name) != built.parts.get(name)
        )
        if not odd:
            return None
        return HashMismatch(
            first.last_ns,
            odd,
            first.last_ns,
            f"before the first instant: the scene as built differs in {', '.join(odd)}",
        )

    def _play(
        self,
        player: Player,
        checker: HashChecker,
        start_ns: int,
        end_ns: int,
        progress: Progress | None,
    ) -> str | None:
        at_ns = self.scene.time.now
        try:
            while at_ns < end_ns and checker.mismatch is None:
                at_ns = min(end_ns, at_ns + _SLICE_NS)
                player.advance_to(at_ns)
                if progress is not None:
                    progress(at_ns - start_ns, end_ns - start_ns)
        except CallbackError as failed:
            return self._same_error(failed)
        return None

    def _same_error(self, failed: CallbackError) -> str:
        """The run raised here as well, or else the replay has failed on its own."""
        for kind, at_ns, _ in self.reader.events():
            if kind == "error" and at_ns == failed.time_ns:
                return failed.message
        raise failed

    def _missed(self, checker: HashChecker, end_ns: int) -> HashMismatch | None:
        expected = checker._next
        if expected is None or expected[0] >= end_ns:
            return None
        return HashMismatch(
            expected[0],
            (),
            checker.same_ns,
            f"the log has an instant at {format_ns(expected[0])} that the replay did not come to",
        )
