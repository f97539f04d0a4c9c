"""Getting at parts: attributes and items of scalars, items of lists by a live place."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from enum import Enum
from operator import attrgetter, methodcaller
from typing import Any, get_args, get_origin

from mainspring.graph._wiring import WiringPort
from mainspring.graph.operators._base import (
    COMPOUND_SCALAR,
    REF,
    SCALAR,
    SCALAR_1,
    SIZE,
    TIME_SERIES_TYPE,
    TS,
    TS_SCHEMA,
    TSB,
    TSL,
    TSBm,
    TSDm,
    TSm,
    WiringError,
    called_node,
    compute_node,
    graph,
    is_subclass,
    made_node,
    nearest,
    register_port_operator,
    scalar_fields,
    type_name,
)
from mainspring.graph.operators._dates import midnight, to_stamp
from mainspring.graph.operators._names import contains_, getattr_, getitem_, keys_, len_, setattr_
from mainspring.graph.operators._scalars import alike

# Attributes that a port of dates and times shows: what reads them, and what they give.
_WHOLE_DATE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    **{name: (attrgetter(name), int) for name in ("year", "month", "day")},
    **{name: (methodcaller(name), int) for name in ("weekday", "isoweekday")},
}
_TIME_OF_DAY: dict[str, tuple[Callable[[Any], Any], Any]] = {
    name: (attrgetter(name), int) for name in ("hour", "minute", "second", "microsecond")
}
_PARTS: dict[Any, dict[str, tuple[Callable[[Any], Any], Any]]] = {
    date: {**_WHOLE_DATE, "isoformat": (date.isoformat, str)},
    time: _TIME_OF_DAY,
    datetime: {
        **_WHOLE_DATE,
        **_TIME_OF_DAY,
        "date": (datetime.date, date),
        "time": (datetime.time, time),
        "timestamp": (to_stamp, float),
        "datepart": (midnight, datetime),
    },
    timedelta: {
        **{name: (attrgetter(name), int) for name in ("days", "seconds", "microseconds")},
        "total_seconds": (timedelta.total_seconds, float),
    },
}


# Those that are methods of the value may be called, as one would call them on it.
_METHODS = {"weekday", "isoweekday", "isoformat", "timestamp", "total_seconds"}


class MethodPort(WiringPort):
    """What a method without arguments gives: ``ts.weekday`` and ``ts.weekday()`` are the same port."""

    __slots__ = ()

    def __call__(self) -> WiringPort:
        return self


def value_attr(port: Any, name: str) -> Any:
    """Wire what a port of a date, a time, a span of time, an enumeration or a mapping shows under a name."""
    kind = port.output_type.dereference().scalar
    if name == "name" and (is_subclass(kind, Enum) or kind is type):
        read = attrgetter("name" if kind is not type else "__name__")
        return made_node("name", lambda ts: read(ts.value), {"ts": TS[kind]}, TS[str])(port)
    if name == "key_set" and is_subclass(get_origin(kind) or kind, Mapping):
        return keys_(port)
    found = _PARTS.get(kind, {}).get(name)
    if found is None:
        return None
    read, out = found
    part = made_node(
        f"{kind.__name__}_{name}", lambda ts: read(ts.value), {"ts": TS[kind]}, TS[out]
    )(port)
    return MethodPort(part.node_, part.path_, part.type_) if name in _METHODS else part


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
    found = value_attr(ts, attr) if isinstance(tp, TSm) else None
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
    read = _or(attr, default)
    return made_node(f"getattr_{attr}_or", lambda one: read(one.value), {"ts": tp}, TS[field])(ts)


def _or(attr: str, default: Any) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        found = getattr(value, attr, None)
        return default if found is None else found

    return read


@compute_node(overloads=getattr_)
def getattr_computed(ts: TS[COMPOUND_SCALAR], attr: str) -> TS[SCALAR]:
    """What a property gives, of a type in brackets: `getattr_[SCALAR: int](ts, "area")`."""
    return getattr(ts.value, attr)


@compute_node(overloads=getattr_, valid=("ts",))
def getattr_computed_or(
    ts: TS[COMPOUND_SCALAR], attr: str, default_value: TS[SCALAR]
) -> TS[SCALAR]:
    """The field or property with a name; the default there is now where it is None."""
    found = getattr(ts.value, attr, None)
    return default_value.value if found is None and default_value.valid else found


@graph(overloads=getattr_)
def getattr_each(ts: TS[tuple[COMPOUND_SCALAR, ...]], attr: str, default: object = None):
    """The field with a name of every element of a tuple."""
    tp = ts.output_type.dereference()
    element = get_args(tp.scalar)[0]
    field = scalar_fields(element).get(attr)
    if field is None:
        raise WiringError(f"{type_name(element)} has no attribute {attr!r}")
    read = _or(attr, default)
    return made_node(
        f"getattr_{attr}_each",
        lambda one: tuple(read(value) for value in one.value),
        {"ts": tp},
        TS[tuple[field, ...]],
    )(ts)


def map_attr(ts: Any, attr: str) -> Any:
    """The dictionary of one field of every element."""
    from mainspring.graph._map import map_

    return map_(lambda one: getattr_(one, attr), ts)


def _has_field(bindings: Any, scalars: Any) -> bool | str:
    cls, attr = bindings[COMPOUND_SCALAR], scalars["attr"]
    fields = scalar_fields(cls)
    if attr not in fields:
        return f"{type_name(cls)} has no field {attr!r}; it has {', '.join(fields)}"
    if fields[attr] != bindings[SCALAR]:
        return f"{attr} is {type_name(fields[attr])}, not {type_name(bindings[SCALAR])}"
    return True


@compute_node(overloads=setattr_, requires=_has_field)
def setattr_compound(ts: TS[COMPOUND_SCALAR], attr: str, value: TS[SCALAR]) -> TS[COMPOUND_SCALAR]:
    """The value with one field replaced."""
    from dataclasses import replace

    return replace(ts.value, **{attr: value.value})


# --- items ------------------------------------------------------------------------------------------


@compute_node(overloads=getitem_)
def getitem_list(ts: TSL[REF[TIME_SERIES_TYPE], SIZE], key: TS[int]) -> REF[TIME_SERIES_TYPE]:
    """The element at a live place."""
    place = key.value
    if not -len(ts) <= place < len(ts):
        raise IndexError(f"getitem_: a list of {len(ts)} has no element {place}")
    return ts[place].value


@graph(overloads=getitem_)
def getitem_place(ts: TSL[TIME_SERIES_TYPE, SIZE], key: int) -> TIME_SERIES_TYPE:
    """The element at a place known while wiring."""
    return ts[key]


@graph(overloads=getitem_)
def getitem_field(ts: TSB[TS_SCHEMA], key: str):
    """The field with a name."""
    return ts[key]


@graph(overloads=getitem_)
def getitem_field_place(ts: TSB[TS_SCHEMA], key: int):
    """The field at a place."""
    return ts[key]


@compute_node(overloads=getitem_)
def getitem_tuple(ts: TS[tuple[SCALAR, ...]], key: TS[int]) -> TS[SCALAR]:
    """The element at a live place; no tick while there is none."""
    items, place = ts.value, key.value
    return items[place] if -len(items) <= place < len(items) else None


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


def _is_sized(bindings: Any, scalars: Any) -> bool | str:
    tp = bindings[SCALAR]
    sized = hasattr(get_origin(tp) or tp, "__len__") and not is_subclass(tp, Enum)
    return sized or f"{type_name(tp)} has no length"


@graph(overloads=len_, requires=_is_sized)
def len_value(ts: TS[SCALAR]) -> TS[int]:
    """The number of elements, keys or characters."""
    return called_node("len_", len, ts, TS[int])


@compute_node(overloads=contains_)
def contains_tuple(ts: TS[tuple[SCALAR, ...]], item: TS[SCALAR_1]) -> TS[bool]:
    """Whether the item is an element, of its own type."""
    return any(alike(one, item.value) for one in ts.value)


@compute_node(overloads=contains_)
def contains_frozen(ts: TS[frozenset[SCALAR]], item: TS[SCALAR_1]) -> TS[bool]:
    """Whether the item is an element, of its own type."""
    return item.value in ts.value and any(alike(one, item.value) for one in ts.value)


register_port_operator("value_attr", value_attr)
