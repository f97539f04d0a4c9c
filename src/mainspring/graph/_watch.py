"""Watching a run: a trace of what happens, and a profile of what it costs.

Both are lifecycle observers and cost nothing while nobody watches.

    >>> from mainspring.graph import GraphConfiguration, evaluate_graph, const, graph, TS
    >>> @graph
    ... def main() -> TS[int]:
    ...     return const(1)
    >>> profiler = EvaluationProfiler()
    >>> _ = evaluate_graph(main, GraphConfiguration(life_cycle_observers=[profiler]))
    >>> [(entry.label, entry.evaluation.count) for entry in profiler.snapshot().entries]
    [('main', 1), ('const', 1), ('record_output', 1)]
"""

from __future__ import annotations

import datetime as _dt
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mainspring.graph import _hooks
from mainspring.graph._run import MIN_DT, EvaluationLifeCycleObserver

__all__ = [
    "EvaluationProfileEntry",
    "EvaluationProfilePhase",
    "EvaluationProfileSnapshot",
    "EvaluationProfiler",
    "EvaluationTrace",
    "node_path",
]

_LOGGER = logging.getLogger("mainspring.graph.trace")
_ROOT: tuple[int, ...] = ()


def node_path(node: Any) -> str:
    """A node as people read it: `map_(f)[3].add[1]`, the graphs it runs in before it."""
    own = f"{node.label}[{node.node_ndx}]"
    parent = node.graph.parent_node
    if parent is None:
        return own
    key = node.graph.key
    return f"{node_path(parent)}{'' if key is None else f'{{{key!r}}}'}.{own}"


def _graph_path(graph: Any) -> str:
    parent = graph.parent_node
    if parent is None:
        return ""
    key = graph.key
    return node_path(parent) + ("" if key is None else f"{{{key!r}}}")


class EvaluationTrace(EvaluationLifeCycleObserver):
    """Tells what happens, line by line: to a logger, or to a function of a string.

    `filter` keeps the lines of nodes whose path contains it; `start`, `eval`, `stop`, `node` and
    `graph` choose what is told of.
    """

    def __init__(
        self,
        filter: str | None = None,
        start: bool = True,
        eval: bool = True,
        stop: bool = True,
        node: bool = True,
        graph: bool = True,
        write: Callable[[str], object] | None = None,
    ) -> None:
        self.filter = filter
        self._start, self._eval, self._stop = start, eval, stop
        self._node, self._graph = node, graph
        self._write = write or _LOGGER.info

    def _tell(self, view: Any, path: str, text: str) -> None:
        if self.filter is not None and self.filter not in path:
            return
        when = view.evaluation_clock.evaluation_time
        shown = "MIN_DT" if when == MIN_DT else when.isoformat(" ", "microseconds")
        self._write(f"[{shown}] {path or view.label}: {text}")

    def _of_graph(self, wanted: bool, graph: Any, text: str) -> None:
        if wanted and self._graph:
            self._tell(graph, _graph_path(graph), text)

    def _of_node(self, wanted: bool, node: Any, text: str) -> None:
        if wanted and self._node:
            self._tell(node.graph, node_path(node), text)

    def on_before_start_graph(self, graph: Any) -> None:
        self._of_graph(self._start, graph, "starting")

    def on_after_start_graph(self, graph: Any) -> None:
        self._of_graph(self._start, graph, "started")

    def on_after_start_node(self, node: Any) -> None:
        self._of_node(self._start, node, "node started")

    def on_start_node_failed(self, node: Any) -> None:
        self._of_node(self._start, node, "node failed to start")

    def on_before_graph_evaluation(self, graph: Any) -> None:
        self._of_graph(self._eval, graph, "cycle begins")

    def on_after_graph_evaluation(self, graph: Any) -> None:
        self._of_graph(self._eval, graph, "cycle done")

    def on_before_node_evaluation(self, node: Any) -> None:
        if self._eval and self._node and node.has_input:
            self._of_node(True, node, f"in {_inputs(node)}")

    def on_after_node_evaluation(self, node: Any) -> None:
        if self._eval and self._node and node.has_output:
            output = node.output
            if output is not None and output.valid and output.modified:
                self._of_node(True, node, f"out {_short(output.delta_value)}")

    def on_before_stop_graph(self, graph: Any) -> None:
        self._of_graph(self._stop, graph, "stopping")

    def on_after_stop_graph(self, graph: Any) -> None:
        self._of_graph(self._stop, graph, "stopped")

    def on_after_stop_node(self, node: Any) -> None:
        self._of_node(self._stop, node, "node stopped")


