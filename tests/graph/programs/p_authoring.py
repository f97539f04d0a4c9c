"""Ways to write nodes and graphs: packed arguments, types handed on, operators by name, overloads of the library's own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from lib import (
    AUTO_RESOLVE,
    DEFAULT,
    OUT,
    REF,
    SCALAR,
    SCALAR_1,
    SIZE,
    TIME_SERIES_TYPE,
    TS,
    TS_SCHEMA,
    TSB,
    TSD,
    TSL,
    TSS,
    CompoundScalar,
    K,
    TimeSeriesSchema,
    V,
    WiringError,
    cast_,
    combine,
    compute_node,
    const,
    eval_node,
    graph,
    map_,
    operator,
    reduce,
    switch_,
)

# --- what *args and **kwargs of a graph are ----------------------------------------------------


@graph
def packed_list(*values: TSL[TS[int], SIZE]) -> TSL[TS[int], SIZE]:
    return values


@graph
def packed_series(*values: TS[int]) -> TS[int]:
    return values[0] - values[1]


@graph
def packed_bundle(*values: TSB[TS_SCHEMA]) -> TS[str]:
    return values[1]


@graph
def named_bundle(first: TS[int], **rest: TSB[TS_SCHEMA]) -> TS[int]:
    parts = rest.as_dict()
    return first + parts["b"] * parts["c"]


class Sides(TimeSeriesSchema):
    left: TS[int]
    right: TS[int]


@graph
def declared_bundle(**sides: TSB[Sides]) -> TS[int]:
    return sides.right - sides.left


@graph
def named_dictionary(**values: TSD[str, TS[int]]) -> TS[int]:
    return values["b"]


@graph
def named_series(**values: TS[int]) -> TS[int]:
    return values["a"] - values["b"]


def case_packed_list():
    return eval_node(packed_list, [1, 2], [3, None])


def case_packed_series():
    return eval_node(packed_series, [9], [2])


def case_packed_bundle():
    return eval_node(packed_bundle, [1], ["x", "y"])


def case_named_bundle():
    @graph
    def app(a: TS[int], b: TS[int], c: TS[int]) -> TS[int]:
        return named_bundle(a, b=b, c=c)

    return eval_node(app, [1], [2], [3, 4])


def case_declared_bundle():
    return eval_node(declared_bundle, left=[1], right=[5, 7])


def case_named_dictionary():
    return eval_node(named_dictionary, a=[1], b=[2, 3])


def case_named_series():
    return eval_node(named_series, a=[5], b=[2, 3])


# --- without annotations, and with a choice of them --------------------------------------------


@graph
def bare(value, other):
    return value * other


def case_graph_without_annotations():
    return eval_node(bare, [2, 3], 5)


@compute_node
def either(value: TS[int] | TS[str]) -> TS[str]:
    return repr(value.value)


def case_either_series():
    return eval_node(either, [1, 2]), eval_node(either, ["a"])


@compute_node
def summed(values: TSD[K, TS[V]]) -> TS[str]:
    return ",".join(f"{key}={value}" for key, value in sorted(values.value.items()))


def case_variable_for_a_value_of_a_dictionary():
    return eval_node(summed[str, int], [{"a": 1, "b": 2}])


@compute_node
def two_variables(lhs: TS[K], rhs: TS[SCALAR]) -> TS[bool]:
    return True


def case_brackets_that_may_mean_either():
    return eval_node(two_variables[str], ["a"], [1])


# --- types that are handed on -------------------------------------------------------------------


@dataclass(frozen=True)
class Row(CompoundScalar):
    value: int


@compute_node
def row_name(value: TS[int], schema: type[SCALAR] = DEFAULT[SCALAR]) -> TS[str]:
    return f"{schema.__name__}{value.value}"


def case_type_from_brackets():
    return eval_node(row_name[Row], [1])


def case_type_from_a_keyword():
    return eval_node(row_name, [1], schema=Row)


def case_type_from_a_named_variable():
    return eval_node(row_name[SCALAR:Row], [1])


@graph
def two_types(
    inferred: type[SCALAR_1] = AUTO_RESOLVE, schema: type[SCALAR] = DEFAULT[SCALAR]
) -> TS[str]:
    return const(f"{schema.__name__} {inferred.__name__}")


def case_marked_type_is_filled_first():
    @graph
    def app() -> TS[str]:
        return two_types[int, str]()

    return eval_node(app)


@compute_node
def keyed(
    value: TS[int],
    key_type: type[K] = AUTO_RESOLVE,
    value_type: type[TIME_SERIES_TYPE] = AUTO_RESOLVE,
    result: type[TSD[K, TIME_SERIES_TYPE]] = DEFAULT[OUT],
) -> TSD[K, TIME_SERIES_TYPE]:
    return {f"{key_type.__name__} {value_type == TS[int]}": value.value}


def case_parts_of_a_type_from_brackets():
    return eval_node(keyed[TSD[str, TS[int]]], [3])


@operator
def typed(value: TS[int], to: type[OUT] = DEFAULT[OUT]) -> OUT: ...


@compute_node(overloads=typed)
def typed_scalar(
    value: TS[int], to: type[TS[SCALAR]] = OUT, inner: type[SCALAR] = AUTO_RESOLVE
) -> OUT:
    return inner(value.value)


def case_operator_takes_its_result_from_brackets():
    return eval_node(typed[TS[Row]], [7])


def case_operator_takes_its_result_from_a_keyword():
    return eval_node(typed, [8], to=TS[Row])


def case_operator_refuses_another_kind():
    return eval_node(typed[TSD[str, TS[int]]], [7])


def case_operator_refuses_two_answers():
    return eval_node(typed[TS[Row]], [7], to=TSD[str, TS[int]])


@operator
def found(key: TS[str], by: type[OUT] = AUTO_RESOLVE) -> TS[str]: ...


@compute_node(overloads=found)
def found_by_type(key: TS[str], by: type[OUT] = AUTO_RESOLVE) -> TS[str]:
    return "type"


@compute_node(overloads=found)
def found_by_name(key: TS[str], name: str) -> TS[str]:
    return name


def case_text_is_no_type():
    return eval_node(found, ["k"], "name")


# --- operators by name --------------------------------------------------------------------------


@graph
def mapped_by_name(lhs: TSD[str, TS[int]], rhs: TSD[str, TS[int]]) -> TSD[str, TS[int]]:
    return map_("add_", lhs, rhs)


@graph
def reduced_by_name(values: TSD[str, TS[int]]) -> TS[int]:
    return reduce("add_", values, 0)


@graph
def switched_by_name(key: TS[str], lhs: TS[int], rhs: TS[int]) -> TS[int]:
    return switch_(key, {"plus": "add_", "minus": "sub_"}, lhs, rhs)


def case_map_by_name():
    return eval_node(mapped_by_name, [{"a": 1}, {"b": None}], [{"a": 2, "b": 3}])


def case_reduce_by_name():
    return eval_node(reduced_by_name, [{"a": 1, "b": 3}, {"a": 5}])


def case_switch_by_name():
    return eval_node(switched_by_name, ["plus", "minus"], [5, 6], [2])


# --- overloads of what the library wires by itself ----------------------------------------------


@graph
def only_even(lhs: TS[int], rhs: TS[int]) -> TS[int]:
    return lhs + rhs


@graph
def plus(lhs: TS[int], rhs: TS[int]) -> TS[int]:
    return lhs + rhs


@compute_node(overloads=reduce, requires=lambda mapping, func: func == only_even)
def reduce_even(
    func: Callable[..., Any],
    values: TSD[str, TS[int]],
    zero: int = 0,
    is_associative: bool = True,
) -> TS[int]:
    return sum(value.value for value in values.values() if value.value % 2 == 0)


def case_reduce_with_an_overload():
    @graph
    def mine(values: TSD[str, TS[int]]) -> TS[int]:
        return reduce(only_even, values, 0)

    @graph
    def other(values: TSD[str, TS[int]]) -> TS[int]:
        return reduce(plus, values, 0)

    ticks = [{"a": 1, "b": 4}]
    return eval_node(mine, ticks), eval_node(other, ticks)


@compute_node(overloads=cast_)
def cast_row(tp: type[str], ts: TS[Row]) -> TS[str]:
    return f"row {ts.value.value}"


def case_cast_with_an_overload():
    @graph
    def mine(ts: TS[Row]) -> TS[str]:
        return cast_(str, ts)

    @graph
    def other(ts: TS[int]) -> TS[str]:
        return cast_(str, ts)

    return eval_node(mine, [Row(3)]), eval_node(other, [3])


# --- words in the class line ---------------------------------------------------------------------


@dataclass(frozen=True)
class Animal(CompoundScalar, abstract=True, namespace="farm"):
    name: str


@dataclass(frozen=True)
class Cow(Animal, namespace="farm"):
    litres: int = 0


class Stable(TimeSeriesSchema, namespace="farm"):
    cow: TS[Cow]
    count: TS[int]


@compute_node
def called(animal: TS[Animal]) -> TS[str]:
    return animal.value.name


def case_words_in_the_class_line():
    @graph
    def app(cow: TS[Cow]) -> TSB[Stable]:
        return combine[TSB[Stable]](cow=cow, count=1)

    return eval_node(app, [Cow("Berta", 3)]), eval_node(called, [Cow("Berta")])


# --- eval_node ------------------------------------------------------------------------------------


@compute_node
def silent(ts: TS[int]) -> TS[int]:
    return None


def case_elided_silence():
    return eval_node(silent, [1, 2], __elide__=True)


def case_type_for_no_input():
    @graph
    def app(ts: TS[int]) -> TS[int]:
        return ts

    try:
        return eval_node(app, [1], resolution_dict={"tz": TS[int]})
    except WiringError:
        return "refused"


def case_dictionary_for_a_set():
    @graph
    def app(ts: TSS[int]) -> TSS[int]:
        return ts

    return eval_node(app, [{1: 2}])


# --- a case that gives what the last one gave ----------------------------------------------------


@compute_node
def referred(ts: REF[TIME_SERIES_TYPE]) -> REF[TIME_SERIES_TYPE]:
    return ts.value


class Pair(TimeSeriesSchema):
    x: TS[int]
    y: TSD[str, TS[int]]


@graph
def same_series(key: TS[str], ts: TS[int]) -> TS[int]:
    return switch_(
        key, {"a": lambda ts: ts, "b": lambda ts: referred(ts), "c": lambda ts: ts + 0}, ts
    )


@graph
def same_dictionary(key: TS[str], ts: TSD[str, TS[int]]) -> TSD[str, TS[int]]:
    return switch_(key, {"a": lambda ts: ts, "b": lambda ts: referred(ts)}, ts)


@graph
def same_field(key: TS[str], y: TSD[str, TS[int]]) -> TSB[Pair]:
    return switch_(
        key,
        {
            "a": lambda y: combine[TSB[Pair]](x=0, y=y),
            "b": lambda y: combine[TSB[Pair]](x=1, y=y),
        },
        y,
    )


@graph
def field_of_the_same(key: TS[str], y: TSD[str, TS[int]]) -> TSD[str, TS[int]]:
    return same_field(key, y).y


def case_switch_to_the_same_series():
    return eval_node(same_series, ["a", "b", "c", "a", "b"], [1, None, None, None, 5])


def case_switch_to_the_same_dictionary():
    return eval_node(same_dictionary, ["a", "b", "a"], [{"k": 1}, {"j": 2}, None])


def case_switch_to_the_same_field():
    return eval_node(same_field, ["a", "b", None, "a"], [{"k": 1}, None, {"k": 2}, {"j": 3}])


def case_switch_seen_through_a_field():
    return eval_node(field_of_the_same, ["a", "b", None, "a"], [{"k": 1}, None, {"k": 2}, None])
