"""Ticks in time: let through by count or by condition, delayed, spread out, put together.

All of them work on any time series. Those that drop ticks pass on, when they let one through, all that
changed since the last one; those that queue keep every change apart.
"""

from collections import deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Any

from mainspring.graph._wirable import Bound, Wirable
from mainspring.graph.operators._base import (
    CLOCK,
    MIN_TD,
    REMOVE,
    SCALAR,
    SCHEDULER,
    SIGNAL,
    SIZE,
    STATE,
    TIME_SERIES_TYPE,
    TS,
    TS_OUT,
    TSL,
    CmpResult,
    Output,
    TSLm,
    TSWm,
    changed,
    compute_node,
    from_the_start,
    graph,
    is_dict,
    is_group,
    is_set,
    made_node,
)
from mainspring.graph.operators._delta import change, joined, whole
from mainspring.graph.operators._names import (
    batch,
    dedup,
    drop,
    evaluation_time_in_range,
    filter_,
    freeze,
    gate,
    lag,
    last_modified_date,
    last_modified_time,
    last_modified_wall_clock_time,
    merge,
    modified,
    resample,
    sample,
    slice_,
    step,
    take,
    throttle,
    until_true,
    valid,
)
from mainspring.graph.operators._scalars import same

# --- by condition ----------------------------------------------------------------------------


@compute_node(overloads=filter_, valid=("ts",))
def filter_any(
    condition: TS[bool],
    ts: TIME_SERIES_TYPE,
    _state: STATE = None,
    _output: Output[TIME_SERIES_TYPE] = None,
) -> TIME_SERIES_TYPE:
    """Let ticks through while the condition holds; when it holds again, all there is if any was held."""
    if not condition.valid or not condition.value:
        _state.shut = True
        _state.held = getattr(_state, "held", False) or ts.modified
        return None
    shut, held = getattr(_state, "shut", False), getattr(_state, "held", False)
    _state.shut = _state.held = False
    if not held and not ts.modified:
        return None
    return change(ts, _output, shut)


@compute_node(overloads=sample, active=("signal",))
def sample_any(
    signal: SIGNAL, ts: TIME_SERIES_TYPE, _output: Output[TIME_SERIES_TYPE] = None
) -> TIME_SERIES_TYPE:
    """Return all of the time series whenever the signal ticks."""
    return whole(ts, _output)


@compute_node(overloads=freeze, valid=("predicate",))
def freeze_any(predicate: TS[bool], ts: TIME_SERIES_TYPE) -> TIME_SERIES_TYPE:
    """Let ticks through up to the cycle in which the predicate is true."""
    result = ts.delta_value if ts.modified else None
    if predicate.value:
        predicate.make_passive()
        ts.make_passive()
    return result


# --- by count and time -----------------------------------------------------------------------


@compute_node(overloads=slice_)
def slice_any(
    ts: TIME_SERIES_TYPE,
    start: int,
    stop: int,
    step_size: int,
    _state: STATE = None,
    _output: Output[TIME_SERIES_TYPE] = None,
) -> TIME_SERIES_TYPE:
    """Let the ticks at the places of a slice through, counted from 0; a negative stop is none.

    There is no place before the first, so a negative start lets none through.
    """
    place = getattr(_state, "place", 0)
    if start < 0 or 0 <= stop <= place:
        ts.make_passive()
        return None
    _state.place = place + 1
    if place < start or (place - start) % step_size:
        _state.held = True
        return None
    held = getattr(_state, "held", False)
    _state.held = False
    return change(ts, _output, held)


@graph(overloads=take)
def take_count(ts: TIME_SERIES_TYPE, count: int = 1) -> TIME_SERIES_TYPE:
    """Let the first ticks through."""
    return slice_(ts, 0, max(count, 0), 1)


@graph(overloads=drop)
def drop_count(ts: TIME_SERIES_TYPE, count: int = 1) -> TIME_SERIES_TYPE:
    """Leave the first ticks out."""
    return slice_(ts, max(count, 0), -1, 1)


