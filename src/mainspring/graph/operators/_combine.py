"""Several time series made one (``combine``), ticks gathered (``collect``) and let out one by one (``emit``)."""

from collections import deque
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from mainspring.graph.operators._base import (
    MIN_TD,
    REMOVE,
    SIGNAL,
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
    schema_of_scalar,
    set_delta,
    type_name,
)
from mainspring.graph.operators._convert import complete, dict_change, elements, set_change


def combine_ports(target: Any, args: list[Any], kwargs: dict[str, Any], strict: bool | None) -> Any:
    """Wire one composite time series from components."""
    if target is None:
        return _structure(args, kwargs)
    if target is TSL or isinstance(target, TSLm):
        return TSL.from_ts(*args)
    if target is TSB or isinstance(target, TSBm):
        return _bundle(target, args, kwargs, bool(strict))
    if target is TSS or isinstance(target, TSSm):
        return _set(target, args)
    if target is TSD or isinstance(target, TSDm):
        return _dictionary(target, args, kwargs)
    strict = True if strict is None else strict
    if isinstance(target, TSm):
        kind, _ = elements(target.scalar)
        if kind in ("tuple", "fixed"):
            return _tuple(target, args, strict)
        if kind == "mapping" and len(args) == 2:
            return _mapping(target, args)
        if kind == "set":
            return _frozen(target, args)
        if is_subclass(target.scalar, CompoundScalar):
            return _compound(target, kwargs, strict)
        if target.scalar in MOMENTS:
            return _moment(target, kwargs)
    raise WiringError(
        f"combine cannot make {type_name(target)} of these arguments",
        hint="see the table of operators for what it makes",
    )


def _structure(args: list[Any], kwargs: dict[str, Any]) -> Any:
    if args and not kwargs:
        return TSL.from_ts(*args)
    if kwargs and not args:
        ports = {name: lifted(value) for name, value in kwargs.items()}
        schema = make_schema({name: port.output_type.dereference() for name, port in ports.items()})
        return TSB[schema].from_ts(**ports)
    raise WiringError("combine takes either positional ports (a list) or named ones (a bundle)")


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


