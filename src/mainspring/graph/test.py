"""Testing nodes and graphs: `eval_node` gives inputs cycle by cycle and returns the output so.

>>> from mainspring.graph import TS, compute_node
>>> @compute_node
... def double(ts: TS[int]) -> TS[int]:
...     return ts.value * 2
>>> eval_node(double, [1, None, 3])
[2, None, 6]
"""

from __future__ import annotations

import contextlib
import datetime as _dt
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from mainspring.graph._errors import WiringError
from mainspring.graph._injectables import state_of_run
from mainspring.graph._match import MatchError, match
from mainspring.graph._operator import Operator
from mainspring.graph._run import (
    MAX_ET,
    MIN_ST,
    MIN_TD,
    EvaluationMode,
    GraphConfiguration,
    _execute,
    record_into,
)
from mainspring.graph._signature import MISSING as _EMPTY
from mainspring.graph._signature import Param, Signature, gather, is_port, value_type
from mainspring.graph._types import (
    SIGNALm,
    TimeSeries,
    TSBm,
    TSDm,
    TSLm,
    TSm,
    TsMeta,
    TSSm,
    is_ts,
    parse_ts,
    substitute,
    type_name,
    variables,
)
from mainspring.graph._watch import (
    EvaluationProfileEntry,
    EvaluationProfilePhase,
    EvaluationProfiler,
    EvaluationProfileSnapshot,
    EvaluationTrace,
)
from mainspring.graph._wirable import Bound, Wirable
from mainspring.graph._wiring import (
    Context,
    WiringNode,
    WiringPort,
    describe,
    wiring,
)

__all__ = [
    "EvaluationProfileEntry",
    "EvaluationProfilePhase",
    "EvaluationProfileSnapshot",
    "EvaluationProfiler",
    "EvaluationTrace",
    "eval_node",
]


def eval_node(
    node: Any,
    *args: Any,
    output_type: Any = None,
    resolution_dict: Mapping[Any, Any] | None = None,
    __trace__: Any = False,
    __trace_wiring__: Any = False,
    __observers__: Sequence[Any] | None = None,
    __start_time__: Any = None,
    __end_time__: Any = None,
    __scalars__: Any = None,
    __elide__: bool = False,
    __run_mode__: Any = EvaluationMode.SIMULATION,
    **kwargs: Any,
) -> list[Any] | None:
    """Evaluate a graph or node against one list of values for each input.

    A value stands for one cycle, `None` for a cycle without a tick. Returned is the change of the
    output in each cycle (`None` without one), or nothing at all for a sink. `resolution_dict` gives
    types of inputs that their values do not tell.
    """
    with state_of_run():
        context = Context(getattr(node, "__name__", "node"))
        start = _as_time(__start_time__, MIN_ST, MIN_ST)
        ticks: list[Any] | None = None
        with wiring(context):
            positional, named, length = _inputs(
                node, args, kwargs, dict(resolution_dict or {}), frozenset(__scalars__ or ())
            )
            target = node
            if output_type is not None and isinstance(node, (Wirable, Bound)):
                signature = node.signature
                if signature.default_variable is not None or isinstance(signature.output, TypeVar):
                    variable = signature.default_variable or signature.output
                    target = node[variable:output_type]
                elif signature.output is not None and any(
                    True for _ in variables(signature.output)
                ):
                    bindings: dict[Any, Any] = {}
                    match(signature.output, output_type, bindings)
                    target = Bound(node.target if isinstance(node, Bound) else node, bindings)
            out = target(*positional, **named)
            if out is not None:
                if not isinstance(out, WiringPort):
                    raise WiringError(f"{node!r} returned {out!r}, which is no port")
                ticks = []
                record_into(out, ticks)
        description = describe(context, None)
        config = GraphConfiguration(
            run_mode=__run_mode__,
            start_time=start,
            end_time=_as_time(__end_time__, MAX_ET, start),
            trace=__trace__,
            trace_wiring=__trace_wiring__,
            life_cycle_observers=tuple(__observers__ or ()),
        )
        _execute(description, config)
    if ticks is None:
        return None
    if __elide__:
        return [value for _, value in ticks] or None
    return _by_cycle(ticks, start, length)


def _as_time(given: Any, otherwise: _dt.datetime, start: _dt.datetime) -> _dt.datetime:
    if given is None:
        return otherwise
    if isinstance(given, _dt.timedelta):
        return start + given
    time: _dt.datetime = given
    return time


def _by_cycle(ticks: list[Any], start: _dt.datetime, length: int) -> list[Any] | None:
    found: list[Any] = []
    for time, value in ticks:
        at = (time - start) // MIN_TD
        if at > 10_000_000:
            raise WiringError(
                f"the last tick is {at} cycles after the start, too far apart to list",
                hint="use __elide__=True",
            )
        while len(found) < at:
            found.append(None)
        found.append(value)
    if not found:
        return None
    while len(found) < length:
        found.append(None)
    return found