@graph(overloads=step)
def step_any(ts: TIME_SERIES_TYPE, step_size: int) -> TIME_SERIES_TYPE:
    """Let every so manyth tick through, from the first on."""
    return slice_(ts, 0, -1, step_size)


@compute_node(overloads=take)
def take_time(
    ts: TIME_SERIES_TYPE, count: timedelta, _state: STATE = None, _clock: CLOCK = None
) -> TIME_SERIES_TYPE:
    """Let ticks through for a span of time from the first one on."""
    now = _clock.evaluation_time
    if not hasattr(_state, "until"):
        _state.until = now + count
    if now > _state.until:
        ts.make_passive()
        return None
    return ts.delta_value


@compute_node(overloads=take, valid=("ts",))
def take_reset(
    ts: TIME_SERIES_TYPE,
    reset: SIGNAL,
    count: int = 1,
    _state: STATE = None,
    _output: Output[TIME_SERIES_TYPE] = None,
) -> TIME_SERIES_TYPE:
    """Let the first ticks after each reset through."""
    if reset.modified:
        _state.taken = 0
    if not ts.modified:
        return None
    taken = getattr(_state, "taken", 0)
    if taken >= count:
        return None
    _state.taken = taken + 1
    return whole(ts, _output)


@compute_node(overloads=drop)
def drop_time(
    ts: TIME_SERIES_TYPE,
    period: timedelta,
    _state: STATE = None,
    _clock: CLOCK = None,
    _scheduler: SCHEDULER = None,
    _output: Output[TIME_SERIES_TYPE] = None,
) -> TIME_SERIES_TYPE:
    """Leave ticks out for a span of time from the first one on; what there is at its end ticks then."""
    now = _clock.evaluation_time
    if not hasattr(_state, "until"):
        _state.until = now + period
        _state.held = False
        if period >= timedelta():
            _scheduler.schedule(period + MIN_TD, tag="open")
    if now <= _state.until:
        _state.held = True
        return None
    held, _state.held = _state.held, False
    return change(ts, _output, held)


# --- later -----------------------------------------------------------------------------------


@compute_node(overloads=lag)
def lag_count(ts: TIME_SERIES_TYPE, period: int, _state: STATE = None) -> TIME_SERIES_TYPE:
    """Return the change of so many ticks ago."""
    _state.queue.append(ts.delta_value)
    return _state.queue.popleft() if len(_state.queue) > period else None


@lag_count.start
def lag_count_start(period: int, _state: STATE) -> None:
    """Begin with an empty queue."""
    if period < 1:
        raise ValueError(f"lag: the number of ticks must be positive, not {period}")
    _state.queue = deque()


@compute_node(overloads=lag)
def lag_time(
    ts: TIME_SERIES_TYPE,
    period: timedelta,
    on_wall_clock: bool = False,
    _state: STATE = None,
    _scheduler: SCHEDULER = None,
    _clock: CLOCK = None,
) -> TIME_SERIES_TYPE:
    """Return every change a span of time later."""
    return _late(ts, period, on_wall_clock, _state, _scheduler, _clock)


@compute_node(overloads=lag, active=("ts",))
def lag_time_live(
    ts: TIME_SERIES_TYPE,
    period: TS[timedelta],
    _state: STATE = None,
    _scheduler: SCHEDULER = None,
    _clock: CLOCK = None,
) -> TIME_SERIES_TYPE:
    """Return every change later by the span that holds when it arrives."""
    return _late(ts, period.value, False, _state, _scheduler, _clock)


def _late(ts: Any, period: timedelta, wall: bool, state: Any, scheduler: Any, clock: Any) -> Any:
    now = clock.evaluation_time
    queue = state.queue
    if ts.modified:
        queue.append((now + period, ts.delta_value))
        if wall:
            scheduler.schedule(period, on_wall_clock=True)
        else:
            scheduler.schedule(now + period)
    result = None
    due = [entry for entry in queue if entry[0] <= now]
    if due and (not ts.modified or scheduler.is_scheduled_now):
        for entry in due:
            queue.remove(entry)
            result = entry[1] if result is None else joined(result, entry[1])
    return result


@lag_time.start
def lag_time_start(_state: STATE) -> None:
    """Begin with an empty queue."""
    _state.queue = deque()


