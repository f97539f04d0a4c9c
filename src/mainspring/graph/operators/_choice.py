"""Choosing between whole time series: the output leads to one of the inputs, and nothing is copied.

A choice ticks when it changes, with all there is, and whenever what is chosen ticks. The kernel binds a link;
an input that is not chosen costs nothing.
"""

from typing import Any

from mainspring.graph.operators._base import (
    AUTO_RESOLVE,
    REF,
    SIZE,
    STATE,
    TIME_SERIES_TYPE,
    TS,
    TS_OUT,
    TS_SCHEMA,
    TSB,
    TSD,
    TSL,
    CmpResult,
    K,
    TSBm,
    TSLm,
    changed,
    compute_node,
    const_of,
    graph,
    made_node,
    native_node,
)
from mainspring.graph.operators._names import (
    all_,
    any_,
    default,
    dereference,
    if_,
    if_cmp,
    if_then_else,
    race,
    reduce_tsd_of_bundles_with_race,
    reduce_tsd_with_race,
    route_by_index,
)
from mainspring.graph.operators._schemas import BoolResult


def _linked(
    name: str, code: str, output: Any, active: list[Any], passive: list[Any], *params: Any
) -> Any:
    """Wire a native choice: `active` inputs evaluate it, `passive` ones are only led to."""
    inputs = [(f"in_{i}", port, i < len(active)) for i, port in enumerate([*active, *passive])]
    return native_node(name, code, inputs, output, link=True, params=params)


def _one_type(ports: list[Any]) -> Any:
    return ports[0].output_type.dereference()


@graph(overloads=if_then_else)
def if_then_else_any(
    condition: TS[bool], true_value: TIME_SERIES_TYPE, false_value: TIME_SERIES_TYPE
) -> TIME_SERIES_TYPE:
    """The first while the condition holds, the second while it does not."""
    sides = [true_value, false_value]
    return _linked("if_then_else", "select", _one_type(sides), [condition], sides)


@graph(overloads=if_cmp)
def if_cmp_any(
    cmp: TS[CmpResult], lt: TIME_SERIES_TYPE, eq: TIME_SERIES_TYPE, gt: TIME_SERIES_TYPE
) -> TIME_SERIES_TYPE:
    """One of the three, by how a comparison came out."""
    order = (CmpResult.LT, CmpResult.EQ, CmpResult.GT)
    place = made_node(
        "if_cmp_place", lambda ts: order.index(ts.value), {"ts": TS[CmpResult]}, TS[int]
    )
    return _linked("if_cmp", "select", _one_type([lt]), [place(cmp)], [lt, eq, gt])


@graph(overloads=if_)
def if_any(condition: TS[bool], ts: TIME_SERIES_TYPE):
    """The time series on the side the condition picks; the other side has no value."""
    tp = _one_type([ts])
    out = TSB[BoolResult[tp]]
    return native_node("if_", "route", [("condition", condition, True), ("ts", ts, False)], out)


@graph(overloads=route_by_index)
def route_by_index_any(
    index: TS[int], ts: TIME_SERIES_TYPE, size: type[SIZE] = AUTO_RESOLVE
) -> TSL[TIME_SERIES_TYPE, SIZE]:
    """The time series at the place the index picks: `route_by_index[SIZE: Size[3]](index, ts)`."""
    out = TSL[_one_type([ts]), size]
    return native_node("route_by_index", "route", [("index", index, True), ("ts", ts, False)], out)


@graph(overloads=race)
def race_any(*ts: TSL[TIME_SERIES_TYPE, SIZE]) -> TIME_SERIES_TYPE:
    """The first to have a value."""
    ports = list(ts)
    parts = [part for port in ports for part in _parts(port)]
    return _linked("race", "race", _one_type(ports), [*ports, *parts], [], len(ports))


def _parts(port: Any) -> list[Any]:
    """The ports that a port put together of several has in it: what it holds may go piece by piece."""
    if not isinstance(port.output_type.dereference(), TSLm | TSBm):
        return []
    return [inner for part in port for inner in (part, *_parts(part))]


@graph(overloads=default)
def default_any(ts: TIME_SERIES_TYPE, default_value: TIME_SERIES_TYPE) -> TIME_SERIES_TYPE:
    """The first while it has a value, the second until then."""
    return _linked("default", "default", _one_type([ts]), [ts], [default_value])


@compute_node(overloads=reduce_tsd_with_race)
def reduce_race(
    tsd: TSD[K, REF[TIME_SERIES_TYPE]], _output: TS_OUT[object] = None, _state: STATE = None
) -> REF[TIME_SERIES_TYPE]:
    """The first element to have a value; when it loses it or goes, the first key's that has one then."""
    # order: the one that leads, then of the keys
    for key in (*getattr(_state, "leads", ()), *tsd.keys()):
        if key in tsd and tsd[key].valid and tsd[key].value.is_valid:
            _state.leads = (key,)
            return changed(tsd[key].value, _output)
    _state.leads = ()
    return None


@graph(overloads=reduce_tsd_of_bundles_with_race)
def reduce_plain_race(tsd: TSD[K, TIME_SERIES_TYPE]) -> TIME_SERIES_TYPE:
    """A race of the elements, where they have no fields."""
    return reduce_tsd_with_race(tsd)


@graph(overloads=reduce_tsd_of_bundles_with_race)
def reduce_bundles_race(tsd: TSD[K, TSB[TS_SCHEMA]]) -> TSB[TS_SCHEMA]:
    """A race for each field of the bundles."""
    tp = tsd.output_type.dereference().element
    fields = {name: reduce_tsd_with_race(getattr(tsd, name)) for name in tp.fields}
    return TSB[tp.schema].from_ts(**fields)


def _of_many(name: str, ports: list[Any], of_none: bool) -> Any:
    if not ports:
        return const_of(of_none, TS[bool])
    inputs = [(f"in_{i}", port, True) for i, port in enumerate(ports)]
    return native_node(name, name, inputs, TS[bool])


@graph(overloads=dereference)
def dereference_list(tsb: TSL[TIME_SERIES_TYPE, SIZE]) -> TSL[TIME_SERIES_TYPE, SIZE]:
    """The elements, as ports of their own."""
    return TSL.from_ts(*tsb)


@graph(overloads=dereference)
def dereference_bundle(tsb: TSB[TS_SCHEMA]) -> TSB[TS_SCHEMA]:
    """The fields, as ports of their own."""
    return TSB[tsb.output_type.dereference().schema].from_ts(**tsb.as_dict())


@graph(overloads=all_)
def all_many(*args: TSL[TS[bool], SIZE]) -> TS[bool]:
    """True when every one has a value and it is true."""
    return _of_many("all_", list(args), True)


@graph(overloads=any_)
def any_many(*args: TSL[TS[bool], SIZE]) -> TS[bool]:
    """True when one has a value and it is true."""
    return _of_many("any_", list(args), False)


@compute_node(overloads=all_)
def all_of_dict(arg: TSD[K, TS[bool]]) -> TS[bool]:
    """True when every element is true."""
    return all(item.value for item in arg.valid_values())


@compute_node(overloads=any_)
def any_of_dict(arg: TSD[K, TS[bool]]) -> TS[bool]:
    """True when an element is true."""
    return any(item.value for item in arg.valid_values())
