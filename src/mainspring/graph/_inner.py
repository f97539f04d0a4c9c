"""Wiring a function as a nested graph: its parameters, its arguments, and what it captures."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from mainspring.graph._errors import WiringError
from mainspring.graph._signature import STARS, has_port, is_port
from mainspring.graph._types import TSm
from mainspring.graph._value_types import scalar_type_of
from mainspring.graph._wirable import Bound, Wirable
from mainspring.graph._wiring import (
    Context,
    Input,
    NestedGraph,
    WiringPort,
    const_of,
    current,
    plain,
    tsb_from_ts,
    tsl_from_ts,
    wiring,
)


def callable_of(fn: Any) -> Any:
    """What a function is to be wired: an operator may be given by its name."""
    if not isinstance(fn, str):
        return fn
    import mainspring.graph

    found = getattr(mainspring.graph, fn, None)
    if isinstance(found, Wirable):
        return found
    close = difflib.get_close_matches(
        fn, [n for n, o in vars(mainspring.graph).items() if isinstance(o, Wirable)], 1
    )
    raise WiringError(
        f"there is no operator named {fn!r}", hint=f"did you mean {close[0]!r}?" if close else None
    )


def parameters_of(fn: Any) -> list[str]:
    """The names a nested function takes, injectables left out."""
    if isinstance(fn, (Wirable, Bound)):
        return [p.name for p in fn.signature.open]
    return list(inspect.signature(fn).parameters)


def name_of(fn: Any) -> str:
    return getattr(fn, "__name__", None) or type(fn).__name__


def wire_inner(
    fn: Any, named: Mapping[str, Any], name: str, make: Callable[[Context], Mapping[str, Any]]
) -> NestedGraph:
    """Wire `fn` in a context of its own; `make` gives it its ports by parameter name."""
    context = Context(name, current())
    with wiring(context):
        arguments = {**named, **make(context)}
        out = call_by_name(fn, arguments)
        if out is not None and not is_port(out):
            out = as_port(out)
        if out is not None:
            out = plain(out)
    return NestedGraph(context, out)


def as_port(value: Any) -> WiringPort:
    if isinstance(value, Mapping) and has_port(value):
        return tsb_from_ts(None, **value)
    if isinstance(value, (tuple, list)) and has_port(value):
        return tsl_from_ts(*value)
    return const_of(value, TSm(scalar_type_of(value)))


def call_by_name(fn: Any, arguments: Mapping[str, Any]) -> Any:
    """Call with arguments by name, `*args` and `**kwargs` opened."""
    if isinstance(fn, (Wirable, Bound)):
        params = fn.signature.open
        positional: list[Any] = []
        named: dict[str, Any] = {}
        by_position = True
        for p in params:
            if p.name not in arguments:
                by_position = False
                continue
            value = arguments[p.name]
            if p.star == 1:
                positional += list(value)
            elif p.star == 2:
                named.update(value)
            elif p.keyword_only or not by_position:
                named[p.name] = value
            else:
                positional.append(value)
        known = {p.name for p in params}
        for n, value in arguments.items():
            if n not in known:
                named[n] = value
        return fn(*positional, **named)
    positional = []
    named = {}
    for n, parameter in inspect.signature(fn).parameters.items():
        if n not in arguments:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += list(arguments[n])
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[n] = arguments[n]
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(arguments[n])
        else:
            positional.append(arguments[n])
    return fn(*positional, **named)


def annotations_of(fn: Any) -> dict[str, Any]:
    """The declared types of a nested function's parameters, where there are any."""
    if isinstance(fn, (Wirable, Bound)):
        return {p.name: p for p in fn.signature.open}
    return {}


def gather_arguments(
    fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], skip: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Arguments by parameter name; those in `skip` are filled in by the caller."""
    names = [n for n in parameters_of(fn) if n not in skip]
    stars = {}
    if isinstance(fn, (Wirable, Bound)):
        stars = {p.name: p.star for p in fn.signature.open}
    else:
        for n, parameter in inspect.signature(fn).parameters.items():
            stars[n] = STARS.get(parameter.kind, 0)
    found: dict[str, Any] = {}
    plain_names = [n for n in names if not stars.get(n)]
    star = next((n for n in names if stars.get(n) == 1), None)
    if len(args) > len(plain_names) and star is None:
        raise WiringError(
            f"{name_of(fn)} takes {len(plain_names)} arguments, {len(args)} were given"
        )
    for n, value in zip(plain_names, args, strict=False):
        found[n] = value
    if star is not None and len(args) > len(plain_names):
        for i, value in enumerate(args[len(plain_names) :]):
            found[f"{star}[{i}]"] = value
    for n, value in kwargs.items():
        if n in found:
            raise WiringError(f"{name_of(fn)} was given {n!r} twice")
        found[n] = value
    return found


def collect_stars(fn: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """`ts[0]`, `ts[1]` back into the one `*ts`."""
    made: dict[str, Any] = {}
    for n, value in arguments.items():
        if n.endswith("]") and "[" in n:
            made.setdefault(n.partition("[")[0], []).append(value)
        else:
            made[n] = value
    return made


def finish_captures(nested: NestedGraph, inputs: list[Input]) -> list[int]:
    """Inputs for what the inner graph took from outside by itself; their stubs' places."""
    places = []
    for outer, inner in list(nested.context.captured.values()):
        places.append(nested.context.stubs.index(inner.node_))
        inputs.append(Input(inner.node_.name, current().bring_in(outer), False, 0))
    return places
