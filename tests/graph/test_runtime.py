"""Running: schedules, push sources, hooks, observers, contexts, and what a run leaves behind."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
import weakref
from datetime import timedelta
from typing import Any

import pytest

from mainspring.graph import (
    CONTEXT,
    LOGGER,
    MIN_ST,
    MIN_TD,
    NODE,
    RECORDABLE_STATE,
    REF,
    REQUIRED,
    SCHEDULER,
    STATE,
    TS,
    TS_OUT,
    TSD,
    TSL,
    EvaluationEngineApi,
    EvaluationLifeCycleObserver,
    EvaluationMode,
    GlobalState,
    GraphConfiguration,
    NodeException,
    RunningGraph,
    Size,
    TimeSeriesReference,
    TimeSeriesSchema,
    WiringError,
    compute_node,
    const,
    delayed_binding,
    evaluate_graph,
    generator,
    graph,
    log_,
    map_,
    null_sink,
    push_queue,
    run_graph,
    sink_node,
    wire_graph,
)
from mainspring.graph.test import eval_node


@compute_node
def plus(a: TS[int], b: TS[int]) -> TS[int]:
    return a.value + b.value


def test_scheduler_tags() -> None:
    """A tag is replaced, taken away and asked for; a reset takes all."""

    @compute_node
    def node(a: TS[int], s: SCHEDULER = None) -> TS[str]:
        text = f"{a.modified} {s.is_scheduled_now} {s.is_scheduled} {s.has_tag('x')}"
        if a.modified:
            if a.value == 1:
                s.schedule(MIN_TD * 3, tag="x")
            elif a.value == 2:
                s.un_schedule("x")
                s.schedule(MIN_TD * 2)
            elif a.value == 3:
                s.schedule(MIN_TD, tag="x")
                s.schedule(MIN_TD * 2, tag="x")
            elif a.value == 5:
                s.schedule(MIN_TD)
                s.reset()
        return text

    ticks = eval_node(node, [1, None, 2, None, None, 3, None, None, 5, 1])
    assert ticks == [
        "True False False False",
        None,
        "True False True True",
        None,
        "False True True False",
        "True False False False",
        None,
        "False True True True",
        "True False False False",
        "True False False False",
        None,
        None,
        "False True True True",
    ]


@push_queue(TS[int])
def pushed(sender: Any, count: int, threads: int) -> None:
    def send(base: int) -> None:
        for i in range(count):
            sender(base + i)

    for n in range(threads):
        threading.Thread(target=send, args=(n * count,)).start()


@compute_node
def until(v: TS[int], total: int, api: EvaluationEngineApi = None, s: STATE = None) -> TS[int]:
    s.seen = s.get("seen", 0) + 1
    if s.seen == total:
        api.request_engine_stop()
    return v.value


def realtime(fn: Any, **options: Any) -> list[Any]:
    ticks = run_graph(
        fn, run_mode=EvaluationMode.REAL_TIME, end_time=timedelta(seconds=30), **options
    )
    return [value for _, value in ticks]


def test_threads_hammer_a_push_source() -> None:
    """Every message ticks once, those of one thread in their order."""

    @graph
    def main() -> TS[int]:
        return until(pushed(200, 4), 800)

    got = realtime(main)
    assert sorted(got) == list(range(800))
    for n in range(4):
        mine = [v for v in got if v // 200 == n]
        assert mine == sorted(mine)


def test_push_that_conflates_bursts_and_waits_for_room() -> None:
    """The newest only; all at once; no more than the bound at a time."""

    @push_queue(TS[int], conflate=True)
    def newest(sender: Any) -> None:
        for i in range(5):
            sender(i)

    @push_queue(TS[tuple[int, ...]], burst=True)
    def together(sender: Any) -> None:
        for i in range(5):
            sender(i)

    @push_queue(TS[int], max_pending=2)
    def bounded(sender: Any) -> None:
        def send() -> None:
            for i in range(6):
                sender(i)

        threading.Thread(target=send).start()

    @compute_node
    def once(v: TS[tuple[int, ...]], api: EvaluationEngineApi = None) -> TS[tuple[int, ...]]:
        api.request_engine_stop()
        return v.value

    @graph
    def a() -> TS[int]:
        return until(newest(), 1)

    @graph
    def b() -> TS[tuple[int, ...]]:
        return once(together())

    @graph
    def c() -> TS[int]:
        return until(bounded(), 6)

    assert realtime(a) == [4]
    assert realtime(b) == [(0, 1, 2, 3, 4)]
    assert realtime(c) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="cannot run in simulation"):
        run_graph(a)


def test_wall_clock_alarm() -> None:
    """An alarm on the wall clock comes in real time."""

    @compute_node
    def node(v: TS[int], s: SCHEDULER = None, api: EvaluationEngineApi = None) -> TS[str]:
        if s.is_scheduled_now:
            api.request_engine_stop()
            return "alarm"
        s.schedule(timedelta(milliseconds=1), tag="w", on_wall_clock=True)
        return "in"

    @graph
    def main() -> TS[str]:
        return node(const(1))

    assert realtime(main) == ["in", "alarm"]


def test_hooks_run_in_order_and_always() -> None:
    """Started in rank order, stopped against it, also when a node failed."""
    calls: list[Any] = []

    @compute_node
    def node(a: TS[int], k: str, s: STATE = None) -> TS[int]:
        if a.value == 2:
            raise ValueError("two")
        return a.value

    @node.start
    def node_start(k: str, s: STATE) -> None:
        s.held = k
        calls.append(("start", k))

    @node.stop
    def node_stop(s: STATE) -> None:
        calls.append(("stop", s.held))

    @graph
    def main(a: TS[int]) -> TS[int]:
        return node(node(a, "1"), "2")

    with pytest.raises(NodeException, match="two"):
        eval_node(main, [1, 2])
    assert calls == [("start", "1"), ("start", "2"), ("stop", "2"), ("stop", "1")]


def test_a_failing_stop_stops_nobody_else() -> None:
    """Every stop is called; the failure goes on afterwards."""
    calls: list[str] = []

    @sink_node
    def sink(a: TS[int], name: str) -> None: ...

    @sink.stop
    def sink_stop(name: str) -> None:
        calls.append(name)
        if name == "b":
            raise RuntimeError("stuck")

    @graph
    def main(a: TS[int]) -> None:
        sink(a, "a")
        sink(a, "b")
        sink(a, "c")

    with pytest.raises(NodeException, match="stuck"):
        eval_node(main, [1])
    assert calls == ["c", "b", "a"]


def test_observers_see_everything() -> None:
    """Graph and node events, in order; nothing is called that nobody overrides."""
    seen: list[Any] = []

    class Watch(EvaluationLifeCycleObserver):
        def on_before_start_graph(self, graph: Any) -> None:
            seen.append(f"start {graph.label}")

        def on_before_node_evaluation(self, node: Any) -> None:
            seen.append(node.name)

        def on_after_stop_graph(self, graph: Any) -> None:
            seen.append("stopped")

    eval_node(plus, [1], [2], __observers__=[Watch()])
    assert seen == ["start plus", "a", "b", "plus", "record_output", "stopped"]


def test_contexts() -> None:
    """Taken from the enclosing `with`, by type or by the name it was given."""

    @compute_node
    def use(a: TS[int], c: CONTEXT[TS[str]] = None) -> TS[str]:
        return f"{a.value}{c.value if c.valid else ''}"

    @compute_node
    def named(a: TS[int], c: CONTEXT[TS[str]] = REQUIRED["first"]) -> TS[str]:
        return c.value

    @graph
    def inside(a: TS[int], s: TS[str]) -> TS[str]:
        with s:
            return use(a)

    @graph
    def outside(a: TS[int]) -> TS[str]:
        return use(a)

    @graph
    def two(a: TS[int], s: TS[str], u: TS[str]) -> TS[str]:
        with s as first, u as second:
            assert second is not first
            return named(a)

    @graph
    def missing(a: TS[int]) -> TS[str]:
        return named(a)

    assert eval_node(inside, [1], ["x"]) == ["1x"]
    assert eval_node(outside, [1]) == ["1"]
    assert eval_node(two, [1], ["s"], ["u"]) == ["s"]
    with pytest.raises(WiringError, match="no context"):
        eval_node(missing, [1])


class Kept(TimeSeriesSchema):
    n: TS[int]


def test_recordable_state_and_output_access() -> None:
    """State in named fields; the node's own output can be read and taken away."""

    @compute_node
    def count(a: TS[int], s: RECORDABLE_STATE[Kept] = None) -> TS[int]:
        s.n.value = (s.n.value if s.n.valid else 0) + a.value
        return s.n.value

    @compute_node
    def distinct(a: TS[int], _output: TS_OUT[int] = None) -> TS[int]:
        return None if _output.valid and _output.value == a.value else a.value

    assert eval_node(count, [1, 2, 3]) == [1, 3, 6]
    assert eval_node(distinct, [1, 1, 2, 2, 1]) == [1, None, 2, None, 1]


