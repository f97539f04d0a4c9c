"""Recording a run: the scene's observer on one side, the log's writer on the other.

The promise: from `record` on, everything that came from outside is in the log before anybody
is told so, and the log alone is enough to have the run again.

What a recording does at an instant: nothing, unless inputs were drained (they are encoded
before a handler sees them), or a look at the state is due (see `_cadence`). The rest happens
on the writer's thread.

    from mainspring.world import record

    with record(scene, "run.world") as recorder:
        scene.run(seconds=60)
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from mainspring import state
from mainspring._kernel.log import Tape
from mainspring.clock import CallbackError, Input, Time, time_ns
from mainspring.errors import MainspringError, StateError
from mainspring.world.log._cadence import Cadence, Every
from mainspring.world.log._errors import LogWriteError, RunRecordingError
from mainspring.world.log._format import FORMAT_VERSION, Kind, Row
from mainspring.world.log._recipe import Entry, Recipe, machine, versions
from mainspring.world.log._retention import Retention
from mainspring.world.log._states import Captured, capture, check_saveable
from mainspring.world.log._writer import PAGE_SIZE, Durability, LogWriter

__all__ = ["RunRecorder", "record"]

_RECORDED: weakref.WeakKeyDictionary[Any, RunRecorder] = weakref.WeakKeyDictionary()


def record(
    scene: Any,
    path: str | Path,
    *,
    durability: Durability = "group",
    hash_every: Every = "auto",
    snapshot_every: Every = "auto",
    keep_snapshots_bytes: int | None = 256 * 2**20,
    entry: Entry | None = None,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    page_size: int = PAGE_SIZE,
    until: Time | None = None,
    recipe: Recipe | None = None,
    parent: Mapping[str, Any] | None = None,
) -> RunRecorder:
    """Start recording `scene` into a new log at `path`.

    - `durability`: "instant" waits for the disk at every instant, "group" never waits but
      acknowledges only what is on the disk, "none" leaves it to the operating system.
    - `hash_every`, `snapshot_every`: seconds of simulation time, "instant", "auto" or None.
    - `keep_snapshots_bytes`: older snapshots are thinned out beyond this size; None keeps all.
    - `entry`, `args`, `kwargs`: how the scene is built again: a settings file, a function at
      the top of a module, or "module:function". A scene from `load_scene` knows its own.
    - `until`: how far the run is meant to go. It does not end it; `mainspring resume` goes on to
      there when it is given no time of its own.
    - `recipe`, `parent`: what a fork passes on of the run it came from.
    """
    _check_recordable(scene)
    # Everything that may be refused is looked at before there is a file.
    cadence, retention = Cadence(hash_every, snapshot_every), Retention(keep_snapshots_bytes)
    until_ns = None if until is None else time_ns(until)
    scene.start()
    captured = check_saveable(scene)
    recipe = recipe or Recipe.of(scene, entry, args, kwargs)
    clock = scene.time
    header = {
        "format": FORMAT_VERSION,
        "run": os.urandom(16).hex(),
        "scene": scene.name,
        "seed": scene.seed,
        "recipe": {name: getattr(recipe, name) for name in Recipe.__struct_fields__},
        "versions": versions(),
        "machine": machine(),
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "start_ns": clock.now,
        "mode": str(clock.mode),
        "durability": durability,
        "hash_every": str(hash_every),
        "snapshot_every": str(snapshot_every),
        "until_ns": until_ns,
        "parent": dict(parent) if parent else None,
    }
    at_ns = clock._kernel.last_instant
    initial = [
        Row(Kind.HEADER, at_ns, at_ns, 1, state.encode(header, "header")),
        Row(Kind.SNAPSHOT, at_ns, at_ns, 1, captured.snapshot([], 0)),
    ]
    position = position_of(scene)
    writer = LogWriter(
        Path(path),
        durability=durability,
        position_ns=position,
        initial=initial,
        page_size=page_size,
    )
    recorder = RunRecorder(scene, writer, position, cadence, retention, until_ns)
    recorder._begin()
    return recorder


def _check_recordable(scene: Any) -> None:
    if scene in _RECORDED:
        raise RunRecordingError(
            f"scene {scene.name!r} is being recorded already, into {_RECORDED[scene].path}",
            hint="close that recorder first",
        )
    if scene.time.inside:
        raise RunRecordingError("a recording cannot start inside an instant")
    if scene.time.failure is not None:
        raise RunRecordingError(
            f"scene {scene.name!r} stopped inside an instant and cannot be recorded",
            hint="call scene.reset() first",
        )
    try:
        for given in scene.time.inbox.waiting:
            _check_input(given)
    except StateError as error:
        raise RunRecordingError(
            f"scene {scene.name!r} cannot be recorded: an input that waits cannot be kept: "
            f"{error.message}",
            hint=error.hint,
        ) from error


def position_of(scene: Any) -> Position:
    """How far `scene` has come, for a writer."""
    return Position(scene.time)


class Position:
    """How far the run has come: every instant before this time is over. Read by any thread."""

    __slots__ = ("_kernel", "done_ns")

    def __init__(self, clock: Any) -> None:
        self._kernel = clock._kernel
        self.done_ns = -(2**63)

    def __call__(self) -> int:
        now: int = self._kernel.now
        return max(self.done_ns, now)


class RunRecorder:
    """A recording under way. `close` it, or use it as a context manager."""

    def __init__(
        self,
        scene: Any,
        writer: LogWriter,
        position: Position,
        cadence: Cadence,
        retention: Retention,
        until_ns: int | None,
    ) -> None:
        self.scene = scene
        self.until_ns = until_ns
        """How far the run is meant to go, where that was said."""
        self.path = writer.path
        self.writer = writer
        self.closed = False
        self.changes: tuple[str, ...] = ()
        """Of a run that was resumed: what is different about code, settings or versions."""
        self._position = position
        self._cadence = cadence
        self._retention = retention
        self._clock = scene.time
        self._inbox = scene.time.inbox
        self._names: tuple[str, ...] = ()
        self._hashed_ns = scene.time._kernel.last_instant
        self._own: deque[Input] = deque()
        self._stop_watching: list[Callable[[], None]] = []
        self._tape = Tape(
            scene.time,
            scene.time._kernel,
            state._encode_object,
            _check_input,
            self._note_own,
            writer.nudge,
        )
        writer.tape = self._tape
        self._watch = _Watch(self, writer, self._tape)
        writer.on_failure = self._wake_up
        writer.after_commit = retention.apply

    # ------------------------------------------------------------------ beginning

    def _begin(self) -> None:
        """From here on, everything that happens."""
        _RECORDED[self.scene] = self
        try:
            self.writer.flush()
            self.writer.start()
        except BaseException:
            del _RECORDED[self.scene]
            self.closed = True
            with contextlib.suppress(LogWriteError):
                self.writer.close()
            raise
        self._inbox.queue.gate = self._tape
        self._clock.observers.add(self._watch)
        for part in self.scene.parts.values():
            # A world says what became of each call; those that came as inputs belong here.
            on_outcome = getattr(part, "on_outcome", None)
            if on_outcome is not None:
                self._stop_watching.append(on_outcome(self._note_outcome))
            # Its tickets pass outcomes on only when what led to them is on the disk.
            tickets = getattr(part, "tickets", None)
            if tickets is not None:
                tickets.when_durable = self.when_durable
                self._stop_watching.append(
                    functools.partial(setattr, tickets, "when_durable", None)
                )
        self._schedule(self._cadence.begin(self._clock._kernel.last_instant))

    # ------------------------------------------------------------------ what is durable

    @property
    def durability(self) -> Durability:
        return self.writer.durability

    @property
    def durable_seq(self) -> int:
        """The highest input whose place in the run is on the disk."""
        return self.writer.durable_seq

    @property
    def durable_ns(self) -> int:
        """Every instant before this time is on the disk."""
        return self.writer.durable_ns

    def wait_durable(self, seq: int, timeout_s: float | None = None) -> bool:
        """Wait, on any thread but the simulation's, until the input `seq` is on the disk."""
        return self.writer.wait_durable(seq, timeout_s)

    def when_durable(self, seq: int, callback: Callable[[], None]) -> None:
        """Call `callback` once the input `seq` is on the disk; at once when it is already."""
        self.writer.when_durable(seq, callback)

    def flush(self) -> None:
        """Put everything so far onto the disk before returning."""
        self.writer.flush()

    # ------------------------------------------------------------------ looking at the state

    def snapshot(self) -> None:
        """Note the whole state now, between two instants."""
        if self._clock.inside:
            raise RunRecordingError("a snapshot is taken between instants")
        self._put_look(self._clock._kernel.last_instant, capture(self.scene), False, True)

    def outcome(self, seq: int, outcome: Any) -> None:
        """Note what became of the input `seq`, applied at this instant."""
        time_ns = self._clock.now
        self.writer.put_outcome(time_ns, state.encode([time_ns, seq, outcome], "outcome"))

    def _note_own(self, given: Input) -> None:
        """An input put by the simulation itself: a replay will put it again, and must give it
        the same number."""
        self._own.append(given)
        self.writer.put_own(self._clock.now, given.seq)

    def _note_outcome(self, outcome: Any) -> None:
        if outcome.seq is None:
            return
        plain = {name: getattr(outcome, name) for name in type(outcome).__struct_fields__}
        self.outcome(outcome.seq, plain)

    def _look(self, time_ns: int) -> None:
        self.writer.throttle()
        began_ns = time.thread_time_ns()
        hashing = self._cadence.wants_hash(time_ns)
        snapshot = self._cadence.wants_snapshot(time_ns)
        if hashing or snapshot:
            self._put_look(time_ns, capture(self.scene), hashing, snapshot)
        self._schedule(self._cadence.next_look(time_ns, began_ns, snapshot))

    def _put_look(self, time_ns: int, captured: Captured, hashing: bool, snapshot: bool) -> None:
        if hashing:
            self._hashed_ns = time_ns
            if captured.names != self._names:
                self._names = captured.names
                self.writer.put_hash_names(self._names)
            self.writer.put_hash(time_ns, *captured.hashed())
        if snapshot:
            while self._own and self._own[0].seq <= self._tape.last_seq:
                self._own.popleft()
            body = captured.snapshot(list(self._own), self._tape.last_seq)
            self.writer.put_row(Row(Kind.SNAPSHOT, time_ns, time_ns, 1, body))

    def _schedule(self, time_ns: int) -> None:
        self._clock.observers.once_after(time_ns, self._look)

    def _wake_up(self) -> None:
        self._inbox.on_put = self._refuse
        # The run ends at its next instant, not at its next look. Any thread may come here; all
        # it does is bring the look forward.
        self._clock._kernel.mark_at = -1
        self._clock.observers.once_after(-1, self._look)

    def _refuse(self, given: Input) -> None:
        if self.writer.failure is not None:
            raise self.writer.failure

    # ------------------------------------------------------------------ the end

    def close(self, reason: str = "finished", error: BaseException | None = None) -> None:
        """Note why the run ended and finish the file."""
        if self.closed:
            return
        self.closed = True
        self._detach()
        now = self._clock.now
        end = {
            "reason": reason,
            "error": None if error is None else f"{type(error).__name__}: {error}",
            # Accepted and not yet drained: a run that is continued begins with these.
            "waiting": [[i.seq, i.kind, i.payload, i.source] for i in self._inbox.waiting],
            "instants": self._clock.instants,
            "ended": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }
        try:
            if self.writer.failure is None:
                if self._clock.failure is None and reason != "reset":
                    # Hashed as well: a difference after the last look would go unseen.
                    last_ns = self._clock._kernel.last_instant
                    hashing = last_ns > self._hashed_ns
                    self._put_look(last_ns, capture(self.scene), hashing, True)
                self.writer.put_row(Row(Kind.END, now, now, 1, state.encode(end, "end")))
        finally:
            self.writer.close()

    def _detach(self) -> None:
        _RECORDED.pop(self.scene, None)
        for stop in self._stop_watching:
            stop()
        self._stop_watching.clear()
        if self._inbox.queue.gate is self._tape:
            self._inbox.queue.gate = None
        if self._inbox.on_put == self._refuse:
            self._inbox.on_put = None
        if self._watch in self._clock.observers:
            self._clock.observers.remove(self._watch)
        self._clock.observers.cancel(self._look)

    def __enter__(self) -> RunRecorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        reason = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        try:
            self.close(reason, error)
        except MainspringError:
            # The log's own failure is most likely what ended the run: the first error stands.
            if not isinstance(error, MainspringError):
                raise

    def __repr__(self) -> str:
        status = "closed" if self.closed else f"durable to {self.durable_ns} ns"
        return f"RunRecorder({str(self.path)!r}, {status})"


