"""Running: from a graph function to ticks.

`run_graph` wires, starts, evaluates until the end, stops and disposes, in that order, and stops
every started node whatever happens. `RunningGraph` is the same in steps, for whoever drives the
time from outside (a scene): `next_wakeup_ns()` and `evaluate(time_ns)`.
"""

from __future__ import annotations

import copy
import datetime as _dt
import enum
import gc
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mainspring._kernel import graph as _k
from mainspring.errors import MainspringError
from mainspring.graph import _sentinels
from mainspring.graph._description import GraphDescription, instantiate
from mainspring.graph._errors import GraphError, NodeException, WiringError
from mainspring.graph._injectables import (
    STATE,
    RecordableState,
    RunLogging,
    StateParts,
    recorded,
    state_of_run,
    typed_state,
)
from mainspring.graph._types import CompoundScalar
from mainspring.graph._wiring import Context, Input, WiringNode, WiringPort, describe, plain, wiring
from mainspring.state import digest

MIN_DT = _dt.datetime(1970, 1, 1)
MIN_TD = _dt.timedelta(microseconds=1)
MIN_ST = MIN_DT + MIN_TD
MAX_DT = _dt.datetime(2300, 1, 1)
MAX_ET = MAX_DT - MIN_TD
FOREVER = 2**63 - 1


class EvaluationMode(enum.StrEnum):
    """How time goes."""

    REAL_TIME = "real_time"
    SIMULATION = "simulation"


@dataclass(eq=False)
class NodeError(CompoundScalar):
    """What is known of a failure: where, what, the user's traceback, how the node came to run."""

    signature_name: str = ""
    label: str = ""
    wiring_path: str = ""
    error_msg: str = ""
    stack_trace: str = ""
    activation_back_trace: str = ""
    additional_context: str | None = None
    node_id: tuple[int, ...] = ()
    inputs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        where = ".".join(map(str, self.node_id))
        named = f" {self.label!r}" if self.label and self.label != self.signature_name else ""
        parts = [
            f"node[{where} {self.signature_name!r}{named}] evaluate failed: {self.error_msg}",
            f"wired in {self.wiring_path}" if self.wiring_path else "",
            self.stack_trace.rstrip(),
            "Activation Back Trace:\n" + self.activation_back_trace
            if self.activation_back_trace
            else "",
        ]
        return "\n".join(part for part in parts if part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeError) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]  # equal by text, and text may change


def _make_node_error(
    node: Any, exception: BaseException | None, depth: int, values: bool
) -> NodeError:
    """Called by the kernel where a node failed."""
    error = NodeError(signature_name=node.name, label=node.label, node_id=node.node_id)
    if isinstance(exception, NodeException):
        error.additional_context = str(exception.error)
    if exception is not None:
        error.error_msg = f"{type(exception).__name__}: {exception}"
        error.stack_trace = "".join(traceback.format_exception(exception))
    description = node.description
    if description is not None:
        error.wiring_path = " > ".join((*description.path, description.site))
    try:
        error.inputs = _inputs_of(node)
        error.activation_back_trace = _activation_trace(node, max(depth, 1), values)
    except Exception as problem:  # telling of a failure must not fail
        error.activation_back_trace = f"<not available: {problem!r}>"
    object.__setattr__(error, "_exception", exception)
    return error


def _inputs_of(node: Any) -> dict[str, Any]:
    description = node.description
    return {
        item.name: view.value if view.valid else None
        for item, view in zip(description.inputs, node.input_views, strict=True)
    }


def _activation_trace(node: Any, depth: int, values: bool, indent: int = 0) -> str:
    pad = "  " * indent
    lines = [f"{pad}{node.label}[{node.node_ndx}]"]
    description = node.description
    nodes = node.graph.nodes
    for item, view in zip(description.inputs, node.input_views, strict=True):
        mark = "*" if view.modified else ""
        text = f"{pad}  {mark}{item.name}{mark}"
        if values or depth > 0:
            shown = repr(view.value if view.valid else None)
            text += f"={shown if len(shown) < 200 else shown[:197] + '...'}"
        lines.append(text)
        source = nodes[item.source]
        if depth > 1 and view.modified:
            lines.append(_activation_trace(source, depth - 1, values, indent + 2))
        else:
            lines.append(f"{pad}    {source.label}[{source.node_ndx}]")
    return "\n".join(lines)


def _make_exception(error: NodeError) -> NodeException:
    made = NodeException(error)
    cause = getattr(error, "_exception", None)
    if cause is not None:
        made.__cause__ = cause
        object.__setattr__(error, "_exception", None)
    return made


def _make_window(values: list[Any], kind: Any) -> Any:
    import numpy as np

    if kind is True:
        return np.array(values, dtype="datetime64[us]")
    if kind in (int, float, bool):
        return np.array(values, dtype=kind)
    if kind is _dt.datetime or kind is _dt.date or kind is _dt.timedelta:
        return np.array(values, dtype=object)
    made = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        made[i] = value
    return made


