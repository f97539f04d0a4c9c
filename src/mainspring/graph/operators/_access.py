"""Getting at parts: attributes and items of scalars, items of lists by a live place."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any, get_args, get_origin

from mainspring.graph.operators import _names as names
from mainspring.graph.operators._base import (
    COMPOUND_SCALAR,
    REF,
    SCALAR,
    SIZE,
    TIME_SERIES_TYPE,
    TS,
    TSL,
    K,
    TSBm,
    TSDm,
    TSm,
    WiringError,
    compute_node,
    graph,
    is_subclass,
    made_node,
    nearest,
    register_port_operator,
    scalar_fields,
    type_name,
)
from mainspring.graph.operators._names import contains_, getattr_, getitem_, len_, setattr_

# Attributes of dates and times that a port shows: the type they are read from, the operator.
_PARTS: dict[Any, tuple[str, ...]] = {
    date: ("year", "month", "day", "weekday", "isoweekday", "isoformat"),
    datetime: (
        "year", "month", "day", "weekday", "isoweekday", "hour", "minute", "second", "microsecond",
        "date", "time", "timestamp",
    ),
    timedelta: ("days", "seconds", "microseconds", "total_seconds"),
}  # fmt: skip


def _operator_of_part(kind: Any, name: str) -> Any:
    if name in ("date", "time"):
        return None
    return getattr(names, name)


def temporal_attr(port: Any, name: str) -> Any:
    """Wire what a port of a date, a time, a span of time or an enumeration shows under a name."""
    kind = port.output_type.dereference().scalar
    if name == "name" and is_subclass(kind, Enum):
        return made_node("enum_name", lambda ts: ts.value.name, {"ts": TS[kind]}, TS[str])(port)
    if name not in _PARTS.get(kind, ()):
        return None
    part = _operator_of_part(kind, name)
    if part is not None:
        return part(port)
    out = date if name == "date" else __import__("datetime").time
    return made_node(
        f"datetime_{name}", lambda ts: getattr(ts.value, name)(), {"ts": TS[datetime]}, TS[out]
    )(port)


# --- attributes -------------------------------------------------------------------------------------


def _field(tp: Any, attr: str) -> Any:
    """Return the type of a field of a scalar, or None."""
    return scalar_fields(tp.scalar).get(attr) if isinstance(tp, TSm) else None


@graph(overloads=getattr_)
def getattr_plain(ts: TIME_SERIES_TYPE, attr: str):
    """The field, attribute or part with a name."""
    tp = ts.output_type.dereference()
    if isinstance(tp, TSBm):
        return ts[attr]
    if isinstance(tp, TSDm) and isinstance(tp.element, TSBm | TSm):
        return map_attr(ts, attr)
    field = _field(tp, attr)
    if field is not None:
        return made_node(
            f"getattr_{attr}", lambda one: getattr(one.value, attr), {"ts": tp}, TS[field]
        )(ts)
    found = temporal_attr(ts, attr) if isinstance(tp, TSm) else None
    if found is None:
        known = list(scalar_fields(tp.scalar)) if isinstance(tp, TSm) else []
        hint = nearest(attr, known)
        raise WiringError(
            f"{type_name(tp)} has no attribute {attr!r}",
            hint=hint or (f"it has {', '.join(known)}" if known else None),
        )
    return found


@graph(overloads=getattr_)
def getattr_default(ts: TS[COMPOUND_SCALAR], attr: str, default: object):
    """The field with a name; the default where it is None."""
    tp = ts.output_type.dereference()
    field = _field(tp, attr)
    if field is None:
        raise WiringError(f"{type_name(tp)} has no attribute {attr!r}")

    def read(one: Any) -> Any:
        value = getattr(one.value, attr, None)
        return default if value is None else value

    return made_node(f"getattr_{attr}_or", read, {"ts": tp}, TS[field])(ts)


def map_attr(ts: Any, attr: str) -> Any:
    """The dictionary of one field of every element."""
    from mainspring.graph._nested import map_

    return map_(lambda one: getattr_(one, attr), ts)


@compute_node(overloads=setattr_)
def setattr_compound(ts: TS[COMPOUND_SCALAR], attr: str, value: TS[SCALAR]) -> TS[COMPOUND_SCALAR]:
    """The value with one field replaced."""
    from dataclasses import replace

    return replace(ts.value, **{attr: value.value})


# --- items ------------------------------------------------------------------------------------------


@compute_node(overloads=getitem_)
def getitem_list(ts: TSL[REF[TIME_SERIES_TYPE], SIZE], key: TS[int]) -> REF[TIME_SERIES_TYPE]:
    """The element at a live place."""
    place = key.value
    return ts[place].value if -len(ts) <= place < len(ts) else None


@compute_node(overloads=getitem_)
def getitem_tuple(ts: TS[tuple[SCALAR, ...]], key: TS[int]) -> TS[SCALAR]:
    """The element at a live place."""
    return ts.value[key.value]


def _is_fixed(bindings: Any, scalars: Any) -> bool:
    args = get_args(bindings[SCALAR])
    return get_origin(bindings[SCALAR]) is tuple and Ellipsis not in args


@graph(overloads=getitem_, requires=_is_fixed)
def getitem_fixed(ts: TS[SCALAR], key: int):
    """The element of a tuple of mixed types at a place known while wiring."""
    tp = ts.output_type.dereference()
    args = get_args(tp.scalar)
    if not -len(args) <= key < len(args):
        raise WiringError(f"{type_name(tp)} has no element {key}; it has {len(args)}")
    return made_node(f"getitem_{key}", lambda one: one.value[key], {"ts": tp}, TS[args[key]])(ts)


@compute_node(overloads=len_)
def len_tuple(ts: TS[tuple[SCALAR, ...]]) -> TS[int]:
    """The number of elements."""
    return len(ts.value)


@compute_node(overloads=len_)
def len_frozen(ts: TS[frozenset[SCALAR]]) -> TS[int]:
    """The number of elements."""
    return len(ts.value)


@compute_node(overloads=len_)
def len_mapping(ts: TS[Mapping[K, SCALAR]]) -> TS[int]:
    """The number of keys."""
    return len(ts.value)


@compute_node(overloads=contains_)
def contains_tuple(ts: TS[tuple[SCALAR, ...]], item: TS[SCALAR]) -> TS[bool]:
    """Whether the item is an element."""
    return item.value in ts.value


@compute_node(overloads=contains_)
def contains_frozen(ts: TS[frozenset[SCALAR]], item: TS[SCALAR]) -> TS[bool]:
    """Whether the item is an element."""
    return item.value in ts.value


register_port_operator("temporal_attr", temporal_attr)
