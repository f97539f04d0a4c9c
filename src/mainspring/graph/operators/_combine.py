"""Several time series made one (``combine``), ticks gathered (``collect``) and let out one by one (``emit``)."""

from collections import deque
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from mainspring.graph._errors import IncorrectTypeBinding
from mainspring.graph.operators._base import (
    MIN_TD,
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
    bare_new,
    came,
    is_subclass,
    lifted,
    made_node,
    make_schema,
    scalar_fields,
    schema_of_scalar,
    type_name,
)
from mainspring.graph.operators._convert import (
    complete,
    convert_ports,
    dict_growth,
    elements,
    is_record,
    pair_ports,
    pairing,
    set_change,
    set_growth,
)
from mainspring.graph.operators._delta import whole
from mainspring.graph.operators._schemas import KeyValue


def tp_of(port: Any) -> Any:
    """Return the type a port has when what it refers to is read."""
    return port.output_type.dereference()


def combine_ports(target: Any, args: list[Any], kwargs: dict[str, Any], strict: bool | None) -> Any:
    """Wire one composite time series from components."""
    if target is None:
        if strict and kwargs:
            return _bundle(TSB, args, kwargs, strict)
        return _structure(args, kwargs)
    if target is TSL or isinstance(target, TSLm):
        return TSL.from_ts(*args)
    if target is TSB or isinstance(target, TSBm):
        return _bundle(target, args, kwargs, bool(strict))
    if target is TSS or isinstance(target, TSSm):
        return _set(target, args)
    if target is TSD or isinstance(target, TSDm):
        return _dictionary(target, args, kwargs, strict is not False)
    strict = True if strict is None else strict
    if isinstance(target, TSm):
        kind, _ = elements(target.scalar)
        if kind in ("tuple", "fixed"):
            return _tuple(target, args, strict)
        if kind == "mapping" and args and isinstance(args[0], tuple):
            return _named_dictionary(TSD, args[0], args[1:], strict)
        if kind == "mapping" and len(args) == 2:
            ports = [lifted(value) for value in args]
            return pair_ports(complete(target, [tp_of(port) for port in ports]), ports)
        if kind == "set":
            return _frozen(target, args)
        if is_record(target.scalar):
            return _compound(target, kwargs, strict)
        if target.scalar in MOMENTS:
            return _moment(target, kwargs, strict)
    raise WiringError(
        f"combine cannot make {type_name(target)} of these arguments",
        hint="see the table of operators for what it makes",
    )


def _structure(args: list[Any], kwargs: dict[str, Any]) -> Any:
    if args and not kwargs:
        places = [lifted(value) for value in args]
        types = [tp_of(port) for port in places]
        if len(places) == 2 and types[0] == types[1] and _is_compound(types[0]):
            return _amended(types[0], places)
        return TSL.from_ts(*places)
    if kwargs and not args:
        ports = {name: lifted(value) for name, value in kwargs.items()}
        schema = make_schema({name: port.output_type.dereference() for name, port in ports.items()})
        return TSB[schema].from_ts(**ports)
    raise IncorrectTypeBinding(
        "combine takes either positional ports (a list) or named ones (a bundle)"
    )


def _is_compound(tp: Any) -> bool:
    return isinstance(tp, TSm) and is_subclass(tp.scalar, CompoundScalar)


def _amended(tp: Any, ports: list[Any]) -> Any:
    """Wire a compound scalar with the fields of another over its own, but for those that are None."""

    def amended(lhs: Any, rhs: Any) -> Any:
        values = [ts.value for ts in (lhs, rhs) if ts.valid]
        return over(*values) if len(values) == 2 else values[0]

    return made_node("combine_compounds", amended, {"lhs": tp, "rhs": tp}, tp, valid=())(*ports)


def over(under: Any, top: Any) -> Any:
    """Return a value with the fields of another over its own, at any depth."""
    if top is None or not isinstance(under, CompoundScalar):
        return under if top is None else top
    names = scalar_fields(type(under))
    return bare_new(
        type(under), {name: over(getattr(under, name), getattr(top, name)) for name in names}
    )


