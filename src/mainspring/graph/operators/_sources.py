"""Sources: constants, what never ticks, what ticks by the clock, and what changes nothing."""

from datetime import datetime, timedelta
from typing import Any

from mainspring.graph._operator import BuiltIn
from mainspring.graph.operators._base import (
    CLOCK,
    SCHEDULER,
    STATE,
    TS,
    EvaluationEngineApi,
    TSDm,
    WiringError,
    compute_node,
    const_of,
    generator,
    nothing_of,
    type_name,
)
from mainspring.graph.operators._names import schedule

_IDENTITIES: dict[str, dict[Any, Any]] = {
    "add_": {int: 0, float: 0.0, str: "", tuple: ()},
    "sum_": {int: 0, float: 0.0, str: ""},
    "sub_": {int: 0, float: 0.0},
    "mul_": {int: 1, float: 1.0},
    "min_": {int: 2**63 - 1, float: float("inf")},
    "max_": {int: -(2**63), float: float("-inf")},
    "and_": {bool: True},
    "or_": {bool: False},
    "all_": {bool: True},
    "any_": {bool: False},
    "bit_and": {int: -1, bool: True},
    "bit_or": {int: 0, bool: False},
    "bit_xor": {int: 0, bool: False},
}


class Zero:
    """``zero(TS[int], add_)``: a constant that changes nothing when the operator takes it."""

    __name__ = "zero"

    def __call__(self, tp: Any, op: Any) -> Any:
        name = getattr(op, "__name__", str(op))
        if isinstance(tp, TSDm):
            return nothing_of(tp)
        known = _IDENTITIES.get(name, {})
        scalar = getattr(tp, "scalar", None)
        if scalar not in known:
            raise WiringError(f"there is no zero of {type_name(tp)} for {name}")
        return const_of(known[scalar], tp)


zero = BuiltIn(Zero())


@generator(overloads=schedule)
def schedule_fixed(
    delay: timedelta,
    initial_delay: bool = True,
    max_ticks: int = 2**63 - 1,
    use_wall_clock: bool = False,
    _api: EvaluationEngineApi = None,
) -> TS[bool]:
    """Tick true once in every `delay`, from the start on or from a `delay` after it."""
    if delay <= timedelta():
        raise ValueError(f"schedule: the delay must be positive, not {delay}")
    start = _api.start_time
    first = 1 if initial_delay else 0
    for i in range(first, first + max_ticks):
        yield start + i * delay, True


@compute_node(overloads=schedule)
def schedule_live(
    delay: TS[timedelta],
    initial_delay: bool = True,
    max_ticks: int = 2**63 - 1,
    use_wall_clock: bool = False,
    _state: STATE = None,
    _scheduler: SCHEDULER = None,
) -> TS[bool]:
    """Tick true once in every `delay`, which may change."""
    ticks = getattr(_state, "ticks", 0)
    if delay.modified:
        _scheduler.schedule(delay.value, on_wall_clock=use_wall_clock)
        if ticks or initial_delay or not max_ticks:
            return None
        _state.ticks = 1
        return True
    if ticks >= max_ticks:
        return None
    _state.ticks = ticks + 1
    if ticks + 1 < max_ticks:
        _scheduler.schedule(delay.value, on_wall_clock=use_wall_clock)
    return True


@compute_node(overloads=schedule)
def schedule_from(
    delay: TS[timedelta],
    start: TS[datetime],
    initial_delay: bool = True,
    max_ticks: int = 2**63 - 1,
    use_wall_clock: bool = False,
    _state: STATE = None,
    _scheduler: SCHEDULER = None,
    _clock: CLOCK = None,
) -> TS[bool]:
    """Tick true on the grid of `delay` that goes through `start`; at once too, without a delay."""
    now = _clock.evaluation_time
    ticks = getattr(_state, "ticks", 0)
    changed = delay.modified or start.modified
    due = not initial_delay if changed else _scheduler.is_scheduled_now
    result = None
    if due and ticks < max_ticks:
        _state.ticks = ticks = ticks + 1
        result = True
    if ticks < max_ticks:
        passed = max((now - start.value) // delay.value + 1, 1 if initial_delay else 0)
        _scheduler.schedule(start.value + passed * delay.value)
    return result