def _dictionary(target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if kwargs or not args:
        raise TypeError("combine[TSD] takes the keys, and then the values")
    if len(args) == 2 and not isinstance(args[0], tuple):
        keys, values = (port.output_type.dereference() for port in args)
        if target is TSD:
            target = TSD[elements(keys.scalar)[1][0], TS[elements(values.scalar)[1][0]]]
        return made_node(
            "combine_tsd",
            lambda k, v, output: dict_change(dict(zip(k.value, v.value, strict=False)), output),
            {"keys": keys, "values": values},
            target,
        )(*args)
    names, *ports = args
    group, tp = _listed(ports)
    if target is TSD:
        target = TSD[type(names[0]), tp.element]
    return made_node(
        "combine_tsd_of_ports",
        lambda ts: {names[i]: item.delta_value for i, item in ts.modified_items()},
        {"ts": tp},
        target,
    )(group)


def _mapping(target: Any, args: list[Any]) -> Any:
    keys, values = (port.output_type.dereference() for port in args)
    if not elements(target.scalar)[1]:
        target = TS[Mapping[elements(keys.scalar)[1][0], elements(values.scalar)[1][0]]]
    return made_node(
        "combine_mapping",
        lambda k, v: dict(zip(k.value, v.value, strict=False)),
        {"keys": keys, "values": values},
        target,
    )(*args)


def _compound(target: Any, kwargs: dict[str, Any], strict: bool) -> Any:
    cls = target.scalar
    bundle = TSB[schema_of_scalar(cls)].from_ts(**kwargs)
    tp = bundle.output_type.dereference()
    names = list(kwargs)

    def made(ts: Any) -> Any:
        values = {name: ts[name].value for name in names if ts[name].valid}
        return cls(**values) if len(values) == len(names) else bare_new(cls, values)

    def loose(ts: Any) -> Any:
        return made(ts)

    def complete_only(ts: Any) -> Any:
        return made(ts) if all(ts[name].valid for name in names) else None

    return made_node("combine_compound", complete_only if strict else loose, {"ts": tp}, target)(
        bundle
    )


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


def _moment(target: Any, kwargs: dict[str, Any]) -> Any:
    build = MOMENTS[target.scalar]
    bundle = _structure([], kwargs)
    tp = bundle.output_type.dereference()
    return made_node(
        f"combine_{target.scalar.__name__}",
        lambda ts: build({name: item.value for name, item in ts.items()}),
        {"ts": tp},
        target,
        all_valid=("ts",),
    )(bundle)


# --- collect --------------------------------------------------------------------------------------


def collect_ports(target: Any, ports: list[Any], reset: Any) -> Any:
    """Wire a node that gathers the ticks of one port, or of a key and a value."""
    sources = [port.output_type.dereference() for port in ports]
    target = complete(target, sources)
    make = _collector(target, sources)
    if make is None:
        raise WiringError(
            f"collect cannot gather {', '.join(type_name(s) for s in sources)} into {type_name(target)}"
        )
    inputs = dict(zip(("key", "ts") if len(sources) == 2 else ("ts",), sources, strict=True))
    name = f"collect_{type_name(target)}"
    gather: Any
    if reset is None:
        if len(sources) == 2:
            gather = lambda key, ts, output: make(key, ts, False, output)  # noqa: E731
        else:
            gather = lambda ts, output: make(ts, False, output)  # noqa: E731
        return made_node(name, gather, inputs, target)(*ports)
    inputs["reset"] = SIGNAL
    if len(sources) == 2:
        gather = lambda key, ts, fresh, output: make(key, ts, fresh.modified, output)  # noqa: E731
    else:
        gather = lambda ts, fresh, output: make(ts, fresh.modified, output)  # noqa: E731
    return made_node(name, gather, inputs, target, valid=("ts",))(*ports, reset)


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
    """Return ``(ports..., reset ticked?, output) -> change`` for a target, or None."""
    source = sources[-1]
    kind, args = elements(target.scalar) if isinstance(target, TSm) else ("", ())
    if len(sources) == 1 and kind == "tuple":
        read = _parts(source, args[0])
        if read is not None:
            return lambda ts, fresh, output: _grown(
                ts, fresh, output, (), lambda old: (*old, *read(ts))
            )
    if len(sources) == 1 and kind == "set":
        read = _parts(source, args[0])
        if read is not None:
            return lambda ts, fresh, output: _grown(
                ts, fresh, output, frozenset(), lambda old: old | frozenset(read(ts))
            )
    if isinstance(target, TSSm) and len(sources) == 1:
        read = _parts(source, target.scalar)
        if read is not None:
            return lambda ts, fresh, output: _more_elements(ts, fresh, output, read)
    if kind == "mapping" and len(sources) == 2:
        return lambda key, ts, fresh, output: _grown(
            ts, fresh, output, {}, lambda old: {**old, key.value: ts.value}
        )
    if isinstance(target, TSDm):
        if len(sources) == 2:
            return lambda key, ts, fresh, output: _more_keys(
                {key.value: ts.delta_value} if ts.modified or key.modified else {}, fresh, output
            )
        if isinstance(source, TSDm):
            return lambda ts, fresh, output: _more_keys(
                {key: item.delta_value for key, item in ts.modified_items() if key in ts},
                fresh,
                output,
            )
        if isinstance(source, TSm) and elements(source.scalar)[0] == "mapping":
            return lambda ts, fresh, output: _more_keys(
                dict(ts.value) if ts.modified else {}, fresh, output
            )
    return None


def _grown(ts: Any, fresh: bool, output: Any, nothing: Any, add: Callable[[Any], Any]) -> Any:
    old = output.value if output.valid and not fresh else nothing
    return add(old) if ts.valid and ts.modified else old


def _more_elements(ts: Any, fresh: bool, output: Any, read: Callable[[Any], Any]) -> Any:
    new = dict.fromkeys(read(ts)) if ts.valid and ts.modified else {}
    if fresh:
        return set_change(new, output)
    added = [item for item in new if not output.valid or item not in output]
    if isinstance_tss(ts) and not added and output.valid:
        return None
    return set_delta(added=added, removed=[])


def isinstance_tss(ts: Any) -> bool:
    """Whether an input is a set over time."""
    return hasattr(ts, "was_added") and not hasattr(ts, "key_set")


def _more_keys(new: dict[Any, Any], fresh: bool, output: Any) -> Any:
    if fresh:
        old = output.keys() if output.valid else ()
        return {**{key: REMOVE for key in old if key not in new}, **new}
    return new or None


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
        pair = make_schema({"key": TS[args[0]], "value": value_type or TS[args[1]]})
        read, out = (lambda ts: [{"key": k, "value": v} for k, v in ts.value.items()]), TSB[pair]
    elif isinstance(source, TSDm):
        pair = make_schema({"key": TS[source.key], "value": value_type or source.element})
        out = TSB[pair]

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
