"""The operators of each collection: lists, sets, dictionaries, bundles and the scalars that hold many."""

from dataclasses import dataclass
from typing import FrozenSet, Mapping, Tuple

from lib import (
    REMOVE,
    REMOVE_IF_EXISTS,
    TS,
    TSB,
    TSD,
    TSL,
    TSS,
    CompoundScalar,
    Removed,
    Size,
    TimeSeriesSchema,
    bit_and,
    bit_or,
    bit_xor,
    collapse_keys,
    contains_,
    difference,
    flip,
    flip_keys,
    getattr_,
    getitem_,
    graph,
    index_of,
    intersection,
    is_empty,
    keys_,
    len_,
    make_tsd,
    merge,
    partition,
    rekey,
    setattr_,
    sub_,
    symmetric_difference,
    uncollapse_keys,
    union,
    unpartition,
    valid,
    values_,
    eval_node,
)

I = TS[int]
D = TSD[str, I]
S = TSS[int]


class AB(TimeSeriesSchema):
    a: TS[int]
    b: TS[str]


@dataclass(frozen=True)
class Point(CompoundScalar):
    x: int
    y: int


def table_len():
    yield "tss", lambda: ticks(len_, (S,), [{1, 2}, {3}, {Removed(1)}, {3}])
    yield "tsd", lambda: ticks(len_, (D,), [{"a": 1}, {"b": 2}, {"a": REMOVE}, {"b": 5}])
    yield "tsl", lambda: ticks(len_, (TSL[I, Size[3]],), [(1, 2, 3), {0: 1}])
    yield "set", lambda: ticks(len_, (TS[FrozenSet[int]],), [frozenset({1}), frozenset()])
    yield "dict", lambda: ticks(len_, (TS[Mapping[str, int]],), [{"a": 1}, {}])
    yield "tsb", lambda: ticks(len_, (TSB[AB],), [{"a": 1, "b": "x"}])


def table_is_empty():
    yield "tss", lambda: ticks(is_empty, (S,), [{1, 2}, {Removed(1)}, {Removed(2)}, {3}])
    yield "tsd", lambda: ticks(is_empty, (D,), [{"a": 1}, {"a": REMOVE}, {"b": 5}])
    yield "tuple", lambda: ticks(is_empty, (TS[Tuple[int, ...]],), [(1,), ()])
    yield "set", lambda: ticks(is_empty, (TS[FrozenSet[int]],), [frozenset({1}), frozenset()])
    yield "dict", lambda: ticks(is_empty, (TS[Mapping[str, int]],), [{"a": 1}, {}])


def table_contains():
    yield (
        "tss",
        lambda: ticks(contains_, (S, I), [{1, 2}, None, {Removed(1)}, {1}], [1, 5, 1, None]),
    )
    yield (
        "tss-tss",
        lambda: ticks(contains_, (S, S), [{1, 2}, None, {Removed(1)}], [{1}, {3}, {Removed(3)}]),
    )
    yield (
        "tsd",
        lambda: ticks(
            contains_,
            (D, TS[str]),
            [{"a": 1}, None, {"b": 1}, {"b": REMOVE}],
            ["a", "b", None, None],
        ),
    )
    yield (
        "dict",
        lambda: ticks(contains_, (TS[Mapping[str, int]], TS[str]), [{"a": 1}, None], ["a", "b"]),
    )
    yield "tsl", lambda: ticks(contains_, (TSL[I, Size[2]], I), [(1, 2), {0: 3}], [1, None])


def table_index_of():
    yield (
        "tsl",
        lambda: ticks(index_of, (TSL[I, Size[3]], I), [(7, 8, 9), None, {2: 1}], [8, 9, None]),
    )
    yield "tuple", lambda: ticks(index_of, (TS[Tuple[int, ...]], I), [(7, 8, 9), None], [8, 1])


SETS = (S, S, S)
VECTORS = ([{1, 2, 3}, None, {Removed(2)}], [{2, 3, 4}, {5}, None], [{3}, {Removed(3), 5}, {1}])