def _check_input(given: Input) -> None:
    state.encode(given.payload, f"the payload of {given.kind!r}")


class _Watch:
    """What the clock and the inbox tell a recording."""

    def __init__(self, recorder: RunRecorder, writer: LogWriter, tape: Tape) -> None:
        self._recorder = recorder
        self._writer = writer
        self._kernel = recorder._clock._kernel
        # Straight into the kernel: with the inbox's gate all that an input costs the run.
        self.inputs = tape.inputs
        if writer.durability == "instant":
            self.end_instant = self._end_instant

    def skipped(self, from_ns: int, to_ns: int) -> None:
        ran = self._kernel.last_instant >= from_ns
        self._writer.put_skip(from_ns, to_ns, state.encode([from_ns, to_ns, ran], "skip"))

    def error(self, registration: Any, error: BaseException) -> None:
        name = None if registration is None else registration.name
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, CallbackError):
            text = error.message
        time_ns = self._kernel.last_instant
        event = ["error", time_ns, {"callback": name, "error": text}]
        self._writer.put_event(time_ns, state.encode(event, "event"))

    def reset(self) -> None:
        # What comes after is another run: time begins again.
        self._recorder.close("reset")

    def _end_instant(self, time_ns: int) -> None:
        self._recorder._position.done_ns = time_ns + 1
        self._writer.flush()
