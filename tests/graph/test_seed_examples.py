"""Every example and guarantee of the seed on the runtime, as a program."""

from __future__ import annotations

import datetime as dt
from typing import Any

from mainspring.graph import (
    MIN_ST,
    MIN_TD,
    SCHEDULER,
    STATE,
    TS,
    TSB,
    EvaluationLifeCycleObserver,
    EvaluationMode,
    GraphConfiguration,
    TimeSeriesSchema,
    compute_node,
    const,
    evaluate_graph,
    generator,
    graph,
    run_graph,
)
from mainspring.graph.test import eval_node


@compute_node(active=("trigger",))
def sample(trigger: TS[bool], value: TS[int]) -> TS[int]:
    return value.value


@compute_node
def stateful_counter(trigger: TS[bool], state: STATE[int] = 0) -> TS[int]:
    if trigger.value:
        state.value += 1
    return state.value


class ValueWithError(TimeSeriesSchema):
    value: TS[float]
    error: TS[str]


@compute_node
def risky_operation(x: TS[int]) -> TSB[ValueWithError]:
    try:
        return {"value": 1 / x.value, "error": None}
    except Exception as problem:
        return {"value": None, "error": str(problem)}


@compute_node
def my_node(ts: TS[int], _scheduler: SCHEDULER = None) -> TS[int]:
    if ts.modified:
        _scheduler.schedule(MIN_TD * 5, tag="delayed")
        return ts.value
    if _scheduler.is_scheduled_now:
        return -1
    return None


def test_9_3_a_passive_input_is_read_when_another_one_triggers() -> None:
    assert eval_node(sample, [None, True, None, True], [1, 2, 3, None]) == [None, 2, None, 3]


def test_11_3_an_error_is_a_field_like_any_other() -> None:
    assert eval_node(risky_operation, [2, 0]) == [{"value": 0.5}, {"error": "division by zero"}]


def test_13_2_state_is_kept_between_evaluations() -> None:
    assert eval_node(stateful_counter, [True, False, True]) == [1, 1, 2]


def test_14_2_run_graph_returns_what_ticked_and_when() -> None:
    @generator
    def times() -> TS[int]:
        for i in (0, 100, 500, 1000):
            yield MIN_ST + i * MIN_TD, i

    @graph
    def main() -> TS[int]:
        return times()

    ticks = run_graph(main, start_time=MIN_ST, end_time=None, run_mode=EvaluationMode.SIMULATION)
    assert ticks == [(MIN_ST + i * MIN_TD, i) for i in (0, 100, 500, 1000)]


def test_16_4_a_node_schedules_itself() -> None:
    assert eval_node(my_node, [7]) == [7, None, None, None, None, -1]


def test_16_2_a_field_that_changes_alone_wakes_its_readers() -> None:
    @compute_node
    def fields(b: TSB[ValueWithError]) -> TS[str]:
        return ",".join(name for name, field in b.items() if field.modified)

    @graph
    def main(x: TS[int]) -> TS[str]:
        return fields(risky_operation(x))

    assert eval_node(main, [1, 0]) == ["value", "error"]


class Lifecycle(EvaluationLifeCycleObserver):
    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def on_after_start_node(self, node: Any) -> None:
        self.seen.append(("start", node.label))

    def on_before_node_evaluation(self, node: Any) -> None:
        self.seen.append(("eval", node.label))

    def on_after_stop_node(self, node: Any) -> None:
        self.seen.append(("stop", node.label))


def test_2_3_and_4_3_starts_and_stops_match_and_sources_come_first() -> None:
    @compute_node
    def after(ts: TS[int]) -> TS[int]:
        return ts.value + 1

    @graph
    def main() -> TS[int]:
        return after(after(const(1)))

    watch = Lifecycle()
    assert evaluate_graph(main, GraphConfiguration(life_cycle_observers=[watch])) == [(MIN_ST, 3)]
    by_step = {
        step: [label for s, label in watch.seen if s == step] for step in ("start", "eval", "stop")
    }
    assert by_step["start"] == by_step["eval"] == ["const", "after", "after", "record_output"]
    assert sorted(by_step["stop"]) == sorted(by_step["start"])


def test_7_2_a_node_is_evaluated_once_however_many_inputs_ticked() -> None:
    calls: list[int] = []

    @compute_node
    def join(a: TS[int], b: TS[int], c: TS[int]) -> TS[int]:
        calls.append(1)
        return a.value + b.value + c.value

    @graph
    def main(ts: TS[int]) -> TS[int]:
        return join(ts, ts, ts)

    assert eval_node(main, [1, 2]) == [3, 6]
    assert len(calls) == 2


def test_12_1_simulation_does_not_wait_for_the_clock() -> None:
    """A year of time in one run: nothing sleeps."""

    @generator
    def years() -> TS[int]:
        for i in range(3):
            yield MIN_ST + i * dt.timedelta(days=365), i

    @graph
    def main() -> TS[int]:
        return years()

    assert [value for _, value in run_graph(main)] == [0, 1, 2]
