"""Watching a run: observers, the trace, the profiler, the inspector."""

from __future__ import annotations

import pytest

from mainspring.graph import (
    MIN_ST,
    MIN_TD,
    STATE,
    TS,
    TSD,
    EvaluationLifeCycleObserver,
    EvaluationProfiler,
    EvaluationTrace,
    GraphConfiguration,
    GraphError,
    Inspector,
    RunningGraph,
    compute_node,
    const,
    evaluate_graph,
    generator,
    graph,
    map_,
    wire_graph,
)
from mainspring.graph.test import eval_node


@generator
def keyed() -> TSD[str, TS[int]]:
    for i in range(3):
        yield MIN_ST + i * MIN_TD, {"a": i, "b": -i}


@compute_node
def double(ts: TS[int], state: STATE = None) -> TS[int]:
    state.calls = state.get("calls", 0) + 1
    return ts.value * 2


@graph
def per_key(ts: TS[int]) -> TS[int]:
    return double(ts)


@graph
def program() -> TSD[str, TS[int]]:
    return map_(per_key, keyed())


class Names(EvaluationLifeCycleObserver):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def __getattribute__(self, name: str) -> object:
        if name.startswith("on_"):
            return lambda view: self.seen.append(name)
        return object.__getattribute__(self, name)


def test_observers_hear_of_everything_in_order() -> None:
    names = Names()
    evaluate_graph(program, GraphConfiguration(life_cycle_observers=[names]))
    seen = names.seen
    assert seen[0] == "on_before_start_graph"
    assert seen[-1] == "on_after_stop_graph"
    for before, after in (
        ("on_before_start_node", "on_after_start_node"),
        ("on_before_node_evaluation", "on_after_node_evaluation"),
        ("on_before_graph_evaluation", "on_after_graph_evaluation"),
        ("on_before_stop_node", "on_after_stop_node"),
        ("on_before_stop_graph", "on_after_stop_graph"),
    ):
        assert seen.count(before) == seen.count(after) > 0


def test_the_trace_tells_inputs_and_outputs() -> None:
    lines: list[str] = []
    eval_node(double, [1, None, 3], __observers__=[EvaluationTrace(write=lines.append)])
    assert any("double[1]: in *ts=1" in line for line in lines)
    assert any("double[1]: out 6" in line for line in lines)
    assert any("1970-01-01 00:00:00.000003" in line for line in lines)


def test_the_trace_keeps_what_it_is_asked_for() -> None:
    lines: list[str] = []
    trace = EvaluationTrace(
        filter="double", start=False, stop=False, graph=False, write=lines.append
    )
    evaluate_graph(program, GraphConfiguration(life_cycle_observers=[trace]))
    assert lines
    assert all("double" in line and ("in " in line or "out " in line) for line in lines)
    assert any("{'b'}" in line for line in lines)


def test_trace_and_profile_are_options_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    eval_node(double, [1], __trace__=True)
    assert "double[1]: out 2" in capsys.readouterr().out
    evaluate_graph(program, GraphConfiguration(profile=True))
    assert "calls" in capsys.readouterr().out


def test_the_profiler_counts_calls_and_charges_time() -> None:
    now = iter(range(0, 10_000_000, 1000))
    profiler = EvaluationProfiler(clock=lambda: next(now))
    evaluate_graph(program, GraphConfiguration(life_cycle_observers=[profiler]))
    snapshot = profiler.snapshot()
    assert snapshot.graph_cycles == 3
    by_label = {entry.label: entry for entry in snapshot.entries if not entry.graph}
    assert by_label["keyed"].evaluation.count == 3
    assert by_label["double"].evaluation.count == 6  # two keys, one entry
    assert by_label["double"].evaluation.total_ns == 6000
    assert by_label["double"].path == "map_(per_key)[1].double[1]"
    assert by_label["keyed"].start.count == by_label["keyed"].stop.count == 1
    assert "double[1]" in snapshot.table()
    profiler.reset()
    assert profiler.snapshot().entries == ()


def test_the_inspector_looks_at_any_node() -> None:
    running = RunningGraph(wire_graph(program))
    running.start()
    for _ in range(2):
        running.evaluate(running.next_wakeup_ns() or 0)
    inspector = Inspector(running)
    assert "map_(per_key)[1]{'b'}.double[1]" in inspector.paths()
    seen = inspector["map_(per_key)[1]{'b'}.double[1]"]
    assert seen.value == -2
    assert seen.inputs[0].value == -1
    assert seen.inputs[0].source.endswith("ts[0]")
    assert seen.state.calls == 2
    assert inspector["1.'b'.1"].path == seen.path
    assert inspector["keyed"].next_scheduled_ns == 3000
    assert inspector["keyed"].value == {"a": 1, "b": -1}
    assert inspector["1"].nested == ("a", "b")
    assert "output = -2" in str(seen)
    with pytest.raises(GraphError, match="no node 'keyd'"):
        inspector["keyd"]
    with pytest.raises(GraphError, match="2 nodes are called 'double'"):
        inspector["double"]
    running.stop()
    running.dispose()


def test_the_inspector_works_before_the_first_cycle() -> None:
    @graph
    def main() -> TS[int]:
        return double(const(1))

    running = RunningGraph(wire_graph(main))
    running.start()
    seen = Inspector(running)["double"]
    assert not seen.valid
    assert not seen.inputs[0].valid
    running.stop()