def _bundle(target: Any, args: list[Any], kwargs: dict[str, Any], strict: bool) -> Any:
    bundle = _structure(args, kwargs) if target is TSB else target.from_ts(**kwargs)
    if not strict:
        return bundle
    tp = bundle.output_type.dereference()
    names = list(tp.fields)

    def whole(ts: Any, output: Any) -> Any:
        if not output.valid:
            return {name: ts[name].value for name in names}
        return {name: item.delta_value for name, item in ts.modified_items()}

    return made_node("combine_bundle", whole, {"ts": tp}, tp, all_valid=("ts",))(bundle)


def _listed(args: list[Any]) -> tuple[Any, Any]:
    ports = [lifted(value) for value in args]
    first = ports[0].output_type.dereference()
    if any(port.output_type.dereference() != first for port in ports):
        schema = make_schema(
            {f"_{i}": port.output_type.dereference() for i, port in enumerate(ports)}
        )
        bundle = TSB[schema].from_ts(**{f"_{i}": port for i, port in enumerate(ports)})
        return bundle, TSB[schema]
    group = TSL.from_ts(*ports)
    return group, group.output_type.dereference()


def _tuple(target: Any, args: list[Any], strict: bool) -> Any:
    group, tp = _listed(args)

    def values(ts: Any) -> Any:
        return tuple(item.value if item.valid else None for item in ts.values())

    if target.scalar is tuple:
        first = tp.element.scalar if isinstance(tp, TSLm) else object
        target = TS[tuple[first, ...]]
    options = {"all_valid": ("ts",)} if strict else {}
    return made_node("combine_tuple", values, {"ts": tp}, target, **options)(group)


def _frozen(target: Any, args: list[Any]) -> Any:
    group, tp = _listed(args)
    if elements(target.scalar)[1] == ():
        target = TS[frozenset[tp.element.scalar]]
    return made_node(
        "combine_set",
        lambda ts: frozenset(item.value for item in ts.values()),
        {"ts": tp},
        target,
        all_valid=("ts",),
    )(group)


def _set(target: Any, args: list[Any]) -> Any:
    group, tp = _listed(args)
    target = TSS[tp.element.scalar] if target is TSS else target
    return made_node(
        "combine_tss",
        lambda ts, output: set_change((item.value for item in ts.valid_values()), output),
        {"ts": tp},
        target,
    )(group)


def _dictionary(target: Any, args: list[Any], kwargs: dict[str, Any], strict: bool) -> Any:
    if kwargs or not args:
        raise TypeError("combine[TSD] takes the keys, and then the values")
    if isinstance(args[0], tuple):
        return _named_dictionary(target, args[0], args[1:], strict)
    ports = [lifted(value) for value in args]
    if len(ports) == 1:
        return convert_ports(target, ports)
    return pair_ports(complete(target, [tp_of(port) for port in ports]), ports, strict)


def _named_dictionary(target: Any, names: tuple[Any, ...], args: list[Any], strict: bool) -> Any:
    group, tp = _listed(args)
    if len(args) == 1 and isinstance(tp.element, TSLm):
        group, tp = group[0], tp.element
    if target is TSD:
        target = TSD[type(names[0]), tp.element]

    def named(ts: Any, output: Any) -> Any:
        items = ts.modified_items() if output.valid else ts.valid_items()
        return {names[i]: item.delta_value if item.modified else item.value for i, item in items}

    options = {"all_valid": ("ts",)} if strict else {}
    return made_node("combine_tsd", named, {"ts": tp}, target, **options)(group)


def _compound(target: Any, kwargs: dict[str, Any], strict: bool) -> Any:
    cls = target.scalar
    bundle = TSB[schema_of_scalar(cls)].from_ts(**kwargs)
    tp = bundle.output_type.dereference()
    names, compound = list(kwargs), is_subclass(cls, CompoundScalar)

    def made(ts: Any) -> Any:
        values = {
            name: ts[name].value if ts[name].valid else None
            for name in names
            if compound or ts[name].valid
        }
        if strict and not all(ts[name].valid for name in names):
            return None
        try:
            return cls(**values)
        except TypeError:  # a field that has to be given is not
            return bare_new(cls, values) if compound else None

    return made_node("combine_compound", made, {"ts": tp}, target)(bundle)