def _inputs(node: Any) -> str:
    shown = []
    for item, view in zip(node.description.inputs, node.input_views, strict=True):
        mark = "*" if view.valid and view.modified else ""
        shown.append(f"{mark}{item.name}={_short(view.value) if view.valid else '<not valid>'}")
    return ", ".join(shown)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


@dataclass(frozen=True, slots=True)
class EvaluationProfilePhase:
    """How often something was done, and what it took."""

    count: int
    failures: int
    total_time: _dt.timedelta
    max_time: _dt.timedelta
    recent_time: _dt.timedelta
    """The mean of the last ones."""
    total_ns: int = 0

    @property
    def mean_ns(self) -> float:
        """Nanoseconds each."""
        return self.total_ns / self.count if self.count else 0.0


@dataclass(frozen=True, slots=True)
class EvaluationProfileEntry:
    """What one node, or one graph, cost."""

    path: str
    label: str
    graph: bool
    start: EvaluationProfilePhase
    evaluation: EvaluationProfilePhase
    stop: EvaluationProfilePhase


@dataclass(frozen=True, slots=True)
class EvaluationProfileSnapshot:
    """A profile at one moment."""

    entries: tuple[EvaluationProfileEntry, ...]
    graph_cycles: int
    root_evaluation_time: _dt.timedelta
    wall_time: _dt.timedelta

    @property
    def runtime_load(self) -> float:
        """The part of the wall time that was spent in cycles."""
        wall = self.wall_time.total_seconds()
        return self.root_evaluation_time.total_seconds() / wall if wall else 0.0

    def table(self, limit: int | None = None) -> str:
        """The entries as text, the dearest first."""
        rows = sorted(self.entries, key=lambda e: -e.evaluation.total_ns)[:limit]
        wide = max([len(e.path or e.label) for e in rows], default=4)
        lines = [f"{'node':<{wide}}  {'calls':>9}  {'total ms':>10}  {'mean us':>9}  {'max us':>9}"]
        for e in rows:
            phase = e.evaluation
            most = phase.max_time / _dt.timedelta(microseconds=1)
            lines.append(
                f"{e.path or e.label:<{wide}}  {phase.count:>9}  {phase.total_ns / 1e6:>10.3f}  "
                f"{phase.mean_ns / 1e3:>9.2f}  {most:>9.1f}"
            )
        return "\n".join(lines)


class _Phase:
    __slots__ = ("begun", "count", "failures", "most", "recent", "total")

    def __init__(self) -> None:
        self.count = self.failures = self.total = self.most = 0
        self.recent: list[int] = []
        self.begun = 0

    def end(self, now: int, window: int) -> None:
        if self.begun == 0:
            return
        took, self.begun = now - self.begun, 0
        self.count += 1
        self.total += took
        self.most = max(self.most, took)
        self.recent.append(took)
        if len(self.recent) > window:
            del self.recent[0]

    def freeze(self) -> EvaluationProfilePhase:
        mean = sum(self.recent) / len(self.recent) if self.recent else 0.0
        us = _dt.timedelta(microseconds=1)
        return EvaluationProfilePhase(
            self.count, self.failures, self.total / 1000 * us, self.most / 1000 * us,
            mean / 1000 * us, self.total,
        )  # fmt: skip


class _Cost:
    __slots__ = ("graph", "label", "path", "phases")

    def __init__(self, path: str, label: str, graph: bool) -> None:
        self.path, self.label, self.graph = path, label, graph
        self.phases = (_Phase(), _Phase(), _Phase())


_START, _EVAL, _STOP = range(3)


