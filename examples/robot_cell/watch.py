"""The graph that watches the cell: statistics of scan and tracking, live, and an alarm.

    scan ────> nearest ──┬──> alarm (with hysteresis) ──> alarms ──┐
                         └──> smoothed ────────────────────────────┼──> report
    tracker ─> error ───────> worst of the last second ────────────┘

It runs in the Validation phase of the scan's runner, so it sees the scan of the same instant, and
what it says can be read in that instant's Export phase. It is a part of the scene's state.
"""

from __future__ import annotations

import numpy as np

from mainspring import Phase, Scene
from mainspring.graph import (
    STATE,
    TS,
    TS_OUT,
    TSB,
    GraphSubsystem,
    TimeSeriesSchema,
    compute_node,
    graph,
)


class Report(TimeSeriesSchema):
    """What the graph says."""

    nearest: TS[float]
    smoothed: TS[float]
    worst_error: TS[float]
    alarm: TS[bool]
    alarms: TS[int]


@compute_node
def smooth(ts: TS[float], share: float, _state: STATE = None) -> TS[float]:
    """A running mean that gives each new value its share."""
    before = getattr(_state, "mean", None)
    _state.mean = ts.value if before is None else before + share * (ts.value - before)
    return _state.mean


@compute_node
def worst(ts: TS[float], count: int, _state: STATE = None) -> TS[float]:
    """The largest of the last `count` values."""
    _state.last = [*getattr(_state, "last", []), ts.value][-count:]
    return max(_state.last)


@compute_node
def near(ts: TS[float], raise_at: float, clear_at: float, _output: TS_OUT[bool] = None) -> TS[bool]:
    """Up when something comes nearer than `raise_at`, down when it is past `clear_at` again."""
    up = bool(_output.valid and _output.value)
    wanted = ts.value < (clear_at if up else raise_at)
    return wanted if wanted != up or not _output.valid else None


@compute_node
def count(ts: TS[bool], _state: STATE = None) -> TS[int]:
    """How often it was true."""
    _state.count = getattr(_state, "count", 0) + ts.value
    return _state.count


@graph
def watch(nearest: TS[float], error: TS[float], raise_at: float, clear_at: float) -> TSB[Report]:
    """The whole of it."""
    alarm = near(nearest, raise_at, clear_at)
    return TSB[Report].from_ts(
        nearest=nearest,
        smoothed=smooth(nearest, 0.2),
        worst_error=worst(error, 10),
        alarm=alarm,
        alarms=count(alarm),
    )


class Watch(GraphSubsystem):
    """The graph in the scene: fed by the scanner and the tracker, read as `watch.value`."""

    default_phase = Phase.VALIDATION

    def __init__(self, raise_at: float = 1.0, clear_at: float = 1.3) -> None:
        inputs = {"nearest": self._nearest, "error": self._error}
        super().__init__(watch, inputs=inputs, raise_at=raise_at, clear_at=clear_at)

    def attach(self, scene: Scene) -> None:
        """Meets the scanner; the tracker comes later."""
        super().attach(scene)
        self._cell, self._scan = scene, scene.subsystems["scan"]

    def _nearest(self) -> float:
        # Nothing within reach is inf, and before the first scan everything is NaN.
        return float(np.fmin.reduce(self._scan.value, initial=6.0))

    def _error(self) -> float:
        return float(self._cell.scripts["tracker"].error)
