"""What there is before everything is: parts missing, windows not full yet, inputs that lead to nothing."""

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Callable, FrozenSet, Mapping, Tuple

from lib import (
    KEYABLE_SCALAR,
    MIN_ST,
    MIN_TD,
    SCALAR,
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
    add_,
    apply,
    collect,
    combine,
    convert,
    drop,
    eval_node,
    evaluation_time_in_range,
    graph,
    len_,
    getattr_,
    if_,
    if_then_else,
    max_,
    min_,
    nothing,
    slice_,
    sub_,
    symmetric_difference,
    to_window,
    union,
)


I = TS[int]
PAIR = TSL[I, Size[2]]
DIGITS = TS[Tuple[int, ...]]
NAMED = TSD[str, I]


@dataclass(frozen=True)
class Order(CompoundScalar):
    size: int
    side: str


@dataclass(frozen=True)
class Settings:
    """A dataclass like any other."""

    depth: int
    label: str = "plain"
    marks: int = field(default_factory=int)


@dataclass(frozen=True)
class Animal(CompoundScalar):
    name: str


@dataclass(frozen=True)
class Dog(Animal):
    age: int


class Sizes(TimeSeriesSchema):
    wide: TS[int]
    high: TS[int]


REX, FIDO = Dog("rex", 3), Dog("fido", 5)


def loose(target):
    return lambda a: convert[target](a, __strict__=False)


def table_strictness():
    halves = [{0: 1}, {1: 2}, {0: 3}]
    yield "list-to-tuple", lambda: ticks(loose(TS[Tuple[int, ...]]), (PAIR,), halves)
    yield "list-to-pair", lambda: ticks(loose(TS[Tuple[int, int]]), (PAIR,), halves)
    yield "list-to-any-tuple", lambda: ticks(loose(TS[Tuple]), (PAIR,), halves)
    yield "list-to-dict", lambda: ticks(loose(TSD[int, I]), (PAIR,), halves)
    yield (
        "list-to-dict-strict",
        lambda: ticks(lambda a: convert[TSD[int, I]](a, __strict__=True), (PAIR,), halves),
    )
    parts = [{"side": "buy"}, {"size": 4}, {"side": "sell"}]
    yield "bundle-to-compound", lambda: ticks(loose(TS[Order]), (TSB[Order],), parts)
    yield "bundle-to-its-compound", lambda: ticks(loose(TS[CompoundScalar]), (TSB[Order],), parts)
    yield "scalar", lambda: ticks(loose(TS[str]), (I,), [1])
    yield (
        "tuples",
        lambda: ticks(
            lambda a, b: add_(a, b, __strict__=False),
            (DIGITS, DIGITS),
            [(1, 2), None, (3,)],
            [None, (4,), None],
        ),
    )
    yield (
        "tuples-strict",
        lambda: ticks(
            lambda a, b: add_(a, b, __strict__=True),
            (DIGITS, DIGITS),
            [(1, 2), None, (3,)],
            [None, (4,), None],
        ),
    )


def table_dataclass():
    parts = [{"label": "x"}, {"depth": 1}, {"marks": 2}]
    yield "of-bundle", lambda: ticks(convert[TS[Settings]], (TSB[Settings],), parts)
    yield (
        "of-bundle-default",
        lambda: ticks(convert[TS[Settings]], (TSB[Settings],), [{"depth": 1}]),
    )
    yield (
        "as-scalar",
        lambda: ticks(lambda a: a.as_scalar_ts(), (TSB[Settings],), [{"depth": 1}, {"label": "y"}]),
    )
    yield "to-bundle", lambda: ticks(convert[TSB], (TS[Settings],), [Settings(1), Settings(2, "z")])
    yield "combined", lambda: ticks(lambda a: combine[TS[Settings]](depth=a), (I,), [1, 2])


