"""The last values: as a window (TSW), as a bundle of values and times, and statistics over a window."""

import math
from collections import deque
from datetime import timedelta
from typing import Any

from mainspring.graph.operators._base import (
    AUTO_RESOLVE,
    CLOCK,
    NUMBER,
    SCALAR,
    SCHEDULER,
    SIGNAL,
    STATE,
    TS,
    TS_OUT,
    TSB,
    TSW,
    WINDOW_SIZE,
    WINDOW_SIZE_MIN,
    EvaluationEngineApi,
    Output,
    WindowSize,
    WiringError,
    changed,
    compute_node,
    graph,
)
from mainspring.graph.operators._names import (
    abs_,
    len_,
    max_,
    mean,
    min_,
    quantile,
    rolling_average,
    std,
    sum_,
    to_window,
    window,
)
from mainspring.graph.operators._schemas import WindowResult
from mainspring.graph.operators._statistics import deviation_of, quantile_of, total_of


@compute_node
def into_window(ts: TS[SCALAR]) -> TSW[SCALAR, WINDOW_SIZE, WINDOW_SIZE_MIN]:
    """Keep the last values."""
    return ts.value


@compute_node(valid=("ts",))
def into_window_until_reset(
    ts: TS[SCALAR], reset: SIGNAL, _output: Output[TSW[SCALAR, WINDOW_SIZE, WINDOW_SIZE_MIN]] = None
) -> TSW[SCALAR, WINDOW_SIZE, WINDOW_SIZE_MIN]:
    """Keep the last values since the reset ticked."""
    if reset.modified:
        _output.clear()
    return ts.value if ts.modified else None


def _sizes(period: Any, least: Any) -> tuple[Any, Any]:
    zero = timedelta() if isinstance(period, timedelta) else 0
    least = period if least is None else least
    if period <= zero:
        raise WiringError(
            f"to_window: the period must be positive, not {period}",
            hint="give the number of ticks, or the span of time, to keep",
        )
    if least < zero or least > period:
        raise WiringError(
            f"to_window: the least size must be between 0 and the period, {period}; it is {least}"
        )
    return WindowSize[period], WindowSize[least]


def _to_window(ts: Any, period: Any, least: Any, reset: Any) -> Any:
    size, minimum = _sizes(period, least)
    node = into_window if reset is None else into_window_until_reset
    ports = (ts,) if reset is None else (ts, reset)
    return node[WINDOW_SIZE:size, WINDOW_SIZE_MIN:minimum](*ports)


@graph(overloads=to_window)
def to_window_ticks(
    ts: TS[SCALAR], period: int, min_window_period: int = None, reset: SIGNAL = None
):
    """Keep so many of the last values; valid from `min_window_period` values on."""
    return _to_window(ts, period, min_window_period, reset)


@graph(overloads=to_window)
def to_window_time(
    ts: TS[SCALAR], period: timedelta, min_window_period: timedelta = None, reset: SIGNAL = None
):
    """Keep the values of a span of time; valid once `min_window_period` of it has passed."""
    return _to_window(ts, period, min_window_period, reset)


@compute_node(overloads=window)
def window_ticks(
    ts: TS[SCALAR],
    period: int,
    min_window_period: int = None,
    _state: STATE = None,
    _clock: CLOCK = None,
) -> TSB[WindowResult[SCALAR]]:
    """Keep so many of the last values, with their times, as two tuples."""
    kept = _state.kept
    kept.append((_clock.evaluation_time, ts.value))
    if len(kept) < (period if min_window_period is None else min_window_period):
        return None
    return _buffered(kept)


@window_ticks.start
def window_ticks_start(period: int, _state: STATE) -> None:
    """Begin with nothing kept."""
    _state.kept = deque(maxlen=period)


@compute_node(overloads=window)
def window_time(
    ts: TS[SCALAR],
    period: timedelta,
    min_window_period: timedelta = None,
    _state: STATE = None,
    _clock: CLOCK = None,
) -> TSB[WindowResult[SCALAR]]:
    """Keep the values of a span of time, with their times, as two tuples."""
    now, kept = _clock.evaluation_time, _state.kept
    kept.append((now, ts.value))
    while kept[0][0] < now - period:
        kept.popleft()
    least = period if min_window_period is None else min_window_period
    if now - kept[0][0] < least:
        return None
    return _buffered(kept)


@window_time.start
def window_time_start(_state: STATE) -> None:
    """Begin with nothing kept."""
    _state.kept = deque()


def _buffered(kept: Any) -> Any:
    return {"buffer": tuple(value for _, value in kept), "index": tuple(when for when, _ in kept)}


def _running_total(ts: Any, state: Any) -> Any:
    """Return the sum of a window: each value is added as it comes, and taken off as it goes."""
    values = ts.value.tolist()
    kept = state.get("kept")
    if kept is None:
        kept = state.kept = deque()
    kept.append(values[-1])
    state.total = state.get("total", 0) + values[-1]
    while len(kept) > len(values):
        state.total -= kept.popleft()
    if list(kept) != values:  # the input leads to another window, or has missed some of this one
        state.kept, state.total = deque(values), total_of(values)
    return state.total


