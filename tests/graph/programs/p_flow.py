"""Streams made from streams: choosing, filtering, delaying, batching and sampling ticks."""

from datetime import datetime, timedelta
from typing import Tuple

from lib import (
    MIN_TD,
    MIN_ST,
    REMOVE,
    SIGNAL,
    TS,
    TSB,
    TSD,
    TSL,
    TSS,
    TSW,
    CmpResult,
    Removed,
    Size,
    TimeSeriesSchema,
    WindowSize,
    all_,
    any_,
    batch,
    cmp_,
    const,
    dedup,
    default,
    drop,
    drop_dups,
    evaluation_time_in_range,
    filter_,
    freeze,
    gate,
    if_,
    if_cmp,
    if_then_else,
    if_true,
    lag,
    last_modified_date,
    last_modified_time,
    len_,
    max_,
    mean,
    merge,
    min_,
    modified,
    nothing,
    null_sink,
    race,
    reduce_tsd_with_race,
    resample,
    route_by_index,
    sample,
    schedule,
    slice_,
    step,
    sum_,
    take,
    throttle,
    to_window,
    until_true,
    valid,
    window,
    eval_node,
    graph,
)

I = TS[int]
B = TS[bool]
D = TSD[str, I]
L = TSL[I, Size[2]]


def table_if():
    yield (
        "then-else",
        lambda: ticks(
            if_then_else,
            (B, I, I),
            [True, None, False, None, True],
            [1, 2, None, 3, None],
            [10, None, 20, 21, None],
        ),
    )
    yield (
        "then-else-constants",
        lambda: ticks(lambda c: if_then_else(c, "yes", "no"), (B,), [True, True, False]),
    )
    yield (
        "then-else-invalid-branch",
        lambda: ticks(
            if_then_else, (B, I, I), [True, False, True], [1, None, None], [None, None, 3]
        ),
    )
    yield (
        "then-else-dict",
        lambda: ticks(
            if_then_else,
            (B, D, D),
            [True, False, True],
            [{"a": 1}, {"a": 2}, None],
            [{"b": 1}, None, None],
        ),
    )
    yield (
        "if-true",
        lambda: ticks(
            lambda c, v: if_(c, v).true, (B, I), [True, None, False, None, True], [1, 2, 3, 4, None]
        ),
    )
    yield (
        "if-false",
        lambda: ticks(
            lambda c, v: if_(c, v).false,
            (B, I),
            [True, None, False, None, True],
            [1, 2, 3, 4, None],
        ),
    )
    yield "if-both", lambda: ticks(if_, (B, I), [True, None, False, None, True], [1, 2, 3, 4, None])
    yield "if_true", lambda: ticks(if_true, (B,), [True, False, True, True])
    yield (
        "if_true-once",
        lambda: ticks(lambda c: if_true(c, tick_once_only=True), (B,), [False, True, False, True]),
    )
    yield (
        "if_cmp",
        lambda: ticks(
            if_cmp,
            (TS[CmpResult], I, I, I),
            [CmpResult.LT, CmpResult.EQ, CmpResult.GT, None],
            [1, None, None, 11],
            [2, None, None, 22],
            [3, None, None, 33],
        ),
    )
    yield (
        "if_cmp-of-cmp",
        lambda: ticks(
            lambda a, b: if_cmp(cmp_(a, b), "lt", "eq", "gt"), (I, I), [1, 2, 3], [2, 2, 2]
        ),
    )
    yield (
        "route",
        lambda: ticks(
            lambda i, v: route_by_index[TSL[TS[int], Size[3]]](i, v),
            (I, I),
            [0, None, 2, 1],
            [5, 6, 7, None],
        ),
    )


