"""Graphs: functions that wire nodes and are wired into others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from mainspring.graph._errors import IncorrectTypeBinding, ParseError, WiringError
from mainspring.graph._match import MatchError, match
from mainspring.graph._python_nodes import (
    SAME_IN_EVERY_GRAPH,
    injection,
    stars_as_parameters,
    unbound,
)
from mainspring.graph._signature import (
    INJECTED,
    Param,
    Resolved,
    Signature,
    UnresolvedError,
    WiringNodeType,
    is_port,
    resolve,
    to_port,
)
from mainspring.graph._types import (
    Bindings,
    SIGNALm,
    TSBm,
    is_ts_variable,
    make_schema,
    substitute,
    type_name,
)
from mainspring.graph._wirable import Wirable
from mainspring.graph._wiring import WiringPort, current, inside, tsb_from_ts


def _check_graph(signature: Signature) -> None:
    """A graph runs while it is wired, when there is no node yet whose state or clock it could have."""
    for p in signature.params:
        if p.kind not in INJECTED:
            continue
        if p.kind in SAME_IN_EVERY_GRAPH:
            raise ParseError(
                f"graph {signature.name} asks for {p.name!r}, which only a running node has",
                hint="a graph supports only GlobalState and LOGGER; put the rest into a node",
            )
        if p.default is not None:
            raise ParseError(
                f"graph {signature.name}: {p.name!r} must default to None, it is injected"
            )


class GraphFunction(Wirable):
    """`graph`: a function that wires others."""

    kind = "graph"
    node_type = WiringNodeType.GRAPH
    _opened: Any = None  # the function, its stars ordinary parameters

    def build(self, resolved: Resolved, label: str) -> Any:
        signature = self.signature
        values: dict[str, Any] = {}
        for p in signature.params:
            if p.kind in INJECTED:
                value: Any = injection(p, signature.name)[1]
            else:
                value = resolved.arguments[p.name]
            if p.kind == "context" and value is None:
                value = unbound(resolved.types[p.name])
            elif p.kind in ("ts", "any") and is_port(value):
                if not isinstance(resolved.types.get(p.name), SIGNALm):
                    value = current().bring_in(value)
            values[p.name] = value
        with inside(label or signature.name):
            return self.result(self._call(values), resolved)

    def _call(self, values: dict[str, Any]) -> Any:
        """Call the function; what `*args` and `**kwargs` take arrives as one list or bundle of ports."""
        signature = self.signature
        if signature.star is not None or signature.kwstar is not None:
            if self._opened is None:
                self._opened = stars_as_parameters(self.fn)
            names = self._opened.__code__.co_varnames[: self._opened.__code__.co_argcount]
            return self._opened(*[values[name] for name in names])
        keyword_only = {p.name for p in signature.params if p.keyword_only}
        positional = [v for name, v in values.items() if name not in keyword_only]
        return self.fn(*positional, **{name: values[name] for name in keyword_only})

    def result(self, out: Any, resolved: Resolved) -> Any:
        signature = self.signature
        want = resolved.output
        if want is None:
            return as_open_result(out, signature.name) if signature.output is None else None
        if out is None:
            if isinstance(want, TypeVar) and is_ts_variable(want):
                return None  # any time series at all, or none
            raise WiringError(f"graph {signature.name} returned nothing, it declares {want!r}")
        return as_result(out, want, signature.name)

    def resolve(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        given: Bindings | None,
        make: bool = True,
    ) -> Resolved:
        try:
            return super().resolve(args, kwargs, given, make)
        except UnresolvedError:
            if not make:
                raise
            # The body may tell: resolve without the result, which is checked afterwards.
            open_signature = Signature(
                self.signature.name, self.signature.params, None, self.signature.default_variable
            )
            resolved = resolve(open_signature, args, kwargs, given, self.resolvers, make=make)
            resolved.output = substitute(self.signature.output, resolved.bindings)
            return resolved


def as_open_result(out: Any, name: str) -> WiringPort | None:
    """What a graph function that declares no result returned: a port, or ports by name as a bundle."""
    if isinstance(out, Mapping) and out and all(is_port(port) for port in out.values()):
        schema = make_schema({key: port.output_type.dereference() for key, port in out.items()})
        return tsb_from_ts(TSBm(schema), **out)
    if out is not None and not is_port(out):
        raise IncorrectTypeBinding(
            f"graph {name} declares no result but returned {out!r}, which is no port",
            hint="return a port, a dict of ports (a bundle), or const(value)",
        )
    return out  # type: ignore[no-any-return]


def as_result(out: Any, want: Any, name: str) -> WiringPort:
    """What a graph function returned, as a port of the declared type."""
    if not is_port(out):
        try:
            out = to_port(out, want, {}, Param("result", "ts", want), True)
        except MatchError as problem:
            raise IncorrectTypeBinding(
                f"graph {name} declares {type_name(want)}: {problem}"
            ) from None
    try:
        match(want, out.type_, {})
    except MatchError as problem:
        raise IncorrectTypeBinding(
            f"graph {name} declares {type_name(want)} but returns {type_name(out.type_)}: {problem}"
        ) from None
    port: WiringPort = out
    return port


__all__ = [
    "GraphFunction",
]
