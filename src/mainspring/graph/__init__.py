"""The reactive graph: time-series types, nodes, wiring, running.

Programs are written with hgraph's public names: what is imported from `hgraph` there is imported
from `mainspring.graph` here, `hgraph.test` is `mainspring.graph.test`.

    >>> from mainspring.graph import TS, compute_node, graph, run_graph
    >>> @compute_node
    ... def double(ts: TS[int]) -> TS[int]:
    ...     return ts.value * 2
    >>> @graph
    ... def main() -> TS[int]:
    ...     return double(21)
    >>> [value for _, value in run_graph(main)]
    [42]

Adding operators
----------------
An operator is a signature; its overloads implement it, and the one with the least generic
signature that takes a call is wired. In Python:

    @operator
    def add_(lhs: TIME_SERIES_TYPE, rhs: TIME_SERIES_TYPE) -> TIME_SERIES_TYPE: ...

    @compute_node(overloads=add_)
    def add_str(lhs: TS[str], rhs: TS[str]) -> TS[str]:
        return lhs.value + rhs.value

An `operator` whose name is in `_operator.PORT_SYNTAX` (`add_`, `eq_`, `getitem_`, ...) is behind the
syntax of ports from then on.

Natively, write a node in `kernel/graph/ops_*.cpp` (which may not include Python):

    class AddInt final : public NativeNode<2> {
        void eval(Time now) override {
            if (valid(0) && valid(1)) result().set_int(i64(0) + i64(1), now);
        }
    };
    const OpEntry entries[] = {{"add:int,int", make_node<AddInt>}};

and register it under its op code, with a signature taken from a stub function:

    from mainspring.graph._decorators import native
    from mainspring.graph._signature import parse_signature

    def add_ints(lhs: TS[int], rhs: TS[int]) -> TS[int]: ...
    native("add_ints", "add:int,int", parse_signature(add_ints), overloads=add_)

Inputs are wired in the order of the signature, scalars become `spec->params` in that order.
`NativeNode` reads inputs through links by itself (`valid(i)`, `modified(i, now)`, `i64(i)`,
`f64(i)`, `b(i)`, `at(i).object()`); `result().set_int/real/bool/object(...)` ticks the output.
Failures are `throw EngineError(EngineError::What::overflow, "...")`. Other kinds of output are
`static_cast<DictOut&>(*out)` and its like (`output.hpp`).
"""

from __future__ import annotations

from mainspring.graph import _operator, _wirable
from mainspring.graph._annotations import (
    CLOCK,
    LOGGER,
    NODE,
    RECORDABLE_STATE,
    REF,
    REF_OUT,
    SCHEDULER,
    SIGNAL,
    STATE,
    TS,
    TS_OUT,
    TSB,
    TSB_OUT,
    TSD,
    TSD_OUT,
    TSL,
    TSL_OUT,
    TSS,
    TSS_OUT,
    TSW,
    TSW_OUT,
    EvaluationClock,
    EvaluationEngineApi,
)
from mainspring.graph._basics import (
    const,
    context,
    delayed_binding,
    get_context,
    nothing,
    null_sink,
    pass_through_node,
    passive,
)
from mainspring.graph._decorators import (
    compute_node,
    generator,
    graph,
    lift,
    native,
    operator,
    push_queue,
    sink_node,
)
from mainspring.graph._description import GraphDescription, InputDescription, NodeDescription
from mainspring.graph._errors import (
    AmbiguousOverloadError,
    GraphError,
    IncorrectTypeBinding,
    NodeException,
    NoOverloadError,
    ParseError,
    RequirementsNotMetWiringError,
    ScheduleError,
    WiringError,
)
from mainspring.graph._feedback import feedback
from mainspring.graph._in_scene import GraphSubsystem, attach, runner_step, runner_time
from mainspring.graph._injectables import GlobalContext, GlobalState, Graph, Node, Traits
from mainspring.graph._inspect import InputInspection, Inspector, NodeInspection
from mainspring.graph._live import LiveRecorder, LiveRun, rerun
from mainspring.graph._map import map_, no_key, pass_through
from mainspring.graph._names import (
    GraphWiringNodeClass,
    PythonGeneratorWiringNodeClass,
    PythonWiringNodeClass,
    TimeSeriesReference,
    WiringNodeType,
    extract_kwargs,
    utc_now,
)
from mainspring.graph._record import (
    RecordReplayContext,
    RecordReplayEnum,
    compare,
    get_recorded_value,
    record,
    replay,
    replay_const,
    set_replay_values,
)
from mainspring.graph._reduce import reduce
from mainspring.graph._run import (
    MAX_DT,
    MAX_ET,
    MIN_DT,
    MIN_ST,
    MIN_TD,
    EvaluationLifeCycleObserver,
    EvaluationMode,
    GraphConfiguration,
    NodeError,
    RunningGraph,
    evaluate_graph,
    run_graph,
    wire_graph,
)
from mainspring.graph._sentinels import (
    REMOVE,
    REMOVE_IF_EXISTS,
    REQUIRED,
    Removed,
    SetDelta,
    set_delta,
)
from mainspring.graph._signature import Signature as WiringNodeSignature
from mainspring.graph._switch import switch_
from mainspring.graph._to_come import ToComeError
from mainspring.graph._to_come import to_come as _to_come
from mainspring.graph._try_except import (
    TryExceptResult,
    TryExceptTsdMapResult,
    exception_time_series,
    try_except,
)
from mainspring.graph._types import (
    AUTO_RESOLVE,
    COMPOUND_SCALAR,
    COMPOUND_SCALAR_1,
    CONTEXT,
    DEFAULT,
    ENUM,
    K_1,
    K_2,
    KEYABLE_SCALAR,
    NUMBER,
    NUMBER_2,
    OUT,
    OUT_1,
    SCALAR,
    SCALAR_1,
    SCALAR_2,
    SCHEMA,
    SIZE,
    SIZE_1,
    TIME_SERIES_TYPE,
    TIME_SERIES_TYPE_1,
    TIME_SERIES_TYPE_2,
    TS_SCHEMA,
    TS_SCHEMA_1,
    V_1,
    V_2,
    WINDOW_SIZE,
    WINDOW_SIZE_MIN,
    Array,
    CompoundScalar,
    K,
    Size,
    TimeSeries,
    TimeSeriesSchema,
    V,
    WindowSize,
    compound_scalar,
    resolve_type_alias,
    ts_schema,
)
from mainspring.graph._watch import (
    EvaluationProfileEntry,
    EvaluationProfilePhase,
    EvaluationProfiler,
    EvaluationProfileSnapshot,
    EvaluationTrace,
)
from mainspring.graph._wiring import WiringPort
from mainspring.graph.operators import *  # noqa: F403
from mainspring.graph.operators import __all__ as _operator_names
from mainspring.graph.test import eval_node


