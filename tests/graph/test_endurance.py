"""A million cycles leave no growth; threads that hammer push sources lose nothing."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import Any

import pytest

from mainspring.graph import (
    MIN_ST,
    MIN_TD,
    STATE,
    TS,
    EvaluationEngineApi,
    EvaluationMode,
    RunningGraph,
    compute_node,
    feedback,
    generator,
    graph,
    push_queue,
    run_graph,
    sink_node,
    wire_graph,
)


def resident() -> int:
    """The pages this process holds, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@generator
def endless() -> TS[int]:
    n = 0
    while True:
        yield MIN_ST + n * 2 * MIN_TD, n
        n += 1


@compute_node(active=("ts",), valid=("ts",))
def since(ts: TS[int], before: TS[int]) -> TS[int]:
    return ts.value - (before.value if before.valid else 0)


@sink_node
def drop(ts: TS[int]) -> None:
    pass


@graph
def busy() -> None:
    last = feedback(TS[int])
    now = endless()
    last(now)
    drop(since(now, last()))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_a_million_cycles_leave_no_growth() -> None:
    running = RunningGraph(wire_graph(busy))
    running.start()

    def cycles(count: int) -> None:
        for _ in range(count):
            running.evaluate(running.next_wakeup_ns() or 0)

    cycles(100_000)
    before = resident()
    cycles(900_000)
    assert resident() - before < 4_000_000
    running.stop()
    running.dispose()


THREADS, EACH = 8, 500


@push_queue(TS[tuple[int, int]])
def hammered(sender: Any) -> None:
    for thread in range(THREADS):
        threading.Thread(target=lambda t=thread: [sender((t, n)) for n in range(EACH)]).start()


@push_queue(TS[tuple[int, int]], max_pending=4)
def bounded(sender: Any) -> None:
    def push(thread: int) -> None:
        for n in range(EACH):
            while not sender((thread, n)):  # full: the sender says so, and keeps its message
                pass

    for thread in range(THREADS):
        threading.Thread(target=push, args=(thread,)).start()


@compute_node
def all_of_them(
    ts: TS[tuple[int, int]], s: STATE = None, api: EvaluationEngineApi = None
) -> TS[tuple[int, int]]:
    s.n = s.get("n", 0) + 1
    if s.n == THREADS * EACH:
        api.request_engine_stop()
    return ts.value


@pytest.mark.parametrize("source", [hammered, bounded], ids=["unbounded", "bounded"])
def test_messages_of_many_threads_all_arrive_in_the_order_of_each(source: Any) -> None:
    @graph
    def main() -> TS[tuple[int, int]]:
        return all_of_them(source())

    ticks = run_graph(main, run_mode=EvaluationMode.REAL_TIME, end_time=dt.timedelta(seconds=60))
    times = [time for time, _ in ticks]
    assert times == sorted(set(times))
    for thread in range(THREADS):
        assert [n for _, (t, n) in ticks if t == thread] == list(range(EACH))
