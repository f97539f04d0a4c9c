"""Statistics over the elements of a collection, a window or several time series, and running ones.

Running sums, means, spreads, extremes, differences and counts of numbers are native (``_native.py``). A
collection is gone over whenever it ticks; a list or dictionary counts the elements that have a value.
"""

import functools
import math
import operator as python
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from mainspring.graph.operators._base import (
    COMPOUND_SCALAR,
    ENUM,
    NUMBER,
    SCALAR,
    SCHEDULER,
    SIZE,
    STATE,
    TS,
    TSD,
    TSL,
    TSS,
    DivideByZero,
    K,
    TSDm,
    TSLm,
    TSm,
    annotated,
    compute_node,
    from_the_start,
)
from mainspring.graph.operators._names import (
    max_,
    mean,
    min_,
    pct_change,
    std,
    sum_,
    var,
)
from mainspring.graph.operators._scalars import place_of


def total_of(values: Iterable[Any]) -> Any:
    """Return the sum, added from left to right: `sum` corrects floats, and not in every Python."""
    return functools.reduce(python.add, values, 0)


def mean_of(values: Iterable[Any]) -> float:
    """Return the mean; of nothing, NaN."""
    kept = list(values)
    return total_of(kept) / len(kept) if kept else math.nan


def variance_of(values: Iterable[Any], ddof: int = 1) -> float:
    """Return the variance; of too few values, 0."""
    kept = [float(value) for value in values]
    if len(kept) <= ddof or not kept:
        return 0.0
    centre = total_of(kept) / len(kept)
    return float(total_of((value - centre) * (value - centre) for value in kept)) / (
        len(kept) - ddof
    )


def variance_about_first(values: Iterable[Any]) -> float:
    """Return the variance, counted from the first value; of too few values, 0."""
    kept = [float(value) for value in values]
    if len(kept) < 2:
        return 0.0
    offs = [value - kept[0] for value in kept]
    total = total_of(offs)
    return (total_of(off * off for off in offs) - total * total / len(offs)) / (len(offs) - 1)


def deviation_about_first(values: Iterable[Any]) -> float:
    """Return the standard deviation, counted from the first value."""
    return math.sqrt(variance_about_first(values))


def deviation_of(values: Iterable[Any], ddof: int = 1) -> float:
    """Return the standard deviation; of too few values, 0."""
    return math.sqrt(variance_of(values, ddof))


def least_of(values: Iterable[Any]) -> Any:
    """Return the least value; of nothing, no tick."""
    return min(values, default=None)


def greatest_of(values: Iterable[Any]) -> Any:
    """Return the greatest value; of nothing, no tick."""
    return max(values, default=None)


Reduction = Callable[[Iterable[Any]], Any]

# operator, function, does the result have the type of the elements?, the types of number it takes
REDUCTIONS: list[tuple[Any, Reduction, bool, tuple[Any, ...]]] = [
    (min_, least_of, True, (SCALAR,)),
    (max_, greatest_of, True, (SCALAR,)),
    (sum_, total_of, True, (int, float)),
    (mean, mean_of, False, (int, float)),
    (std, deviation_of, False, (int, float)),
    (var, variance_of, False, (int, float)),
]


def _collection(overloaded: Any, function: Reduction, kind: Any, out: Any, read: Any) -> None:
    def node(ts):
        return function(read(ts))

    _declare(node, overloaded, {"ts": kind, "return": TS[out]})


def _collection_or(overloaded: Any, function: Reduction, kind: Any, out: Any, read: Any) -> None:
    def node(ts, default_value):
        values = list(read(ts))
        if values:
            return function(values)
        return default_value.value if default_value.valid else None

    annotations = {"ts": kind, "default_value": TS[out], "return": TS[out]}
    _declare(node, overloaded, annotations, valid=("ts",))


def _declare(node: Any, overloaded: Any, annotations: dict[str, Any], **options: Any) -> Any:
    annotated(node, f"{overloaded.__name__.strip('_')}_of_collection", annotations)
    return compute_node(node, overloads=overloaded, **options)


def _of_scalar(ts: Any) -> Any:
    return ts.value


def _of_set(ts: Any) -> Any:
    return ts.values()


def _of_mapping(ts: Any) -> Any:
    return ts.value.values()


def _of_children(ts: Any) -> Any:
    return [item.value for item in ts.valid_values()]


# The spread of a collection that is one value is counted from its first, of several values from their mean.
_OF_VALUES = {variance_of: variance_about_first, deviation_of: deviation_about_first}

