"""`switch_`: the nested graph that a key chooses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from mainspring.graph._errors import IncorrectTypeBinding, WiringError
from mainspring.graph._inner import (
    as_port,
    callable_of,
    collect_stars,
    gather_arguments,
    name_of,
    parameters_of,
    wire_inner,
)
from mainspring.graph._operator import BuiltIn
from mainspring.graph._signature import is_port
from mainspring.graph._types import DEFAULT, CompoundScalar, TSm
from mainspring.graph._value_types import scalar_type_of
from mainspring.graph._wiring import (
    Context,
    Input,
    NestedGraph,
    WiringNode,
    WiringPort,
    const_of,
    current,
    plain,
)


@BuiltIn
def switch_(
    key: Any,
    cases: Mapping[Any, Any],
    *args: Any,
    reload_on_ticked: bool = False,
    __label__: str | None = None,
    **kwargs: Any,
) -> Any:
    """The graph of the current key; a change of key stops the one and starts the other."""
    if isinstance(key, Mapping) and is_port(cases):
        key, cases = cases, key
    if not cases:
        raise WiringError("switch_ needs at least one case")
    port = key if is_port(key) else const_of(key, TSm(scalar_type_of(key)))
    port = plain(port)
    given = dict(enumerate(args)) | dict(kwargs)
    ports = {k: plain(a) for k, a in given.items() if is_port(a)}
    scalars = {k: a for k, a in given.items() if k not in ports}
    inputs = [Input("key", port, True, 0)]
    places = {}
    for k, a in ports.items():
        places[k] = len(inputs) - 1
        inputs.append(Input(str(k), a, False, 0))
    nested: list[NestedGraph] = []
    wirings: list[tuple[int | None, dict[int, int]]] = []
    table: list[tuple[Any, int]] = []
    otherwise = None
    seen: dict[int, int] = {}
    for value, func in cases.items():
        which = seen.get(id(func))
        if which is None:
            which = seen[id(func)] = len(nested)
            nested_graph, key_stub, stubs = _case(func, port, args, ports, scalars, places)
            nested.append(nested_graph)
            wirings.append((key_stub, stubs))
        if value is DEFAULT:
            otherwise = which
        else:
            table.append((value, which))
    for one, (_, stubs) in zip(nested, wirings, strict=True):
        for outer, inner in list(one.context.captured.values()):
            stubs[len(inputs) - 1] = one.context.stubs.index(inner.node_)
            inputs.append(Input(inner.node_.name, current().bring_in(outer), False, 0))
    out = _declared_output(cases.values())
    if out is None:
        out = _common_output([n.output for n in nested], "switch_")
    count = len(inputs) - 1
    node = WiringNode(
        "switch_",
        "switch",
        "sink" if out is None else "nested",
        out,
        inputs,
        label=__label__ or "",
        plan={
            "cases": table,
            "wiring": [(k, [s.get(i) for i in range(count)]) for k, s in wirings],
            "otherwise": otherwise,
            "reload": reload_on_ticked,
        },
        nested=tuple(nested),
        link=True,
        scalars={"cases": list(cases)},
    )
    return None if out is None else WiringPort(node, (), out)


def _case(
    func: Any,
    key: WiringPort,
    args: tuple[Any, ...],
    ports: Mapping[Any, WiringPort],
    scalars: Mapping[Any, Any],
    places: Mapping[Any, int],
) -> tuple[NestedGraph, int | None, dict[int, int]]:
    if isinstance(func, str) and args:
        with contextlib.suppress(WiringError):  # else it is a text, and what the case gives
            func = callable_of(func)
    if func is None or not callable(func):
        value = func
        return (
            wire_inner(lambda: None if value is None else as_port(value), {}, "case", lambda c: {}),
            None,
            {},
        )
    names = parameters_of(func)
    takes_key = bool(names) and names[0] == "key" and "key" not in ports and "key" not in scalars
    skip = ("key",) if takes_key else ()
    arguments = gather_arguments(
        func,
        tuple(range(len(args))),
        {k: k for k in {**ports, **scalars} if isinstance(k, str)},
        skip,
    )
    stubs: dict[int, int] = {}
    key_stub: list[int | None] = [None]

    def make(context: Context) -> dict[str, Any]:
        inner: dict[str, Any] = {}
        if takes_key:
            inner["key"] = context.value_stub("key", key.type_.dereference())
            key_stub[0] = 0
        for name, source in arguments.items():
            if source in ports:
                inner[name] = context.stub(name, ports[source].type_.dereference())
                stubs[places[source]] = len(context.stubs) - 1
            else:
                inner[name] = scalars[source]
        return collect_stars(func, inner)

    return wire_inner(func, {}, name_of(func), make), key_stub[0], stubs


def _declared_output(cases: Iterable[Any]) -> TSm | None:
    """The compound scalar that all the cases declare, whatever special kind of it they give."""
    declared = [getattr(getattr(case, "signature", None), "output", None) for case in cases]
    first = declared[0]
    if declared.count(first) != len(declared) or not isinstance(first, TSm):
        return None
    compound = isinstance(first.scalar, type) and issubclass(first.scalar, CompoundScalar)
    return first if compound else None


def _common_output(outputs: list[WiringPort | None], what: str) -> Any:
    types = [None if o is None else o.type_.dereference() for o in outputs]
    first = next((t for t in types if t is not None), None)
    if first is None:
        return None
    for tp in types:
        if tp is None:
            raise WiringError(f"{what}: some cases have a result and some have none")
        if tp != first:
            raise IncorrectTypeBinding(
                f"{what}: the cases give different types, {first!r} and {tp!r}"
            )
    return first


__all__ = [
    "switch_",
]
