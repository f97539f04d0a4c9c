"""Parts of dates, times and spans of time, and rounding in time."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from mainspring.graph.operators._base import TS, TSL, Size, annotated, compute_node
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


def _to_stamp(value: datetime) -> float:
    return value.replace(tzinfo=UTC).timestamp()


for kind in (date, datetime):
    unary(year, lambda value: value.year, kind, int)
    unary(month, lambda value: value.month, kind, int)
    unary(day, lambda value: value.day, kind, int)
    unary(day_of_month, lambda value: value.day, kind, int)
    unary(month_of_year, lambda value: value.month, kind, int)
    unary(weekday, lambda value: value.weekday(), kind, int)
    unary(isoweekday, lambda value: value.isoweekday(), kind, int)
for kind in (datetime, time):
    unary(hour, lambda value: value.hour, kind, int)
    unary(minute, lambda value: value.minute, kind, int)
    unary(second, lambda value: value.second, kind, int)
    unary(microsecond, lambda value: value.microsecond, kind, int)
unary(isoformat, lambda value: value.isoformat(), date, str)
unary(timestamp, _to_stamp, datetime, float)
unary(datepart, lambda value: datetime.combine(value.date(), time()), datetime, datetime)
unary(days, lambda value: value.days, timedelta, int)
unary(seconds, lambda value: value.seconds, timedelta, int)
unary(microseconds, lambda value: value.microseconds, timedelta, int)
unary(total_seconds, lambda value: value.total_seconds(), timedelta, float)


@compute_node(overloads=explode)
def explode_date(ts: TS[date]) -> TSL[TS[int], Size[3]]:
    """Return year, month and day, each ticking when it changes."""
    value = ts.value
    return value.year, value.month, value.day


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