for overloaded, spread, same, kinds in REDUCTIONS:
    for kind in kinds:
        out = kind if same else float
        for collection, read in (
            (TS[tuple[kind, ...]], _of_scalar),
            (TS[frozenset[kind]], _of_scalar),
            (TS[Mapping[K, kind]], _of_mapping),
            (TSS[kind], _of_set),
            (TSD[K, TS[kind]], _of_children),
            (TSL[TS[kind], SIZE], _of_children),
        ):
            if overloaded is mean and isinstance(collection, TSLm | TSDm):
                continue
            function = _OF_VALUES.get(spread, spread) if isinstance(collection, TSm) else spread
            _collection(overloaded, function, collection, out, read)
            # A list or set and a value are the two sides of `+` and the like, not this.
            if isinstance(collection, TSm) or (same and collection == TSS[kind] and kind is SCALAR):
                _collection_or(overloaded, function, collection, out, read)


@compute_node(
    overloads=pct_change,
    requires=lambda _, scalars: scalars["period"] > 0 or "the period must be positive",
)
def pct_change_number(
    ts: TS[NUMBER],
    period: int = 1,
    divide_by_zero: DivideByZero = DivideByZero.ERROR,
    _state: STATE = None,
) -> TS[float]:
    """The change since so many ticks ago, as a fraction of the value then."""
    kept = _state.kept
    kept.append(float(ts.value))
    if len(kept) <= period:
        return None
    before = kept.popleft()
    if before == 0.0:
        return by_zero(divide_by_zero, "pct_change")
    return (kept[-1] - before) / before


@pct_change_number.start
def pct_change_start(_state: STATE) -> None:
    """Begin with nothing kept."""
    _state.kept = deque()


def by_zero(rule: DivideByZero, name: str) -> float | None:
    """Return what a rule gives for a zero divisor; None for no tick."""
    if rule is DivideByZero.ERROR:
        raise ZeroDivisionError(f"{name}: division by zero")
    return {
        DivideByZero.NAN: math.nan,
        DivideByZero.INF: math.inf,
        DivideByZero.NONE: None,
        DivideByZero.ZERO: 0.0,
        DivideByZero.ONE: 1.0,
    }[rule]


def quantile_of(values: Iterable[Any], q: float, method: str = "linear") -> float:
    """Return a quantile, between values as the method says."""
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"quantile: q must be between 0 and 1, not {q}")
    kept = sorted(float(value) for value in values)
    if not kept:
        raise ValueError("quantile: there are no values")
    place = q * (len(kept) - 1)
    low = math.floor(place)
    high = min(low + 1, len(kept) - 1)
    over = place - low
    if method == "linear":
        return kept[low] + (kept[high] - kept[low]) * over
    if method == "lower":
        return kept[low]
    if method == "higher":
        return kept[high if over > 0.0 else low]
    if method == "midpoint":
        return kept[low] if over == 0.0 else (kept[low] + kept[high]) / 2.0
    if method == "nearest":
        return kept[low if over < 0.5 or (over == 0.5 and low % 2 == 0) else high]
    raise ValueError(f"quantile: no method {method!r}; linear, lower, higher, midpoint or nearest")


def span_to_alpha(span: float) -> float:
    """Return the weight of a new value for an `ewma` over a span of ticks."""
    if span < 1.0:
        raise ValueError(f"span_to_alpha: the span must be at least 1, not {span}")
    return 2.0 / (span + 1.0)


def center_of_mass_to_alpha(com: float) -> float:
    """Return the weight of a new value for an `ewma` with a centre of mass."""
    if com <= 0.0:
        raise ValueError(f"center_of_mass_to_alpha: the centre of mass must be positive, not {com}")
    return 1.0 / (com + 1.0)


def _running(overloaded: Any, better: Callable[[Any, Any], bool], kind: Any) -> None:
    def node(ts, _output=None):
        value = ts.value
        if _output.valid and not better(place_of(value), place_of(_output.value)):
            return None
        return value

    _declare(node, overloaded, {"ts": TS[kind], "return": TS[kind]})


for kind in (bool, str, bytes, date, datetime, time, timedelta, ENUM, COMPOUND_SCALAR):
    _running(min_, python.lt, kind)
    _running(max_, python.gt, kind)


def mean_of_places(ts: Any) -> float:
    """Return the mean of a list over all its places, one without a value counting as zero."""
    return float(total_of(_of_children(ts)) / len(ts))


def _spread_of_two(overloaded: Any, function: Reduction, kind: Any) -> None:
    def spread_of_two(lhs, rhs):
        return function((lhs.value, rhs.value))

    _declare(spread_of_two, overloaded, {"lhs": TS[kind], "rhs": TS[kind], "return": TS[float]})


for kind in (int, float):
    _spread_of_two(std, deviation_of, kind)
    _spread_of_two(var, variance_of, kind)

    def mean_of_list(ts):
        return mean_of_places(ts)

    def mean_of_dict(ts, _scheduler=None):
        return mean_of(_of_children(ts))

    _declare(mean_of_list, mean, {"ts": TSL[TS[kind], SIZE], "return": TS[float]})
    annotations = {"ts": TSD[K, TS[kind]], "_scheduler": SCHEDULER, "return": TS[float]}
    from_the_start(_declare(mean_of_dict, mean, annotations, valid=()))
