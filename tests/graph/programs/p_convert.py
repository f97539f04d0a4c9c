"""Conversion: from one shape to another, many into one, ticks into collections and collections into ticks."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import FrozenSet, Mapping, Set, Tuple

from lib import (
    MIN_TD,
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
    cast_,
    collect,
    combine,
    convert,
    downcast_,
    emit,
)

I = TS[int]
S = TS[str]
D = TSD[str, I]


class AB(TimeSeriesSchema):
    a: TS[int]
    b: TS[str]


@dataclass(frozen=True)
class Point(CompoundScalar):
    x: int
    y: int


@dataclass(frozen=True)
class Point3(Point):
    z: int = 0


SOURCES = {
    "int": (I, [1, 0, -3]),
    "float": (TS[float], [1.5, 0.0]),
    "bool": (TS[bool], [True, False]),
    "str": (S, ["12", "3"]),
    "date": (TS[date], [date(2024, 2, 3)]),
    "datetime": (TS[datetime], [datetime(2024, 2, 3, 4, 5)]),
    "time": (TS[time], [time(4, 5)]),
    "timedelta": (TS[timedelta], [timedelta(seconds=5)]),
    "tuple": (TS[Tuple[int, ...]], [(1, 2), (2, 3)]),
    "tuple-pair": (TS[Tuple[int, int]], [(1, 2), (2, 3)]),
    "tuple-of-tuple": (TS[Tuple[Tuple[str, int], ...]], [(("a", 1), ("b", 2)), (("a", 3),)]),
    "set": (TS[FrozenSet[int]], [frozenset({1, 2}), frozenset({2})]),
    "dict": (TS[Mapping[str, int]], [{"a": 1, "b": 2}, {"b": 3}]),
    "tss": (TSS[int], [{1, 2}, {3, Removed(1)}]),
    "tsl": (TSL[I, Size[2]], [(1, 2), {0: 3}]),
    "tsd": (D, [{"a": 1, "b": 2}, {"a": 3}, {"b": REMOVE}]),
    "tsb": (TSB[AB], [{"a": 1, "b": "x"}, {"a": 2}]),
    "compound": (TS[Point], [Point(1, 2), Point(3, 2)]),
}

TARGETS = {
    "int": I,
    "float": TS[float],
    "bool": TS[bool],
    "str": S,
    "date": TS[date],
    "datetime": TS[datetime],
    "time": TS[time],
    "tuple": TS[Tuple[int, ...]],
    "tuple-bare": TS[Tuple],
    "set": TS[Set[int]],
    "set-bare": TS[Set],
    "dict": TS[Mapping[str, int]],
    "dict-bare": TS[Mapping],
    "dict-of-int": TS[Mapping[int, int]],
    "tss": TSS[int],
    "tss-bare": TSS,
    "tsl": TSL[I, Size[2]],
    "tsd": D,
    "tsd-bare": TSD,
    "tsd-of-int": TSD[int, I],
    "tsb": TSB[AB],
    "compound": TS[Point],
}


def table_convert():
    for source, (tp, values) in SOURCES.items():
        for target, to in TARGETS.items():
            yield (
                f"{source}-to-{target}",
                lambda tp=tp, v=values, to=to: ticks(lambda a: convert[to](a), (tp,), v),
            )


def table_convert_more():
    yield (
        "two-ports-to-tsd",
        lambda: ticks(lambda k, v: convert[TSD](k, v), (S, I), ["a", "b", None], [1, 2, 3]),
    )
    yield (
        "two-ports-to-dict",
        lambda: ticks(lambda k, v: convert[TS[Mapping]](k, v), (S, I), ["a", "b", None], [1, 2, 3]),
    )
    yield (
        "ports-to-tuple",
        lambda: ticks(lambda a, b: convert[TS[Tuple[int, ...]]](a, b), (I, I), [1, None], [2, 3]),
    )
    yield "keyword", lambda: ticks(lambda a: convert(a, to=S), (I,), [1])
    yield "positional", lambda: ticks(lambda a: convert(a, S), (I,), [1])
    yield (
        "compound-to-tsb",
        lambda: ticks(lambda a: convert[TSB](a), (TS[Point],), [Point(1, 2), Point(1, 3)]),
    )
    yield (
        "tsb-to-dict",
        lambda: ticks(
            lambda a: convert[TS[Mapping[str, object]]](a), (TSB[AB],), [{"a": 1, "b": "x"}]
        ),
    )
    yield (
        "tss-to-tuple-str",
        lambda: ticks(lambda a: convert[TS[Tuple[str, ...]]](a), (TSS[str],), [{"a"}, {"b"}]),
    )
    yield "to-same", lambda: ticks(lambda a: convert[I](a), (I,), [1, 2])


def table_combine():
    yield "tsl", lambda: ticks(combine, (I, I), [1, None], [2, 3])
    yield "tsl-typed", lambda: ticks(lambda a, b: combine[TSL](a, b), (I, I), [1, None], [None, 3])
    yield (
        "tsb",
        lambda: ticks(lambda a, b: combine[TSB[AB]](a=a, b=b), (I, S), [1, None], ["x", "y"]),
    )
    yield "tsb-bare", lambda: ticks(lambda a, b: combine(a=a, b=b), (I, S), [1, None], ["x", "y"])
    yield "tsb-part", lambda: ticks(lambda a: combine[TSB[AB]](a=a), (I,), [1, None])
    yield (
        "tsb-strict",
        lambda: ticks(
            lambda a, b: combine[TSB[AB]](a=a, b=b, __strict__=True), (I, S), [1, None], [None, "y"]
        ),
    )
    yield (
        "tuple",
        lambda: ticks(lambda a, b: combine[TS[Tuple[int, ...]]](a, b), (I, I), [1, None], [2, 3]),
    )
    yield (
        "tuple-late",
        lambda: ticks(
            lambda a, b: combine[TS[Tuple[int, ...]]](a, b), (I, I), [1, None], [None, 3]
        ),
    )
    yield (
        "tuple-loose",
        lambda: ticks(
            lambda a, b: combine[TS[Tuple[int, ...]]](a, b, __strict__=False),
            (I, I),
            [1, None],
            [None, 3],
        ),
    )
    yield (
        "tuple-mixed",
        lambda: ticks(
            lambda a, b: combine[TS[Tuple[int, str]]](a, b), (I, S), [1, None], ["a", "b"]
        ),
    )
    yield "set", lambda: ticks(lambda a, b: combine[TS[Set[int]]](a, b), (I, I), [1, None], [2, 1])
    yield (
        "tss",
        lambda: ticks(lambda a, b: combine[TSS[int]](a, b), (I, I), [1, None, 4], [2, 1, None]),
    )
    yield (
        "tss-bare",
        lambda: ticks(lambda a, b: combine[TSS](a, b), (I, I), [1, None, 4], [2, 1, None]),
    )
    yield (
        "tsd",
        lambda: ticks(
            lambda k, v: combine[TSD](k, v),
            (TS[Tuple[str, ...]], TS[Tuple[int, ...]]),
            [("a", "b"), ("a",)],
            [(1, 2), (3,)],
        ),
    )
    yield (
        "tsd-of-ports",
        lambda: ticks(
            lambda a, b: combine[TSD[str, I]](("x", "y"), a, b), (I, I), [1, None, 4], [2, 1, None]
        ),
    )
    yield (
        "tsd-keywords",
        lambda: ticks(lambda a, b: combine[TSD](x=a, y=b), (I, I), [1, None, 4], [2, 1, None]),
    )
    yield (
        "dict",
        lambda: ticks(
            lambda k, v: combine[TS[Mapping[str, int]]](k, v),
            (TS[Tuple[str, ...]], TS[Tuple[int, ...]]),
            [("a", "b")],
            [(1, 2)],
        ),
    )
    yield (
        "compound",
        lambda: ticks(lambda a, b: combine[TS[Point]](x=a, y=b), (I, I), [1, None], [2, 3]),
    )
    yield (
        "compound-late",
        lambda: ticks(lambda a, b: combine[TS[Point]](x=a, y=b), (I, I), [1, None], [None, 3]),
    )
    yield (
        "compound-loose",
        lambda: ticks(
            lambda a, b: combine[TS[Point]](x=a, y=b, __strict__=False),
            (I, I),
            [1, None],
            [None, 3],
        ),
    )
    yield (
        "date",
        lambda: ticks(
            lambda y, m, d: combine[TS[date]](year=y, month=m, day=d),
            (I, I, I),
            [2024],
            [2, None],
            [3, 4],
        ),
    )
    yield (
        "datetime",
        lambda: ticks(
            lambda a, b: combine[TS[datetime]](date=a, time=b),
            (TS[date], TS[time]),
            [date(2024, 1, 2)],
            [time(3, 4)],
        ),
    )
    yield (
        "timedelta",
        lambda: ticks(lambda a, b: combine[TS[timedelta]](days=a, hours=b), (I, I), [1], [2, 3]),
    )


def table_collect():
    yield "tuple", lambda: ticks(lambda a: collect[TS[Tuple]](a), (I,), [1, 2, None, 2])
    yield (
        "tuple-reset",
        lambda: ticks(
            lambda a, r: collect[TS[Tuple]](a, reset=r),
            (I, TS[bool]),
            [1, 2, 3, None, 4],
            [None, None, True, True, None],
        ),
    )
    yield (
        "tuple-of-tuple",
        lambda: ticks(
            lambda a: collect[TS[Tuple[int, ...]]](a), (TS[Tuple[int, ...]],), [(1, 2), (3,)]
        ),
    )
    yield "set", lambda: ticks(lambda a: collect[TS[Set]](a), (I,), [1, 2, 2])
    yield (
        "set-of-set",
        lambda: ticks(
            lambda a: collect[TS[Set]](a), (TS[FrozenSet[int]],), [frozenset({1}), frozenset({2})]
        ),
    )
    yield "tss", lambda: ticks(lambda a: collect[TSS](a), (I,), [1, 2, 2])
    yield "tss-typed", lambda: ticks(lambda a: collect[TSS[int]](a), (I,), [1, 2, 2])
    yield (
        "tss-reset",
        lambda: ticks(
            lambda a, r: collect[TSS](a, reset=r),
            (I, TS[bool]),
            [1, 2, 3, None, 4],
            [None, None, True, True, None],
        ),
    )
    yield (
        "tss-of-tuple",
        lambda: ticks(lambda a: collect[TSS](a), (TS[Tuple[int, ...]],), [(1, 2), (3,)]),
    )
    yield (
        "tss-of-tss",
        lambda: ticks(lambda a: collect[TSS](a), (TSS[int],), [{1, 2}, {Removed(1), 3}]),
    )
    yield (
        "dict",
        lambda: ticks(lambda k, v: collect[TS[Mapping]](k, v), (S, I), ["a", "b", "a"], [1, 2, 3]),
    )
    yield (
        "dict-of-dict",
        lambda: ticks(
            lambda a: collect[TS[Mapping]](a), (TS[Mapping[str, int]],), [{"a": 1}, {"b": 2}]
        ),
    )
    yield "tsd", lambda: ticks(lambda k, v: collect[TSD](k, v), (S, I), ["a", "b", "a"], [1, 2, 3])
    yield (
        "tsd-reset",
        lambda: ticks(
            lambda k, v, r: collect[TSD](k, v, reset=r),
            (S, I, TS[bool]),
            ["a", "b", "c"],
            [1, 2, 3],
            [None, None, True],
        ),
    )
    yield (
        "tsd-of-dict",
        lambda: ticks(lambda a: collect[TSD](a), (TS[Mapping[str, int]],), [{"a": 1}, {"b": 2}]),
    )
    yield (
        "tsd-of-tsd",
        lambda: ticks(lambda a: collect[TSD](a), (D,), [{"a": 1}, {"b": 2}, {"a": REMOVE}]),
    )
    yield "str", lambda: ticks(lambda a: collect[S](a), (S,), ["a", "b"])


def table_emit():
    yield "tuple", lambda: ticks(emit, (TS[Tuple[int, ...]],), [(1, 2, 3), None, None, (4,), ()])
    yield "tuple-queue", lambda: ticks(emit, (TS[Tuple[int, ...]],), [(1, 2, 3), (4, 5)])
    yield "set", lambda: ticks(emit, (TS[FrozenSet[int]],), [frozenset({1})])
    yield "tss", lambda: ticks(emit, (TSS[int],), [{1}, {2}])
    yield "tsl", lambda: ticks(emit, (TSL[I, Size[2]],), [(1, 2), None, {0: 5}])
    yield "dict", lambda: ticks(emit, (TS[Mapping[str, int]],), [{"a": 1}, {"b": 2}])
    yield (
        "dict-key",
        lambda: ticks(lambda d: emit(d).key, (TS[Mapping[str, int]],), [{"a": 1}, {"b": 2}]),
    )
    yield "tsd", lambda: ticks(emit, (D,), [{"a": 1}, {"b": 2}])


def table_cast():
    yield "int-to-float", lambda: ticks(lambda a: cast_(float, a), (I,), [1, 2])
    yield "float-to-int", lambda: ticks(lambda a: cast_(int, a), (TS[float],), [1.5, -2.5])
    yield "int-to-str", lambda: ticks(lambda a: cast_(str, a), (I,), [1])
    yield "str-to-int", lambda: ticks(lambda a: cast_(int, a), (S,), ["12"])
    yield "downcast", lambda: ticks(lambda a: downcast_(Point3, a), (TS[Point],), [Point3(1, 2, 3)])
    yield (
        "downcast-wrong",
        lambda: ticks(lambda a: downcast_(Point3, a), (TS[Point],), [Point(1, 2)]),
    )
