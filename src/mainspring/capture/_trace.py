"""A trace of the schedule: when every frame, instant, phase and callback ran, and what was late.

    with Trace(scene) as trace:
        scene.run(seconds=2)
    trace.save("trace.json")   # for ui.perfetto.dev or chrome://tracing
    trace.save("trace.svg")    # where time went, at a glance

The promise: while nobody traces, nothing is measured and nothing slows down; while somebody
does, an instant costs a few clock reads more and its results are the same. Wall times are
nanoseconds of the monotonic clock, and stay in the trace: none reaches the simulation.

A callback's time runs from the end of the one before it, so it includes the few nanoseconds
of being called. `limit` bounds how many spans are kept; the sums go on beyond it, and the
trace says so.

**Late** is an instant that began after its wall time in a paced run, and, run as fast as it
goes, one that took longer than the sim time up to the next: in real time it would have been.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import msgspec

from mainspring.capture._errors import CaptureError
from mainspring.capture._outputs import Outputs
from mainspring.clock import FrameReport, Phase, Registration, TimeManager, TimeMode

if TYPE_CHECKING:
    from mainspring.scene import Scene

__all__ = ["CallbackTime", "InstantSpan", "Span", "Trace", "check_target"]

LATE_NS = 1_000_000
"""Waiting for a wall time is exact to some tens of microseconds; below a millisecond is on time."""


# What a trace keeps holds texts and numbers alone: the collector need not walk through it, which
# would show in the trace as time that the run never took.


class Span(msgspec.Struct, frozen=True, gc=False):
    """Something that took wall time, counted from the start of the trace."""

    name: str
    kind: str
    """A phase's name, `inputs` or `free update`."""
    runner: str
    sim_ns: int
    begin_ns: int
    end_ns: int


class InstantSpan(msgspec.Struct, frozen=True, gc=False):
    """One instant, and how late it was."""

    sim_ns: int
    begin_ns: int
    end_ns: int
    late_ns: int
    first_span: int
    """Its spans are those from here to the next instant's."""


class FrameSpan(msgspec.Struct, frozen=True, gc=False):
    """One frame of the outer loop."""

    number: int
    begin_ns: int
    end_ns: int
    instants: int
    forgiven_ns: int
    skipped_ns: int


class CallbackTime(msgspec.Struct, gc=False):
    """What one callback took in all."""

    name: str
    kind: str
    runner: str
    calls: int = 0
    total_ns: int = 0
    max_ns: int = 0


class _Instant:
    """The instant under way."""

    __slots__ = ("begin_ns", "first_span", "late_ns", "sim_ns")

    def __init__(self, sim_ns: int, begin_ns: int, late_ns: int, first_span: int) -> None:
        self.sim_ns = sim_ns
        self.begin_ns = begin_ns
        self.late_ns = late_ns
        self.first_span = first_span


