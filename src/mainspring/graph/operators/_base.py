"""What the operators are made with: one place to import from, and ways to make a node while wiring.

Most operators are plain ``compute_node`` overloads. Three helpers serve the rest: ``native_node`` wires a
node the kernel implements, ``made_node`` makes a Python node for concrete types from a function, and
``annotated`` gives a function the annotations of a row in a table.
"""

import inspect
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from mainspring._kernel.graph import make_reference
from mainspring.errors import nearest
from mainspring.graph._annotations import (
    CLOCK,
    LOGGER,
    REF,
    SCHEDULER,
    SIGNAL,
    STATE,
    TS,
    TS_OUT,
    TSB,
    TSD,
    TSD_OUT,
    TSL,
    TSS,
    TSS_OUT,
    TSW,
    EvaluationEngineApi,
)
from mainspring.graph._basics import (
    const,
)
from mainspring.graph._decorators import compute_node, generator, graph, native, sink_node
from mainspring.graph._errors import (
    NoOverloadError,
    WiringError,
)
from mainspring.graph._operator import Operator
from mainspring.graph._python_nodes import PythonNode
from mainspring.graph._run import (
    MIN_TD,
)
from mainspring.graph._sentinels import (
    REMOVE,
    set_delta,
)
from mainspring.graph._signature import (
    Param,
    Signature,
    is_port,
)
from mainspring.graph._types import (
    AUTO_RESOLVE,
    COMPOUND_SCALAR,
    DEFAULT,
    ENUM,
    K_1,
    NUMBER,
    OUT,
    SCALAR,
    SCALAR_1,
    SIZE,
    TIME_SERIES_TYPE,
    TIME_SERIES_TYPE_1,
    TIME_SERIES_TYPE_2,
    TS_SCHEMA,
    TS_SCHEMA_1,
    WINDOW_SIZE,
    WINDOW_SIZE_MIN,
    CompoundScalar,
    K,
    Size,
    TimeSeriesSchema,
    TSBm,
    TSDm,
    TSLm,
    TSm,
    TSSm,
    TSWm,
    V,
    WindowSize,
    make_schema,
    scalar_fields,
    schema_fields,
    schema_of_scalar,
    type_name,
)
from mainspring.graph._wiring import (
    Input,
    PassivePort,
    WiringNode,
    WiringPort,
    const_of,
    nothing_of,
    plain,
    register_port_operator,
)
from mainspring.graph.operators._enums import CmpResult, DivideByZero

Output = TS_OUT

__all__ = [
    "AUTO_RESOLVE",
    "CLOCK",
    "COMPOUND_SCALAR",
    "ENUM",
    "K_1",
    "LOGGER",
    "MIN_TD",
    "NUMBER",
    "OUT",
    "REF",
    "REMOVE",
    "SCALAR",
    "SCALAR_1",
    "SCHEDULER",
    "SIGNAL",
    "SIZE",
    "STATE",
    "TIME_SERIES_TYPE",
    "TIME_SERIES_TYPE_1",
    "TS",
    "TSB",
    "TSD",
    "TSD_OUT",
    "TSL",
    "TSS",
    "TSS_OUT",
    "TSW",
    "TS_OUT",
    "TS_SCHEMA",
    "TS_SCHEMA_1",
    "WINDOW_SIZE",
    "WINDOW_SIZE_MIN",
    "CmpResult",
    "CompoundScalar",
    "DivideByZero",
    "EvaluationEngineApi",
    "K",
    "NoOverloadError",
    "Output",
    "Param",
    "Signature",
    "Size",
    "TSBm",
    "TSDm",
    "TSLm",
    "TSSm",
    "TSWm",
    "TSm",
    "TimeSeriesSchema",
    "V",
    "WindowSize",
    "WiringError",
    "annotated",
    "bare_new",
    "came",
    "changed",
    "compute_node",
    "const_of",
    "declare",
    "from_the_start",
    "generator",
    "graph",
    "is_dict",
    "is_group",
    "is_port",
    "is_set",
    "is_subclass",
    "lifted",
    "made_node",
    "make_reference",
    "make_schema",
    "native",
    "native_node",
    "nearest",
    "nothing_of",
    "register_port_operator",
    "scalar_fields",
    "schema_fields",
    "schema_of_scalar",
    "set_delta",
    "sink_node",
    "type_name",
    "went",
]

# --- declaring --------------------------------------------------------------------------------------


def declare(name: str, doc: str, inputs: tuple[str, ...] = ("ts",)) -> Operator:
    """Return an operator with a name and nothing that overloads it yet.

    ``inputs`` are the names by which ``map_``, ``reduce`` and the like give it its arguments.
    """

    def stand_in(*args: TIME_SERIES_TYPE) -> DEFAULT[OUT]: ...

    stand_in.__name__ = stand_in.__qualname__ = name
    stand_in.__doc__ = doc
    stand_in.__module__ = "mainspring.graph.operators"
    made = Operator(stand_in)
    params = [Param(key, "ts", tp) for key, tp in zip(inputs, _INPUT_TYPES, strict=False)]
    made.signature = Signature(name, params, OUT, OUT)
    made.is_open = True
    return made