def test_global_state() -> None:
    """Injected, changed inside, read outside."""

    @compute_node
    def note(a: TS[int], state: GlobalState = None) -> TS[int]:
        state["sum"] = state.get("sum", 0) + a.value
        return state["sum"]

    with GlobalState(sum=10) as state:
        assert eval_node(note, [1, 2]) == [11, 13]
        assert state["sum"] == 13


def test_delayed_binding() -> None:
    """Bound later, never bound, and bound in a circle."""

    @graph
    def good(a: TS[int]) -> TS[int]:
        late = delayed_binding(TS[int])
        out = plus(a, late())
        late(plus(a, 1))
        return out

    @graph
    def never(a: TS[int]) -> TS[int]:
        return plus(a, delayed_binding(TS[int])())

    @graph
    def circle(a: TS[int]) -> TS[int]:
        late = delayed_binding(TS[int])
        out = plus(a, late())
        late(out)
        return out

    assert eval_node(good, [1, 2]) == [3, 5]
    with pytest.raises(WiringError, match="never bound"):
        eval_node(never, [1])
    with pytest.raises(WiringError, match="cycle"):
        eval_node(circle, [1])


def test_wiring_errors_teach() -> None:
    """What cannot be done to a port says what to do instead."""

    @graph
    def truth(a: TS[int]) -> TS[int]:
        return a or plus(a, 1)

    @graph
    def loop(a: TS[int]) -> TS[int]:
        for each in a:
            return each
        return a

    @graph
    def wrong(a: TS[str]) -> TS[int]:
        return plus(a, 1)

    with pytest.raises(TypeError, match="switch_"):
        eval_node(truth, [1])
    with pytest.raises(TypeError, match="map_"):
        eval_node(loop, [1])
    with pytest.raises(WiringError, match=r"'a' takes TS\[int\], not TS\[str\]"):
        eval_node(wrong, ["x"])


