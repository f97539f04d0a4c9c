"""Running statistics over ticks, windows and collections."""

import warnings
from datetime import timedelta
from typing import Tuple

from lib import (
    MIN_ST,
    MIN_TD,
    REMOVE,
    TS,
    TSD,
    TSL,
    TSS,
    DivideByZero,
    Size,
    accumulate,
    average,
    center_of_mass_to_alpha,
    clip,
    count,
    diff,
    ewma,
    max_,
    mean,
    min_,
    pct_change,
    quantile,
    rolling_average,
    span_to_alpha,
    std,
    sum_,
    to_window,
    var,
)

I = TS[int]
F = TS[float]
B = TS[bool]
FLOATS = [1.0, 4.0, None, 2.5, 2.5, -1.0]
INTS = [1, 4, None, 2, 2, -1]


def table_running():
    for name, op in dict(
        mean=mean,
        average=average,
        sum=sum_,
        accumulate=accumulate,
        min=min_,
        max=max_,
        std=std,
        var=var,
        diff=diff,
        count=count,
    ).items():
        yield f"{name}-float", lambda op=op: ticks(op, (F,), FLOATS)
        yield f"{name}-int", lambda op=op: ticks(op, (I,), INTS)


def table_reset():
    reset = [None, None, None, True, None, True]
    yield "count", lambda: ticks(lambda a, r: count(a, reset=r), (I, B), INTS, reset)
    yield (
        "count-reset-alone",
        lambda: ticks(
            lambda a, r: count(a, reset=r), (I, B), [1, 2, None, 4], [None, None, True, None]
        ),
    )
    yield "sum", lambda: ticks(lambda a, r: sum_(a, reset=r), (I, B), INTS, reset)
    yield (
        "sum-reset-alone",
        lambda: ticks(
            lambda a, r: sum_(a, reset=r), (I, B), [1, 2, None, 4], [None, None, True, None]
        ),
    )
    yield "mean", lambda: ticks(lambda a, r: mean(a, reset=r), (F, B), FLOATS, reset)
    yield "min", lambda: ticks(lambda a, r: min_(a, reset=r), (I, B), INTS, reset)
    yield "max", lambda: ticks(lambda a, r: max_(a, reset=r), (I, B), INTS, reset)
    yield "std", lambda: ticks(lambda a, r: std(a, reset=r), (F, B), FLOATS, reset)


def table_shape():
    yield "std-tsl", lambda: ticks(std, (TSL[F, Size[3]],), [(1.0, 2.0, 4.0), {0: 5.0}])
    yield "var-tsl", lambda: ticks(var, (TSL[F, Size[3]],), [(1.0, 2.0, 4.0), {0: 5.0}])
    yield "std-tss", lambda: ticks(std, (TSS[int],), [{1, 2, 4}])
    yield "var-tsd", lambda: ticks(var, (TSD[str, F],), [{"a": 1.0, "b": 3.0}, {"b": REMOVE}])
    yield (
        "std-tsd",
        lambda: ticks(std, (TSD[str, I],), [{"a": 1, "b": 3}, {"b": REMOVE}, {"a": REMOVE}]),
    )
    yield "std-many", lambda: ticks(std, (F, F, F), [1.0, None], [2.0, 3.0], [6.0, None])
    yield "var-many", lambda: ticks(var, (I, I, I), [1, None], [2, 3], [6, None])
    yield "std-window", lambda: ticks(lambda a: std(to_window(a, 3, 1)), (F,), FLOATS)
    yield "var-window", lambda: ticks(lambda a: var(to_window(a, 3, 1)), (F,), FLOATS)
    yield "std-window-ddof", lambda: ticks(lambda a: std(to_window(a, 3, 2), ddof=1), (F,), FLOATS)
    yield "std-tuple", lambda: ticks(std, (TS[Tuple[float, ...]],), [(1.0, 3.0), ()])
    yield "count-str", lambda: ticks(count, (TS[str],), ["a", None, "b"])
    yield "count-tsd", lambda: ticks(count, (TSD[str, I],), [{"a": 1}, {"b": 1}])


def table_change():
    yield "clip-int", lambda: ticks(lambda a: clip(a, 0, 3), (I,), [-5, 2, 9])
    yield "clip-float", lambda: ticks(lambda a: clip(a, 0.0, 3.0), (F,), [-5.0, 2.0, 9.0])
    yield "clip-live", lambda: ticks(clip, (I, I, I), [5, None, None], [0, None, 7], [3, 9, None])
    yield "clip-inverted", lambda: ticks(lambda a: clip(a, 3, 0), (I,), [1])
    yield "ewma", lambda: ticks(lambda a: ewma(a, 0.5), (F,), FLOATS)
    yield "ewma-span", lambda: ticks(lambda a: ewma(a, span_to_alpha(3.0)), (F,), FLOATS)
    yield "ewma-com", lambda: ticks(lambda a: ewma(a, center_of_mass_to_alpha(2.0)), (F,), FLOATS)
    yield "pct_change", lambda: ticks(pct_change, (F,), FLOATS)
    yield "pct_change-2", lambda: ticks(lambda a: pct_change(a, 2), (F,), FLOATS)
    yield "pct_change-int", lambda: ticks(pct_change, (I,), INTS)
    yield "pct_change-zero", lambda: ticks(pct_change, (F,), [0.0, 1.0])
    for rule in DivideByZero:
        yield (
            f"pct_change-zero-{rule.name}",
            lambda rule=rule: ticks(lambda a: pct_change(a, divide_by_zero=rule), (F,), [0.0, 1.0]),
        )
    yield "pct_change-bad-period", lambda: ticks(lambda a: pct_change(a, 0), (F,), FLOATS)
    yield "rolling", lambda: ticks(lambda a: rolling_average(a, 2), (F,), FLOATS)
    yield "rolling-int", lambda: ticks(lambda a: rolling_average(a, 3), (I,), INTS)
    yield "rolling-min", lambda: ticks(lambda a: rolling_average(a, 3, 1), (F,), FLOATS)
    yield "rolling-time", lambda: ticks(lambda a: rolling_average(a, MIN_TD * 2), (F,), FLOATS)
    yield (
        "rolling-time-min",
        lambda: ticks(lambda a: rolling_average(a, MIN_TD * 2, MIN_TD), (F,), FLOATS),
    )
    yield (
        "quantile-window",
        lambda: ticks(lambda a: quantile(to_window(a, 3, 1), 0.5), (F,), FLOATS),
    )
    yield (
        "quantile-tuple",
        lambda: ticks(lambda a: quantile(a, 0.25), (TS[Tuple[float, ...]],), [(1.0, 2.0, 4.0)]),
    )


def case_alphas():
    return [center_of_mass_to_alpha(1.0), span_to_alpha(3.0)]


def case_bad_span():
    return span_to_alpha(0.0)


def case_bad_center():
    return center_of_mass_to_alpha(0.0)