def table_sets():
    for name, op in dict(
        union=union,
        intersection=intersection,
        difference=difference,
        symmetric_difference=symmetric_difference,
    ).items():
        yield f"{name}-two", lambda op=op: ticks(op, SETS[:2], *VECTORS[:2])
        yield f"{name}-three", lambda op=op: ticks(op, SETS, *VECTORS)
        yield f"{name}-one", lambda op=op: ticks(op, SETS[:1], *VECTORS[:1])
        yield (
            f"{name}-frozen",
            lambda op=op: ticks(
                op,
                (TS[FrozenSet[int]],) * 2,
                [frozenset({1, 2}), None],
                [frozenset({2, 3}), frozenset()],
            ),
        )
    yield (
        "union-tsd",
        lambda: ticks(union, (D, D), [{"a": 1}, {"a": REMOVE}], [{"a": 5, "b": 2}, None]),
    )
    yield (
        "union-dict",
        lambda: ticks(union, (TS[Mapping[str, int]],) * 2, [{"a": 1}], [{"a": 2, "b": 3}]),
    )
    yield (
        "intersection-tsd",
        lambda: ticks(intersection, (D, D), [{"a": 1}, {"b": 3}], [{"a": 5, "b": 2}, None]),
    )
    yield (
        "difference-tsd",
        lambda: ticks(
            difference, (D, D), [{"a": 1, "c": 1}, {"b": 3}], [{"a": 5, "b": 2}, {"a": REMOVE}]
        ),
    )
    yield (
        "symmetric_difference-tsd",
        lambda: ticks(
            symmetric_difference,
            (D, D),
            [{"a": 1, "c": 1}, {"b": 3}],
            [{"a": 5, "b": 2}, {"a": REMOVE}],
        ),
    )
    yield "add-item", lambda: ticks(lambda s, i: s + i, (S, I), [{1}, None, None], [2, 3, 1])
    yield (
        "remove-item",
        lambda: ticks(lambda s, i: s - i, (S, I), [{1, 2, 3}, None, {9}], [2, 3, 1]),
    )


