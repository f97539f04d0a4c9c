"""Ports put together, and bundles as one value: what `TSD.from_ts`, `TSS.from_ts`, `as_scalar_ts` wire."""

from collections.abc import Mapping
from typing import Any

from mainspring.graph._wiring import tsl_from_ts
from mainspring.graph.operators._base import (
    OUT,
    SCALAR,
    SIZE,
    TIME_SERIES_TYPE,
    TS,
    TS_SCHEMA,
    TSB,
    TSD,
    TSD_OUT,
    TSL,
    TSS,
    TSS_OUT,
    CompoundScalar,
    K,
    compute_node,
    is_subclass,
    register_port_operator,
    set_delta,
)
from mainspring.graph.operators._convert import convert_ports, is_record
from mainspring.graph.operators._delta import whole


@compute_node(valid=())
def keyed(ts: TSL[TIME_SERIES_TYPE, SIZE], keys: tuple[K, ...]) -> TSD[K, TIME_SERIES_TYPE]:
    """Each under its key, from its first tick on."""
    return {keys[place]: change for place, change in ts.delta_value.items()}


@compute_node(all_valid=("ts",))
def keyed_once_all(
    ts: TSL[TIME_SERIES_TYPE, SIZE],
    keys: tuple[K, ...],
    _output: TSD_OUT[K, TIME_SERIES_TYPE] = None,
) -> TSD[K, TIME_SERIES_TYPE]:
    """Each under its key, once all of them have a value."""
    if not _output.valid:
        return {keys[place]: whole(item, None) for place, item in ts.items()}
    return {keys[place]: change for place, change in ts.delta_value.items()}


@compute_node(valid=())
def gathered(ts: TSL[TS[SCALAR], SIZE], _output: TSS_OUT[SCALAR] = None) -> TSS[SCALAR]:
    """The values that all of them have now."""
    before = _output.value if _output.valid else ()
    now = dict.fromkeys(one.value for one in ts.valid_values())
    return set_delta([v for v in now if v not in before], [v for v in before if v not in now])


def tsd_from_ports(tp: Any, items: Mapping[Any, Any], waits: bool) -> Any:
    """Wire the dictionary of ports; ``tp`` is its type where that is given."""
    element = tp.element if tp is not None and tp.is_resolved() else None
    put = keyed_once_all if waits else keyed
    return put(tsl_from_ts(*items.values(), element_type=element), tuple(items))


def tss_from_ports(*ports: Any) -> Any:
    """Wire the set of the ports' values."""
    return gathered(tsl_from_ts(*ports))


@compute_node(all_valid=("ts",))
def all_of(ts: TSB[TS_SCHEMA]) -> OUT:
    """The value of a bundle whose fields all have one."""
    return ts.value


def as_scalar_ts(ts: Any) -> Any:
    """Wire the bundle as one time series of its scalar class, of a mapping if it has none."""
    schema = ts.output_type.dereference().schema
    scalar = getattr(schema, "__compound__", schema.__scalar_type__) or object
    if is_record(scalar) and not is_subclass(scalar, CompoundScalar):
        return convert_ports(TS[scalar], [ts])
    return all_of[OUT : TS[scalar]](ts)


register_port_operator("as_scalar_ts", as_scalar_ts)
register_port_operator("tsd_from_ports", tsd_from_ports)
register_port_operator("tss_from_ports", tss_from_ports)