def table_other_types():
    dogs = TS[Tuple[Dog, ...]]
    yield "dogs-as-animals", lambda: ticks(convert[TSS[Animal]], (dogs,), [(REX,), (FIDO,)])
    yield (
        "dogs-as-animal-tuple",
        lambda: ticks(convert[TS[Tuple[Animal, ...]]], (dogs,), [(REX,), (REX, FIDO)]),
    )
    yield "names-of-dogs", lambda: ticks(lambda a: a.name, (dogs,), [(REX, FIDO), ()])
    yield "ages-of-dogs", lambda: ticks(lambda a: getattr_(a, "age"), (dogs,), [(REX, FIDO)])
    yield (
        "keys-of-a-mapping",
        lambda: ticks(lambda a: a.key_set, (TS[Mapping[str, int]],), [{"a": 1}, {}, {"b": 2}]),
    )
    yield "no-such-field", lambda: ticks(lambda a: a.weight, (dogs,), [(REX, FIDO)])
    days = [date(2024, 2, 29), datetime(2024, 3, 1, 12)]
    yield "object-to-datetime", lambda: ticks(convert[TS[datetime]], (TS[object],), days)
    yield "object-to-date", lambda: ticks(convert[TS[date]], (TS[object],), days)
    yield "object-to-tuple", lambda: ticks(convert[DIGITS], (TS[object],), [(1, 2)])
    yield "object-to-compound", lambda: ticks(convert[TS[Animal]], (TS[object],), [Animal("rex")])
    yield "object-to-other", lambda: ticks(convert[TS[date]], (TS[object],), ["today"])
    yield (
        "mapping-of-lists",
        lambda: ticks(
            lambda k, v: combine[TS[Mapping[str, int]]](k, v),
            (TSL[TS[str], Size[2]], PAIR),
            [("a", "b"), None, {0: "c"}],
            [{0: 1}, {1: 2}, {0: 5}],
        ),
    )
    yield (
        "field-missing",
        lambda: ticks(
            lambda a: convert[NAMED](a, keys=("wide", "deep")), (TSB[Sizes],), [{"wide": 1}]
        ),
    )


def table_windows():
    for name, extreme in (("min", min_), ("max", max_)):
        yield (
            f"{name}-of-ticks",
            lambda extreme=extreme: ticks(
                lambda a: extreme(to_window(a, 3, 2), default_value=0), (I,), [None, 4, -2, 3, 9, 1]
            ),
        )
        yield (
            f"{name}-of-a-span",
            lambda extreme=extreme: ticks(
                lambda a: extreme(to_window(a, MIN_TD * 2), default_value=99), (I,), [4, 2, 3, 1]
            ),
        )
    yield "abs", lambda: ticks(lambda a: abs_(to_window(a, 3, 1)), (I,), [1, -2, 3, -4])


def either(flag, a):
    return if_then_else(flag, a, nothing[TSS[int]]())


def table_led_to_nothing():
    flags, sets = [True, False, None, True], [{1, 2, 3}, None, {4}]
    for name, two in (("union", union), ("symmetric-difference", symmetric_difference)):
        yield (
            name,
            lambda two=two: ticks(
                lambda f, a, b: two(either(f, a), b),
                (TS[bool], TSS[int], TSS[int]),
                flags,
                sets,
                [{3, 5}, None, None, {6, Removed(5)}],
            ),
        )
    yield (
        "both",
        lambda: ticks(
            lambda f, a, g, b: union(either(f, a), either(g, b)),
            (TS[bool], TSS[int], TS[bool], TSS[int]),
            [True, False],
            [{1, 2, 3}],
            [True, None, False],
            [{3, 4, 5}],
        ),
    )
    yield (
        "by-if",
        lambda: ticks(
            lambda f, a, b: union(if_(f, a).true, b),
            (TS[bool], TSS[int], TSS[int]),
            [True, False],
            [{1, 2, 3}],
            [{3, 4}],
        ),
    )