def table_tsd():
    yield "keys", lambda: ticks(keys_, (D,), [{"a": 1}, {"b": 2, "a": 3}, {"a": REMOVE}, {"b": 9}])
    yield (
        "key_set",
        lambda: ticks(
            lambda d: d.key_set, (D,), [{"a": 1}, {"b": 2, "a": 3}, {"a": REMOVE}, {"b": 9}]
        ),
    )
    yield (
        "keys-as-frozenset",
        lambda: ticks(
            lambda d: keys_[TS[FrozenSet[str]]](d),
            (D,),
            [{"a": 1}, {"b": 2, "a": 3}, {"a": REMOVE}],
        ),
    )
    yield "keys-of-dict", lambda: ticks(keys_, (TS[Mapping[str, int]],), [{"a": 1}, {}])
    yield "values", lambda: ticks(values_, (D,), [{"a": 1, "b": 1}, {"b": 2}, {"a": REMOVE}])
    yield "values-of-dict", lambda: ticks(values_, (TS[Mapping[str, int]],), [{"a": 1, "b": 2}, {}])
    yield (
        "getitem",
        lambda: ticks(
            lambda d, k: d[k],
            (D, TS[str]),
            [{"a": 1, "b": 2}, {"a": 5}, None, {"b": 7}, {"b": REMOVE}],
            ["a", None, "b", None, None],
        ),
    )
    yield (
        "getitem-constant",
        lambda: ticks(lambda d: d["b"], (D,), [{"a": 1}, {"b": 5}, {"b": REMOVE}, {"b": 9}]),
    )
    yield "getitem-missing", lambda: ticks(lambda d, k: d[k], (D, TS[str]), [{"a": 1}], ["z"])
    yield (
        "getitem-keys",
        lambda: ticks(
            lambda d, k: d[k],
            (D, TSS[str]),
            [{"a": 1, "b": 2, "c": 3}, {"a": 5}, {"c": 4}],
            [{"a", "b"}, None, {"c", Removed("b")}],
        ),
    )
    yield (
        "getitem-dict",
        lambda: ticks(
            lambda d, k: d[k], (TS[Mapping[str, int]], TS[str]), [{"a": 1}, None], ["a", None]
        ),
    )
    yield (
        "getitem-dict-default",
        lambda: ticks(
            lambda d, k: getitem_(d, k, default_value=-1),
            (TS[Mapping[str, int]], TS[str]),
            [{"a": 1}, None],
            ["a", "b"],
        ),
    )
    yield (
        "flip",
        lambda: ticks(
            flip, (TSD[str, TS[str]],), [{"a": "x", "b": "y"}, {"a": "z"}, {"b": REMOVE}]
        ),
    )
    yield (
        "flip-many",
        lambda: ticks(
            lambda d: flip(d, unique=False),
            (TSD[str, TS[str]],),
            [{"a": "x", "b": "x"}, {"a": "z"}, {"b": REMOVE}],
        ),
    )
    yield "flip-clash", lambda: ticks(flip, (TSD[str, TS[str]],), [{"a": "x", "b": "x"}])
    yield (
        "flip_keys",
        lambda: ticks(
            flip_keys,
            (TSD[str, D],),
            [{"a": {"x": 1, "y": 2}}, {"b": {"x": 3}}, {"a": {"x": REMOVE}}, {"a": REMOVE}],
        ),
    )
    yield (
        "collapse_keys",
        lambda: ticks(
            collapse_keys,
            (TSD[str, D],),
            [{"a": {"x": 1, "y": 2}}, {"b": {"x": 3}}, {"a": {"x": REMOVE}}, {"a": REMOVE}],
        ),
    )
    yield (
        "uncollapse_keys",
        lambda: ticks(
            uncollapse_keys,
            (TSD[Tuple[str, str], I],),
            [
                {("a", "x"): 1, ("a", "y"): 2},
                {("b", "x"): 3},
                {("a", "x"): REMOVE},
                {("b", "x"): REMOVE},
            ],
        ),
    )
    yield (
        "uncollapse_keys-keep",
        lambda: ticks(
            lambda d: uncollapse_keys(d, remove_empty=False),
            (TSD[Tuple[str, str], I],),
            [
                {("a", "x"): 1, ("a", "y"): 2},
                {("b", "x"): 3},
                {("a", "x"): REMOVE},
                {("b", "x"): REMOVE},
            ],
        ),
    )
    yield (
        "rekey",
        lambda: ticks(
            rekey,
            (D, TSD[str, TS[str]]),
            [{"a": 1, "b": 2}, {"a": 5}, None, {"b": REMOVE}],
            [{"a": "x", "b": "y"}, None, {"a": "z"}, None],
        ),
    )
    yield (
        "rekey-set",
        lambda: ticks(
            rekey,
            (D, TSD[str, TSS[str]]),
            [{"a": 1, "b": 2}, {"a": 5}, None],
            [{"a": {"x", "w"}, "b": {"y"}}, None, {"a": {Removed("x")}}],
        ),
    )
    yield (
        "partition",
        lambda: ticks(
            partition,
            (D, TSD[str, TS[str]]),
            [{"a": 1, "b": 2, "c": 3}, {"a": 5}, None, {"b": REMOVE}],
            [{"a": "odd", "b": "even", "c": "odd"}, None, {"c": "even"}, None],
        ),
    )
    yield (
        "unpartition",
        lambda: ticks(
            unpartition,
            (TSD[str, D],),
            [{"odd": {"a": 1}, "even": {"b": 2}}, {"odd": {"a": 4}}, {"even": {"b": REMOVE}}],
        ),
    )
    yield "make_tsd", lambda: ticks(make_tsd, (TS[str], I), ["a", None, "b", None], [1, 2, None, 3])
    yield (
        "make_tsd-remove",
        lambda: ticks(
            lambda k, v, r: make_tsd(k, v, r),
            (TS[str], I, TS[bool]),
            ["a", None, None, None],
            [1, None, 2, 3],
            [None, True, None, False],
        ),
    )
    yield (
        "merge",
        lambda: ticks(
            merge, (D, D), [{"a": 1}, {"b": 3}, {"a": REMOVE}], [{"a": 5, "b": 2}, None, None]
        ),
    )
    yield (
        "merge-disjoint",
        lambda: ticks(
            lambda a, b: merge(a, b, disjoint=True),
            (D, D),
            [{"a": 1}, {"a": 3}, {"a": REMOVE}],
            [{"b": 2}, {"c": 3}, None],
        ),
    )


