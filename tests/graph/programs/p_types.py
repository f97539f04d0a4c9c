"""How types are told: variables of every kind, brackets, defaults, stars, resolvers, overloads and their ranks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Generic, Tuple, TypeVar

from lib import (
    AUTO_RESOLVE,
    COMPOUND_SCALAR,
    DEFAULT,
    ENUM,
    KEYABLE_SCALAR,
    NUMBER,
    OUT,
    REF,
    SCALAR,
    SCALAR_1,
    SIGNAL,
    SIZE,
    TIME_SERIES_TYPE,
    TIME_SERIES_TYPE_1,
    TS,
    TS_SCHEMA,
    TSB,
    TSD,
    TSL,
    TSS,
    TSW,
    CompoundScalar,
    K,
    Size,
    TimeSeriesSchema,
    V,
    WindowSize,
    add_,
    combine,
    compound_scalar,
    compute_node,
    const,
    eval_node,
    feedback,
    generator,
    graph,
    map_,
    nothing,
    operator,
    sink_node,
    sub_,
    ts_schema,
)


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Point(CompoundScalar):
    x: int
    y: int = 0


@dataclass(frozen=True)
class Point3(Point):
    z: int = 0


class Pair(TimeSeriesSchema):
    a: TS[int]
    b: TS[str]


class Triple(Pair):
    c: TS[float]


class Box(TimeSeriesSchema, Generic[SCALAR]):
    inside: TS[SCALAR]


def name(tp):
    return getattr(tp, "__name__", str(tp))


@compute_node
def kind(ts: TS[SCALAR], tp: type[SCALAR] = AUTO_RESOLVE) -> TS[str]:
    return name(tp)


@compute_node
def same(ts: TIME_SERIES_TYPE) -> TIME_SERIES_TYPE:
    return ts.delta_value


@compute_node
def length(ts: TSL[TIME_SERIES_TYPE, SIZE], size: type[SIZE] = AUTO_RESOLVE) -> TS[int]:
    return size.SIZE


@compute_node
def keys(ts: TSD[K, V], tp: type[K] = AUTO_RESOLVE) -> TS[str]:
    return name(tp)


@compute_node
def fields(ts: TSB[TS_SCHEMA], schema: type[TS_SCHEMA] = AUTO_RESOLVE) -> TS[str]:
    return name(schema)


def table_kind():
    for label, value in (
        ("bool", True),
        ("int", 1),
        ("float", 1.5),
        ("str", "a"),
        ("bytes", b"a"),
        ("date", date(2024, 1, 2)),
        ("datetime", datetime(2024, 1, 2)),
        ("timedelta", timedelta(1)),
        ("enum", Colour.RED),
        ("compound", Point(1)),
    ):
        yield f"value-{label}", lambda value=value: eval_node(kind, [value])
    for label, tp, value in (
        ("int", TS[int], 1),
        ("object", TS[object], 1),
        ("compound", TS[Point], Point3(1, 2, 3)),
        ("enum", TS[Colour], Colour.BLUE),
    ):

        def declared(tp=tp, value=value):
            @graph
            def g(ts: tp) -> TS[str]:
                return kind(ts)

            return eval_node(g, [value])

        yield f"declared-{label}", declared


def table_same():
    for label, tp, values in (
        ("ts", TS[int], [1, None, 2]),
        ("tuple", TS[tuple[int, ...]], [(1, 2), (3,)]),
        ("fixed-tuple", TS[tuple[int, str]], [(1, "a")]),
        ("old-tuple", TS[Tuple[int, ...]], [(1, 2)]),
        ("frozenset", TS[frozenset[int]], [frozenset({1})]),
        ("mapping", TS[Mapping[str, int]], [{"a": 1}]),
        ("dict", TS[dict[str, int]], [{"a": 1}]),
        ("tsl", TSL[TS[int], Size[2]], [(1, 2), {1: 3}]),
        ("tsd", TSD[str, TS[int]], [{"a": 1}, {"b": 2}]),
        (
            "nested",
            TSD[str, TSD[int, TSL[TS[int], Size[2]]]],
            [{"a": {1: (1, 2)}}, {"a": {1: {0: 5}}}],
        ),
        ("tss", TSS[str], [{"a"}, {"b"}]),
        ("tsb", TSB[Pair], [{"a": 1}, {"b": "x"}]),
        ("tsb-compound", TSB[Point], [{"x": 1}, {"y": 2}]),
        ("tsw", TSW[int, WindowSize[2], WindowSize[1]], [1, 2, 3]),
        ("enum", TS[Colour], [Colour.RED]),
        ("type", TS[type], [int, str]),
        ("callable", TS[object], [1, "a"]),
    ):

        def run(tp=tp, values=values):
            @graph
            def g(ts: tp) -> tp:
                return same(ts)

            return eval_node(g, values)

        yield label, run


def case_size_of_list():
    @graph
    def g(a: TS[int], b: TS[int], c: TS[int]) -> TS[int]:
        return length(TSL.from_ts(a, b, c))

    return eval_node(g, [1], [2], [3])


def case_key_type():
    return eval_node(keys, [{1: 2}], resolution_dict={"ts": TSD[int, TS[int]]})


def case_brackets_by_name():
    return eval_node(same[TIME_SERIES_TYPE : TS[int]], [1, 2])


def case_brackets_positional():
    return eval_node(same[TS[int]], [1, 2])


def case_brackets_two():
    @compute_node
    def two(a: TS[SCALAR], b: TS[SCALAR_1]) -> TS[str]:
        return f"{a.value} {b.value}"

    return eval_node(two[SCALAR:int, SCALAR_1:str], [1], ["a"])


def case_brackets_clash():
    @graph
    def g(a: TS[str]) -> TS[str]:
        return same[TIME_SERIES_TYPE : TS[int]](a)

    return eval_node(g, ["a"])


def case_operator_given_scalar_type():
    @graph
    def apply(
        a: TS[SCALAR], b: TS[SCALAR], fn: Callable[[TS[SCALAR], TS[SCALAR]], TS[SCALAR]]
    ) -> TS[SCALAR]:
        return fn(a, b)

    return eval_node(apply[int], [1, 2], [3, 4], add_[int]), eval_node(apply[int], [1], [3], sub_)


def case_number_variable():
    @compute_node
    def half(ts: TS[NUMBER]) -> TS[float]:
        return ts.value / 2

    return eval_node(half, [1, 2]), eval_node(half, [1.5])


def case_number_variable_refuses():
    @compute_node
    def half(ts: TS[NUMBER]) -> TS[float]:
        return ts.value / 2

    @graph
    def g(ts: TS[str]) -> TS[float]:
        return half(ts)

    return eval_node(g, ["a"])


def case_enum_variable():
    @compute_node
    def member(ts: TS[ENUM]) -> TS[str]:
        return ts.value.name

    return eval_node(member, [Colour.RED], resolution_dict={"ts": TS[Colour]})


def case_compound_variable():
    @compute_node
    def x(ts: TS[COMPOUND_SCALAR]) -> TS[int]:
        return ts.value.x

    @graph
    def g(ts: TS[Point]) -> TS[int]:
        return x(ts)

    return eval_node(g, [Point(1)])


def case_own_variable():
    thing = TypeVar("thing", int, str)

    @compute_node
    def twice(ts: TS[thing]) -> TS[thing]:
        return ts.value * 2

    return eval_node(twice, [2]), eval_node(twice, ["a"])


def case_own_variable_refuses():
    thing = TypeVar("thing", int, str)

    @compute_node
    def twice(ts: TS[thing]) -> TS[thing]:
        return ts.value * 2

    @graph
    def g(ts: TS[float]) -> TS[float]:
        return twice(ts)

    return eval_node(g, [1.0])


def case_variable_in_tuple():
    @compute_node
    def first(ts: TS[tuple[SCALAR, ...]]) -> TS[SCALAR]:
        return ts.value[0]

    @graph
    def g(ts: TS[tuple[str, ...]]) -> TS[str]:
        return first(ts)

    return eval_node(g, [("a", "b")])


def case_variable_in_mapping():
    @compute_node
    def values(ts: TS[Mapping[KEYABLE_SCALAR, SCALAR]]) -> TS[tuple[SCALAR, ...]]:
        return tuple(ts.value.values())

    @graph
    def g(ts: TS[Mapping[str, int]]) -> TS[tuple[int, ...]]:
        return values(ts)

    return eval_node(g, [{"a": 1}])


def case_scalar_parameter_of_variable():
    @compute_node
    def plus(ts: TS[SCALAR], more: SCALAR) -> TS[SCALAR]:
        return ts.value + more

    return eval_node(plus, [1], 2), eval_node(plus, ["a"], "b")


def case_scalar_parameter_clash():
    @compute_node
    def plus(ts: TS[SCALAR], more: SCALAR) -> TS[SCALAR]:
        return ts.value + more

    @graph
    def g(ts: TS[int]) -> TS[int]:
        return plus(ts, "a")

    return eval_node(g, [1])


def case_type_parameter():
    @compute_node
    def cast(ts: TS[int], to: type[SCALAR]) -> TS[SCALAR]:
        return to(ts.value)

    @graph
    def g(ts: TS[int]) -> TS[str]:
        return cast(ts, str)

    return eval_node(g, [1])


def case_time_series_type_parameter():
    @graph
    def none(tp: type[TIME_SERIES_TYPE]) -> TIME_SERIES_TYPE:
        return nothing(tp)

    @graph
    def g(ts: TS[int]) -> TSD[str, TS[int]]:
        return none(TSD[str, TS[int]])

    return eval_node(g, [1])


def case_auto_resolve_time_series():
    @graph
    def as_text(ts: TIME_SERIES_TYPE, tp: type[TIME_SERIES_TYPE] = AUTO_RESOLVE) -> TS[bool]:
        return const(tp == TS[int])

    @graph
    def g(ts: TS[int], s: TS[str]) -> TSL[TS[bool], Size[2]]:
        return TSL.from_ts(as_text(ts), as_text(s))

    return eval_node(g, [1], ["a"])


def case_auto_resolve_given():
    @graph
    def g(ts: TS[int]) -> TS[str]:
        return kind(ts, tp=int)

    return eval_node(g, [1])


def case_signal_takes_anything():
    @compute_node
    def beat(s: SIGNAL) -> TS[bool]:
        return True

    def through(tp, values):
        @graph
        def g(ts: tp) -> TS[bool]:
            return beat(ts)

        return eval_node(g, values)

    return (
        through(TS[int], [1, None, 2]),
        through(TSD[str, TS[int]], [{"a": 1}, None, {"a": 2}]),
        through(TSB[Pair], [{"a": 1}, {"b": "x"}]),
        through(TSS[int], [{1}, None, {2}]),
        through(TSL[TS[int], Size[2]], [(1, None), (None, 2)]),
    )


def case_generic_schema():
    @graph
    def g(ts: TSB[Box[int]]) -> TS[int]:
        return ts.inside

    return eval_node(g, [{"inside": 3}])


def case_generic_schema_made():
    @graph
    def g(ts: TS[str]) -> TSB[Box[str]]:
        return TSB[Box[str]].from_ts(inside=ts)

    return eval_node(g, ["a"])


def case_schema_made_on_the_spot():
    @graph
    def g(a: TS[int], b: TS[str]) -> TSB[ts_schema(a=TS[int], b=TS[str])]:
        return TSB[ts_schema(a=TS[int], b=TS[str])].from_ts(a=a, b=b)

    return eval_node(g, [1], ["x"])


def case_schema_in_brackets():
    @graph
    def g(ts: TSB["a" : TS[int], "b" : TS[str]]) -> TS[int]:
        return ts.a

    return eval_node(g, [{"a": 1, "b": "x"}])


def case_same_fields_are_the_same():
    @graph
    def g(ts: TSB["a" : TS[int], "b" : TS[str]]) -> TSB[Pair]:
        return ts

    return eval_node(g, [{"a": 1, "b": "x"}])


def case_compound_made_on_the_spot():
    made = compound_scalar(a=int, b=str)

    @graph
    def g(ts: TS[made]) -> TS[int]:
        return ts.a

    return eval_node(g, [made(a=1, b="x")])


def case_compound_subclass_field():
    @graph
    def g(ts: TS[Point3]) -> TS[int]:
        return ts.x + ts.z

    return eval_node(g, [Point3(1, 2, 3)])


def case_bundle_of_compound_as_scalar():
    @graph
    def g(ts: TSB[Point]) -> TS[Point]:
        return ts.as_scalar_ts()

    return eval_node(g, [{"x": 1, "y": 2}, {"y": 3}])


# --- arguments ------------------------------------------------------------------------------------------


def case_star_args():
    @compute_node
    def total(*ts: TSL[TS[int], SIZE]) -> TS[int]:
        return sum(item.value for item in ts if item.valid)

    @graph
    def g(a: TS[int], b: TS[int]) -> TS[int]:
        return total(a, b)

    return eval_node(g, [1, None, 3], [None, 5])


def case_star_args_all_valid():
    @compute_node(all_valid=("ts",))
    def total(*ts: TSL[TS[int], SIZE]) -> TS[int]:
        return sum(item.value for item in ts)

    @graph
    def g(a: TS[int], b: TS[int]) -> TS[int]:
        return total(a, b)

    return eval_node(g, [1, None, 3], [None, 5])


def case_star_kwargs_bundle():
    @compute_node
    def total(**ts: TSB[TS_SCHEMA]) -> TS[str]:
        return ",".join(f"{k}={v.value}" for k, v in ts.items() if v.valid)

    @graph
    def g(a: TS[int], b: TS[str]) -> TS[str]:
        return total(x=a, y=b)

    return eval_node(g, [1, None, 3], [None, "q"])


def case_star_kwargs_dict():
    @compute_node
    def total(a: TS[int], **others: TSD[str, TS[int]]) -> TS[int]:
        return a.value + sum(item.value for item in others.values())

    @graph
    def g(a: TS[int], b: TS[int], c: TS[int]) -> TS[int]:
        return total(a, b=b, c=c)

    return eval_node(g, [1, None, 3], [5], [None, 7])


def case_graph_star_args():
    @graph
    def total(*ts: TSL[TS[int], SIZE]) -> TS[int]:
        return ts[0] + ts[1] + ts[len(ts) - 1]

    @graph
    def g(a: TS[int], b: TS[int], c: TS[int]) -> TS[int]:
        return total(a, b, c)

    return eval_node(g, [1], [2], [3])


def case_graph_star_kwargs():
    @graph
    def total(**ts: TSB[TS_SCHEMA]) -> TS[int]:
        return ts["x"] + ts["y"]

    @graph
    def g(a: TS[int], b: TS[int]) -> TS[int]:
        return total(x=a, y=b)

    return eval_node(g, [1], [2])


def case_keyword_only():
    @compute_node
    def scaled(ts: TS[int], *, by: int = 10) -> TS[int]:
        return ts.value * by

    @graph
    def g(ts: TS[int]) -> TSL[TS[int], Size[2]]:
        return TSL.from_ts(scaled(ts), scaled(ts, by=3))

    return eval_node(g, [1, 2])


def case_default_time_series():
    @compute_node
    def plus(ts: TS[int], more: TS[int] = 10) -> TS[int]:
        return ts.value + more.value

    @graph
    def g(ts: TS[int]) -> TSL[TS[int], Size[2]]:
        return TSL.from_ts(plus(ts), plus(ts, ts))

    return eval_node(g, [1, 2])


def case_graph_returns_dict():
    @graph
    def g(a: TS[int], b: TS[str]) -> TSB[Pair]:
        return {"a": a, "b": b}

    return eval_node(g, [1], ["x"])


def case_graph_returns_constant():
    @graph
    def g(a: TS[int]) -> TS[str]:
        return "always"

    return eval_node(g, [1])


def case_values_become_ports():
    @compute_node
    def both(a: TSL[TS[int], Size[2]], b: TSB[Pair], c: TSD[str, TS[int]], d: TSS[str]) -> TS[str]:
        return f"{a.value} {b.value} {c.value} {sorted(d.value)}"

    @graph
    def g() -> TS[str]:
        return both((1, 2), {"a": 1, "b": "x"}, {"k": 3}, frozenset({"s"}))

    return eval_node(g)


def case_lists_of_lists():
    @graph
    def g(a: TS[int], b: TS[int]) -> TSL[TSL[TS[int], Size[2]], Size[2]]:
        return TSL.from_ts(TSL.from_ts(a, b), TSL.from_ts(b, a))

    return eval_node(g, [1, None], [2, 3])


def case_list_from_generator():
    @graph
    def g(a: TS[int], b: TS[int]) -> TSL[TS[int], Size[2]]:
        return TSL.from_ts(port for port in (a, b))

    return eval_node(g, [1], [2])


def case_list_with_element_type():
    @graph
    def g(a: TS[object], b: TS[int]) -> TSL[TS[object], Size[2]]:
        return TSL.from_ts(a, b, tp=TS[object])

    return eval_node(g, [1], [2])


# --- resolvers, requires, overloads ---------------------------------------------------------------------


def case_resolver_by_name():
    @compute_node(resolvers={OUT: lambda mapping, text: TS[str] if text else TS[int]})
    def turned(ts: TS[int], text: bool) -> OUT:
        return str(ts.value) if text else ts.value

    @graph
    def g(ts: TS[int]) -> TS[int]:
        return turned(ts, False)

    return eval_node(g, [1])


def case_resolver_from_bindings():
    @compute_node(resolvers={SCALAR_1: lambda mapping: tuple[mapping[SCALAR], ...]})
    def wrapped(ts: TS[SCALAR]) -> TS[SCALAR_1]:
        return (ts.value,)

    @graph
    def g(ts: TS[str]) -> TS[tuple[str, ...]]:
        return wrapped(ts)

    return eval_node(g, ["a"])


def case_requires_false():
    @compute_node(requires=lambda mapping, scalars: False)
    def never(ts: TS[int]) -> TS[int]:
        return ts.value

    return eval_node(never, [1])


def case_requires_message():
    @compute_node(requires=lambda mapping, scalars: "not today")
    def never(ts: TS[int]) -> TS[int]:
        return ts.value

    return eval_node(never, [1])


def case_requires_chooses():
    @operator
    def op(ts: TS[int], mode: str) -> TS[str]: ...

    @compute_node(overloads=op, requires=lambda mapping, mode: mode == "a")
    def op_a(ts: TS[int], mode: str) -> TS[str]:
        return "a"

    @compute_node(overloads=op, requires=lambda mapping, mode: mode == "b")
    def op_b(ts: TS[int], mode: str) -> TS[str]:
        return "b"

    @graph
    def g(ts: TS[int]) -> TSL[TS[str], Size[2]]:
        return TSL.from_ts(op(ts, "a"), op(ts, "b"))

    return eval_node(g, [1])


def case_requires_none_left():
    @operator
    def op(ts: TS[int], mode: str) -> TS[str]: ...

    @compute_node(overloads=op, requires=lambda mapping, mode: mode == "a")
    def op_a(ts: TS[int], mode: str) -> TS[str]:
        return "a"

    @graph
    def g(ts: TS[int]) -> TS[str]:
        return op(ts, "z")

    return eval_node(g, [1])


@operator
def sort_of(ts: TIME_SERIES_TYPE) -> TS[str]: ...


@compute_node(overloads=sort_of)
def sort_of_any(ts: TIME_SERIES_TYPE) -> TS[str]:
    return "any"


@compute_node(overloads=sort_of)
def sort_of_ts(ts: TS[SCALAR]) -> TS[str]:
    return "ts"


@compute_node(overloads=sort_of)
def sort_of_number(ts: TS[NUMBER]) -> TS[str]:
    return "number"


@compute_node(overloads=sort_of)
def sort_of_int(ts: TS[int]) -> TS[str]:
    return "int"


@compute_node(overloads=sort_of)
def sort_of_dict(ts: TSD[K, V]) -> TS[str]:
    return "dict"


@compute_node(overloads=sort_of)
def sort_of_dict_of_ts(ts: TSD[K, TS[SCALAR]]) -> TS[str]:
    return "dict-of-ts"


@compute_node(overloads=sort_of)
def sort_of_text_dict(ts: TSD[str, V]) -> TS[str]:
    return "text-dict"


@compute_node(overloads=sort_of)
def sort_of_tuple(ts: TS[tuple[SCALAR, ...]]) -> TS[str]:
    return "tuple"


@compute_node(overloads=sort_of)
def sort_of_pair(ts: TSB[Pair]) -> TS[str]:
    return "pair"


@compute_node(overloads=sort_of)
def sort_of_bundle(ts: TSB[TS_SCHEMA]) -> TS[str]:
    return "bundle"


@compute_node(overloads=sort_of)
def sort_of_two(ts: TSL[TIME_SERIES_TYPE, Size[2]]) -> TS[str]:
    return "two"


@compute_node(overloads=sort_of)
def sort_of_point(ts: TS[Point]) -> TS[str]:
    return "point"


def table_rank():
    for label, tp, value in (
        ("int", TS[int], 1),
        ("bool", TS[bool], True),
        ("float", TS[float], 1.0),
        ("str", TS[str], "a"),
        ("tuple", TS[tuple[int, ...]], (1,)),
        ("int-dict", TSD[int, TSS[int]], {1: {1}}),
        ("int-dict-of-ts", TSD[int, TS[int]], {1: 1}),
        ("text-dict-of-sets", TSD[str, TSS[int]], {"a": {1}}),
        ("pair", TSB[Pair], {"a": 1}),
        ("other-bundle", TSB[Box[int]], {"inside": 1}),
        ("two", TSL[TS[int], Size[2]], (1, 2)),
        ("three", TSL[TS[int], Size[3]], (1, 2, 3)),
        ("point", TS[Point], Point(1)),
        ("point3", TS[Point3], Point3(1)),
        ("set", TSS[int], {1}),
        ("enum", TS[Colour], Colour.RED),
    ):

        def run(tp=tp, value=value):
            @graph
            def g(ts: tp) -> TS[str]:
                return sort_of(ts)

            return eval_node(g, [value])

        yield label, run


def case_rank_tie():
    @operator
    def op(a: TIME_SERIES_TYPE, b: TIME_SERIES_TYPE_1) -> TS[str]: ...

    @compute_node(overloads=op)
    def left(a: TS[int], b: TIME_SERIES_TYPE) -> TS[str]:
        return "left"

    @compute_node(overloads=op)
    def right(a: TIME_SERIES_TYPE, b: TS[int]) -> TS[str]:
        return "right"

    @graph
    def g(a: TS[int], b: TS[int]) -> TS[str]:
        return op(a, b)

    return eval_node(g, [1], [2])


def case_rank_of_scalar_against_constant():
    @operator
    def op(a: TS[int], b: TS[int]) -> TS[int]: ...

    @compute_node(overloads=op)
    def with_port(a: TS[int], b: TS[int]) -> TS[int]:
        return a.value + b.value + 100

    @compute_node(overloads=op)
    def with_value(a: TS[int], b: int) -> TS[int]:
        return a.value + b

    @graph
    def g(a: TS[int]) -> TSL[TS[int], Size[2]]:
        return TSL.from_ts(op(a, 1), op(a, const(1)))

    return eval_node(g, [1])


def case_overload_with_fewer_arguments():
    @operator
    def op(a: TS[int], b: TS[int] = None) -> TS[str]: ...

    @compute_node(overloads=op)
    def one(a: TS[int]) -> TS[str]:
        return "one"

    @compute_node(overloads=op)
    def two(a: TS[int], b: TS[int]) -> TS[str]:
        return "two"

    @graph
    def g(a: TS[int]) -> TSL[TS[str], Size[2]]:
        return TSL.from_ts(op(a), op(a, a))

    return eval_node(g, [1])


def case_overload_of_a_library_operator():
    class Money:
        def __init__(self, amount):
            self.amount = amount

    @compute_node(overloads=add_)
    def add_money(lhs: TS[Money], rhs: TS[Money]) -> TS[int]:
        return lhs.value.amount + rhs.value.amount

    @graph
    def g(a: TS[Money]) -> TS[int]:
        return a + a

    return eval_node(g, [Money(1), Money(2)])


def case_operator_with_no_overload():
    @operator
    def op(ts: TS[int]) -> TS[int]: ...

    return eval_node(op, [1])


def case_map_over_generic():
    @graph
    def g(ts: TSD[str, TS[int]]) -> TSD[str, TS[str]]:
        return map_(kind, ts)

    return eval_node(g, [{"a": 1}])


def case_reference_in_signature():
    @compute_node
    def ref(ts: REF[TIME_SERIES_TYPE]) -> REF[TIME_SERIES_TYPE]:
        return ts.value

    def through(tp, values):
        @graph
        def g(ts: tp) -> tp:
            return ref(ts)

        return eval_node(g, values)

    return (
        through(TS[int], [1, 2]),
        through(TSD[str, TS[int]], [{"a": 1}, {"b": 2}]),
        through(TSB[Pair], [{"a": 1}, {"b": "x"}]),
        through(TSL[TS[int], Size[2]], [(1, 2), {0: 3}]),
        through(TSS[int], [{1}, {2}]),
    )
