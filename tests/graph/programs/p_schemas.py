"""Bundles and compound scalars: fields of any name, of generic classes, and with values that may be absent."""

from dataclasses import dataclass
from typing import Generic, Optional, TypeVar

from lib import (
    CONTEXT,
    RECORDABLE_STATE,
    STATE,
    TIME_SERIES_TYPE,
    TS,
    TS_SCHEMA,
    TSB,
    TSB_OUT,
    TSD,
    CompoundScalar,
    TimeSeriesSchema,
    combine,
    compute_node,
    const,
    dedup,
    dereference,
    eval_node,
    graph,
    if_then_else,
    len_,
    map_,
    sink_node,
    switch_,
)

T = TypeVar("T")


# --- fields whose names are words of the views ---------------------------------------------------


class Reading(TimeSeriesSchema):
    value: TS[int]
    unit: TS[str]


@dataclass(frozen=True)
class Amount(CompoundScalar):
    value: int
    valid: bool = True


def case_value_of_a_bundle_with_a_field_value():
    @compute_node
    def whole(ts: TSB[Reading]) -> TS[str]:
        return f"{sorted(ts.value.items())} {ts['value'].value} {ts.as_schema['unit'].value}"

    return eval_node(whole, [{"value": 1, "unit": "m"}, {"unit": "km"}])


def case_value_of_a_compound_scalar_with_a_field_value():
    @compute_node
    def whole(ts: TSB[Amount]) -> TS[str]:
        return f"{type(ts.value).__name__} {ts.value.value} {ts.valid} {ts.modified}"

    return eval_node(whole, [{"value": 1, "valid": False}, {"value": 2}])


def case_delta_and_output_of_a_bundle_with_a_field_value():
    seen = []

    @compute_node
    def forward(ts: TSB[Reading], _output: TSB_OUT[Reading] = None) -> TSB[Reading]:
        seen.append(_output.value if _output.valid else None)
        return ts.delta_value

    return eval_node(forward, [{"value": 1, "unit": "m"}, {"value": 2}]), seen


def case_one_time_series_of_a_bundle_with_a_field_value():
    @graph
    def joined(ts: TSB[Amount]) -> TS[Amount]:
        return ts.as_scalar_ts()

    return [str(each) for each in eval_node(joined, [{"value": 1, "valid": True}])]


def case_recordable_state_with_a_field_value():
    @compute_node
    def summed(ts: TS[int], _state: RECORDABLE_STATE[Reading] = None) -> TS[int]:
        _state.value.value = _state.value.value + ts.value
        return _state.value.value

    @summed.start
    def summed_start(_state: RECORDABLE_STATE[Reading] = None):
        _state.value.value = 10

    return eval_node(summed, [1, 2])


class Basket(TimeSeriesSchema):
    items: TSD[str, TS[int]]
    values: TS[int]


def case_ports_of_fields_called_items_and_values():
    @graph
    def grown(ts: TSB[Basket]) -> TSD[str, TS[int]]:
        return map_(lambda item, more: item + more, ts.items, ts.values)

    return eval_node(grown, [{"items": {"a": 1}, "values": 5}, {"items": {"b": 2}}])


def case_a_bundle_opened_as_keywords():
    @graph
    def opened(ts: TSB[Reading]) -> TS[int]:
        parts = dict(**ts)
        assert ts.keys() == ("value", "unit")
        return parts["value"] + len_(parts["unit"])

    return eval_node(opened, [{"value": 1, "unit": "km"}])


# --- generic classes -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Tagged(Generic[T]):
    item: T
    tag: str = "none"


@dataclass(frozen=True)
class Marked(CompoundScalar, Generic[T]):
    item: T
    tag: str = "none"


def case_bundle_of_a_generic_dataclass():
    @compute_node
    def told(ts: TSB[Tagged[int]]) -> TS[str]:
        return f"{ts.value} {ts.item.value}"

    return eval_node(told, [{"item": 1, "tag": "x"}, {"item": 2}])


def case_bundle_of_a_generic_compound_scalar():
    @graph
    def made(ts: TS[int]) -> TSB[Marked[int]]:
        return combine[TSB[Marked[int]]](item=ts, tag="k")

    return eval_node(made, [1, 2])