def table_tsl():
    L = TSL[I, Size[3]]
    yield "getitem", lambda: ticks(lambda l: l[1], (L,), [(1, 2, 3), {0: 1}, {1: 9}])
    yield "getitem-negative", lambda: ticks(lambda l: l[-1], (L,), [(1, 2, 3), {0: 1}, {2: 9}])
    yield (
        "getitem-live",
        lambda: ticks(
            lambda l, i: l[i], (L, I), [(1, 2, 3), {0: 5}, None, {2: 9}], [0, None, 2, None]
        ),
    )
    yield "getitem-out-of-range", lambda: ticks(lambda l: l[3], (L,), [(1, 2, 3)])
    yield "iterate", lambda: ticks(lambda l: l[0] + l[1] + l[2], (L,), [(1, 2, 3), {0: 5}])
    yield "len-of-port", lambda: ticks(lambda l: l[len(l) - 1], (L,), [(1, 2, 3), {0: 5}])
    yield "from_ts", lambda: ticks(lambda a, b: TSL.from_ts(a, b), (I, I), [1, None], [2, 3])
    yield "unpack", lambda: ticks(lambda l: sum(list(l)[1:], list(l)[0]), (L,), [(1, 2, 3), {0: 5}])


def table_tsb():
    B = TSB[AB]
    yield "attribute", lambda: ticks(lambda b: b.a, (B,), [{"a": 1}, {"b": "x"}, {"a": 2}])
    yield "item", lambda: ticks(lambda b: b["b"], (B,), [{"a": 1}, {"b": "x"}, {"a": 2}])
    yield "index", lambda: ticks(lambda b: b[0], (B,), [{"a": 1}, {"b": "x"}, {"a": 2}])
    yield "getattr_", lambda: ticks(lambda b: getattr_(b, "a"), (B,), [{"a": 1}])
    yield "missing", lambda: ticks(lambda b: b.zz, (B,), [{"a": 1}])
    yield (
        "from_ts",
        lambda: ticks(lambda a, b: TSB[AB].from_ts(a=a, b=b), (I, TS[str]), [1, None], ["x", "y"]),
    )
    yield "from_ts-part", lambda: ticks(lambda a: TSB[AB].from_ts(a=a), (I,), [1, 2])
    yield "keys", lambda: ticks(lambda b: b.as_dict()["a"], (B,), [{"a": 1}])


def table_compound():
    P = TS[Point]
    yield "attribute", lambda: ticks(lambda p: p.x, (P,), [Point(1, 2), Point(3, 4)])
    yield "missing", lambda: ticks(lambda p: p.zz, (P,), [Point(1, 2), Point(3, 4)])
    yield "getattr-default", lambda: ticks(lambda p: getattr_(p, "x", 5), (P,), [Point(1, 2)])
    yield (
        "setattr",
        lambda: ticks(lambda p, v: setattr_(p, "x", v), (P, I), [Point(1, 2), None], [7, 8]),
    )
    yield (
        "eq",
        lambda: ticks(lambda p, q: p == q, (P, P), [Point(1, 2), None], [Point(1, 2), Point(2, 2)]),
    )
    yield (
        "ne",
        lambda: ticks(lambda p, q: p != q, (P, P), [Point(1, 2), None], [Point(1, 2), Point(2, 2)]),
    )


def table_removal():
    def program(d):
        return d

    yield (
        "absent-if-exists",
        lambda: ticks(program, (D,), [{"a": 1}, {"z": REMOVE_IF_EXISTS}, {"a": REMOVE_IF_EXISTS}]),
    )
    yield "absent", lambda: ticks(program, (D,), [{"a": 1}, {"z": REMOVE}])
    yield "set-absent", lambda: ticks(program, (S,), [{1}, {Removed(5)}, {Removed(1)}])
    yield "set-again", lambda: ticks(program, (S,), [{1}, {1}, {2}])
    yield "empty-set", lambda: ticks(program, (S,), [set(), {1}])
    yield "empty-dict", lambda: ticks(program, (D,), [{}, {"a": 1}])
    yield (
        "nested",
        lambda: ticks(
            program,
            (TSD[str, D],),
            [{"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": REMOVE}}, {"a": REMOVE}],
        ),
    )