def table_filter():
    yield (
        "plain",
        lambda: ticks(filter_, (B, I), [True, None, False, None, True], [1, 2, 3, 4, None]),
    )
    yield (
        "reopen-unchanged",
        lambda: ticks(filter_, (B, I), [True, False, True, True], [1, None, None, None]),
    )
    yield "condition-late", lambda: ticks(filter_, (B, I), [None, True, False], [1, None, 3])
    yield (
        "tsd",
        lambda: ticks(
            filter_, (B, D), [True, False, None, True], [{"a": 1}, {"b": 2}, {"a": REMOVE}, None]
        ),
    )
    yield "tsl", lambda: ticks(filter_, (B, L), [True, False, True], [(1, 2), {0: 3}, None])
    yield (
        "tss",
        lambda: ticks(
            filter_, (B, TSS[int]), [True, False, None, True], [{1}, {2}, {Removed(1)}, None]
        ),
    )
    yield "until_true", lambda: ticks(until_true, (B,), [False, False, True, False, True])
    yield (
        "until_true-predicate",
        lambda: ticks(lambda v: until_true(lambda x: x > 2, v), (I,), [1, 2, 3, 1, 5]),
    )
    yield "freeze", lambda: ticks(freeze, (B, I), [False, None, True, None, False], [1, 2, 3, 4, 5])
    yield (
        "freeze-predicate",
        lambda: ticks(lambda v: freeze(lambda x: x > 2, v), (I,), [1, 2, 3, 1, 5]),
    )


def table_choose():
    yield (
        "merge",
        lambda: ticks(merge, (I, I, I), [1, None, None, 4], [None, 2, None, 5], [None, None, 3, 6]),
    )
    yield "merge-two-tick", lambda: ticks(merge, (I, I), [1, 1], [2, 3])
    yield "merge-one", lambda: ticks(merge, (I,), [1, None, 3])
    yield (
        "merge-tsl",
        lambda: ticks(merge, (L, L), [(1, 2), {0: 3}, None], [(5, 6), {1: 7}, {0: 8}]),
    )
    yield (
        "merge-tss",
        lambda: ticks(merge, (TSS[int], TSS[int]), [{1}, None, {Removed(1)}], [{2}, {3}, None]),
    )
    yield "race", lambda: ticks(race, (I, I), [None, 2, 3], [1, None, 4])
    yield "race-same-time", lambda: ticks(race, (I, I), [1, 2, None], [5, 6, 7])
    yield "race-three", lambda: ticks(race, (I, I, I), [None, None, 3], [None, 2, 4], [1, 9, 8])
    yield (
        "race-tsd",
        lambda: ticks(race, (D, D), [None, {"a": 1}, {"a": 2}], [{"a": 9}, {"b": 5}, None]),
    )
    yield (
        "race-tsl",
        lambda: ticks(race, (L, L), [None, {0: 1}, {1: 2}], [{0: 9, 1: 8}, {1: 5}, None]),
    )
    yield (
        "reduce_race",
        lambda: ticks(reduce_tsd_with_race, (D,), [{"a": 1}, {"b": 2}, {"a": REMOVE}, {"b": 3}]),
    )
    yield "default", lambda: ticks(default, (I, I), [None, 2, None], [1, None, 5])
    yield "default-constant", lambda: ticks(lambda a: default(a, 7), (I,), [None, 2, None, 3])
    yield "default-at-once", lambda: ticks(lambda a: default(a, 7), (I,), [1, 2])
    yield (
        "all",
        lambda: ticks(all_, (B, B, B), [True, None, False], [True, None, None], [None, True, None]),
    )
    yield (
        "any",
        lambda: ticks(
            any_, (B, B, B), [False, None, True], [False, None, None], [None, False, None]
        ),
    )
    yield "all-one", lambda: ticks(all_, (B,), [True, False])
    yield (
        "all-tsd",
        lambda: ticks(
            all_, (TSD[str, B],), [{"a": True}, {"b": False}, {"b": REMOVE}, {"a": REMOVE}]
        ),
    )
    yield (
        "any-tsd",
        lambda: ticks(
            any_, (TSD[str, B],), [{"a": False}, {"b": True}, {"b": REMOVE}, {"a": REMOVE}]
        ),
    )


