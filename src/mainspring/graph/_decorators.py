"""The decorators: `graph`, `compute_node`, `sink_node`, `generator`, `push_queue`, `operator`, `lift`.

Each turns a function into a `Wirable`, or registers it as an overload of an operator.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mainspring.graph._errors import ParseError
from mainspring.graph._graph_functions import GraphFunction, _check_graph
from mainspring.graph._native_nodes import NativeNode
from mainspring.graph._operator import Operator
from mainspring.graph._python_nodes import GeneratorNode, PushNode, PythonNode
from mainspring.graph._signature import Param, Signature, parse_signature
from mainspring.graph._types import TSm, TsMeta, parse_ts, resolve_hints
from mainspring.graph._wirable import Bound, Wirable


def _register(made: Wirable, overloads: Any) -> Wirable:
    if overloads is not None:
        target = overloads.target if isinstance(overloads, Bound) else overloads
        if isinstance(target, Wirable) and not isinstance(target, Operator):
            target = _promote(target)
        if not hasattr(target, "overload"):
            raise ParseError(
                f"{made.signature.name}: overloads={target!r} is nothing that can be overloaded",
                hint="declare it with @operator, or overload a graph or node",
            )
        target.overload(made)
    return made


def _promote(target: Any) -> Operator:
    """A graph or node that is overloaded becomes an operator it is the general overload of."""
    known = getattr(target, "_as_operator", None)
    if known is None:
        general = copy.copy(target)
        known = target._as_operator = Operator(target.fn)
        known.overload(general)
        target.wire = known.wire
    return known


def _node_decorator(kind: str) -> Callable[..., Any]:
    def decorate(
        fn: Callable[..., Any] | None = None,
        /,
        node_impl: Any = None,
        active: Any = None,
        valid: Any = None,
        all_valid: Any = None,
        overloads: Any = None,
        resolvers: Mapping[TypeVar, Any] | None = None,
        requires: Callable[..., Any] | None = None,
        label: str | None = None,
        deprecated: bool | str = False,
    ) -> Any:
        def make(target: Callable[..., Any]) -> Any:
            return _register(
                PythonNode(
                    target,
                    kind,
                    active=active,
                    valid=valid,
                    all_valid=all_valid,
                    resolvers=resolvers,
                    requires=requires,
                    label=label,
                    deprecated=deprecated,
                ),
                overloads,
            )

        if node_impl is not None:
            raise ParseError(f"{kind}: node_impl is not supported")
        return make if fn is None else make(fn)

    decorate.__name__ = decorate.__qualname__ = kind
    return decorate


compute_node = _node_decorator("compute_node")
compute_node.__doc__ = """Decorate a function that computes a time series from others.