MOMENTS: dict[Any, Callable[[dict[str, Any]], Any]] = {
    date: lambda parts: date(**parts),
    datetime: lambda parts: (
        datetime.combine(parts["date"], parts.get("time", time()))
        if "date" in parts
        else datetime(**parts)
    ),
    time: lambda parts: time(**parts),
    timedelta: lambda parts: timedelta(**parts),
}


def _moment(target: Any, kwargs: dict[str, Any], strict: bool) -> Any:
    build = MOMENTS[target.scalar]
    bundle = _structure([], kwargs)
    tp = bundle.output_type.dereference()
    return made_node(
        f"combine_{target.scalar.__name__}",
        lambda ts: build({name: item.value for name, item in ts.valid_items()}),
        {"ts": tp},
        target,
        **({"all_valid": ("ts",)} if strict else {}),
    )(bundle)


# --- collect --------------------------------------------------------------------------------------


def collect_ports(target: Any, ports: list[Any], reset: Any = None, exclude: Any = None) -> Any:
    """Wire a node that gathers the ticks of one port, or of a key and a value.

    A reset that ticks true begins anew. Keys in ``exclude`` (a set over time) are left out and taken out.
    """
    sources = [tp_of(port) for port in ports]
    target = complete(target, sources)
    gather = _collector(target, sources)
    if gather is None or (exclude is not None and not isinstance(target, TSDm)):
        raise WiringError(
            f"collect cannot gather {', '.join(type_name(s) for s in sources)} into {type_name(target)}"
        )
    inputs = dict(zip(("key", "ts") if len(sources) == 2 else ("ts",), sources, strict=True))
    needed = tuple(inputs)
    if reset is not None:
        inputs["reset"] = TS[bool]
        needed = () if isinstance(target, TSm) else needed
    if exclude is not None:
        inputs["exclude"] = tp_of(exclude)

    def collected(*views: Any, output: Any) -> Any:
        given = dict(zip(inputs, views, strict=True))
        anew, without = given.pop("reset", None), given.pop("exclude", None)
        fresh = anew is not None and anew.modified and anew.value
        if without is None:
            return gather(*given.values(), fresh, output)
        return _but(without, gather(*given.values(), fresh, output), given["ts"], fresh, output)

    name = f"collect_{type_name(target)}"
    extra = [port for port in (reset, exclude) if port is not None]
    return made_node(name, collected, inputs, target, valid=needed)(*ports, *extra)


def _but(without: Any, change: Any, ts: Any, fresh: bool, output: Any) -> Any:
    """Return a change of a dictionary less the keys of a set; a key that left the set comes back."""
    kept = {key: item for key, item in (change or {}).items() if key not in without}
    if not without.valid:
        return kept or None
    for key in without.added():
        if key in output:
            kept[key] = REMOVE
    if not fresh:
        for key in without.removed():
            if isinstance_tsd(ts) and key in ts and ts[key].valid:
                kept.setdefault(key, whole(ts[key], None))
    return kept or None


def isinstance_tsd(ts: Any) -> bool:
    """Whether an input is a dictionary over time."""
    return hasattr(ts, "key_set")


def _parts(source: Any, element: Any) -> Callable[[Any], Any] | None:
    """Return how a tick of the source gives elements to gather."""
    if isinstance(source, TSSm) and source.scalar == element:
        return came
    if isinstance(source, TSm):
        kind, args = elements(source.scalar)
        if kind in ("tuple", "set") and args and args[0] == element:
            return lambda ts: ts.value
        if source.scalar == element:
            return lambda ts: (ts.value,)
    return None


def _collector(target: Any, sources: list[Any]) -> Any:
    """Return ``(ports..., begin anew?, output) -> change`` for a target, or None."""
    if len(sources) == 2:
        return _pair_collector(target, sources)
    source = sources[0]
    kind, args = elements(target.scalar) if isinstance(target, TSm) else ("", ())
    if kind in ("tuple", "set") or isinstance(target, TSSm):
        read = _parts(source, args[0] if args else target.scalar)
        if read is None:
            return None
        if kind == "tuple":
            return lambda ts, fresh, output: _grown(
                ts, fresh, output, (), lambda old: (*old, *read(ts))
            )
        if kind == "set":
            return lambda ts, fresh, output: _grown(
                ts, fresh, output, frozenset(), lambda old: old | frozenset(read(ts))
            )
        return lambda ts, fresh, output: _more_elements(ts, fresh, output, read)
    if not isinstance(target, TSDm):
        return None
    if isinstance(source, TSDm):
        return lambda ts, fresh, output: _more_keys(_news(ts, output, fresh), fresh, output)
    if isinstance(source, TSm) and elements(source.scalar)[0] == "mapping":
        return lambda ts, fresh, output: _more_keys(
            (ts.value if fresh else dict_growth(ts.value, output)) if ts.modified else {},
            fresh,
            output,
        )
    return None