class Trace:
    """Watches a scene, or a time manager of its own, from `start` to `stop`."""

    def __init__(self, scene: Scene | TimeManager, *, limit: int = 1_000_000) -> None:
        self._time: TimeManager = scene if isinstance(scene, TimeManager) else scene.time
        self.name = scene.name
        self._limit = limit
        self._origin = 0
        self._mark = 0
        self._open: _Instant | None = None
        self._inputs_begin: tuple[int, int, int] | None = None
        self._frame_begin: int | None = None
        self._on_time: int | None = None
        self._watching = False
        self.spans: list[Span] = []
        self.instants: list[InstantSpan] = []
        self.frames: list[FrameSpan] = []
        self.skips: list[tuple[int, int, int]] = []
        """Wall time, and from where to where sim time jumped."""
        self.errors: list[tuple[int, str]] = []
        self.callbacks: dict[int, CallbackTime] = {}
        """By the registration's identity, in the order they first ran."""
        self.dropped = 0
        """Spans beyond the limit."""
        self.wall_ns = 0
        self.sim_begin_ns = 0
        self.sim_end_ns = 0

    # -- watching ------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to watch."""
        if self._watching:
            raise CaptureError("this trace is watching already")
        self._watching = True
        self._time.observers.add(self)
        self._origin = perf_counter_ns() - self.wall_ns
        self.sim_begin_ns = self._time.now if not self.instants else self.sim_begin_ns

    def stop(self) -> None:
        """Stop watching; what was seen stays."""
        if self._watching:
            self._watching = False
            self._time.observers.remove(self)
            self.wall_ns = perf_counter_ns() - self._origin
            self.sim_end_ns = self._time.now

    def __enter__(self) -> Trace:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # An observer's methods; called by the time manager.

    def begin_frame(self, elapsed_ns: int) -> None:
        self._frame_begin = self._mark = perf_counter_ns()

    def inputs(self, time_ns: int, inputs: list[Any]) -> None:
        self._inputs_begin = (time_ns, len(inputs), perf_counter_ns())

    def begin_instant(self, time_ns: int) -> None:
        now = perf_counter_ns()
        begin, given = now, self._inputs_begin
        if given is not None and given[0] == time_ns:
            begin = given[2]
        self._open = _Instant(time_ns, begin, self._lateness(time_ns, begin), len(self.spans))
        if begin is not now:
            self._inputs_begin = None
            count = given[1] if given is not None else 0
            self._add(-1, f"{count} inputs", "inputs", "", time_ns, begin, now)
        self._mark = perf_counter_ns()

    def called(self, registration: Registration) -> None:
        now = perf_counter_ns()
        open_ = self._open
        sim_ns = open_.sim_ns if open_ is not None else self._time.now
        self._add(
            id(registration),
            registration.name,
            _PHASE_NAMES[registration.phase],
            registration.runner.name,
            sim_ns,
            self._mark,
            now,
        )
        self._mark = perf_counter_ns()

    def called_free(self, registration: Any) -> None:
        now = perf_counter_ns()
        self._add(
            id(registration), registration.name, "free update", "", self._time.now, self._mark, now
        )
        self._mark = perf_counter_ns()

    def end_instant(self, time_ns: int) -> None:
        now = perf_counter_ns()
        open_, self._open = self._open, None
        self._mark = now
        if open_ is None:
            return
        if len(self.instants) < self._limit:
            self.instants.append(
                InstantSpan(
                    time_ns,
                    open_.begin_ns - self._origin,
                    now - self._origin,
                    open_.late_ns,
                    open_.first_span,
                )
            )
        else:
            self.dropped += 1

    def frame(self, report: FrameReport) -> None:
        now = perf_counter_ns()
        begin = self._frame_begin if self._frame_begin is not None else now - report.used_ns
        if self._on_time is not None:
            # What was forgiven is not owed any more; what was skipped was paid by the jump.
            self._on_time += report.forgiven_ns
        if len(self.frames) < self._limit:
            self.frames.append(
                FrameSpan(
                    report.frame,
                    begin - self._origin,
                    now - self._origin,
                    report.instants,
                    report.forgiven_ns,
                    report.skipped_ns,
                )
            )
        else:
            self.dropped += 1

    def skipped(self, from_ns: int, to_ns: int) -> None:
        self.skips.append((perf_counter_ns() - self._origin, from_ns, to_ns))

    def error(self, registration: Registration | None, error: BaseException) -> None:
        name = "the inbox or an observer" if registration is None else registration.name
        self.errors.append((perf_counter_ns() - self._origin, f"{name}: {error}"))

    def _lateness(self, time_ns: int, wall_ns: int) -> int:
        """How long after its wall time an instant of a paced run begins; 0 in an unpaced one."""
        if self._frame_begin is None or self._time.mode is TimeMode.SIM_HIGH_PERFORMANCE:
            return 0
        offset = wall_ns - time_ns
        if self._on_time is None or offset < self._on_time:
            self._on_time = offset  # nothing runs early, so the earliest seen was on time
        return offset - self._on_time

    def _add(
        self, key: int, name: str, kind: str, runner: str, sim_ns: int, begin: int, end: int
    ) -> None:
        found = self.callbacks.get(key)
        if found is None:
            shown = "inputs" if key == -1 else name
            found = self.callbacks[key] = CallbackTime(shown, kind, runner)
        found.calls += 1
        found.total_ns += end - begin
        found.max_ns = max(found.max_ns, end - begin)
        if len(self.spans) < self._limit:
            origin = self._origin
            self.spans.append(Span(name, kind, runner, sim_ns, begin - origin, end - origin))
        else:
            self.dropped += 1

    # -- what was seen -------------------------------------------------------------------

    @property
    def paced(self) -> bool:
        """Whether instants had a wall time to keep."""
        return self._on_time is not None

    def late(self) -> list[tuple[InstantSpan, int]]:
        """Every late instant, and by how much (see above)."""
        if self.paced:
            return [(one, one.late_ns) for one in self.instants if one.late_ns >= LATE_NS]
        found = []
        for one, after in zip(self.instants, self.instants[1:], strict=False):
            over = one.end_ns - one.begin_ns - (after.sim_ns - one.sim_ns)
            if over > 0:
                found.append((one, over))
        return found

    def spans_of(self, index: int) -> list[Span]:
        """What ran in the `index`-th instant."""
        begin = self.instants[index].first_span
        last = index + 1 == len(self.instants)
        end = len(self.spans) if last else self.instants[index + 1].first_span
        until = self.instants[index].end_ns
        return [span for span in self.spans[begin:end] if span.end_ns <= until]

    def by_cost(self) -> list[CallbackTime]:
        """What took how long in all, the costliest first."""
        # order: total, then the order they first ran (the sort is stable)
        return sorted(self.callbacks.values(), key=lambda callback: -callback.total_ns)

    # -- saving --------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace as `.json` (Chrome's and Perfetto's format), `.svg` or `.png`."""
        target = check_target(path)
        with Outputs() as files:
            if target.suffix == ".json":
                from mainspring.capture._trace_json import trace_json

                files.add(target).write_bytes(trace_json(self))
            else:
                from mainspring.capture._trace_picture import trace_picture

                trace_picture(self).save(files.add(target), target.suffix)
        return target


def check_target(path: str | os.PathLike[str]) -> Path:
    """Refuse a name that no trace can be written to, before anything is run to fill it."""
    target = Path(path)
    if target.suffix not in (".json", ".svg", ".png"):
        raise CaptureError(
            f"a trace cannot be written as {target.suffix or 'a file without a suffix'}",
            hint="use .json, .svg or .png",
        )
    return target


_PHASE_NAMES = {phase: str(phase) for phase in Phase}
