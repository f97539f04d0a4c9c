"""Conversion from one type of time series to another.

``convert[TO](ts)`` decides while wiring, from the two types, what node (if any) does it. A target may leave
out what the source implies: ``TSS``, ``TSD``, ``TSB``, ``TS[tuple]``, ``TS[set]``, ``TS[Mapping]``. The rules
are tried in the order they are written; a user's own overloads of ``convert`` come before all of them.
"""

import collections.abc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
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
    Size,
    TSBm,
    TSDm,
    TSLm,
    TSm,
    TSSm,
    WiringError,
    bare_new,
    called_node,
    is_dict,
    is_subclass,
    made_node,
    make_schema,
    nearest,
    schema_of_scalar,
    set_delta,
    type_name,
)
from mainspring.graph.operators._delta import whole
from mainspring.graph.operators._shown import shown

Rule = Callable[[Any, Any], Any]


def set_change(wanted: Iterable[Any], output: Any) -> Any:
    """Return the change that makes a set output hold exactly ``wanted``.

    Elements it holds already make it tick again, without a change; no elements do not.
    """
    has = dict.fromkeys(wanted)
    had = list(output.values()) if output.valid else []
    removed = [item for item in had if item not in has]
    return set_growth(has, output, removed)


def set_growth(new: Mapping[Any, Any], output: Any, removed: list[Any] | None = None) -> Any:
    """Return the change that puts elements into a set output; it ticks whether or not it has them."""
    added = [item for item in new if not output.valid or item not in output]
    if added or removed or not output.valid:
        return set_delta(added=added, removed=removed or [])
    if new:
        output.touch()
    return None


def dict_change(wanted: Mapping[Any, Any], output: Any) -> Any:
    """Return the change that makes a dictionary of values hold exactly ``wanted``; None for none."""
    change: dict[Any, Any] = {
        key: REMOVE for key in (output.keys() if output.valid else ()) if key not in wanted
    }
    change.update(dict_growth(wanted, output))
    return change if change or not output.valid else None


def dict_growth(new: Mapping[Any, Any], output: Any) -> dict[Any, Any]:
    """Return what of the new values a dictionary output does not hold yet."""
    return {
        key: item
        for key, item in new.items()
        if not output.valid or key not in output or output[key].value != item
    }


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
        kind, args = elements(scalar)
        if kind == "fixed" and args and all(arg == args[0] for arg in args):
            return TSL[TS[args[0]], Size[len(args)]]
    if target is TSB:
        if isinstance(source, TSBm):
            return source
        if is_record(scalar):
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
    if len(sources) == 2:
        key, value, _ = pairing(*sources)
        return TSD[key, value]
    if isinstance(source, TSDm):
        return source
    if isinstance(source, TSLm):
        return TSD[int, source.element]
    if isinstance(source, TSBm) and len(set(source.fields.values())) == 1:
        return TSD[str, next(iter(source.fields.values()))]
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
PLAIN[str, bytes] = str.encode
PLAIN[bytes, str] = bytes.decode
PLAIN.update(((object, one), one) for one in (int, float, bool, str))
PLAIN[object, datetime] = lambda value: (
    value if isinstance(value, datetime) else datetime.combine(of_class(date, value), time())
)
PLAIN[object, date] = lambda value: (
    value.date() if isinstance(value, datetime) else of_class(date, value)
)


def _plain(source: Any, target: Any) -> Any:
    """Return the function of the value, for a conversion that needs no more."""
    if not (isinstance(source, TSm) and isinstance(target, TSm)):
        return None
    function = PLAIN.get((source.scalar, target.scalar))
    if function is None and target.scalar is str and elements(source.scalar)[0] == "tuple":
        function = shown
    if function is None and target.scalar is bool and elements(source.scalar)[0] == "tuple":
        function = bool
    return function


def _related(source: Any, target: Any) -> Any:
    """A value as a more general class, or as a more special one that it has to be of."""
    if not (isinstance(source, TSm) and isinstance(target, TSm)):
        return None
    wide, narrow = target.scalar, source.scalar
    if wide is object:
        return lambda ts: ts.value
    if narrow is object and (cls := get_origin(wide) or wide) in (tuple, set, frozenset):
        return lambda ts: of_class(cls, ts.value)
    if not (isinstance(wide, type) and isinstance(narrow, type)) or narrow is bool:
        return None
    if issubclass(narrow, wide):
        return lambda ts: ts.value
    return (lambda ts: of_class(wide, ts.value)) if issubclass(wide, narrow) else None


def of_class(cls: Any, value: Any) -> Any:
    """Return a value that has to be an instance of a class."""
    if not isinstance(value, cls):
        raise TypeError(f"{value!r} is no {type_name(cls)}")
    return value


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
    if read is not None and _is_one_of(element, inner):
        return read
    if isinstance(source, TSm) and _is_one_of(element, source.scalar):
        return lambda ts: (ts.value,)
    return None