def _inputs(
    node: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    types: dict[Any, Any],
    as_scalars: frozenset[str],
) -> tuple[list[Any], dict[str, Any], int]:
    """The arguments to wire the node with, and the number of cycles the inputs cover."""
    places = _operator_places(node)
    if places is not None:
        return _operator_inputs(places, args, kwargs, types, as_scalars)
    if not isinstance(node, (Wirable, Bound)):
        if not callable(node):
            raise WiringError(f"eval_node takes a node or graph, not {node!r}")
        return list(args), dict(kwargs), 0  # const and its like: everything is a plain value
    signature: Signature = node.signature
    bindings: dict[Any, Any] = dict(node.bindings) if isinstance(node, Bound) else {}
    for variable, tp in types.items():
        if isinstance(variable, TypeVar):
            bindings[variable] = tp
    given = gather(signature, args, kwargs)
    _check_names(signature, given, types)
    explicit = set(kwargs) | {p.name for p, _ in zip(signature.positional, args, strict=False)}
    positional: list[Any] = []
    named: dict[str, Any] = {}
    length = 0
    # Inputs whose types are told first, so that the others can be told from them.
    for p in signature.open:
        tp = types.get(p.name)
        if tp is not None and p.kind == "ts" and not p.star:
            match(p.type, parse_ts(tp, p.name), bindings)
    for p in signature.open:
        if p.kind == "type" and isinstance(p.type, TypeVar) and is_ts(given[p.name]):
            bindings.setdefault(p.type, given[p.name])
    made: dict[str, Any] = {}
    for p in signature.open:
        value = given[p.name]
        if p.kind == "any" and isinstance(value, (list, tuple, dict)):
            given_as: dict[Any, Any] = {p.name: value}
            if p.star:
                given_as = value if isinstance(value, dict) else dict(enumerate(value))
            found = {}
            for key, one in given_as.items():
                if isinstance(one, list) and (p.star or p.name in explicit):
                    one, n = _source(str(key), one, types.get(p.name), bindings)
                    length = max(length, n)
                found[key] = one
            made[p.name] = (
                found if p.star == 2 else list(found.values()) if p.star else found[p.name]
            )
            continue
        if p.kind != "ts" or value is None or is_port(value) or p.name in as_scalars:
            made[p.name] = value
            continue
        if p.name not in explicit and not p.star:
            made[p.name] = value
            continue
        if p.star == 1:
            series = list(value)
            tp = substitute(p.type, bindings)
            element = types.get(p.name)
            if element is not None:
                tp = parse_ts(element, p.name)
            inner = tp.element if isinstance(tp, TSLm) else tp
            if isinstance(inner, TSBm):  # of different types: each is told by its own values
                inner = inner.fields.values() if isinstance(inner.args[0], type) else ()
            of_each = list(inner) if not is_ts(inner) else []
            parts = []
            for i, one in enumerate(series):
                want = inner if is_ts(inner) else of_each[i] if i < len(of_each) else None
                port, n = _source(f"{p.name}[{i}]", one, want, bindings)
                length = max(length, n)
                parts.append(port)
            made[p.name] = parts
            continue
        if p.star == 2:
            fields = {}
            for name, one in value.items():
                tp = types.get(name)
                if tp is None and isinstance(p.type, TSBm) and isinstance(p.type.args[0], type):
                    tp = p.type.fields.get(name)
                port, n = _source(name, one, tp, bindings)
                length = max(length, n)
                fields[name] = port
            made[p.name] = fields
            continue
        port, n = _source(
            p.name, value, types.get(p.name) or substitute(p.type, bindings), bindings, p.type
        )
        length = max(length, n)
        made[p.name] = port
    by_position = {p.name for p in signature.positional[: len(args)]}
    for p in signature.open:
        if p.name in by_position:
            positional.append(made[p.name])
        elif p.star == 1:
            positional += list(made[p.name])
        elif p.star == 2:
            named.update(made[p.name])
        elif p.keyword_only or (p.name not in explicit and p.default is not _EMPTY):
            if p.name in explicit:
                named[p.name] = made[p.name]
        elif named or (
            signature.star is None
            and p.name in explicit
            and len(positional) < len(signature.positional)
        ):
            named[p.name] = made[p.name]
        else:
            positional.append(made[p.name])
    return positional, named, length


def _check_names(signature: Signature, given: Mapping[str, Any], types: Mapping[Any, Any]) -> None:
    """Refuse a `resolution_dict` that names what is no input."""
    known = [p.name for p in signature.open if p.kind in ("ts", "any", "context")]
    if signature.kwstar is not None:
        known += given[signature.kwstar.name]
    unknown = [name for name in types if isinstance(name, str) and name not in known]
    if unknown:
        raise WiringError(
            f"resolution_dict names {', '.join(map(repr, unknown))}, which is no time-series input",
            hint=f"the inputs are {', '.join(known) or 'none'}",
        )


def _operator_places(node: Any) -> list[list[Param]] | None:
    """The parameters an operator's overloads have at each place; None for what is no library operator."""
    if getattr(node, "takes_series", False):
        return []
    target = node.target if isinstance(node, Bound) else node
    if not isinstance(target, Operator) or not target.is_open:
        return None
    places: list[list[Param]] = []
    for overload in target.overloads:
        signature = overload.signature
        for place, p in enumerate([*signature.positional, *filter(None, (signature.star,))]):
            if place == len(places):
                places.append([])
            places[place].append(p)
    return places