def case_variable_in_a_bundle_of_a_generic_class():
    @compute_node
    def item_of(ts: TSB[Marked[T]]) -> TS[T]:
        return ts.item.value

    @graph
    def made(ts: TS[int]) -> TS[int]:
        return item_of(TSB[Marked[int]].from_ts(item=ts, tag=const("k")))

    return eval_node(made, [1, 2])


class _Whole(TimeSeriesSchema):
    count: TS[int]


class _Part(TimeSeriesSchema):
    count: TS[float]


SHAPE = TypeVar("SHAPE", _Whole, _Part)


class Pair(TimeSeriesSchema, Generic[SHAPE]):
    asked: TSB[SHAPE]
    got: TSB[SHAPE]


@dataclass(frozen=True)
class Length:
    count: int


def case_generic_schema_filled_with_a_dataclass():
    @compute_node
    def asked_for(ts: TSB[Pair[Length]]) -> TS[int]:
        return ts.asked.count.value

    return eval_node(asked_for, [{"asked": {"count": 3}}])


def case_generic_schema_filled_with_a_schema():
    @compute_node
    def missing(ts: TSB[Pair[_Whole]]) -> TS[int]:
        return ts.asked.count.value - ts.got.count.value

    return eval_node(missing, [{"asked": {"count": 3}, "got": {"count": 1}}])


# --- contexts made of fields ---------------------------------------------------------------------


class Voice:
    now = None

    def __enter__(self):
        Voice.now = self
        return self

    def __exit__(self, *exc):
        Voice.now = None


@dataclass(frozen=True)
class Loud(Voice, Generic[T]):
    value: T
    word: str = "hey"


@dataclass(frozen=True)
class Soft(CompoundScalar, Voice):
    value: int
    word: str = "hm"


@compute_node
def speak(ts: TS[bool], voice: CONTEXT[Voice] = None) -> TS[str]:
    return f"{Voice.now.word} {Voice.now.value} {ts.value}"


def case_context_of_a_generic_dataclass():
    @graph
    def spoken(ts: TS[bool]) -> TS[str]:
        with combine[TSB[Loud[int]]](value=1, word="hello"):
            return switch_(ts, {True: lambda on: speak(on), False: lambda on: speak(on)}, ts)

    return eval_node(spoken, [True, None, False])


def case_context_of_a_bundle_with_a_field_value():
    @graph
    def spoken(ts: TS[bool]) -> TS[str]:
        with TSB[Soft].from_ts(value=1, word="hush"):
            return speak(ts)

    return eval_node(spoken, [True, None, False])


# --- values that may be absent -------------------------------------------------------------------


@dataclass
class Order(CompoundScalar):
    size: int
    limit: float | None = None
    parent: Optional["Order"] = None
    venue: "str | None" = None


@dataclass
class Head(CompoundScalar):
    size: int
    tail: Optional["Tail"] = None


@dataclass
class Tail(CompoundScalar):
    size: int
    head: Head | None = None


def case_field_that_may_be_none():
    @graph
    def cost(ts: TS[Order]) -> TS[float]:
        return ts.limit * 2.0

    return eval_node(cost, [Order(1, 1.5), Order(2), Order(3, 4.0)])


def case_field_that_may_be_none_in_quotes():
    @graph
    def venue(ts: TS[Order]) -> TS[int]:
        return len_(ts.venue)

    return eval_node(venue, [Order(1, venue="abc"), Order(2)])


def case_field_of_a_bundle_that_may_be_none():
    @graph
    def cost(ts: TSB[Order]) -> TS[float]:
        return ts.limit + 1.0

    return eval_node(cost, [{"size": 1}, {"limit": 2.0}])


def case_field_of_its_own_class():
    @graph
    def above(ts: TS[Order]) -> TS[int]:
        return ts.parent.size

    return eval_node(above, [Order(1, None, Order(7)), Order(2)])


def case_fields_of_two_classes_that_hold_each_other():
    @graph
    def below(ts: TS[Head]) -> TS[int]:
        return ts.tail.head.size

    return eval_node(below, [Head(1, Tail(2, Head(3)))])