@lag_time_live.start
def lag_time_live_start(_state: STATE) -> None:
    """Begin with an empty queue."""
    _state.queue = deque()


@compute_node(overloads=lag)
def lag_proxy(
    ts: TIME_SERIES_TYPE, period: int, proxy: SIGNAL, _state: STATE = None
) -> TIME_SERIES_TYPE:
    """Return every change so many ticks of the proxy later."""
    if proxy.modified:
        _state.count += 1
    if ts.modified:
        due = _state.count + period
        waiting = _state.due.get(due)
        _state.due[due] = ts.delta_value if waiting is None else joined(waiting, ts.delta_value)
    return _state.due.pop(_state.count, None) if proxy.modified else None


@lag_proxy.start
def lag_proxy_start(_state: STATE) -> None:
    """Begin with no tick of the proxy and nothing waiting."""
    _state.count = 0
    _state.due = {}


# --- queues ----------------------------------------------------------------------------------


@compute_node(overloads=gate, valid=("condition",))
def gate_any(
    condition: TS[bool],
    ts: TIME_SERIES_TYPE,
    buffer_length: int = 2**63 - 1,
    _state: STATE = None,
    _scheduler: SCHEDULER = None,
) -> TIME_SERIES_TYPE:
    """Queue ticks while the condition does not hold, and let them out one a cycle when it does."""
    queue = _state.queue
    if ts.valid and ts.modified:
        if buffer_length < 0:
            queue.clear()
        elif not condition.value and len(queue) >= buffer_length:
            raise OverflowError(f"gate: more than {buffer_length} ticks wait for the condition")
        queue.append(ts.delta_value)
    if not condition.value or not queue:
        return None
    result = queue.popleft()
    if queue:
        _scheduler.schedule(MIN_TD, tag="next")
    return result


@gate_any.start
def gate_any_start(buffer_length: int, _state: STATE) -> None:
    """Begin with an empty queue."""
    if buffer_length == 0:
        raise ValueError("gate: the length of the queue must be positive")
    _state.queue = deque()


@compute_node(overloads=batch, valid=("condition",))
def batch_scalars(
    condition: TS[bool],
    ts: TS[SCALAR],
    delay: timedelta,
    buffer_length: int = 2**63 - 1,
    use_wall_clock: bool = False,
    _state: STATE = None,
    _scheduler: SCHEDULER = None,
) -> TS[tuple[SCALAR, ...]]:
    """Gather values, and let them out together at least `delay` apart while the condition holds."""
    queue = _state.queue
    if ts.valid and ts.modified:
        if len(queue) >= buffer_length:
            raise OverflowError(f"batch: more than {buffer_length} values wait to be let out")
        queue.append(ts.value)
    if not condition.value or not queue:
        return None
    if condition.modified or _scheduler.is_scheduled_now:
        result = tuple(queue)
        queue.clear()
        return result
    if not _scheduler.has_tag("next"):
        _scheduler.schedule(delay, tag="next", on_wall_clock=use_wall_clock)
    return None


@batch_scalars.start
def batch_scalars_start(_state: STATE) -> None:
    """Begin with an empty queue."""
    _state.queue = deque()


@compute_node(overloads=throttle, valid=("ts", "period"), active=("ts",))
def throttle_any(
    ts: TIME_SERIES_TYPE,
    period: TS[timedelta],
    delay_first_tick: bool = False,
    use_wall_clock: bool = False,
    _state: STATE = None,
    _scheduler: SCHEDULER = None,
) -> TIME_SERIES_TYPE:
    """Let at most one tick through in a period, with all that changed in it."""
    if period.value <= timedelta():
        raise ValueError(f"throttle: the period must be positive, not {period.value}")
    if ts.modified:
        waiting = _state.waiting
        _state.waiting = ts.delta_value if waiting is None else joined(waiting, ts.delta_value)
    due = _scheduler.is_scheduled_now
    if not due:
        if _scheduler.has_tag("next"):
            return None
        if delay_first_tick and not _state.began:
            _state.began = True
            _scheduler.schedule(period.value, tag="next", on_wall_clock=use_wall_clock)
            return None
    result, _state.waiting = _state.waiting, None
    if result is not None:
        _state.began = True
        _scheduler.schedule(period.value, tag="next", on_wall_clock=use_wall_clock)
    return result