def table_count():
    for n in (0, 1, 2, 9):
        yield f"take-{n}", lambda n=n: ticks(lambda a: take(a, n), (I,), [1, 2, None, 3, 4])
        yield f"drop-{n}", lambda n=n: ticks(lambda a: drop(a, n), (I,), [1, 2, None, 3, 4])
    yield "take-default", lambda: ticks(take, (I,), [1, 2, 3])
    yield "drop-default", lambda: ticks(drop, (I,), [1, 2, 3])
    yield "take-time", lambda: ticks(lambda a: take(a, MIN_TD * 2), (I,), [None, 1, 2, 3, 4, 5])
    yield (
        "drop-time",
        lambda: ticks(lambda a: drop(a, period=MIN_TD * 2), (I,), [None, 1, 2, 3, 4, 5]),
    )
    yield (
        "take-reset",
        lambda: ticks(
            lambda a, r: take(a, reset=r, count=2),
            (I, B),
            [1, 2, 3, 4, 5, 6],
            [None, None, None, True],
        ),
    )
    yield "take-tsd", lambda: ticks(lambda a: take(a, 2), (D,), [{"a": 1}, {"b": 2}, {"c": 3}])
    yield "drop-tsd", lambda: ticks(lambda a: drop(a, 1), (D,), [{"a": 1}, {"b": 2}, {"c": 3}])
    yield "drop-tsl", lambda: ticks(lambda a: drop(a, 1), (L,), [{0: 1}, {1: 2}, {0: 3}])
    for n in (1, 2, 3):
        yield f"step-{n}", lambda n=n: ticks(lambda a: step(a, n), (I,), [1, 2, None, 3, 4, 5, 6])
    yield (
        "slice",
        lambda: ticks(lambda a: slice_(a, start=1, stop=6, step_size=2), (I,), list(range(10))),
    )
    yield (
        "slice-open",
        lambda: ticks(lambda a: slice_(a, start=2, stop=-1, step_size=1), (I,), list(range(6))),
    )