def case_optional_time_series_value():
    @graph
    def plus_one(ts: TS[int | None]) -> TS[int]:
        return ts + 1

    return eval_node(plus_one, [1, None, 3])


# --- arguments -----------------------------------------------------------------------------------


def case_start_takes_a_scalar_of_its_own():
    @compute_node
    def running(ts: TS[int], total: STATE = None) -> TS[int]:
        total.sum += ts.value
        return total.sum

    @running.start
    def running_start(initial: int, total: STATE = None):
        total.sum = initial

    @graph
    def two(ts: TS[int]) -> TS[int]:
        return running(ts, initial=100) - running(ts, initial=1)

    return eval_node(running, [1, 2], initial=10), eval_node(two, [1, 2])


def case_stop_takes_the_scalar_of_start():
    told = []

    @sink_node
    def watched(ts: TS[int]):
        told.append(ts.value)

    @watched.start
    def watched_start(name: str):
        told.append(f"{name} starts")

    @watched.stop
    def watched_stop(name: str):
        told.append(f"{name} stops")

    eval_node(watched, [1, 2], name="it")
    return told


def case_start_without_its_scalar():
    @compute_node
    def running(ts: TS[int], total: STATE = None) -> TS[int]:
        return ts.value

    @running.start
    def running_start(initial: int, total: STATE = None):
        total.sum = initial

    return eval_node(running, [1])


class Switches(TimeSeriesSchema):
    up: TS[bool]
    by: TS[int]


@graph
def moved(value: TS[int], how: TSB[Switches]) -> TS[int]:
    by = dereference(how)
    return if_then_else(by.up, value + by.by, value - by.by)


@graph
def moved_by_any(value: TS[int], how: TSB[TS_SCHEMA]) -> TS[int]:
    by = dereference(how)
    return if_then_else(by.up, value + by.by, value - by.by)


def case_map_with_ports_for_a_bundle():
    @graph
    def each(values: TSD[str, TS[int]], up: TS[bool], by: TS[int]) -> TSD[str, TS[int]]:
        return map_(moved, values, {"up": up, "by": by}, __keys__=values.key_set)

    return eval_node(each, [{"a": 2, "b": 3}], [True, False], [10, 5])


def case_map_with_ports_for_a_bundle_of_any_fields():
    @graph
    def each(values: TSD[str, TS[int]], up: TS[bool], by: TS[int]) -> TSD[str, TS[int]]:
        how = {"up": up, "by": by}
        return map_(moved_by_any, value=values, how=how, __keys__=values.key_set)

    return eval_node(each, [{"a": 2, "b": 3}], [True, False], [10, 5])


@graph
def plus_length(value: TS[int], whole: TIME_SERIES_TYPE) -> TS[int]:
    return value + len_(whole)


def case_map_gives_a_dictionary_of_other_keys_whole():
    @graph
    def each(values: TSD[str, TS[int]], whole: TSD[int, TS[int]]) -> TSD[str, TS[int]]:
        return map_(plus_length, values, whole)

    return eval_node(each, [{"a": 1, "b": 2}, None], [{1: 10, 2: 20}, {3: 30}])


def case_dedup_of_a_constant():
    @graph
    def same(ts: TS[int]) -> TS[int]:
        return dedup(2)

    return eval_node(same, [1])


class Parcel(TimeSeriesSchema):
    children: TS[int]
    type: TS[str]
    path: TS[int]
    node: TS[int]


@dataclass(frozen=True)
class Ticket(CompoundScalar):
    type: str
    children: int = 1
    get: int = 0
    path: int = 0
    node: int = 0


def case_ports_of_fields_called_as_parts_of_ports():
    @graph
    def told(ts: TSB[Parcel]) -> TS[int]:
        return len_(ts.type) + ts.path * ts.node + ts.children

    return eval_node(told, [{"type": "abc", "path": 2, "node": 5, "children": 1}, {"type": "z"}])


def case_fields_of_a_value_called_as_parts_of_ports():
    @graph
    def told(ts: TS[Ticket]) -> TS[int]:
        return len_(ts.type) + ts.path * ts.node + ts.children + ts.get

    return eval_node(told, [Ticket("abc", 4, 7, 2, 5), Ticket("z")])
