"""Conversion from one type of time series to another.

``convert[TO](ts)`` decides while wiring, from the two types, what node (if any) does it. A target may leave
out what the source implies: ``TSS``, ``TSD``, ``TSB``, ``TS[tuple]``, ``TS[set]``, ``TS[Mapping]``. The rules
are tried in the order they are written; a user's own overloads of ``convert`` come before all of them.
"""

import collections.abc
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from typing import Any, get_args, get_origin

from mainspring.graph.operators._base import (
    REMOVE,
    TS,
    TSB,
    TSD,
    TSL,
    TSS,
    CompoundScalar,
    TSBm,
    TSDm,
    TSLm,
    TSm,
    TSSm,
    WiringError,
    is_subclass,
    made_node,
    schema_of_scalar,
    set_delta,
    type_name,
)

Rule = Callable[[Any, Any], Any]


def set_change(wanted: Iterable[Any], output: Any) -> Any:
    """Return the change that makes a set output hold exactly ``wanted``; None for none."""
    has = dict.fromkeys(wanted)
    had = list(output.values()) if output.valid else []
    added = [item for item in has if not had or item not in output]
    removed = [item for item in had if item not in has]
    if added or removed or not output.valid:
        return set_delta(added=added, removed=removed)
    return None


def dict_change(wanted: Mapping[Any, Any], output: Any) -> Any:
    """Return the change that makes a dictionary output hold exactly ``wanted``."""
    change: dict[Any, Any] = {
        key: REMOVE for key in (output.keys() if output.valid else ()) if key not in wanted
    }
    change.update(wanted)
    return change