@throttle_any.start
def throttle_any_start(_state: STATE) -> None:
    """Begin with nothing waiting."""
    _state.waiting = None
    _state.began = False


@compute_node(overloads=resample, active=(), valid=())
def resample_any(
    ts: TIME_SERIES_TYPE,
    period: timedelta,
    _scheduler: SCHEDULER = None,
    _output: Output[TIME_SERIES_TYPE] = None,
) -> TIME_SERIES_TYPE:
    """Return all of the time series once a period, whether it ticked or not."""
    _scheduler.schedule(period)
    return whole(ts, _output) if ts.valid else None


@resample_any.start
def resample_any_start(period: timedelta, _scheduler: SCHEDULER) -> None:
    """Ask for the end of the first period."""
    if period <= timedelta():
        raise ValueError(f"resample: the period must be positive, not {period}")
    _scheduler.schedule(period)


# --- same values, many sources -----------------------------------------------------------------


def _no_window(bindings: Any, scalars: Any) -> bool | str:
    return not isinstance(bindings[TIME_SERIES_TYPE], TSWm) or "every tick of a window is new"


@compute_node(overloads=dedup, requires=_no_window)
def dedup_any(ts: TIME_SERIES_TYPE, _output: Output[TIME_SERIES_TYPE] = None) -> TIME_SERIES_TYPE:
    """Leave out what does not differ from what was let through."""
    return _news(ts, _output)


def _news(ts: Any, output: Any) -> Any:
    """The part of this cycle's change that says something new; None for no part."""
    if not output.valid:
        return whole(ts, output) if not is_set(ts) or len(ts) else None
    delta = ts.delta_value
    if is_dict(ts):
        news = {
            key: item
            for key, item in ts.modified_items()
            if key in ts and (key not in output or _news(item, output[key]) is not None)
        }
        result: dict[Any, Any] = {
            key: _news(item, output[key]) if key in output else whole(item, None)
            for key, item in news.items()
        }
        result.update((key, REMOVE) for key in ts.removed_keys() if key in output)
        return result or None
    if is_set(ts):
        return delta if ts.added() or ts.removed() else None
    if is_group(ts):
        result = {key: _news(item, output[key]) for key, item in ts.modified_items()}
        return {key: item for key, item in result.items() if item is not None} or None
    return None if same(ts.value, output.value) else delta


@compute_node(overloads=merge, valid=(), requires=lambda bound, _: bound[SIZE].SIZE > 1)
def merge_any(
    *tsl: TSL[TIME_SERIES_TYPE, SIZE], _output: Output[TIME_SERIES_TYPE] = None
) -> TIME_SERIES_TYPE:
    """Return all of the first time series that ticked."""
    # order: of the arguments
    for ts in tsl.values():
        if ts.modified and ts.valid:
            return whole(ts, _output)
    return None


@graph(overloads=merge)
def merge_one(ts: TIME_SERIES_TYPE):
    """Of a list, its elements merged; anything else as it is."""
    return merge(*ts) if isinstance(ts.output_type.dereference(), TSLm) else ts


# --- what is known of a time series ------------------------------------------------------------


@from_the_start
@compute_node(overloads=valid, valid=())
def valid_any(
    ts: TIME_SERIES_TYPE, _scheduler: SCHEDULER = None, _output: TS_OUT[bool] = None
) -> TS[bool]:
    """Whether there is a value, when that changes."""
    return changed(bool(ts.valid), _output)


@from_the_start
@compute_node(overloads=modified, valid=())
def modified_any(
    ts: SIGNAL, _scheduler: SCHEDULER = None, _output: TS_OUT[bool] = None
) -> TS[bool]:
    """True in a cycle in which it ticks, false in the next, and at the start."""
    if ts.modified:
        _scheduler.schedule(MIN_TD, tag="after")
        return True
    return changed(False, _output)


