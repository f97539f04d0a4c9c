"""Live runs that can be run again.

A live run depends on the wall clock in two ways alone: when its cycles were, and what its push
sources were sent. `LiveRecorder` keeps both while a graph runs, pushed messages as inputs of kind
"push", the form the log and the inbox use; `rerun` gives the same ticks at the same times.

    recorder = LiveRecorder()
    live = evaluate_graph(main, GraphConfiguration(
        run_mode=EvaluationMode.REAL_TIME, end_time=timedelta(seconds=5),
        life_cycle_observers=[recorder]))
    assert rerun(main, recorder.run) == live

Wall-clock alarms (`schedule(..., on_wall_clock=True)`) and `clock.now` are read anew in a rerun:
a node that lets them reach its output is not repeatable.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from mainspring._kernel import graph as _k
from mainspring.clock import Input
from mainspring.graph._description import GraphDescription, NodeDescription
from mainspring.graph._errors import GraphError
from mainspring.graph._injectables import GlobalState, in_force
from mainspring.graph._run import (
    MAX_ET,
    EvaluationLifeCycleObserver,
    EvaluationMode,
    GraphConfiguration,
    RunningGraph,
    _recorded,
)
from mainspring.graph._watch import node_path
from mainspring.state import decode, encode

__all__ = ["LiveRecorder", "LiveRun", "rerun"]


@dataclass(frozen=True)
class LiveRun:
    """What a live run depended on."""

    start_ns: int
    times_ns: tuple[int, ...]
    """When its cycles were."""
    inputs: tuple[tuple[int, Input], ...]
    """What was pushed: the time of the cycle that took it, and the input."""

    def to_bytes(self) -> bytes:
        """All of it, for a file."""
        rows = [[time, i.seq, i.kind, i.payload, i.source] for time, i in self.inputs]
        return encode([self.start_ns, list(self.times_ns), rows], "live run")

    @staticmethod
    def from_bytes(data: bytes) -> LiveRun:
        """What `to_bytes` gave."""
        start, times, rows = decode(data)
        return LiveRun(start, tuple(times), tuple((row[0], Input(*row[1:])) for row in rows))


class LiveRecorder(EvaluationLifeCycleObserver):
    """Keeps what a live run depends on, while it runs."""

    def __init__(self) -> None:
        self._start_ns = 0
        self._times: list[int] = []
        self._inputs: list[tuple[int, Input]] = []
        self._sources: list[Any] = []

    @property
    def run(self) -> LiveRun:
        """What was recorded so far."""
        return LiveRun(self._start_ns, tuple(self._times), tuple(self._inputs))

    def on_after_start_graph(self, graph: Any) -> None:
        if graph.parent_node is None:
            self._start_ns = _k.to_ns(graph.evaluation_clock.evaluation_time)
            self._times.clear()
            self._inputs.clear()
            self._sources = [n for n in graph.nodes if n.description.code == "push"]

    def on_after_graph_evaluation(self, graph: Any) -> None:
        if graph.parent_node is not None:
            return
        now: int = graph.evaluation_clock.evaluation_time_ns
        self._times.append(now)
        for node in self._sources:
            output = node.output
            if output.valid and output.modified:
                path = node_path(node)
                payload = {"node": path, "message": output.delta_value}
                encode(payload, f"the message of {path}")  # refuse what could not be kept
                given = Input(len(self._inputs) + 1, "push", payload, graph.label)
                self._inputs.append((now, given))


def rerun(graph: Any, run: LiveRun, *args: Any, **kwargs: Any) -> Any:
    """Run a graph again as it ran live: the same ticks at the same times."""
    with in_force(GlobalState()):
        description, ticks = _recorded(graph, args, kwargs)
        running = RunningGraph(
            _replaying(description, run),
            GraphConfiguration(
                run_mode=EvaluationMode.SIMULATION,
                start_time=_k.to_datetime(run.start_ns),
                end_time=MAX_ET,
            ),
        )
        try:
            running.start()
            try:
                for time in run.times_ns:
                    running.evaluate(time)
            finally:
                running.stop()
        finally:
            running.dispose()
    return ticks


def _replaying(description: GraphDescription, run: LiveRun) -> GraphDescription:
    """The graph with generators of the recorded messages for push sources."""
    messages: dict[str, list[tuple[Any, Any]]] = {}
    for time, given in run.inputs:
        at = _k.to_datetime(time)
        messages.setdefault(given.payload["node"], []).append((at, given.payload["message"]))
    nodes = []
    for node in description.nodes:
        if node.code == "push":
            node = _source(node, messages.pop(f"{node.label or node.name}[{node.id}]", []))
        nodes.append(node)
    if messages:
        raise GraphError(
            f"the run has messages for {', '.join(messages)}, which this graph has not",
            hint="rerun the graph that was recorded",
        )
    return replace(description, nodes=tuple(nodes))


def _source(node: NodeDescription, ticks: list[tuple[Any, Any]]) -> NodeDescription:
    plan: dict[str, Any] = {
        "eval": (lambda: iter(ticks), [], ()),
        "start": None,
        "stop": None,
        "scheduler": False,
    }
    return replace(node, code="generator", plan=MappingProxyType(plan))
