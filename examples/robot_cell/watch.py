"""The graph that watches the cell: statistics of scan and tracking, live, and an alarm.

    scan ──> nearest ──> alarm (with hysteresis) ──┐
                └──> smoothed ─────────────────────┼──> report
    tracker ──> error ──> worst of the last second ┘

It runs in the Validation phase of the scan's runner, so it sees the scan of the same instant, and
what it says can be read in that instant's Export phase.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

from mainspring import Phase, Scene, StepContext, Subsystem
from mainspring.graph import (
    MIN_ST,
    SCHEDULER,
    STATE,
    TS,
    TS_OUT,
    GraphConfiguration,
    RunningGraph,
    compute_node,
    const,
    graph,
    sink_node,
    wire_graph,
)

EVERY = timedelta(milliseconds=100)
START_NS = 1_000  # graphs count from the first microsecond of 1970


@compute_node
def smoothed(ts: TS[float], share: float, _state: STATE = None) -> TS[float]:
    """A running mean that gives each new value its share."""
    before = getattr(_state, "mean", None)
    mean = ts.value if before is None else before + share * (ts.value - before)
    _state.mean = mean
    return mean


@compute_node
def worst(ts: TS[float], count: int, _state: STATE = None) -> TS[float]:
    """The largest of the last `count` values."""
    last = [*getattr(_state, "last", []), ts.value][-count:]
    _state.last = last
    return max(last)


@compute_node
def alarm(
    nearest: TS[float], raise_at: float, clear_at: float, _output: TS_OUT[bool] = None
) -> TS[bool]:
    """Up when something comes nearer than `raise_at`, down when it is past `clear_at` again."""
    up = bool(_output.valid and _output.value)
    wanted = nearest.value < (clear_at if up else raise_at)
    return wanted if wanted != up or not _output.valid else None


class Watch(Subsystem):
    """The graph as a part of the scene. It only looks."""

    watching: ClassVar[bool] = True
    default_phase = Phase.VALIDATION

    def __init__(self, raise_at: float = 1.0, clear_at: float = 1.3) -> None:
        self.name = "watch"
        self._limits = (raise_at, clear_at)
        self.nearest = self.smoothed = self.worst_error = float("nan")
        self.alarm = False
        self.alarms = 0
        """How often it was raised."""

    def attach(self, scene: Scene) -> None:
        """Meets the scanner and the tracker."""
        self._scan = scene.subsystems["scan"]
        self._scene = scene

    def start(self) -> None:
        """Wires the graph."""
        raise_at, clear_at = self._limits

        @compute_node
        def scanned(begin: TS[bool], _scheduler: SCHEDULER = None) -> TS[float]:
            _scheduler.schedule(EVERY)
            value: Any = self._scan.value
            return float(np.min(value, initial=6.0, where=np.isfinite(value)))

        @compute_node
        def tracked(begin: TS[bool], _scheduler: SCHEDULER = None) -> TS[float]:
            _scheduler.schedule(EVERY)
            return float(self._scene.scripts["tracker"].error)

        @sink_node
        def report(nearest: TS[float], mean: TS[float], error: TS[float]) -> None:
            self.nearest, self.smoothed = nearest.value, mean.value
            self.worst_error = error.value

        @sink_node
        def ring(up: TS[bool]) -> None:
            self.alarm = up.value
            self.alarms += up.value

        @graph
        def watch() -> None:
            begin = const(True)
            nearest = scanned(begin)
            report(nearest, smoothed(nearest, 0.2), worst(tracked(begin), 10))
            ring(alarm(nearest, raise_at, clear_at))

        self._graph = RunningGraph(wire_graph(watch), GraphConfiguration(start_time=MIN_ST))
        self._graph.start()

    def step(self, context: StepContext) -> None:
        """One cycle, at the scene's time."""
        self._graph.evaluate(START_NS + context.time)

    def stop(self) -> None:
        """Takes the graph down."""
        self._graph.stop()
        self._graph.dispose()