_k.set_symbols(
    {
        "remove": _sentinels.REMOVE,
        "remove_if_exists": _sentinels.REMOVE_IF_EXISTS,
        "removed_type": _sentinels.Removed,
        "set_delta": _sentinels.set_delta,
        "key_set": _sentinels.KeySet,
        "ordered": _sentinels.ordered,
        "make_window": _make_window,
        "make_node_error": _make_node_error,
        "make_exception": _make_exception,
    }
)


class EvaluationLifeCycleObserver:
    """Looks on while a graph runs: override what you want to hear of."""

    def on_before_start_graph(self, graph: Any) -> None: ...
    def on_after_start_graph(self, graph: Any) -> None: ...
    def on_before_start_node(self, node: Any) -> None: ...
    def on_after_start_node(self, node: Any) -> None: ...
    def on_before_graph_evaluation(self, graph: Any) -> None: ...
    def on_after_graph_evaluation(self, graph: Any) -> None: ...
    def on_before_node_evaluation(self, node: Any) -> None: ...
    def on_after_node_evaluation(self, node: Any) -> None: ...
    def on_after_graph_push_nodes_evaluation(self, graph: Any) -> None: ...
    def on_before_stop_node(self, node: Any) -> None: ...
    def on_after_stop_node(self, node: Any) -> None: ...
    def on_before_stop_graph(self, graph: Any) -> None: ...
    def on_after_stop_graph(self, graph: Any) -> None: ...


# In the order of the kernel's Watcher::Event.
_EVENTS = (
    "on_before_start_graph", "on_after_start_graph", "on_before_start_node", "on_after_start_node",
    "on_before_graph_evaluation", "on_after_graph_evaluation", "on_before_node_evaluation",
    "on_after_node_evaluation", "on_after_graph_push_nodes_evaluation", "on_before_stop_node",
    "on_after_stop_node", "on_before_stop_graph", "on_after_stop_graph", "on_start_node_failed",
    "on_start_graph_failed", "on_stop_node_failed", "on_stop_graph_failed",
)  # fmt: skip


def _watcher(observers: Sequence[Any]) -> Any:
    """One callable for the kernel, that calls what the observers have."""
    table = [
        [m for m in (getattr(o, name, None) for o in observers) if m is not None]
        for name in _EVENTS
    ]

    def call(event: int, view: Any) -> None:
        for method in table[event]:
            try:
                method(view)
            except MainspringError:
                raise
            except Exception as problem:
                name = type(getattr(method, "__self__", method)).__name__
                raise GraphError(
                    f"the observer {name} failed in {_EVENTS[event]}: "
                    f"{type(problem).__name__}: {problem}"
                ) from problem

    return call


class GraphConfiguration:
    """How a graph is run."""

    def __init__(
        self,
        run_mode: EvaluationMode | str = EvaluationMode.SIMULATION,
        start_time: Any = None,
        end_time: Any = None,
        trace: Any = False,
        profile: Any = False,
        life_cycle_observers: Sequence[Any] = (),
        trace_wiring: Any = False,
        wiring_observers: Sequence[Any] = (),
        graph_logger: Any = None,
        trace_back_depth: int = 1,
        capture_values: bool = False,
        default_log_level: int | None = None,
        logger_formatter: Any = None,
        cleanup_on_error: bool = True,
    ) -> None:
        self.run_mode = (
            run_mode
            if isinstance(run_mode, EvaluationMode)
            else EvaluationMode(str(run_mode).lower())
        )
        if trace_back_depth < 0:
            raise ValueError(f"trace_back_depth must be non-negative, not {trace_back_depth}")
        realtime = self.run_mode is EvaluationMode.REAL_TIME
        first: Any = _k.to_datetime(_k.wall_clock_ns()) if realtime else MIN_ST
        if start_time is None:
            start_time = first
        if isinstance(start_time, _dt.timedelta):
            start_time = first + start_time
        if end_time is None:
            end_time = MAX_ET
        elif isinstance(end_time, _dt.timedelta):
            end_time = start_time + end_time
        if start_time < MIN_ST:
            raise ValueError(f"start_time {start_time} is before MIN_ST ({MIN_ST})")
        if end_time <= start_time:
            raise ValueError(f"end_time {end_time} must be after start_time {start_time}")
        self.start_time = start_time
        self.end_time = min(end_time, MAX_ET)
        self.trace = trace
        self.profile = profile
        self.life_cycle_observers = tuple(life_cycle_observers or ())
        self.trace_wiring = trace_wiring
        self.wiring_observers = tuple(wiring_observers or ())
        self.graph_logger = graph_logger
        self.trace_back_depth = trace_back_depth
        self.capture_values = capture_values
        self.default_log_level = default_log_level
        self.logger_formatter = logger_formatter
        self.cleanup_on_error = cleanup_on_error
        self.logging = RunLogging(graph_logger, default_log_level, logger_formatter)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Let the collector wait: what wiring makes lives as long as the graph.

    It would look through all of it again each time the graph has grown by a quarter.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def wire_graph(fn: Any, *args: Any, **kwargs: Any) -> GraphDescription:
    """Wire a graph function (or node, or operator) with these scalars; nothing runs."""
    name = getattr(fn, "__name__", "graph")
    context = Context(name)
    with _no_garbage(), state_of_run():
        with wiring(context):
            out = fn(*args, **kwargs)
            if out is not None and not isinstance(out, WiringPort):
                raise WiringError(f"{name} returned {out!r}, which is no port")
        return describe(context, out)


