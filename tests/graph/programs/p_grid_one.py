"""Every operator of one with every type it takes: inputs that come late, together, again, empty and go."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from lib import (
    REMOVE,
    TS,
    TSB,
    TSD,
    TSL,
    TSS,
    CompoundScalar,
    Removed,
    Size,
    TimeSeriesSchema,
    abs_,
    accumulate,
    all_,
    any_,
    average,
    bit_and,
    bit_or,
    bit_xor,
    collapse_keys,
    count,
    datepart,
    day,
    day_of_month,
    days,
    dedup,
    diff,
    difference,
    drop,
    drop_dups,
    emit,
    explode,
    flip,
    flip_keys,
    hour,
    if_true,
    intersection,
    invert_,
    is_empty,
    isoformat,
    isoweekday,
    keys_,
    last_modified_date,
    last_modified_time,
    len_,
    ln,
    max_,
    mean,
    merge,
    microsecond,
    microseconds,
    min_,
    minute,
    modified,
    month,
    month_of_year,
    neg_,
    not_,
    pct_change,
    pos_,
    race,
    reduce_tsd_with_race,
    second,
    seconds,
    sign,
    std,
    str_,
    sum_,
    symmetric_difference,
    take,
    timestamp,
    total_seconds,
    type_,
    uncollapse_keys,
    union,
    unpartition,
    until_true,
    valid,
    values_,
    var,
    weekday,
    year,
)


class Colour(enum.Enum):
    A = 1
    B = 2


@dataclass(frozen=True)
class Part(CompoundScalar):
    x: int
    y: str = "q"


class Mixed(TimeSeriesSchema):
    a: TS[int]
    b: TS[float]


class Alike(TimeSeriesSchema):
    a: TS[int]
    b: TS[int]


# A kind: its type, and what ticks.
KINDS = {
    "int": (TS[int], [None, 3, 3, None, -2, 0]),
    "float": (TS[float], [None, 1.5, 1.5, None, -2.25, 0.0]),
    "bool": (TS[bool], [None, True, True, None, False]),
    "str": (TS[str], [None, "ab", "ab", None, ""]),
    "date": (TS[date], [None, date(2024, 1, 31), date(2024, 1, 31), None, date(2024, 2, 1)]),
    "datetime": (
        TS[datetime],
        [
            None,
            datetime(2024, 1, 31, 13, 5, 6, 7),
            datetime(2024, 1, 31, 13, 5, 6, 7),
            None,
            datetime(2024, 2, 1),
        ],
    ),
    "time": (TS[time], [None, time(13, 5, 6, 7), time(13, 5, 6, 7), None, time(1, 1)]),
    "timedelta": (
        TS[timedelta],
        [None, timedelta(1, 2, 3), timedelta(1, 2, 3), None, -timedelta(1, 2, 3)],
    ),
    "enum": (TS[Colour], [None, Colour.A, Colour.A, None, Colour.B]),
    "tuple": (TS[tuple[int, ...]], [None, (1, 2, 3), (1, 2, 3), None, ()]),
    "ftuple": (TS[tuple[float, ...]], [None, (1.5, 2.0), (1.5, 2.0), None, ()]),
    "stuple": (TS[tuple[str, ...]], [None, ("b", "a"), ("b", "a"), None, ()]),
    "fixed": (TS[tuple[int, str]], [None, (1, "a"), (1, "a"), None, (2, "b")]),
    "set": (TS[frozenset[int]], [None, frozenset({1, 2}), frozenset({1, 2}), None, frozenset()]),
    "map": (TS[Mapping[str, int]], [None, {"a": 1, "b": 2}, {"a": 1, "b": 2}, None, {}]),
    "map2": (
        TS[Mapping[str, Mapping[int, float]]],
        [None, {"a": {1: 1.0}, "b": {1: 2.0, 2: 3.0}}, None, {}],
    ),
    "mapt": (
        TS[Mapping[tuple[str, int], float]],
        [None, {("a", 1): 1.0, ("b", 1): 2.0, ("b", 2): 3.0}, None, {}],
    ),
    "cs": (TS[Part], [None, Part(1), Part(1), None, Part(2, "z")]),
    "obj": (TS[object], [None, Part(1), 3, None, "z"]),
    "tss": (TSS[int], [None, {1, 2}, {3, Removed(1)}, None, {Removed(2), Removed(3)}, {9}]),
    "tss_e": (TSS[int], [set(), {1, 2}, None, {Removed(1)}]),
    "stss": (TSS[str], [None, {"a", "b"}, {"c", Removed("a")}]),
    "tsd": (
        TSD[str, TS[int]],
        [
            None,
            {"a": 1, "b": 2},
            {"a": 1},
            {"c": 5, "a": REMOVE},
            None,
            {"b": REMOVE, "c": REMOVE},
            {"z": 1},
        ],
    ),
    "tsd_e": (TSD[str, TS[int]], [{}, {"a": 1, "b": 2}, None, {"a": REMOVE}]),
    "ftsd": (
        TSD[str, TS[float]],
        [None, {"a": 1.5, "b": 2.0}, {"a": 1.0}, {"c": 5.0, "a": REMOVE}],
    ),
    "tsdd": (
        TSD[str, TSD[int, TS[float]]],
        [
            None,
            {"a": {1: 1.0}, "b": {1: 2.0, 2: 3.0}},
            {"a": {1: REMOVE, 3: 4.0}},
            {"b": REMOVE},
            {"a": {3: 5.0}},
            {"a": REMOVE},
        ],
    ),
    "tsdt": (
        TSD[tuple[str, int], TS[float]],
        [
            None,
            {("a", 1): 1.0, ("b", 1): 2.0, ("b", 2): 3.0},
            {("a", 1): REMOVE},
            {("b", 1): 7.0},
            {("b", 1): REMOVE, ("b", 2): REMOVE},
        ],
    ),
    "btsd": (
        TSD[str, TS[bool]],
        [None, {"a": True, "b": True}, {"a": False}, {"a": REMOVE}, {"b": REMOVE}],
    ),
    "tsdi": (TSD[int, TS[str]], [None, {1: "a", 2: "b"}, {1: "b"}, {2: REMOVE}, {1: "c"}]),
    "tsl": (TSL[TS[int], Size[2]], [None, {0: 1}, {1: 2}, {0: 3, 1: 4}, None, (5, 6)]),
    "ftsl": (
        TSL[TS[float], Size[2]],
        [None, {0: 1.0}, {1: 2.0}, {0: 3.0, 1: 4.0}, None, (5.0, 6.0)],
    ),
    "btsl": (TSL[TS[bool], Size[2]], [None, {0: True}, {1: True}, {0: False}, None, (True, True)]),
    "stsl": (TSL[TS[str], Size[2]], [None, {0: "a"}, {1: "b"}, {0: "c"}, None, ("d", "e")]),
    "tsltsd": (
        TSL[TSD[str, TS[int]], Size[2]],
        [None, {0: {"a": 1}}, {1: {"a": 2, "b": 3}}, {0: {"a": REMOVE}}, {1: {"b": REMOVE}}],
    ),
    "tsltss": (
        TSL[TSS[int], Size[2]],
        [None, {0: {1}}, {1: {2, 3}}, {0: {Removed(1)}}, {1: {Removed(2)}}],
    ),
    "tsb": (TSB[Mixed], [None, {"a": 1}, {"b": 2.5}, {"a": 3, "b": 4.0}, None, {"a": 3}]),
    "tsba": (TSB[Alike], [None, {"a": 1}, {"b": 2}, {"a": 3, "b": 4}, None, {"a": 3}]),
}

# An operator: the kinds it takes.
TAKES = {
    "abs_": "int float timedelta tsl ftsl tsb tsba",
    "neg_": "int float timedelta tsl ftsl tsb tsba",
    "pos_": "int float timedelta tsl ftsl tsb tsba",
    "invert_": "int bool tsl btsl tsba",
    "not_": "int float bool str tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi",
    "sign": "int float",
    "ln": "float",
    "len_": (
        "str tuple ftuple stuple fixed set map map2 mapt tss tss_e stss tsd tsd_e ftsd tsdd tsdt "
        "btsd tsdi tsl ftsl btsl stsl tsltsd tsltss tsb tsba"
    ),
    "is_empty": "str tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsb tsba",
    "str_": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl tsltsd "
        "tsltss tsb tsba"
    ),
    "type_": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "keys_": "map map2 mapt tsd tsd_e ftsd tsdd tsdt btsd tsdi",
    "values_": "map map2 mapt tsd tsd_e ftsd tsdt btsd tsdi",
    "flip": "map mapt tsd tsd_e ftsd tsdt btsd tsdi",
    "flip_keys": "map2 tsdd",
    "collapse_keys": "map2 tsdd",
    "uncollapse_keys": "mapt tsdt",
    "min_": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple set map mapt cs "
        "tss tss_e stss tsd tsd_e ftsd tsdt btsd tsdi tsl ftsl btsl stsl tsba"
    ),
    "max_": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple set map mapt cs "
        "tss tss_e stss tsd tsd_e ftsd tsdt btsd tsdi tsl ftsl btsl stsl tsba"
    ),
    "sum_": "int float tuple ftuple set map mapt tss tss_e tsd tsd_e ftsd tsdt tsl ftsl tsba",
    "mean": "int float tuple ftuple set map mapt tss tss_e tsd tsd_e ftsd tsdt tsl ftsl tsba",
    "std": "int float tuple ftuple set map mapt tss tss_e tsd tsd_e ftsd tsdt tsl ftsl tsba",
    "var": "int float tuple ftuple set map mapt tss tss_e tsd tsd_e ftsd tsdt tsl ftsl tsba",
    "count": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "diff": "int float",
    "dedup": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "valid": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "modified": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "last_modified_time": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "last_modified_date": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "year": "date datetime",
    "month": "date datetime",
    "day": "date datetime",
    "day_of_month": "date datetime",
    "month_of_year": "date datetime",
    "weekday": "date datetime",
    "isoweekday": "date datetime",
    "isoformat": "date",
    "hour": "datetime time",
    "minute": "datetime time",
    "second": "datetime time",
    "microsecond": "datetime time",
    "days": "timedelta",
    "seconds": "timedelta",
    "microseconds": "timedelta",
    "total_seconds": "timedelta",
    "timestamp": "datetime",
    "datepart": "datetime",
    "explode": "date",
    "emit": (
        "tuple ftuple stuple set map map2 mapt tss tss_e tsd tsd_e ftsd tsdt btsd tsdi tsl ftsl "
        "btsl stsl"
    ),
    "merge": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "race": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "union": "tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi",
    "intersection": "tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi",
    "difference": "tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi",
    "symmetric_difference": "tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi",
    "all_": "bool btsd",
    "any_": "bool btsd",
    "unpartition": "tsdd",
    "reduce_tsd_with_race": "tsd tsd_e ftsd tsdd tsdt btsd tsdi",
    "drop": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "take": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "bit_and": "tss tss_e stss",
    "bit_or": "tss tss_e stss",
    "bit_xor": "tss tss_e stss",
    "if_true": "bool",
    "until_true": "bool",
    "average": "int float tuple ftuple set map mapt tss tss_e tsd tsd_e ftsd tsdt tsl ftsl tsba",
    "accumulate": "int float tuple ftuple set map mapt tss tss_e tsd tsd_e ftsd tsdt tsl ftsl tsba",
    "drop_dups": (
        "int float bool str date datetime time timedelta enum tuple ftuple stuple fixed set map "
        "map2 mapt cs obj tss tss_e stss tsd tsd_e ftsd tsdd tsdt btsd tsdi tsl ftsl btsl stsl "
        "tsltsd tsltss tsb tsba"
    ),
    "pct_change": "int float",
}

ATTRIBUTES = {
    "year": "date datetime",
    "month": "date datetime",
    "day": "date datetime",
    "weekday": "date datetime",
    "isoweekday": "date datetime",
    "isoformat": "date",
    "hour": "datetime time",
    "minute": "datetime time",
    "second": "datetime time",
    "microsecond": "datetime time",
    "date": "datetime",
    "time": "datetime",
    "timestamp": "datetime",
    "datepart": "datetime",
    "days": "timedelta",
    "seconds": "timedelta",
    "microseconds": "timedelta",
    "total_seconds": "timedelta",
    "name": "enum",
    "x": "cs",
    "y": "cs",
    "a": "tsb tsba",
    "b": "tsb tsba",
}


def table_of():
    for name, kinds in TAKES.items():
        for kind in kinds.split():
            tp, values = KINDS[kind]
            yield (
                f"{name}-{kind}",
                lambda name=name, tp=tp, values=values: ticks(globals()[name], [tp], values),
            )


def table_late():
    for kind in ("tss", "tsd", "tsl", "tsb"):
        tp, values = KINDS[kind]
        for operator in (len_, is_empty):
            late = [None, None, *values]
            name = f"{operator.__name__}-{kind}"
            yield name, lambda operator=operator, tp=tp, late=late: ticks(operator, [tp], late)
            yield (
                f"never-{name}",
                lambda operator=operator, tp=tp: ticks(operator, [tp], [None, None]),
            )


def table_attribute():
    for name, kinds in ATTRIBUTES.items():
        for kind in kinds.split():
            tp, values = KINDS[kind]
            yield (
                f"{name}-{kind}",
                lambda name=name, tp=tp, values=values: ticks(
                    lambda ts: getattr(ts, name), [tp], values
                ),
            )