def table_same():
    yield "dedup", lambda: ticks(dedup, (I,), [1, 1, 2, 2, 1])
    yield "dedup-float", lambda: ticks(dedup, (TS[float],), [1.0, 1.0 + 1e-16, 2.0, 2.0 + 1e-12])
    yield (
        "dedup-tolerance",
        lambda: ticks(lambda a: dedup(a, abs_tol=0.1), (TS[float],), [1.0, 1.05, 1.2, 1.0]),
    )
    yield "dedup-str", lambda: ticks(dedup, (TS[str],), ["a", "a", "b"])
    yield (
        "dedup-tsd",
        lambda: ticks(dedup, (D,), [{"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1}, {"a": REMOVE}]),
    )
    yield "dedup-tsl", lambda: ticks(dedup, (L,), [(1, 2), (1, 3), {0: 1}])
    yield "dedup-tss", lambda: ticks(dedup, (TSS[int],), [{1}, {1}, {2}])
    yield "drop_dups", lambda: ticks(drop_dups, (I,), [1, 1, 2, 2, 1])


def table_lag():
    yield "count", lambda: ticks(lambda a: lag(a, 2), (I,), [1, 2, None, 3, 4])
    yield "time", lambda: ticks(lambda a: lag(a, MIN_TD * 2), (I,), [1, None, 2, 3])
    yield (
        "time-live",
        lambda: ticks(
            lambda a, p: lag(a, p), (I, TS[timedelta]), [1, None, 2, 3], [MIN_TD, None, MIN_TD * 3]
        ),
    )
    yield (
        "proxy",
        lambda: ticks(lambda a, p: lag(a, 1, p), (I, I), [1, 2, 3, None], [None, 1, None, 1, 1]),
    )
    yield "count-tsd", lambda: ticks(lambda a: lag(a, 1), (D,), [{"a": 1}, {"b": 2}, {"a": REMOVE}])
    yield (
        "time-tsd",
        lambda: ticks(lambda a: lag(a, MIN_TD), (D,), [{"a": 1}, {"b": 2}, {"a": REMOVE}]),
    )
    yield "count-tsl", lambda: ticks(lambda a: lag(a, 1), (L,), [(1, 2), {0: 3}, {1: 4}])
    yield "count-tss", lambda: ticks(lambda a: lag(a, 1), (TSS[int],), [{1}, {2}, {Removed(1)}])


def table_gate():
    yield (
        "plain",
        lambda: ticks(
            gate,
            (B, I),
            [False, None, True, None, False, None, True],
            [1, 2, None, None, 3, 4, None],
        ),
    )
    yield (
        "last-only",
        lambda: ticks(
            lambda c, a: gate(c, a, buffer_length=-1),
            (B, I),
            [False, None, True, None, False, None, True],
            [1, 2, None, None, 3, 4, None],
        ),
    )
    yield (
        "overflow",
        lambda: ticks(
            lambda c, a: gate(c, a, buffer_length=1), (B, I), [False, None, None], [1, 2, 3]
        ),
    )
    yield (
        "close-while-draining",
        lambda: ticks(gate, (B, I), [False, None, True, False, True], [1, 2, 3, None, None]),
    )
    yield (
        "batch",
        lambda: ticks(
            lambda c, a: batch(c, a, MIN_TD * 2),
            (B, I),
            [False, None, True, None, None, None, None],
            [1, 2, None, 3, 4, 5, None],
        ),
    )
    yield (
        "batch-always",
        lambda: ticks(lambda c, a: batch(c, a, MIN_TD * 3), (B, I), [True], [1, 2, 3, 4, 5, 6, 7]),
    )
    yield (
        "batch-overflow",
        lambda: ticks(
            lambda c, a: batch(c, a, MIN_TD, buffer_length=1),
            (B, I),
            [False, None, None],
            [1, 2, 3],
        ),
    )


def table_rate():
    for n in (1, 2, 3):
        yield (
            f"throttle-{n}",
            lambda n=n: ticks(
                lambda a: throttle(a, MIN_TD * n), (I,), [1, 2, 3, None, 4, 5, None, None, None, 6]
            ),
        )
    yield (
        "throttle-delay-first",
        lambda: ticks(
            lambda a: throttle(a, MIN_TD * 2, delay_first_tick=True), (I,), [1, 2, 3, None, 4, 5]
        ),
    )
    yield (
        "throttle-tsd",
        lambda: ticks(
            lambda a: throttle(a, MIN_TD * 2),
            (D,),
            [{"a": 1}, {"a": 2}, {"b": 3}, {"a": REMOVE}, {"c": 1}],
        ),
    )
    yield (
        "throttle-tss",
        lambda: ticks(
            lambda a: throttle(a, MIN_TD * 2), (TSS[int],), [{1}, {2}, {3}, {Removed(2)}]
        ),
    )
    yield (
        "throttle-live",
        lambda: ticks(throttle, (I, TS[timedelta]), [1, 2, 3, 4, 5], [MIN_TD, None, MIN_TD * 2]),
    )
    yield (
        "resample",
        lambda: ticks(
            lambda a: resample(a, MIN_TD * 2),
            (I,),
            [1, None, 2, 3, None, None, 4],
            __end_time__=MIN_ST + MIN_TD * 8,
        ),
    )
    yield (
        "sample",
        lambda: ticks(sample, (B, I), [True, None, True, None, False], [1, 2, None, 3, 4]),
    )
    yield "sample-before-value", lambda: ticks(sample, (B, I), [True, None, True], [None, 2, None])
    yield (
        "sample-tsd",
        lambda: ticks(
            sample, (B, D), [None, True, None, True], [{"a": 1}, {"b": 2}, {"a": 5}, None]
        ),
    )
    yield (
        "sample-tsl",
        lambda: ticks(sample, (B, L), [None, True, None, True], [(1, 2), None, {0: 4}, None]),
    )
    yield (
        "sample-tss",
        lambda: ticks(
            sample, (B, TSS[int]), [None, True, None, True], [{1}, {2}, {Removed(1)}, None]
        ),
    )
    yield (
        "schedule",
        lambda: ticks(lambda: schedule(MIN_TD * 2), (), __end_time__=MIN_ST + MIN_TD * 7),
    )
    yield (
        "schedule-now",
        lambda: ticks(
            lambda: schedule(MIN_TD * 2, initial_delay=False), (), __end_time__=MIN_ST + MIN_TD * 7
        ),
    )
    yield (
        "schedule-limit",
        lambda: ticks(
            lambda: schedule(MIN_TD * 2, max_ticks=2), (), __end_time__=MIN_ST + MIN_TD * 9
        ),
    )
    yield (
        "schedule-live",
        lambda: ticks(
            lambda d: schedule(d),
            (TS[timedelta],),
            [MIN_TD * 2, None, None, MIN_TD * 3],
            __end_time__=MIN_ST + MIN_TD * 12,
        ),
    )


def table_time():
    yield "last_modified_time", lambda: ticks(last_modified_time, (I,), [1, None, 2])
    yield "last_modified_date", lambda: ticks(last_modified_date, (I,), [1, None, 2])
    yield "modified", lambda: ticks(modified, (I,), [1, None, 2, None, None, 3])
    yield "valid", lambda: ticks(valid, (I,), [None, 1, 2])
    yield "valid-at-once", lambda: ticks(valid, (I,), [1, 2])
    yield "valid-never", lambda: ticks(valid, (I,), [None, None])
    yield "valid-tsd", lambda: ticks(valid, (D,), [None, {"a": 1}, {"a": REMOVE}])
    yield "valid-tsl", lambda: ticks(valid, (L,), [None, {0: 1}, {1: 1}])
    yield (
        "in_range",
        lambda: ticks(
            evaluation_time_in_range,
            (TS[datetime], TS[datetime]),
            [MIN_ST + MIN_TD],
            [MIN_ST + MIN_TD * 3],
            __end_time__=MIN_ST + MIN_TD * 6,
        ),
    )


def table_window():
    yield "to_window", lambda: ticks(lambda a: to_window(a, 3), (I,), [1, 2, 3, 4, None, 5])
    yield "to_window-min", lambda: ticks(lambda a: to_window(a, 3, 1), (I,), [1, 2, 3, 4, None, 5])
    yield (
        "to_window-time",
        lambda: ticks(lambda a: to_window(a, MIN_TD * 3, MIN_TD), (I,), [1, 2, 3, 4, None, 5]),
    )
    yield (
        "to_window-reset",
        lambda: ticks(
            lambda a, r: sum_(to_window(a, 3, 1, reset=r)),
            (I, B),
            [1, 2, 3, 4, 5],
            [None, None, True, None, None],
        ),
    )
    for name, op in dict(sum=sum_, mean=mean, min=min_, max=max_, len=len_).items():
        yield (
            f"{name}-of-window",
            lambda op=op: ticks(lambda a: op(to_window(a, 3, 1)), (I,), [3, 1, 2, 8, None, 5]),
        )
        yield (
            f"{name}-of-full-window",
            lambda op=op: ticks(lambda a: op(to_window(a, 3)), (I,), [3, 1, 2, 8, None, 5]),
        )
        yield (
            f"{name}-of-window-float",
            lambda op=op: ticks(
                lambda a: op(to_window(a, 3, 1)), (TS[float],), [3.0, 1.0, 2.5, 8.0]
            ),
        )
    yield "window", lambda: ticks(lambda a: window(a, 3), (I,), [1, 2, 3, 4, None, 5])
    yield "window-min", lambda: ticks(lambda a: window(a, 3, 1), (I,), [1, 2, 3, 4, None, 5])
    yield "window-time", lambda: ticks(lambda a: window(a, MIN_TD * 3), (I,), [1, 2, 3, 4, None, 5])
    yield "window-buffer", lambda: ticks(lambda a: window(a, 2).buffer, (I,), [1, 2, 3])
    yield "window-index", lambda: ticks(lambda a: window(a, 2).index, (I,), [1, 2, 3])
    yield "bad-period", lambda: ticks(lambda a: to_window(a, 0), (I,), [1, 2, 3])
    yield "bad-minimum", lambda: ticks(lambda a: to_window(a, 2, 3), (I,), [1, 2, 3])


def table_sources():
    yield "const", lambda: ticks(lambda: const(5), ())
    yield "const-typed", lambda: ticks(lambda: const(5.0, TS[float]), ())
    yield "const-index", lambda: ticks(lambda: const[TS[int]](5), ())
    yield "const-delay", lambda: ticks(lambda: const(5, delay=MIN_TD * 2), ())
    yield "const-str", lambda: ticks(lambda: const("a"), ())
    yield "const-tuple", lambda: ticks(lambda: const((1, 2)), ())
    yield "const-tuple-as-list", lambda: ticks(lambda: const((1, 2), TSL[I, Size[2]]), ())
    yield "const-dict-as-tsd", lambda: ticks(lambda: const({"a": 1}, D), ())
    yield "const-set-as-tss", lambda: ticks(lambda: const(frozenset({1, 2}), TSS[int]), ())
    yield "const-wrong-type", lambda: ticks(lambda: const("a", TS[int]), ())
    yield "nothing", lambda: ticks(lambda: nothing(TS[int]), ())
    yield "nothing-index", lambda: ticks(lambda: nothing[TS[int]](), ())
    yield "null_sink", lambda: ticks(lambda a: null_sink(a), (I,), [1, 2])