def _total_over_window(number: Any) -> None:
    def sum_of_window(ts, _state=None):
        return _running_total(ts, _state)

    def mean_of_window(ts, _state=None):
        total = _running_total(ts, _state)
        return total / len(ts.value) if ts.all_valid else None

    for node, overloaded, out in ((sum_of_window, sum_, number), (mean_of_window, mean, float)):
        kind = TSW[number, WINDOW_SIZE, WINDOW_SIZE_MIN]
        node.__annotations__ = {"ts": kind, "_state": STATE, "return": TS[out]}
        compute_node(node, overloads=overloaded)


def _extreme_over_window(overloaded: Any, function: Any) -> None:
    def extreme_of_window(ts):
        return function(ts.value.tolist())

    kind = TSW[SCALAR, WINDOW_SIZE, WINDOW_SIZE_MIN]
    extreme_of_window.__annotations__ = {"ts": kind, "return": TS[SCALAR]}
    compute_node(extreme_of_window, overloads=overloaded, all_valid=("ts",))

    def extreme_of_window_or(ts, default_value, size=AUTO_RESOLVE):
        if ts.all_valid:
            return function(ts.value.tolist())
        return default_value.value if size.TIME is not None else None

    extreme_of_window_or.__annotations__ = {
        "ts": kind,
        "default_value": TS[SCALAR],
        "size": type[WINDOW_SIZE],
        "return": TS[SCALAR],
    }
    extreme_of_window_or.__doc__ = (
        "The same; of a window of a span of time, the default until it is full."
    )
    compute_node(extreme_of_window_or, overloads=overloaded, valid=("ts", "default_value"))


for number in (int, float):
    _total_over_window(number)
_extreme_over_window(min_, min)
_extreme_over_window(max_, max)


@compute_node(overloads=abs_)
def abs_window(
    ts: TSW[NUMBER, WINDOW_SIZE, WINDOW_SIZE_MIN],
) -> TSW[NUMBER, WINDOW_SIZE, WINDOW_SIZE_MIN]:
    """The window of the absolute values."""
    return abs(ts.value.tolist()[-1])


@compute_node(overloads=len_)
def len_window(
    ts: TSW[SCALAR, WINDOW_SIZE, WINDOW_SIZE_MIN], _output: TS_OUT[int] = None
) -> TS[int]:
    """How many values are kept, when it changes."""
    return changed(len(ts.value), _output)


@compute_node(overloads=quantile, all_valid=("a",))
def quantile_window(
    a: TSW[NUMBER, WINDOW_SIZE, WINDOW_SIZE_MIN],
    q: TS[float],
    method: str = "linear",
    keepdims: bool = False,
) -> TS[float]:
    """A quantile of the values kept, between two of them as `method` says."""
    return quantile_of(a.value, q.value, method)


@compute_node(overloads=std, all_valid=("ts",))
def std_window(ts: TSW[NUMBER, WINDOW_SIZE, WINDOW_SIZE_MIN], ddof: int = 0) -> TS[float]:
    """The standard deviation of the values kept (of the population, unless `ddof` says else)."""
    return deviation_of(ts.value, ddof)


@compute_node(
    overloads=rolling_average,
    requires=lambda _, scalars: scalars["period"] > 0 or "the period must be positive",
)
def rolling_average_ticks(
    ts: TS[NUMBER], period: int, min_window_period: int = None, _state: STATE = None
) -> TS[float]:
    """The mean of so many of the last values."""
    sums = _state.sums
    _state.count += 1
    sums.append(sums[-1] + ts.value)
    if _state.count <= period if min_window_period is None else _state.count < min_window_period:
        return None
    return (sums[-1] - sums[0]) / (len(sums) - 1)


@rolling_average_ticks.start
def rolling_average_ticks_start(period: int, _state: STATE) -> None:
    """Begin with no value: the sums are those of all values up to each one kept, from one before it."""
    _state.sums = deque([0], maxlen=period + 1)
    _state.count = 0


@compute_node(overloads=rolling_average)
def rolling_average_time(
    ts: TS[NUMBER],
    period: timedelta,
    min_window_period: timedelta = None,
    _state: STATE = None,
    _clock: CLOCK = None,
    _scheduler: SCHEDULER = None,
    _api: EvaluationEngineApi = None,
) -> TS[float]:
    """The mean of the values of a span of time, said again as values leave it."""
    now, sums = _clock.evaluation_time, _state.sums
    if ts.modified:
        sums.append((now, sums[-1][1] + ts.value))
        _scheduler.schedule(now + period)
    while len(sums) > 1 and sums[1][0] <= now - period:
        sums.popleft()
    if now - _api.start_time < period:
        return None
    return (sums[-1][1] - sums[0][1]) / (len(sums) - 1) if len(sums) > 1 else math.nan


@rolling_average_time.start
def rolling_average_time_start(_state: STATE) -> None:
    """Begin with no value: the sums are those of all values up to each one kept, from one before it."""
    _state.sums = deque([(None, 0)])