@generator
def ticks(count: int) -> TS[int]:
    for i in range(count):
        yield MIN_ST + i * MIN_TD, i


def test_end_is_not_part_of_the_run() -> None:
    """Cycles at or after the end time do not happen."""

    @graph
    def main() -> TS[int]:
        return ticks(10)

    assert [v for _, v in run_graph(main, end_time=MIN_ST + 3 * MIN_TD)] == [0, 1, 2]
    with pytest.raises(ValueError, match="after start_time"):
        run_graph(main, end_time=MIN_ST)


def test_a_run_leaves_nothing_behind() -> None:
    """What nodes kept is gone with the run, cycles through the graph itself included."""

    class Held:
        pass

    alive: list[weakref.ref[Held]] = []

    @compute_node
    def keep(a: TS[int], s: STATE = None, api: EvaluationEngineApi = None) -> TS[object]:
        s.held = Held()
        s.me = s
        s.api = api
        alive.append(weakref.ref(s.held))
        return s.held

    @graph
    def main() -> None:
        null_sink(keep(ticks(3)))

    evaluate_graph(main)
    gc.collect()
    assert all(ref() is None for ref in alive)


class Box:
    """Something that leads back to the graph that keeps it."""

    graph: Any = None


def make_circle() -> weakref.ref[Box]:
    @compute_node
    def keep(a: TS[int], box: object) -> TS[object]:
        return box

    box = Box()

    @graph
    def main() -> None:
        null_sink(keep(ticks(3), box))

    running = RunningGraph(wire_graph(main))
    running.start()
    running.evaluate(running.next_wakeup_ns() or 0)
    box.graph = running
    return weakref.ref(box)


def test_a_running_graph_is_seen_by_the_cycle_collector() -> None:
    """A value that leads back to its own graph does not keep both alive."""
    gone = make_circle()
    gc.collect()
    assert gone() is None


