"""Parts of dates, times and spans of time, and rounding in time."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from operator import attrgetter
from typing import Any

from mainspring.graph.operators._base import TS, TSL, Output, Size, annotated, changed, compute_node
from mainspring.graph.operators._names import (
    datepart,
    day,
    day_of_month,
    days,
    explode,
    hour,
    isoformat,
    isoweekday,
    microsecond,
    microseconds,
    minute,
    month,
    month_of_year,
    second,
    seconds,
    temporal_ceil,
    temporal_floor,
    temporal_round,
    timestamp,
    total_seconds,
    weekday,
    year,
)
from mainspring.graph.operators._scalars import binary, unary

_EPOCH = datetime(1970, 1, 1)


def midnight(value: datetime) -> datetime:
    """Return the midnight that the day of a time began with."""
    return datetime.combine(value.date(), time())


def to_stamp(value: datetime) -> float:
    """Return the seconds from 1970 to a time, UTC."""
    return value.replace(tzinfo=UTC).timestamp()


def _part_of_date(overloaded: Any, read: Callable[[date], int]) -> None:
    def part(ts, _output=None):
        return changed(read(ts.value), _output)

    annotations = {"ts": TS[date], "return": TS[int]}
    compute_node(annotated(part, f"{overloaded.__name__}_date", annotations), overloads=overloaded)


for overloaded, name in (
    (year, "year"), (month, "month"), (month_of_year, "month"), (day, "day"), (day_of_month, "day"),
):  # fmt: skip
    # Of a date it ticks when it changes, of a time whenever that ticks.
    _part_of_date(overloaded, attrgetter(name))
    unary(overloaded, attrgetter(name), datetime, int)
for kind in (date, datetime):
    unary(weekday, lambda value: value.weekday(), kind, int)
    unary(isoweekday, lambda value: value.isoweekday(), kind, int)
for kind in (datetime, time):
    for overloaded in (hour, minute, second, microsecond):
        unary(overloaded, attrgetter(overloaded.__name__), kind, int)
unary(isoformat, lambda value: value.isoformat(), date, str)
unary(timestamp, to_stamp, datetime, float)
unary(datepart, midnight, datetime, datetime)
unary(days, lambda value: value.days, timedelta, int)
unary(seconds, lambda value: value.seconds, timedelta, int)
unary(microseconds, lambda value: value.microseconds, timedelta, int)
unary(total_seconds, lambda value: value.total_seconds(), timedelta, float)


@compute_node(overloads=explode)
def explode_date(
    ts: TS[date], _output: Output[TSL[TS[int], Size[3]]] = None
) -> TSL[TS[int], Size[3]]:
    """Return year, month and day, each ticking when it changes."""
    value = ts.value
    parts = enumerate((value.year, value.month, value.day))
    return {place: part for place, part in parts if changed(part, _output[place]) is not None}


def floored(value: timedelta, quantum: timedelta) -> timedelta:
    """Return the greatest multiple of ``quantum`` that is not greater than ``value``."""
    if quantum <= timedelta():
        raise ValueError(f"the quantum must be positive, not {quantum}")
    return value // quantum * quantum


def ceiled(value: timedelta, quantum: timedelta) -> timedelta:
    """Return the least multiple of ``quantum`` that is not less than ``value``."""
    return -floored(-value, quantum)


def rounded(value: timedelta, quantum: timedelta) -> timedelta:
    """Return the multiple of ``quantum`` nearest to ``value``, a tie going away from zero."""
    down = floored(value, quantum)
    over = value - down
    up = over * 2 > quantum or (over * 2 == quantum and value >= timedelta())
    return down + quantum if up else down


for overloaded, function in (
    (temporal_floor, floored),
    (temporal_ceil, ceiled),
    (temporal_round, rounded),
):
    binary(overloaded, function, timedelta, timedelta, timedelta)


def _rounded_instant(
    overloaded: Any, function: Callable[[timedelta, timedelta], timedelta]
) -> None:
    def instant(value, quantum, origin=_EPOCH):
        return origin + function(value.value - origin, quantum.value)

    annotations = {
        "value": TS[datetime],
        "quantum": TS[timedelta],
        "origin": datetime,
        "return": TS[datetime],
    }
    compute_node(
        annotated(instant, f"{overloaded.__name__}_instant", annotations), overloads=overloaded
    )


for overloaded, function in (
    (temporal_floor, floored),
    (temporal_ceil, ceiled),
    (temporal_round, rounded),
):
    _rounded_instant(overloaded, function)