def _is_one_of(element: Any, given: Any) -> bool:
    """Whether what is given is of the type of the elements, or of a class derived from it."""
    return bool(given == element) or (
        is_subclass(element, CompoundScalar) and is_subclass(given, element)
    )


def _to_tuple(source: Any, target: Any) -> Any:
    kind, args = elements(target.scalar) if isinstance(target, TSm) else ("", ())
    if isinstance(source, TSLm) and kind in ("tuple", "fixed"):
        held = args * source.size.SIZE if kind == "tuple" else args
        if held != (getattr(source.element, "scalar", None),) * source.size.SIZE:
            return None
        return lambda ts: tuple(item.value for item in ts.values()) if ts.all_valid else None
    if kind != "tuple":
        return None
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
    if isinstance(source, TSBm) and all(target == TSD[str, tp] for tp in source.fields.values()):
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
    if not is_record(source.scalar):
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
    if is_record(target.scalar):
        return _instance_of(target.scalar, source)
    return None


def is_record(scalar: Any) -> bool:
    """Whether a scalar type has fields: a compound scalar, or another dataclass."""
    return is_subclass(scalar, CompoundScalar) or (
        isinstance(scalar, type) and is_dataclass(scalar)
    )


def _instance_of(cls: Any, source: Any) -> Any:
    wanted = schema_of_scalar(cls).__made_fields__
    names = [name for name in wanted if name in source.fields]
    if not names or any(source.fields[name] != wanted[name] for name in names):
        return None
    if not is_subclass(cls, CompoundScalar):
        return _constructed(cls, names)

    def built(ts: Any) -> Any:
        if not all(ts[name].valid for name in names):
            return None
        return bare_new(cls, {name: ts[name].value for name in names})

    return built


def _constructed(cls: Any, names: list[str]) -> Any:
    """Return how a dataclass is built of the fields there are, once there are those it has no default for."""
    taken = {field.name: field for field in fields(cls) if field.init and field.name in names}
    needed = [
        name
        for name, field in taken.items()
        if field.default is MISSING and field.default_factory is MISSING
    ]

    def built(ts: Any) -> Any:
        if not all(ts[name].valid for name in needed):
            return None
        return cls(**{name: ts[name].value for name in taken if ts[name].valid})

    return built


RULES: list[tuple[str, Rule]] = [
    ("class", _related),
    ("tuple", _to_tuple),
    ("set", _to_set),
    ("tss", _to_tss),
    ("mapping", _to_mapping),
    ("tsd", _to_tsd),
    ("tsl", _to_tsl),
    ("tsb", _to_tsb),
    ("of_tsb", _from_tsb),
]


def _held_to(strict: bool, source: Any, target: Any) -> Any:
    """Return the node that waits for every part of a list or bundle, or that takes None for what is missing."""
    if isinstance(source, TSLm) and isinstance(target, TSDm) and _to_tsd(source, target):
        if not strict:
            return converter(source, target)
        return made_node(
            "convert_all_to_tsd",
            lambda ts, output: {
                key: whole(item, None) if not output.valid else item.delta_value
                for key, item in (ts.modified_items() if output.valid else ts.items())
            },
            {"ts": source},
            target,
            all_valid=("ts",),
        )
    function: Any = None
    if isinstance(source, TSLm) and _to_tuple(source, target):
        function = lambda ts: tuple(item.value if item.valid else None for item in ts.values())  # noqa: E731
    elif isinstance(source, TSBm) and isinstance(target, TSm) and is_record(target.scalar):
        function = _instance_of(target.scalar, source)
        cls = target.scalar
        if function is not None and is_subclass(cls, CompoundScalar):
            function = lambda ts: bare_new(cls, {k: item.value for k, item in ts.valid_items()})  # noqa: E731
    if function is None:
        raise WiringError(
            f"a conversion from {type_name(source)} to {type_name(target)} takes no __strict__",
            hint="leave it out: there are no parts to wait for",
        )
    return (
        converter(source, target)
        if strict
        else made_node("convert_what_there_is", function, {"ts": source}, target)
    )


def converter(source: Any, target: Any) -> Any:
    """Return the node that converts, or None when the types have none."""
    if (plain := _plain(source, target)) is not None:
        return lambda port: called_node("convert_to_value", plain, port, target)
    # order: of the rules
    for name, rule in RULES:
        function = rule(source, target)
        if function is not None:
            return made_node(f"convert_to_{name}", function, {"ts": source}, target)
    return None


# --- keys and values ------------------------------------------------------------------------------

Pairing = tuple[Any, Any, Callable[[Any, Any], dict[Any, Any]]]