def _operator_inputs(
    places: list[list[Param]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    types: dict[Any, Any],
    as_scalars: frozenset[str],
) -> tuple[list[Any], dict[str, Any], int]:
    """Arguments for an operator, whose overloads differ in what is a time series: lists are the inputs."""
    length = 0

    def made(name: str, known_as: list[Param], value: Any) -> Any:
        nonlocal length
        names = {name: None, **{p.name: None for p in known_as}}
        if not isinstance(value, (list, tuple)) or not as_scalars.isdisjoint(names):
            return value
        given = next((types[other] for other in names if other in types), None)
        tp = None if given is None else parse_ts(given, name)
        if isinstance(tp, TSLm) and any(p.star and p.name in types for p in known_as):
            tp = tp.element
        port, cycles = _source(name, list(value), tp, {})
        length = max(length, cycles)
        return port

    positional = []
    for place, value in enumerate(args):
        known_as = places[min(place, len(places) - 1)] if places else []
        positional.append(made(known_as[0].name if known_as else "ts", known_as, value))
    return positional, {name: made(name, [], value) for name, value in kwargs.items()}, length


def _source(
    name: str, values: Any, tp: Any, bindings: dict[Any, Any], pattern: Any = None
) -> tuple[WiringPort, int]:
    """A port that ticks a list of values, one for each cycle."""
    if not isinstance(values, (list, tuple)) or (
        isinstance(values, tuple) and isinstance(tp, TSLm)
    ):
        values = [values]
    values = list(values)
    if isinstance(tp, SIGNALm):
        sample = next((v for v in values if v is not None), True)
        tp = TSm(type(sample))
    if tp is None or any(True for _ in variables(tp)):
        tp = _told_by(values, tp, name)
        if pattern is not None:
            with contextlib.suppress(MatchError):
                match(pattern, tp, bindings)
    if not is_ts(tp) or not isinstance(tp, TsMeta):
        raise WiringError(
            f"the type of {name!r} cannot be told", hint=f"resolution_dict={{{name!r}: TS[...]}}"
        )
    tp = tp.dereference()
    _check_values(name, values, tp)
    node = WiringNode(name, "replay", "source", tp, payload=values)
    return WiringPort(node, (), tp), len(values)


_STRICT = {int: (int,), float: (int, float), str: (str,), bool: (bool,)}


def _check_values(name: str, values: list[Any], tp: Any) -> None:
    """Refuse values that an input of plain scalars cannot take, before anything runs."""
    if isinstance(tp, TSSm):
        for value in values:
            if isinstance(value, Mapping) and value:
                raise TypeError(
                    f"{name!r} is a {tp!r}, it cannot tick the dictionary {value!r}; "
                    "hint: give a set, or set_delta(added, removed)"
                )
    allowed = (
        _STRICT.get(tp.scalar) if isinstance(tp, TSm) and isinstance(tp.scalar, type) else None
    )
    if allowed is None:
        return
    for value in values:
        if (
            value is not None
            and not isinstance(value, allowed)
            and isinstance(value, (str, bytes, dict, list))
        ):
            raise TypeError(f"{name!r} is a {tp!r}, it cannot tick {value!r}")


def _told_by(values: list[Any], pattern: Any, name: str) -> Any:
    """The type that fits the values of an input."""
    known = [v for v in values if v is not None]
    if not known:
        raise WiringError(
            f"the type of {name!r} cannot be told: it has no values",
            hint=f"give it: resolution_dict={{{name!r}: TS[...]}}",
        )
    want = pattern
    if want is None or isinstance(want, TypeVar):
        found = [value_type(v, _ANY) for v in known]
    else:
        want = want.dereference()
        found = []
        for v in known:
            try:
                tp = value_type(v, want)
                own: dict[Any, Any] = {}
                match(want, tp, own)
                found.append(substitute(want, own))
            except (MatchError, StopIteration, TypeError):
                continue
    if not found:
        raise WiringError(
            f"the values of {name!r} do not fit {type_name(pattern)}",
            hint=f"give its type: resolution_dict={{{name!r}: ...}}",
        )
    # An empty collection does not say what it would hold, if another says it.
    found = [tp for tp in found if not any(True for _ in variables(tp))] or found
    first = found[0]
    if all(tp == first for tp in found):
        return first
    scalars = [tp.args[0] for tp in found if isinstance(tp, TSm)]
    if len(scalars) == len(found):
        from mainspring.graph._value_types import common_scalar

        if set(map(str, scalars)) == {"<class 'tuple'>"}:
            return first
        concrete = [s for s in scalars if s not in (tuple, dict, frozenset, list)]
        return TSm(common_scalar(concrete or scalars))
    for tp in found:
        if isinstance(tp, (TSDm, TSLm)) and object not in tp.args:
            return tp
    return first


_ANY = TypeVar("_ANY", bound=TimeSeries)
