"""`try_except` and `exception_time_series`: what fails ticks as an error instead of ending the run."""

from __future__ import annotations

from typing import Any, Generic

from mainspring.graph._annotations import TS, TSD
from mainspring.graph._errors import WiringError
from mainspring.graph._inner import (
    annotations_of,
    callable_of,
    collect_stars,
    finish_captures,
    gather_arguments,
    name_of,
    wire_inner,
)
from mainspring.graph._map import map_
from mainspring.graph._run import NodeError
from mainspring.graph._signature import is_port, to_port
from mainspring.graph._types import (
    TIME_SERIES_TYPE,
    K,
    TimeSeriesSchema,
    TSBm,
    TSDm,
    TSm,
    _parametrised,
)
from mainspring.graph._wiring import (
    ERROR,
    Context,
    Input,
    WiringNode,
    WiringPort,
    current,
    plain,
    struct,
)


class TryExceptResult(TimeSeriesSchema, Generic[TIME_SERIES_TYPE]):
    """What `try_except` gives for a graph with a result."""

    exception: TS[NodeError]
    out: TIME_SERIES_TYPE


class TryExceptTsdMapResult(TimeSeriesSchema, Generic[K, TIME_SERIES_TYPE]):
    """What `try_except` gives for a `map_`."""

    exception: TSD[K, TS[NodeError]]
    out: TIME_SERIES_TYPE


def try_except(
    func: Any,
    *args: Any,
    __trace_back_depth__: int = 1,
    __capture_values__: bool = False,
    **kwargs: Any,
) -> Any:
    """Run a graph so that a failure ends in `exception` rather than ending the run.

    Gives a bundle of `out` and `exception`; for a graph without a result, the exceptions alone.
    """
    func = callable_of(func)
    if func is map_:
        out = map_(*args, **kwargs)
        if out is None:
            raise WiringError("try_except(map_, ...) needs a function with a result")
        errors = exception_time_series(out, __trace_back_depth__, __capture_values__)
        tp = TSBm(_parametrised(TryExceptTsdMapResult, (out.type_.key, out.type_)))
        return struct(tp, [("exception", errors), ("out", out)])
    arguments = gather_arguments(func, args, kwargs)
    declared = annotations_of(func)
    ports: dict[str, WiringPort] = {}
    scalars: dict[str, Any] = {}
    for name, value in arguments.items():
        p = declared.get(name.partition("[")[0])
        if is_port(value):
            ports[name] = plain(value)
        elif p is not None and p.kind == "ts" and value is not None:
            made = to_port(value, p.type, {}, p, True)
            ports[name] = made
        else:
            scalars[name] = value

    def make(context: Context) -> dict[str, Any]:
        inner = {n: context.stub(n, port.type_.dereference()) for n, port in ports.items()}
        return collect_stars(func, inner)

    nested = wire_inner(func, collect_stars(func, scalars), name_of(func), make)
    inputs = [Input(n, port, False, 0) for n, port in ports.items()]
    finish_captures(nested, inputs)
    result = None if nested.output is None else nested.output.type_.dereference()
    out = TSm(NodeError) if result is None else TSBm(_parametrised(TryExceptResult, result))
    node = WiringNode(
        f"try_except({name_of(func)})",
        "box",
        "nested",
        out,
        inputs,
        plan={"catches": True, "out_field": None if result is None else 1},
        nested=(nested,),
        function=getattr(func, "fn", func),
    )
    if result is None:
        node.kind = "sink"
    return WiringPort(node, (), out)


def exception_time_series(ts: Any, trace_back_depth: int = 1, capture_values: bool = False) -> Any:
    """The failures of the node behind a port, as a time series of `NodeError`."""
    port = ts
    node = port.node_
    if node.context is not current():
        raise WiringError("exception_time_series must be called where the node was wired")
    if node.code in ("deref", "struct") and node.inputs:
        return exception_time_series(node.inputs[0].port, trace_back_depth, capture_values)
    tp: Any = TSm(NodeError)
    if node.code == "map":
        tp = TSDm(node.output.key, tp)
    node.error = tp
    node.error_depth = trace_back_depth
    node.error_values = capture_values
    return WiringPort(node, (ERROR,), tp)


__all__ = [
    "TryExceptResult",
    "TryExceptTsdMapResult",
    "exception_time_series",
    "try_except",
]