class EvaluationProfiler(EvaluationLifeCycleObserver):
    """Counts and times what nodes and graphs do.

    The graphs of one keyed node (`map_`) are one entry for each of their nodes, whatever the keys,
    so the profile stays as small as the description. Times include what runs inside.
    """

    def __init__(
        self,
        start: bool = True,
        eval: bool = True,
        stop: bool = True,
        node: bool = True,
        graph: bool = True,
        recent_window: int = 100,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._wanted = (start, eval, stop)
        self._node, self._graph = node, graph
        self._window = recent_window
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Forget what was measured."""
        self._costs: dict[tuple[bool, tuple[int, ...], str], _Cost] = {}
        self._began = self._clock()

    def _cost(self, view: Any, graph: bool) -> _Cost:
        ident: tuple[int, ...] = view.graph_id if graph else view.node_id
        key = (graph, ident, view.label)
        found = self._costs.get(key)
        if found is None:
            path = _graph_path(view) if graph else node_path(view)
            found = self._costs[key] = _Cost(
                path.partition("{")[0] if graph else _plain(path), view.label, graph
            )
        return found

    def _begin(self, view: Any, graph: bool, phase: int) -> None:
        if (self._graph if graph else self._node) and self._wanted[phase]:
            self._cost(view, graph).phases[phase].begun = self._clock()

    def _end(self, view: Any, graph: bool, phase: int, failed: bool = False) -> None:
        now = self._clock()
        if (self._graph if graph else self._node) and self._wanted[phase]:
            found = self._cost(view, graph).phases[phase]
            found.end(now, self._window)
            found.failures += failed

    def on_before_start_graph(self, graph: Any) -> None:
        self._begin(graph, True, _START)

    def on_after_start_graph(self, graph: Any) -> None:
        self._end(graph, True, _START)

    def on_start_graph_failed(self, graph: Any) -> None:
        self._end(graph, True, _START, True)

    def on_before_start_node(self, node: Any) -> None:
        self._begin(node, False, _START)

    def on_after_start_node(self, node: Any) -> None:
        self._end(node, False, _START)

    def on_start_node_failed(self, node: Any) -> None:
        self._end(node, False, _START, True)

    def on_before_graph_evaluation(self, graph: Any) -> None:
        self._begin(graph, True, _EVAL)

    def on_after_graph_evaluation(self, graph: Any) -> None:
        self._end(graph, True, _EVAL)

    def on_before_node_evaluation(self, node: Any) -> None:
        self._begin(node, False, _EVAL)

    def on_after_node_evaluation(self, node: Any) -> None:
        self._end(node, False, _EVAL)

    def on_before_stop_graph(self, graph: Any) -> None:
        self._begin(graph, True, _STOP)

    def on_after_stop_graph(self, graph: Any) -> None:
        self._end(graph, True, _STOP)

    def on_before_stop_node(self, node: Any) -> None:
        self._begin(node, False, _STOP)

    def on_after_stop_node(self, node: Any) -> None:
        self._end(node, False, _STOP)

    def snapshot(self) -> EvaluationProfileSnapshot:
        """What was measured so far."""
        entries = tuple(_entry(cost) for cost in self._costs.values())
        root = next((e for e in entries if e.graph and not e.path), None)
        us = _dt.timedelta(microseconds=1)
        return EvaluationProfileSnapshot(
            entries,
            0 if root is None else root.evaluation.count,
            _dt.timedelta() if root is None else root.evaluation.total_time,
            (self._clock() - self._began) / 1000 * us,
        )

    def table(self, limit: int | None = None) -> str:
        """The profile as text, the dearest first."""
        return self.snapshot().table(limit)


def _plain(path: str) -> str:
    """A path without the keys in it."""
    kept, depth = [], 0
    for char in path:
        depth += (char == "{") - (char == "}")
        if depth == 0 and char != "}":
            kept.append(char)
    return "".join(kept)


def _entry(cost: _Cost) -> EvaluationProfileEntry:
    start, evaluation, stop = (phase.freeze() for phase in cost.phases)
    return EvaluationProfileEntry(cost.path, cost.label, cost.graph, start, evaluation, stop)


def _make_trace(option: Any) -> EvaluationTrace:
    known: Iterable[str] = ("filter", "start", "eval", "stop", "node", "graph")
    if isinstance(option, dict):
        return EvaluationTrace(**{k: v for k, v in option.items() if k in known})
    return EvaluationTrace(write=print)


def _make_profiler(option: Any) -> EvaluationProfiler:
    known = ("start", "eval", "stop", "node", "graph", "recent_window")
    options = option if isinstance(option, dict) else {}
    return _PrintingProfiler(**{k: v for k, v in options.items() if k in known})


class _PrintingProfiler(EvaluationProfiler):
    def on_after_stop_graph(self, graph: Any) -> None:
        super().on_after_stop_graph(graph)
        if graph.parent_node is None:
            print(self.table())


_hooks.register("trace", _make_trace)
_hooks.register("profile", _make_profiler)