It is called when an active input ticks and every input in `valid` has a value (by default all of
them); what it returns ticks its output, `None` does not.
"""
sink_node = _node_decorator("sink_node")
sink_node.__doc__ = "Decorate a function that consumes time series and gives none."


def generator(
    fn: Callable[..., Any] | None = None,
    overloads: Any = None,
    resolvers: Mapping[TypeVar, Any] | None = None,
    requires: Callable[..., Any] | None = None,
    label: str | None = None,
    deprecated: bool | str = False,
) -> Any:
    """Decorate a Python generator that yields `(time, value)`: a source of ticks."""

    def make(target: Callable[..., Any]) -> Any:
        return _register(
            GeneratorNode(
                target,
                "generator",
                resolvers=resolvers,
                requires=requires,
                label=label,
                deprecated=deprecated,
            ),
            overloads,
        )

    return make if fn is None else make(fn)


def push_queue(
    tp: Any,
    overloads: Any = None,
    resolvers: Mapping[TypeVar, Any] | None = None,
    requires: Callable[..., Any] | None = None,
    label: str | None = None,
    deprecated: bool | str = False,
    *,
    conflate: bool = False,
    burst: bool = False,
    max_pending: int | None = None,
) -> Any:
    """Decorate a function that is handed a sender; what is sent ticks (real time only).

    The sender may be called from any thread and says whether it took the message. `conflate`
    keeps the newest only, `burst` ticks everything waiting as one tuple, `max_pending` bounds
    what may wait.
    """

    def make(target: Callable[..., Any]) -> Any:
        return _register(
            PushNode(
                target,
                tp,
                conflate,
                burst,
                max_pending,
                resolvers=resolvers,
                requires=requires,
                label=label,
                deprecated=deprecated,
            ),
            overloads,
        )

    return make


def graph(
    fn: Callable[..., Any] | None = None,
    overloads: Any = None,
    resolvers: Mapping[TypeVar, Any] | None = None,
    requires: Callable[..., Any] | None = None,
    label: str | None = None,
    deprecated: bool | str = False,
) -> Any:
    """Decorate a function that wires nodes together. It runs while the graph is built."""

    def make(target: Callable[..., Any]) -> Any:
        signature = parse_signature(target, needs_types=False)
        _check_graph(signature)
        return _register(
            GraphFunction(
                target,
                signature,
                resolvers=resolvers,
                requires=requires,
                label=label,
                deprecated=deprecated,
            ),
            overloads,
        )

    return make if fn is None else make(fn)


def operator(fn: Callable[..., Any] | None = None, deprecated: bool | str = False) -> Any:
    """Declare an operator: a signature for which overloads are registered."""

    def make(target: Callable[..., Any]) -> Any:
        return Operator(target, deprecated=deprecated)

    return make if fn is None else make(fn)


def lift(
    fn: Callable[..., Any],
    inputs: Mapping[str, Any] | None = None,
    output: Any = None,
    active: Any = None,
    valid: Any = None,
    all_valid: Any = None,
    dedup_output: bool = False,
    defaults: Mapping[str, Any] | None = None,
) -> Any:
    """A plain function as a compute node: each scalar parameter becomes a `TS` of it."""
    hints = resolve_hints(fn)
    params = []
    for name, parameter in inspect.signature(fn).parameters.items():
        tp = (inputs or {}).get(name)
        if tp is None:
            hint = hints.get(name, object)
            tp = hint if isinstance(hint, TsMeta) else TSm(hint)
        default = (defaults or {}).get(name, parameter.default)
        params.append(Param(name, "ts", tp, default, annotation=tp))
    out = output
    if out is None:
        hint = hints.get("return", object)
        out = hint if isinstance(hint, TsMeta) else TSm(hint)

    names = [p.name for p in params]

    def call(*views: Any) -> Any:
        return fn(*[None if v is None else v.value for v in views])

    if dedup_output:
        call = _dedup(fn)
        params.append(Param("_output", "output", None, None))
    call.__name__ = getattr(fn, "__name__", "lifted")
    call.__doc__ = fn.__doc__
    del names
    return PythonNode(
        call,
        "compute_node",
        active=active,
        valid=valid,
        all_valid=all_valid,
        signature=Signature(call.__name__, params, parse_ts(out, call.__name__)),
    )


def _dedup(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(*views: Any) -> Any:
        *inputs, out = views
        return _news(out, fn(*[None if v is None else v.value for v in inputs]))

    return call


def _news(out: Any, value: Any) -> Any:
    """What of a value an output has not got yet; None for nothing."""
    if not out.valid:
        return value
    if isinstance(value, Mapping) and hasattr(out, "get"):
        found = {k: v if k not in out else _news(out[k], v) for k, v in value.items()}
        return {k: v for k, v in found.items() if v is not None} or None
    return None if out.value == value else value


def native(
    name: str,
    code: str,
    signature: Signature,
    *,
    overloads: Any = None,
    requires: Callable[..., Any] | None = None,
    resolvers: Mapping[TypeVar, Any] | None = None,
    need: Mapping[str, int] | None = None,
    active: frozenset[str] | None = None,
) -> Any:
    """A node the kernel implements under an op code; scalars become its params, in order."""
    return _register(
        NativeNode(
            name, code, signature, requires=requires, resolvers=resolvers, need=need, active=active
        ),
        overloads,
    )


__all__ = [
    "compute_node",
    "generator",
    "graph",
    "lift",
    "native",
    "operator",
    "push_queue",
    "sink_node",
]