_INPUT_TYPES = (TIME_SERIES_TYPE, TIME_SERIES_TYPE_1, TIME_SERIES_TYPE_2, K)


def annotated(function: Any, name: str, annotations: dict[str, Any]) -> Any:
    """Name a function and give it its annotations."""
    function.__name__ = function.__qualname__ = name
    function.__annotations__ = annotations
    return function


# --- wiring -----------------------------------------------------------------------------------------


def native_node(
    name: str,
    code: str,
    inputs: list[tuple[str, Any, bool]],
    output: Any,
    *,
    params: tuple[Any, ...] = (),
    link: bool = False,
    payload: Any = None,
) -> WiringPort:
    """Wire a node of the kernel. An input is a name, a port, and whether its ticks evaluate the node."""
    wired = [
        Input(key, plain(port), active and not isinstance(port, PassivePort), 0)
        for key, port, active in inputs
    ]
    node = WiringNode(
        name, code, "compute", output, wired, params=params, link=link, payload=payload
    )
    return WiringPort(node, (), output)


def called_node(name: str, function: Callable[..., Any], port: Any, output: Any) -> WiringPort:
    """Wire a node that calls a function with the value of a port: the kernel does, with no view between."""
    return native_node(name, "call", [("ts", port, True)], output, payload=function)


# Parameters of a function given to `made_node` that are not inputs, by name.
_INJECTED: dict[str, tuple[str, Any]] = {
    "output": ("output", None),
    "state": ("state", STATE),
    "scheduler": ("scheduler", SCHEDULER),
    "logger": ("logger", LOGGER),
}


def made_node(
    name: str, function: Callable[..., Any], inputs: Mapping[str, Any], output: Any, **options: Any
) -> Any:
    """Return a Python node for concrete types.

    The function is called with the inputs in order; its keyword parameters named ``output``, ``state``,
    ``scheduler`` and ``logger`` are given the node's own. Without an output it is a sink.
    """

    own = [key for key in inspect.signature(function).parameters if key in _INJECTED]
    count = len(inputs)
    if own:

        def node(*views):
            return function(*views[:count], **dict(zip(own, views[count:], strict=True)))
    else:  # not the function itself, which may be one for many nodes

        def node(*views):
            return function(*views)

    node.__name__ = node.__qualname__ = name
    node.__doc__ = function.__doc__
    params = [Param(key, "ts", tp) for key, tp in inputs.items()]
    for key in own:
        kind, annotation = _INJECTED[key]
        params.append(Param(f"_{key}", kind, None, None, annotation=annotation))
    kind = "sink_node" if output is None else "compute_node"
    return PythonNode(node, kind, signature=Signature(name, params, output), **options)


def lifted(value: Any) -> Any:
    """Return a port: the value itself, or a constant of it."""
    return value if is_port(value) else const(value)


def from_the_start(node: Any) -> Any:
    """Have a node (with a scheduler) evaluated at the start, whether its inputs have values or not."""

    @node.start
    def start(_scheduler: SCHEDULER) -> None:
        _scheduler.schedule(timedelta())

    return node


def changed(value: Any, output: Any) -> Any:
    """Return the value if it is not what the output has, else None (no tick)."""
    return None if output.valid and output.value == value else value


# --- looking at types -------------------------------------------------------------------------------


def is_subclass(tp: Any, base: type) -> bool:
    """Whether a scalar type is a class derived from ``base``."""
    return isinstance(tp, type) and issubclass(tp, base)


def bare_new(cls: Any, values: dict[str, Any]) -> Any:
    """Return an instance with some fields set and the others None, whatever its constructor asks."""
    made = cls.__new__(cls)
    for key in scalar_fields(cls):
        object.__setattr__(made, key, values.get(key))
    return made


# --- looking at inputs ------------------------------------------------------------------------------


def is_dict(ts: Any) -> bool:
    """Whether an input or output is a dictionary over time."""
    return type(ts).__name__ == "TimeSeries" and hasattr(ts, "key_set")


def is_set(ts: Any) -> bool:
    """Whether an input or output is a set over time."""
    return type(ts).__name__ == "TimeSeries" and isinstance(ts.value, set | frozenset)


def is_group(ts: Any) -> bool:
    """Whether an input or output is a list or bundle over time."""
    if type(ts).__name__ == "BundleTimeSeries":
        return True
    return type(ts).__name__ == "TimeSeries" and isinstance(ts.value, tuple | dict)


def came(ts: Any) -> list[Any]:
    """Return the elements that came to a set in this cycle, in order."""
    return ts.delta_value.came if ts.modified else []


def went(ts: Any) -> list[Any]:
    """Return the elements that went from a set in this cycle, in order."""
    return ts.delta_value.went if ts.modified else []