def table_let_through():
    yield (
        "drop-then-silence",
        lambda: ticks(lambda a: drop(a, MIN_TD * 3), (I,), [7, 8, None, None, None, None, 9]),
    )
    yield (
        "drop-of-a-set",
        lambda: ticks(
            lambda a: drop(a, MIN_TD * 3), (TSS[int],), [{1}, {2}, None, None, None, None, {3}]
        ),
    )
    yield "drop-dense", lambda: ticks(lambda a: drop(a, MIN_TD * 3), (I,), [1, 2, 3, 4, 5, 6])
    for start, stop in ((-1, -1), (-2, 3), (1, -2)):
        yield (
            f"slice[{start}:{stop}]",
            lambda start=start, stop=stop: ticks(
                lambda a: slice_(a, start, stop, 1), (I,), [1, 2, 3, 4, 5]
            ),
        )
        yield (
            f"slice-of-a-set[{start}:{stop}]",
            lambda start=start, stop=stop: ticks(
                lambda a: slice_(a, start, stop, 1), (TSS[int],), [{1}, {2}, {3}, {4}]
            ),
        )


def scaled(a, scale=1):
    return a * scale


def table_gathered():
    yield (
        "apply-by-name",
        lambda: ticks(
            lambda f, a, s: apply[I](f, a, scale=s),
            (TS[Callable], I, I),
            [scaled],
            [1, 2],
            [None, 3],
        ),
    )
    yield (
        "apply-by-place",
        lambda: ticks(
            lambda f, a, s: apply[I](f, a, s), (TS[Callable], I, I), [scaled], [1, 2], [None, 3]
        ),
    )
    yield (
        "sub-by",
        lambda: ticks(
            lambda a, b: sub_(a, b, cmp=lambda x, y: x % 2 == y % 2),
            (DIGITS, I),
            [(1, 2, 3, 4)],
            [3, 4],
        ),
    )
    yield (
        "collect-anew",
        lambda: ticks(
            lambda a, b: collect[TSD](a, reset=b),
            (NAMED, TS[bool]),
            [{"a": 1}, {"b": 2, "c": 3}, {"c": 3}, {"c": 4}],
            [None, None, True],
        ),
    )
    yield (
        "pair-of-dict",
        lambda: ticks(
            lambda k, v: convert[TSD](k, v),
            (TS[str], TSD[int, I]),
            ["a", None, "b", None, None],
            [{1: 10}, {1: 11, 2: 20}, None, {2: 21}, {1: REMOVE}],
        ),
    )
    yield (
        "pair-of-list",
        lambda: ticks(
            lambda k, v: convert[TSD](k, v),
            (TS[str], PAIR),
            ["a", None, "b", None],
            [(1, 2), {0: 3}, None, {1: 5}],
        ),
    )
    yield (
        "pair-of-set",
        lambda: ticks(
            lambda k, v: convert[TSD](k, v),
            (TS[str], TSS[int]),
            ["a", None, "b", None],
            [{1, 2}, {3}, None, {Removed(1)}],
        ),
    )


@graph
def size_of_set(a: TS[FrozenSet[KEYABLE_SCALAR]]) -> TS[int]:
    return len_(a)


@graph
def size_of_mapping(a: TS[Mapping[KEYABLE_SCALAR, SCALAR]]) -> TS[int]:
    return len_(a)


@graph
def size_of_tuple(a: TS[Tuple[SCALAR, ...]]) -> TS[int]:
    return len_(a)


def table_empty_at_times():
    """Inputs whose types are told by their values, some of which hold nothing."""
    yield "set", lambda: eval_node(size_of_set, [frozenset({1, 2}), frozenset()])
    yield "set-first", lambda: eval_node(size_of_set, [frozenset(), frozenset({"a"})])
    yield "mapping", lambda: eval_node(size_of_mapping, [{1: 2}, {}])
    yield "mapping-first", lambda: eval_node(size_of_mapping, [{}, {1: 2}])
    yield "tuple", lambda: eval_node(size_of_tuple, [(1,), ()])
    yield "tuple-first", lambda: eval_node(size_of_tuple, [(), (1,)])


def table_part_of_the_day():
    for name, start, end in (("day", 10, 11), ("night", 11, 10)):
        yield (
            name,
            lambda start=start, end=end: eval_node(
                evaluation_time_in_range,
                [time(start)],
                [time(end)],
                __end_time__=MIN_ST + timedelta(days=2),
                __elide__=True,
            ),
        )