def _recorded(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    config: GraphConfiguration | None = None,
) -> tuple[GraphDescription, list[Any] | None]:
    """The description of a graph whose output, if it has one, is recorded."""
    context = Context(getattr(fn, "__name__", "graph"))
    if config is not None:
        context.state["logging"] = config.logging
    ticks: list[Any] | None = None
    with _no_garbage():
        with wiring(context):
            out = fn(*args, **kwargs)
            if isinstance(out, WiringPort):
                ticks = []
                record_into(out, ticks)
        return describe(context, None), ticks


def record_into(port: WiringPort, ticks: list[Any]) -> None:
    """Append `(time, change)` to `ticks` whenever the port ticks."""
    WiringNode(
        "record_output", "record", "sink", None, [Input("ts", plain(port), True, 1)], payload=ticks
    )


class PushInSimulationError(GraphError, ValueError):
    """A graph with push sources was to run in simulation."""


class RunningGraph:
    """A graph that has been instantiated, and is driven from outside or run to its end."""

    def __init__(
        self, description: GraphDescription, configuration: GraphConfiguration | None = None
    ) -> None:
        self.description = description
        self.configuration = configuration or GraphConfiguration()
        self.kernel = _k.Runner(instantiate(description))
        self._started = False

    def observe(self, observers: Sequence[Any]) -> None:
        """Let observers look on (in place of those who did before)."""
        self.kernel.watch(_watcher(observers) if observers else None)

    def start(self) -> None:
        """Start every node, in rank order."""
        config = self.configuration
        self._started = True
        self.kernel.start(
            _k.to_ns(config.start_time),
            _k.to_ns(config.end_time),
            config.run_mode is EvaluationMode.REAL_TIME,
            config.trace_back_depth,
            config.capture_values,
        )

    def next_wakeup_ns(self) -> int | None:
        """When the graph wants to be evaluated next, or None."""
        found = self.kernel.next_time
        return None if found == FOREVER else found

    def evaluate(self, time_ns: int) -> None:
        """One cycle at this time."""
        self.kernel.cycle(time_ns)

    def run(self) -> None:
        """Evaluate until the end, or until nothing is scheduled."""
        end = _k.to_ns(self.configuration.end_time)
        if self.configuration.run_mode is EvaluationMode.REAL_TIME:
            self.kernel.run_realtime(end)
        else:
            self.kernel.run_simulation(end)

    def stop(self) -> None:
        """Stop every started node."""
        if self._started:
            try:
                self.kernel.stop()
            finally:  # refused to one of its nodes, it goes on
                root: Any = self.kernel.root
                self._started = root.started

    def save(self) -> Any:
        """The state between two cycles: values, schedules, what nodes keep, nested graphs."""
        saved: Any = self.kernel.save()
        now, start, nodes = saved
        return (now, start, _packed(nodes))

    def restore(self, state: Any) -> None:
        """The state as it was saved, into a graph of the same description."""
        if not self._started:
            self.start()
        now, start, nodes = state
        self.kernel.restore((now, start, _unpacked(nodes)))

    def hash(self) -> bytes:
        """16 bytes that are equal where the state is; what cannot be encoded is named."""
        return digest(_named_state(self.description, self.save()), self.description.name)

    def dispose(self) -> None:
        """Let go of everything."""
        self.kernel.dispose()


def _named_state(description: GraphDescription, state: Any) -> Any:
    """The state with nodes by name, so that an error says which one keeps what cannot be saved."""
    now, start, nodes = state
    return {"now": now, "start": start, "nodes": _named_nodes(description, nodes)}


def _named_nodes(description: GraphDescription, nodes: list[Any]) -> dict[str, Any]:
    named = {}
    for node, (due, own, out, error, graphs) in zip(description.nodes, nodes, strict=True):
        inner = [
            (key, place, state if len(node.nested) != 1 else _named_nodes(node.nested[0], state))
            for key, place, state in graphs
        ]
        named[f"{node.id} {node.name}"] = (due, own, out, error, inner)
    return named