TWIN = """
from mainspring.graph import *
from mainspring.graph.test import eval_node
@compute_node
def show(d: TSD[str, TS[int]], s: TSS[str]) -> TS[object]:
    return (d.keys(), list(s), list(d.value), d.modified_keys())
names = [f"k{i * 7 % 31}" for i in range(31)]
out = eval_node(show, [{n: i for i, n in enumerate(names)}, {"k7": REMOVE}, {"z": 1, "k7": 2}],
                [set(), None, None])
print(out)
"""


def test_order_does_not_depend_on_the_hash_seed() -> None:
    """Keys of dictionaries come in an order of their own in every process."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", TWIN],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


def test_cost_follows_what_ticks() -> None:
    """In a large graph only what is reached is evaluated."""
    count = [0]

    @compute_node
    def step(a: TS[int]) -> TS[int]:
        count[0] += 1
        return a.value

    @graph
    def main(a: TS[int], d: TSD[int, TS[int]], rare: TSL[TS[int], Size[2]]) -> None:
        null_sink(map_(step, d))
        null_sink(step(rare[0]))
        null_sink(step(a))

    eval_node(
        main,
        [None, 1, 2],
        [{i: i for i in range(500)}, {3: 1}, None],
        [(1, 1), None, {1: 5}],
    )
    assert count[0] == 500 + 1 + 1 + 2


def test_a_node_knows_itself() -> None:
    """Its inputs, its scalars, what it is, and how time goes."""

    @compute_node
    def look(
        a: TS[int], k: int, node: NODE = None, api: EvaluationEngineApi = None
    ) -> TS[tuple[object, ...]]:
        return (node.inputs["a"].value, node.scalars["k"], node.node_type.name, api.evaluation_mode)

    assert eval_node(look, [5], 7) == [(5, 7, "COMPUTE_NODE", EvaluationMode.SIMULATION)]


def test_empty_reference() -> None:
    """It leads nowhere, so nothing ticks."""

    @compute_node
    def empty(a: REF[TS[int]]) -> REF[TS[int]]:
        assert TimeSeriesReference.is_instance(a.value)
        return TimeSeriesReference.make()

    assert eval_node(empty, [1]) is None


def test_the_logger_of_a_run_is_what_its_graphs_nodes_and_operators_log_to(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each run logs to its own, and a formatter is told which node speaks."""

    @compute_node
    def spoken(ts: TS[int], _logger: LOGGER = None) -> TS[int]:
        _logger.warning("ticked %s", ts.value)
        return ts.value

    @graph
    def program(_logger: LOGGER = None) -> TS[int]:
        _logger.info("wired")
        port = spoken(const(1))
        log_("seen {}", port, level=logging.WARNING)
        return port

    def run(name: str, **options: Any) -> list[str]:
        caplog.clear()
        log = logging.getLogger(name)
        evaluate_graph(
            program,
            GraphConfiguration(graph_logger=log, default_log_level=logging.INFO, **options),
        )
        return [f"{r.name}: {r.getMessage()}" for r in caplog.records]

    assert run("one") == ["one: wired", "one: ticked 1", "one: seen 1"]
    assert run("two") == ["two: wired", "two: ticked 1", "two: seen 1"]

    def told(
        level: int, msg: str, args: Any, *rest: Any, node_path: str, __orig_log__: Any
    ) -> None:
        __orig_log__(level, f"{node_path} says {msg}", args, *rest)

    assert run("three", logger_formatter=told) == [
        "three: program says wired",
        "three: program.spoken says ticked 1",
        "three: program.log_any.log_ says seen 1",
    ]


def test_two_threads_have_a_global_state_each() -> None:
    """What is in force in one thread is not in another, where a run has its own."""

    @compute_node
    def note(a: TS[int], state: GlobalState = None) -> TS[int]:
        state["sum"] = state.get("sum", 0) + a.value
        return state["sum"]

    found: list[Any] = []

    def other() -> None:
        found.append((GlobalState.has_instance(), eval_node(note, [1, 2])))

    with GlobalState(sum=10) as state:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert eval_node(note, [5]) == [15]
    assert found == [(False, [1, 3])]
    assert state["sum"] == 15