def elements(scalar: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the kind of a scalar type that holds others (or "") and the types it holds."""
    origin, args = get_origin(scalar) or scalar, get_args(scalar)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return "tuple", args[:1]
        return "fixed", args
    if origin in (set, frozenset, collections.abc.Set):
        return "set", args
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "mapping", args
    return "", ()


# --- filling in what a target leaves out ----------------------------------------------------------


def complete(target: Any, sources: list[Any]) -> Any:
    """Return the full type that a target means for sources of these types."""
    source = sources[0]
    scalar = source.scalar if isinstance(source, TSm) else None
    if target is TSS:
        return TSS[_element(source)]
    if target is TSD:
        return _dictionary(sources)
    if target is TSL:
        if isinstance(source, TSLm):
            return source
    if target is TSB and is_subclass(scalar, CompoundScalar):
        return TSB[schema_of_scalar(scalar)]
    if isinstance(target, TSm):
        kind, args = elements(target.scalar)
        if kind == "fixed" and not args:
            if scalar is not None and elements(scalar)[0] == "fixed":
                return source
            return TS[tuple[_element(source), ...]]
        if kind == "set" and not args:
            return TS[frozenset[_element(source)]]
        if kind == "mapping" and not args:
            found = _dictionary(sources)
            return TS[Mapping[found.key, found.element.scalar]]
    if isinstance(target, type):
        raise _refused(source, target)
    return target


def _element(source: Any) -> Any:
    """Return what a tuple or set made of the source holds."""
    if isinstance(source, TSSm):
        return source.scalar
    if isinstance(source, TSLm) and isinstance(source.element, TSm):
        return source.element.scalar
    if isinstance(source, TSm):
        kind, args = elements(source.scalar)
        if kind in ("tuple", "set") and args:
            return args[0]
        return source.scalar
    raise _refused(source, "a collection of its elements")


def _dictionary(sources: list[Any]) -> Any:
    source = sources[0]
    if len(sources) == 2 and isinstance(source, TSm):
        return TSD[source.scalar, sources[1]]
    if isinstance(source, TSDm):
        return source
    if isinstance(source, TSLm):
        return TSD[int, source.element]
    if isinstance(source, TSm):
        kind, args = elements(source.scalar)
        if kind == "mapping" and len(args) == 2:
            return TSD[args[0], TS[args[1]]]
    raise _refused(source, "a dictionary")


def _refused(source: Any, target: Any) -> WiringError:
    return WiringError(
        f"there is no conversion from {type_name(source)} to {type_name(target)}",
        hint="overload `convert`, or name the target in full",
    )


# --- the rules ------------------------------------------------------------------------------------

# What a single value becomes: from, to -> function of the value.
PLAIN: dict[tuple[Any, Any], Callable[[Any], Any]] = {
    (one, other): other for one in (int, float, bool, str) for other in (int, float, bool, str)
}
PLAIN[date, datetime] = lambda value: datetime.combine(value, time())
PLAIN[datetime, date] = lambda value: value.date()


def _plain(source: Any, target: Any) -> Any:
    if not (isinstance(source, TSm) and isinstance(target, TSm)):
        return None
    function = PLAIN.get((source.scalar, target.scalar))
    if function is None and elements(source.scalar)[0] == "tuple" and target.scalar in (bool, str):
        function = target.scalar
    return None if function is None else (lambda ts: function(ts.value))


def _iterated(source: Any) -> tuple[Callable[[Any], Iterable[Any]] | None, Any]:
    """Return how to go over a source's elements, and their type; None when it has none."""
    if isinstance(source, TSSm):
        return (lambda ts: ts.values()), source.scalar
    if isinstance(source, TSm):
        kind, args = elements(source.scalar)
        if kind in ("tuple", "set") and args:
            return (lambda ts: ts.value), args[0]
        if kind == "fixed" and args and all(arg == args[0] for arg in args):
            return (lambda ts: ts.value), args[0]
    return None, None


def _into(source: Any, element: Any) -> Callable[[Any], Iterable[Any]] | None:
    """Return how a source gives elements of a type: by going over it, or as the one element."""
    read, inner = _iterated(source)
    if read is not None and inner == element:
        return read
    if isinstance(source, TSm) and source.scalar == element:
        return lambda ts: (ts.value,)
    return None


def _to_tuple(source: Any, target: Any) -> Any:
    kind, args = elements(target.scalar) if isinstance(target, TSm) else ("", ())
    if kind != "tuple":
        return None
    if isinstance(source, TSLm):
        if source.element != TS[args[0]]:
            return None
        return lambda ts: tuple(item.value for item in ts.values())
    read = _into(source, args[0])
    return None if read is None else (lambda ts: tuple(read(ts)))


def _to_set(source: Any, target: Any) -> Any:
    kind, args = elements(target.scalar) if isinstance(target, TSm) else ("", ())
    if kind != "set":
        return None
    read = _into(source, args[0])
    return None if read is None else (lambda ts: frozenset(read(ts)))


def _to_tss(source: Any, target: Any) -> Any:
    if not isinstance(target, TSSm):
        return None
    read = _into(source, target.scalar)
    return None if read is None else (lambda ts, output: set_change(read(ts), output))


def _to_mapping(source: Any, target: Any) -> Any:
    kind, args = elements(target.scalar) if isinstance(target, TSm) else ("", ())
    if kind != "mapping":
        return None
    if isinstance(source, TSDm) and source.key == args[0] and source.element == TS[args[1]]:
        return lambda ts: {key: item.value for key, item in ts.valid_items()}
    if isinstance(source, TSLm) and args[0] is int and source.element == TS[args[1]]:
        return lambda ts: {key: item.value for key, item in ts.valid_items()}
    fits = args[1:] == (object,) or (
        isinstance(source, TSBm) and all(tp == TS[args[1]] for tp in source.fields.values())
    )
    if isinstance(source, TSBm) and args[0] is str and fits:
        return lambda ts: {key: item.value for key, item in ts.valid_items()}
    return None


def _to_tsd(source: Any, target: Any) -> Any:
    if not isinstance(target, TSDm):
        return None
    if isinstance(source, TSLm) and target.key is int and target.element == source.element:
        return lambda ts: {key: item.delta_value for key, item in ts.modified_items()}
    if isinstance(source, TSm):
        kind, args = elements(source.scalar)
        if kind == "mapping" and args and target == TSD[args[0], TS[args[1]]]:
            return lambda ts, output: dict_change(ts.value, output)
        if kind == "tuple" and target == TSD[int, TS[args[0]]]:
            return lambda ts, output: dict_change(dict(enumerate(ts.value)), output)
    return None


def _to_tsl(source: Any, target: Any) -> Any:
    if not (isinstance(target, TSLm) and isinstance(source, TSm)):
        return None
    read, element = _iterated(source)
    kind = elements(source.scalar)[0]
    if read is None or kind not in ("tuple", "fixed") or target.element != TS[element]:
        return None
    return lambda ts: dict(enumerate(ts.value))


def _to_tsb(source: Any, target: Any) -> Any:
    if not (isinstance(target, TSBm) and isinstance(source, TSm)):
        return None
    if not is_subclass(source.scalar, CompoundScalar):
        return None
    names = list(target.fields)
    if not set(names) <= set(schema_of_scalar(source.scalar).__made_fields__):
        return None
    return lambda ts: {
        name: value for name in names if (value := getattr(ts.value, name, None)) is not None
    }


def _from_tsb(source: Any, target: Any) -> Any:
    if not (isinstance(source, TSBm) and isinstance(target, TSm)):
        return None
    if target.scalar is bool:
        return lambda ts: bool(ts.value)
    if is_subclass(target.scalar, CompoundScalar):
        names = list(schema_of_scalar(target.scalar).__made_fields__)
        if not set(names) <= set(source.fields):
            return None
        build = target.scalar
        return lambda ts: build(**{name: ts[name].value for name in names if ts[name].valid})
    return None


RULES: list[tuple[str, Rule]] = [
    ("value", _plain),
    ("tuple", _to_tuple),
    ("set", _to_set),
    ("tss", _to_tss),
    ("mapping", _to_mapping),
    ("tsd", _to_tsd),
    ("tsl", _to_tsl),
    ("tsb", _to_tsb),
    ("of_tsb", _from_tsb),
]


def converter(source: Any, target: Any) -> Any:
    """Return the node that converts, or None when the types have none."""
    # order: of the rules
    for name, rule in RULES:
        function = rule(source, target)
        if function is not None:
            return made_node(f"convert_to_{name}", function, {"ts": source}, target)
    return None


def _keyed(key: Any, value: Any, target: Any) -> Any:
    """Return the node for ``convert[TSD](key, value)`` and for a mapping of the two."""
    if isinstance(target, TSDm):
        return made_node(
            "convert_pair_to_tsd",
            lambda k, v, output: {
                **{
                    old: REMOVE for old in (output.keys() if output.valid else ()) if old != k.value
                },
                k.value: v.delta_value,
            },
            {"key": key, "value": value},
            target,
        )
    return made_node(
        "convert_pair_to_mapping",
        lambda k, v: {k.value: v.value},
        {"key": key, "value": value},
        target,
    )


def convert_ports(target: Any, ports: list[Any]) -> Any:
    """Wire the conversion of one port, or of a key and a value."""
    sources = [port.output_type.dereference() for port in ports]
    target = complete(target, sources)
    if len(ports) == 1:
        if sources[0] == target:
            return ports[0]
        node = converter(sources[0], target)
        if node is not None:
            return node(ports[0])
    elif len(ports) == 2 and (
        isinstance(target, TSDm)
        or (isinstance(target, TSm) and elements(target.scalar)[0] == "mapping")
    ):
        return _keyed(sources[0], sources[1], target)(*ports)
    raise _refused(sources[0], target)