@compute_node(overloads=last_modified_time)
def last_modified_time_any(ts: SIGNAL, _clock: CLOCK = None) -> TS[datetime]:
    """The evaluation time of each tick."""
    return _clock.evaluation_time


@compute_node(overloads=last_modified_date)
def last_modified_date_any(
    ts: SIGNAL, _clock: CLOCK = None, _output: TS_OUT[date] = None
) -> TS[date]:
    """The date of each tick."""
    return _clock.evaluation_time.date()


@compute_node(overloads=last_modified_wall_clock_time)
def last_modified_wall_clock_time_any(ts: SIGNAL, _clock: CLOCK = None) -> TS[datetime]:
    """What the wall clock shows as each tick is evaluated."""
    return _clock.now


@graph(overloads=until_true)
def until_predicate(predicate: Callable, ts: TIME_SERIES_TYPE) -> TS[bool]:
    """What a predicate says of a time series, up to the first time it is true."""
    if isinstance(predicate, Wirable | Bound):
        return until_true(predicate(ts))

    def asked(one: Any, output: Any) -> Any:
        return None if output.valid and output.value else bool(predicate(one.value))

    tp = ts.output_type.dereference()
    return made_node("until_true", asked, {"ts": tp}, TS[bool])(ts)


@graph(overloads=freeze)
def freeze_by_predicate(predicate: Callable, ts: TIME_SERIES_TYPE) -> TIME_SERIES_TYPE:
    """Let ticks through up to the cycle in which a predicate of them is true."""
    return freeze(until_true(predicate, ts), ts)


def _standing(now: Any, start: Any, end: Any) -> CmpResult:
    if now < start:
        return CmpResult.LT
    return CmpResult.EQ if now <= end else CmpResult.GT


@compute_node(overloads=evaluation_time_in_range)
def in_range_of_times(
    start_time: TS[datetime],
    end_time: TS[datetime],
    _clock: CLOCK = None,
    _scheduler: SCHEDULER = None,
    _output: TS_OUT[CmpResult] = None,
) -> TS[CmpResult]:
    """Whether it is before, in or after a span of time, said again when that changes."""
    now, start, end = _clock.evaluation_time, start_time.value, end_time.value
    if now < start:
        _scheduler.schedule(start, tag="next")
    elif now <= end:
        _scheduler.schedule(end + MIN_TD, tag="next")
    return changed(_standing(now, start, end), _output)


@compute_node(overloads=evaluation_time_in_range)
def in_range_of_dates(
    start_time: TS[date],
    end_time: TS[date],
    _clock: CLOCK = None,
    _scheduler: SCHEDULER = None,
    _output: TS_OUT[CmpResult] = None,
) -> TS[CmpResult]:
    """Whether it is before, in or after a span of dates, said again when that changes."""
    today, start, end = _clock.evaluation_time.date(), start_time.value, end_time.value
    if today < start:
        _scheduler.schedule(datetime.combine(start, time()), tag="next")
    elif today <= end:
        _scheduler.schedule(datetime.combine(end + timedelta(days=1), time()), tag="next")
    return changed(_standing(today, start, end), _output)


@compute_node(overloads=evaluation_time_in_range)
def in_range_of_day(
    start_time: TS[time],
    end_time: TS[time],
    _clock: CLOCK = None,
    _scheduler: SCHEDULER = None,
    _output: TS_OUT[CmpResult] = None,
) -> TS[CmpResult]:
    """Whether it is in a part of the day (EQ) or yet to be (LT), every day anew.

    After its end one waits for that of the next day. A part that ends before it starts goes over midnight.
    """
    now, start, end = _clock.evaluation_time, start_time.value, end_time.value
    moment = now.time()
    inside = start <= moment <= end if start <= end else moment >= start or moment <= end
    standing = CmpResult.EQ if inside else CmpResult.LT
    today = datetime.combine(now.date(), time())
    bounds = [
        datetime.combine(now.date(), start),
        datetime.combine(now.date(), end) + MIN_TD,
        today + timedelta(days=1),
    ]
    _scheduler.schedule(min(bound for bound in bounds if bound > now), tag="next")
    return changed(standing, _output)