def _news(ts: Any, output: Any, fresh: bool) -> dict[Any, Any]:
    """Return the changes of a dictionary's elements that say something new; of a new beginning, all."""
    changes = {key: item for key, item in ts.modified_items() if key in ts}
    return {
        key: item.delta_value
        for key, item in changes.items()
        if fresh or key not in output or not output[key].valid or output[key].value != item.value
    }


def _pair_collector(target: Any, sources: list[Any]) -> Any:
    _, _, read = pairing(*sources)
    if not all(isinstance(source, TSm) for source in sources):
        return None

    def pairs(key: Any, ts: Any) -> dict[Any, Any]:
        if not (key.valid and ts.valid and (key.modified or ts.modified)):
            return {}
        return {k: getattr(v, "value", v) for k, v in read(key, ts).items()}

    if isinstance(target, TSDm):
        return lambda key, ts, fresh, output: _more_keys(pairs(key, ts), fresh, output)
    if isinstance(target, TSm) and elements(target.scalar)[0] == "mapping":
        return lambda key, ts, fresh, output: {
            **(output.value if output.valid and not fresh else {}),
            **pairs(key, ts),
        }
    return None


def _grown(ts: Any, fresh: bool, output: Any, nothing: Any, add: Callable[[Any], Any]) -> Any:
    old = output.value if output.valid and not fresh else nothing
    return add(old) if ts.valid and ts.modified else old


def _more_elements(ts: Any, fresh: bool, output: Any, read: Callable[[Any], Any]) -> Any:
    new = dict.fromkeys(read(ts)) if ts.valid and ts.modified else {}
    if fresh:
        return set_change(new, output)
    return set_growth(new, output)


def _more_keys(new: Mapping[Any, Any], fresh: bool, output: Any) -> Any:
    if fresh:
        old = output.keys() if output.valid else ()
        return {**{key: REMOVE for key in old if key not in new}, **new} or None
    return dict(new) or None


# --- emit -----------------------------------------------------------------------------------------


def emit_port(port: Any, value_type: Any = None) -> Any:
    """Wire a node that lets the elements of each tick out, one a cycle."""
    source = port.output_type.dereference()
    kind, args = elements(source.scalar) if isinstance(source, TSm) else ("", ())
    read: Callable[[Any], Any]
    if kind in ("tuple", "set"):
        read, out = (lambda ts: ts.value), TS[args[0]]
    elif isinstance(source, TSSm):
        read, out = (came), TS[source.scalar]
    elif isinstance(source, TSLm):
        read, out = (lambda ts: [item.delta_value for item in ts.modified_values()]), source.element
    elif kind == "mapping":
        out = TSB[KeyValue[args[0], value_type or TS[args[1]]]]
        read = lambda ts: [{"key": k, "value": v} for k, v in ts.value.items()]  # noqa: E731
    elif isinstance(source, TSDm):
        out = TSB[KeyValue[source.key, value_type or source.element]]

        def read(ts: Any) -> Any:
            return [{"key": k, "value": v.delta_value} for k, v in ts.modified_items() if k in ts]

    else:
        raise WiringError(f"emit has nothing to let out one by one in {type_name(source)}")
    return made_node("emit", _emitter(read), {"ts": source}, out)(port)


def _emitter(read: Callable[[Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Return a function that queues what a tick holds and gives one of it a cycle."""

    def emitted(ts: Any, state: Any, scheduler: Any) -> Any:
        queue = state.get("queue")
        if queue is None:
            queue = state.queue = deque()
        if ts.modified:
            queue.extend(read(ts))
        if not queue:
            return None
        result = queue.popleft()
        if queue:
            scheduler.schedule(MIN_TD, tag="next")
        return result

    return emitted
