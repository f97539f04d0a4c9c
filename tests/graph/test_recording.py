"""Recording and replaying: time series in memory, and whole live runs."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import pytest

from mainspring.graph import (
    MIN_ST,
    MIN_TD,
    REMOVE,
    SCHEDULER,
    TS,
    TSD,
    EvaluationEngineApi,
    EvaluationMode,
    GlobalState,
    GraphConfiguration,
    GraphError,
    LiveRecorder,
    LiveRun,
    RecordReplayContext,
    compare,
    compute_node,
    evaluate_graph,
    get_recorded_value,
    graph,
    push_queue,
    record,
    replay,
    replay_const,
    rerun,
    set_replay_values,
)
from mainspring.graph.test import eval_node


@graph
def recorded(ts: TS[int]) -> None:
    record(ts, "k", recordable_id="r")


@graph
def replayed() -> TS[int]:
    return replay("k", TS[int], recordable_id="r")


def test_what_was_recorded_is_replayed_at_its_times() -> None:
    with GlobalState():
        eval_node(recorded, [1, None, 3])
        assert get_recorded_value("k", "r") == [(MIN_ST, 1), (MIN_ST + 2 * MIN_TD, 3)]
        assert eval_node(replayed) == [1, None, 3]


def test_the_context_gives_the_id() -> None:
    @graph
    def of_context(ts: TSD[str, TS[int]]) -> None:
        with RecordReplayContext(recordable_id="mine"):
            record(ts)

    @graph
    def back() -> TSD[str, TS[int]]:
        return replay[TSD[str, TS[int]]](recordable_id="mine")

    values = [{"a": 1}, {"b": 2}, {"a": REMOVE}]
    with GlobalState():
        eval_node(of_context, values)
        assert eval_node(back) == values


def test_replay_const_gives_what_there_was_at_the_start() -> None:
    @graph
    def at_start() -> TSD[str, TS[int]]:
        return replay_const("k", TSD[str, TS[int]])

    with GlobalState():
        set_replay_values("k", [(MIN_ST, {"a": 1, "c": 3}), (MIN_ST + MIN_TD, {"b": 2, "c": REMOVE}),
                                (MIN_ST + 9 * MIN_TD, {"a": 7})])  # fmt: skip
        found = eval_node(at_start, __start_time__=MIN_ST + 4 * MIN_TD)
    assert found == [{"a": 1, "b": 2}]


def test_set_replay_values_takes_one_value_for_each_cycle() -> None:
    with GlobalState():
        set_replay_values("k", [5, None, 6], "r")
        assert eval_node(replayed) == [5, None, 6]


def test_compare_records_where_two_differ() -> None:
    @graph
    def both(a: TS[int], b: TS[int]) -> None:
        compare(a, b, recordable_id="r")

    with GlobalState():
        eval_node(both, [1, 2, 3], [1, 2, 4])
        assert [same for _, same in get_recorded_value("__COMPARE__", "r")] == [True, True, False]


def test_a_recording_that_is_not_there_is_named() -> None:
    with GlobalState(), pytest.raises(GraphError, match=r"r\.k"):
        get_recorded_value("k", "r")


# --- live runs -----------------------------------------------------------------------------------

MESSAGES = 40


@push_queue(TS[int])
def messages(sender: Any) -> None:
    threading.Thread(target=lambda: [sender(n) for n in range(MESSAGES)]).start()


@push_queue(TS[tuple[int, ...]], burst=True)
def bursts(sender: Any) -> None:
    threading.Thread(target=lambda: [sender(n) for n in range(MESSAGES)]).start()


@compute_node
def later(ts: TS[int], s: SCHEDULER = None, api: EvaluationEngineApi = None) -> TS[int]:
    if ts.modified:
        s.schedule(dt.timedelta(microseconds=300), "x")
        if ts.value == MESSAGES - 1:
            s.schedule(dt.timedelta(milliseconds=2), "end")
        return ts.value
    if ts.value == MESSAGES - 1 and not s.has_tag("x"):
        api.request_engine_stop()
    return -ts.value


@compute_node(valid=("a",))
def both(a: TS[int], b: TS[tuple[int, ...]]) -> TS[tuple[int, ...]]:
    return (a.value, *(b.value if b.valid and b.modified else ()))


@graph
def live_program() -> TS[tuple[int, ...]]:
    return both(later(messages()), bursts())


def test_a_live_run_runs_again_with_identical_ticks() -> None:
    recorder = LiveRecorder()
    live = evaluate_graph(
        live_program,
        GraphConfiguration(
            run_mode=EvaluationMode.REAL_TIME,
            end_time=dt.timedelta(seconds=30),
            life_cycle_observers=[recorder],
        ),
    )
    run = recorder.run
    pushed = [i for _, i in run.inputs if i.payload["node"].startswith("messages")]
    assert [i.payload["message"] for i in pushed] == list(range(MESSAGES))
    assert all(i.kind == "push" for _, i in run.inputs)
    again = LiveRun.from_bytes(run.to_bytes())
    assert again == run
    assert rerun(live_program, again) == live
    assert rerun(live_program, again) == live


def test_a_run_of_another_graph_is_refused() -> None:
    recorder = LiveRecorder()
    evaluate_graph(
        live_program,
        GraphConfiguration(
            run_mode=EvaluationMode.REAL_TIME, end_time=dt.timedelta(seconds=30),
            life_cycle_observers=[recorder],
        ),
    )  # fmt: skip
    with pytest.raises(GraphError, match="messages"):
        rerun(replayed, recorder.run)