def pairing(key: Any, value: Any) -> Pairing:
    """Return the type of key and of value that two sources make pairs of, and how to read the pairs.

    A set of keys has the value under each of them, two tuples or two lists are taken in step, any other key
    has the value as it is. What is read is a plain value or a time series.
    """
    if isinstance(key, TSLm) and isinstance(value, TSLm) and isinstance(key.element, TSm):
        return (
            key.element.scalar,
            value.element,
            lambda k, v: {
                a.value: b for a, b in zip(k.values(), v.values(), strict=False) if a.valid
            },
        )
    if isinstance(key, TSSm):
        return key.scalar, value, lambda k, v: dict.fromkeys(k.values(), v)
    if not isinstance(key, TSm):
        raise _refused(key, "keys")
    kind, args = elements(key.scalar)
    if kind == "set" and args:
        return args[0], value, lambda k, v: dict.fromkeys(k.value, v)
    others, items = elements(value.scalar) if isinstance(value, TSm) else ("", ())
    if kind == others == "tuple":
        return args[0], TS[items[0]], lambda k, v: dict(zip(k.value, v.value, strict=False))
    return key.scalar, value, lambda k, v: {k.value: v}


def _pair_change(wanted: dict[Any, Any], anew: bool, output: Any) -> Any:
    """Return the change to the pairs there are; when the keys ticked, values are taken whole."""
    change: dict[Any, Any] = {
        key: REMOVE for key in (output.keys() if output.valid else ()) if key not in wanted
    }
    for key, item in wanted.items():
        if not item.valid:
            continue
        known = output[key] if output.valid and key in output else None
        if known is None or not known.valid or (anew and item.modified):
            change[key] = whole(item, known)
        elif item.modified:
            change[key] = item.delta_value if is_dict(item) else whole(item, known)
    return change if change or not output.valid else None


def pair_ports(target: Any, ports: list[Any], strict: bool = True) -> Any:
    """Wire a dictionary (or a mapping) of the keys of one port and the values of the other."""
    sources = [port.output_type.dereference() for port in ports]
    key, value, read = pairing(*sources)
    inputs = dict(zip(("key", "value"), sources, strict=True))
    plain = elements(sources[0].scalar)[0] == "tuple" if isinstance(sources[0], TSm) else False
    plain = plain and value != sources[1]
    if isinstance(target, TSDm):
        if target != TSD[key, value]:
            raise _refused(TSD[key, value], target)
        if plain:
            return made_node(
                "pair_values", lambda k, v, output: dict_change(read(k, v), output), inputs, target
            )(*ports)
        lists = isinstance(sources[0], TSLm) and strict
        return made_node(
            "pair_ports",
            lambda k, v, output: _pair_change(read(k, v), k.modified, output),
            inputs,
            target,
            **({"all_valid": ("key", "value")} if lists else {"valid": ("key",)}),
        )(*ports)
    if not isinstance(value, TSm):
        raise _refused(sources[0], target)
    function = (
        read if plain else lambda k, v: {a: b.value for a, b in read(k, v).items() if b.valid}
    )
    return made_node("pair_mapping", function, inputs, target)(*ports)


def convert_ports(
    target: Any,
    ports: list[Any],
    keys: tuple[str, ...] | None = None,
    strict: bool | None = None,
) -> Any:
    """Wire the conversion of one port, or of a key and a value.

    Being strict or not is for a list or bundle: to wait for all of its parts, or to take what there is.
    """
    sources = [port.output_type.dereference() for port in ports]
    if target is TS[CompoundScalar] and len(ports) == 1 and isinstance(sources[0], TSBm):
        if strict is None:
            return ports[0].as_scalar_ts()
        target = ports[0].as_scalar_ts().output_type
    if keys is not None:
        return _fields_under(keys, target, ports[0])
    target = complete(target, sources)
    if len(ports) == 1:
        if sources[0] == target:
            return ports[0]
        if strict is None:
            node = converter(sources[0], target)
        else:
            node = _held_to(strict, sources[0], target)
        if node is not None:
            return node(ports[0])
    elif len(ports) == 2 and (
        isinstance(target, TSDm)
        or (isinstance(target, TSm) and elements(target.scalar)[0] == "mapping")
    ):
        return pair_ports(target, ports, strict is not False)
    raise _refused(sources[0], target)


def _fields_under(keys: tuple[str, ...], target: Any, port: Any) -> Any:
    """Wire the conversion of some fields of a bundle."""
    source = port.output_type.dereference()
    if not isinstance(source, TSBm):
        raise _refused(source, target)
    kept = {key: tp for key, tp in source.fields.items() if key in keys}
    for key in keys:
        if key not in kept:
            raise WiringError(
                f"convert: {type_name(source)} has no field {key!r} to keep",
                hint=nearest(key, list(source.fields)) or f"it has {', '.join(source.fields)}",
            )
    part = TSB[make_schema(kept, source.schema.__name__)]
    return convert_ports(target, [part.from_ts(**{key: port[key] for key in kept})])