def __getattr__(name: str) -> object:
    return _to_come(name)


WiringNodeClass = _wirable.Wirable
OperatorWiringNodeClass = _operator.Operator

__all__ = [
    "ToComeError",
    "LiveRecorder",
    "LiveRun",
    "rerun",
    "RecordReplayContext",
    "RecordReplayEnum",
    "compare",
    "get_recorded_value",
    "record",
    "replay",
    "replay_const",
    "set_replay_values",
    "GraphSubsystem",
    "attach",
    "runner_step",
    "runner_time",
    "EvaluationProfileEntry",
    "EvaluationProfilePhase",
    "EvaluationProfiler",
    "EvaluationProfileSnapshot",
    "EvaluationTrace",
    "InputInspection",
    "Inspector",
    "NodeInspection",
    *_operator_names,
    "AUTO_RESOLVE",
    "CLOCK",
    "COMPOUND_SCALAR",
    "COMPOUND_SCALAR_1",
    "CONTEXT",
    "DEFAULT",
    "ENUM",
    "KEYABLE_SCALAR",
    "K_1",
    "K_2",
    "LOGGER",
    "MAX_DT",
    "MAX_ET",
    "MIN_DT",
    "MIN_ST",
    "MIN_TD",
    "NODE",
    "NUMBER",
    "NUMBER_2",
    "OUT",
    "OUT_1",
    "RECORDABLE_STATE",
    "REF",
    "REF_OUT",
    "REMOVE",
    "REMOVE_IF_EXISTS",
    "REQUIRED",
    "SCALAR",
    "SCALAR_1",
    "SCALAR_2",
    "SCHEDULER",
    "SCHEMA",
    "SIGNAL",
    "SIZE",
    "SIZE_1",
    "STATE",
    "TIME_SERIES_TYPE",
    "TIME_SERIES_TYPE_1",
    "TIME_SERIES_TYPE_2",
    "TS",
    "TSB",
    "TSB_OUT",
    "TSD",
    "TSD_OUT",
    "TSL",
    "TSL_OUT",
    "TSS",
    "TSS_OUT",
    "TSW",
    "TSW_OUT",
    "TS_OUT",
    "TS_SCHEMA",
    "TS_SCHEMA_1",
    "V_1",
    "V_2",
    "WINDOW_SIZE",
    "WINDOW_SIZE_MIN",
    "AmbiguousOverloadError",
    "Array",
    "CompoundScalar",
    "EvaluationClock",
    "EvaluationEngineApi",
    "EvaluationLifeCycleObserver",
    "EvaluationMode",
    "GlobalContext",
    "GlobalState",
    "Graph",
    "GraphConfiguration",
    "GraphDescription",
    "GraphError",
    "IncorrectTypeBinding",
    "InputDescription",
    "K",
    "NoOverloadError",
    "Node",
    "NodeDescription",
    "NodeError",
    "NodeException",
    "OperatorWiringNodeClass",
    "ParseError",
    "Removed",
    "RequirementsNotMetWiringError",
    "RunningGraph",
    "ScheduleError",
    "SetDelta",
    "Size",
    "TimeSeries",
    "TimeSeriesReference",
    "TimeSeriesSchema",
    "Traits",
    "V",
    "WindowSize",
    "WiringError",
    "WiringNodeClass",
    "WiringNodeSignature",
    "WiringNodeType",
    "WiringPort",
    "compound_scalar",
    "compute_node",
    "const",
    "context",
    "delayed_binding",
    "eval_node",
    "evaluate_graph",
    "GraphWiringNodeClass",
    "PythonGeneratorWiringNodeClass",
    "PythonWiringNodeClass",
    "TryExceptResult",
    "TryExceptTsdMapResult",
    "extract_kwargs",
    "exception_time_series",
    "feedback",
    "generator",
    "get_context",
    "graph",
    "lift",
    "map_",
    "native",
    "no_key",
    "nothing",
    "null_sink",
    "operator",
    "passive",
    "pass_through",
    "pass_through_node",
    "push_queue",
    "reduce",
    "resolve_type_alias",
    "run_graph",
    "set_delta",
    "sink_node",
    "switch_",
    "try_except",
    "ts_schema",
    "wire_graph",
    "utc_now",
]