def _packed(nodes: list[Any]) -> list[Any]:
    """Node states with what nodes keep copied out of its live objects, as plain data."""
    made = []
    for due, own, out, error, graphs in nodes:
        inner = [(key, place, _packed(state)) for key, place, state in graphs]
        made.append((due, _pack_own(own), out, error, inner))
    return made


def _pack_own(own: Any) -> Any:
    if isinstance(own, tuple) and own and isinstance(own[0], (STATE, RecordableState, StateParts)):
        return (_pack_kept(own[0]), *own[1:])
    return own


def _pack_kept(kept: Any) -> tuple[Any, ...]:
    if isinstance(kept, StateParts):
        return ("parts", "", [_pack_kept(part) for part in kept])
    if isinstance(kept, RecordableState):
        return ("recordable", tuple(vars(kept)), recorded(kept))
    return ("state", type(kept).__name__, copy.deepcopy(dict(vars(kept))))


def _unpacked(nodes: list[Any]) -> list[Any]:
    return [
        (due, _unpack_own(own), out, error, [(k, place, _unpacked(s)) for k, place, s in graphs])
        for due, own, out, error, graphs in nodes
    ]


def _unpack_own(own: Any) -> Any:
    if not (isinstance(own, tuple) and own and isinstance(own[0], tuple)):
        return own
    return (_unpack_kept(own[0]), *own[1:])


def _unpack_kept(packed: tuple[Any, ...]) -> Any:
    kind, what, values = packed
    if kind == "parts":
        return StateParts(_unpack_kept(part) for part in values)
    if kind == "recordable":
        made = RecordableState(tuple(what))
        for name, value in values.items():
            setattr(made, name, value)
        return made
    values = copy.deepcopy(values)
    state: STATE = typed_state(values["value"]) if what == "TypedState" else STATE()
    state.__dict__.update(values)
    return state


def _execute(description: GraphDescription, config: GraphConfiguration) -> None:
    if config.run_mode is EvaluationMode.SIMULATION:
        for node in description.nodes:
            if node.code == "push":
                raise PushInSimulationError(
                    f"the push source {node.name!r} cannot run in simulation",
                    hint="use run_mode=EvaluationMode.REAL_TIME, or replay what it sent",
                )
    running = RunningGraph(description, config)
    observers = list(config.life_cycle_observers)
    extra = []
    if config.trace:
        from mainspring.graph import _hooks

        extra.append(_hooks.make_trace(config.trace))
    if config.profile:
        from mainspring.graph import _hooks

        extra.append(_hooks.make_profiler(config.profile))
    observers += [o for o in extra if o is not None]
    if observers:
        running.observe(observers)
    try:
        try:
            running.start()
            running.run()
        except BaseException:
            try:
                running.stop()
            except Exception as second:  # the first failure is the one to tell
                import logging

                logging.getLogger("mainspring.graph").error("while stopping: %s", second)
            raise
        running.stop()
    finally:
        running.dispose()


def evaluate_graph(
    graph: Any, config: GraphConfiguration | None = None, *args: Any, **kwargs: Any
) -> Any:
    """Wire and run a graph; its ticks as `(time, value)` pairs, or None for one without output."""
    config = config or GraphConfiguration()
    with state_of_run():
        description, ticks = _recorded(graph, args, kwargs, config)
        _execute(description, config)
        return ticks


def run_graph(
    graph: Any,
    *args: Any,
    run_mode: EvaluationMode | str = EvaluationMode.SIMULATION,
    start_time: Any = None,
    end_time: Any = None,
    print_progress: bool = True,
    life_cycle_observers: Sequence[Any] | None = None,
    __trace__: Any = False,
    __profile__: Any = False,
    __trace_wiring__: Any = False,
    __logger__: Any = None,
    __trace_back_depth__: int = 1,
    __capture_values__: bool = False,
    **kwargs: Any,
) -> Any:
    """Wire and run a graph; its ticks as `(time, value)` pairs, or None for one without output."""
    return evaluate_graph(
        graph,
        GraphConfiguration(
            run_mode=run_mode,
            start_time=start_time,
            end_time=end_time,
            trace=__trace__,
            profile=__profile__,
            life_cycle_observers=life_cycle_observers or (),
            trace_wiring=__trace_wiring__,
            graph_logger=__logger__,
            trace_back_depth=__trace_back_depth__,
            capture_values=__capture_values__,
        ),
        *args,
        **kwargs,
    )


__all__ = [
    "MAX_DT",
    "MAX_ET",
    "MIN_DT",
    "MIN_ST",
    "MIN_TD",
    "EvaluationLifeCycleObserver",
    "EvaluationMode",
    "GraphConfiguration",
    "NodeError",
    "RunningGraph",
    "evaluate_graph",
    "run_graph",
    "wire_graph",
]
