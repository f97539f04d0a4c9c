"""Running: graphs with a start and an end, what is recorded, lifecycle order, real time, push sources."""

from datetime import UTC, datetime, timedelta

from lib import (
    MIN_ST,
    MIN_TD,
    MIN_DT,
    SCHEDULER,
    CLOCK,
    TS,
    TSD,
    TSS,
    EvaluationMode,
    GlobalState,
    GraphConfiguration,
    EvaluationLifeCycleObserver,
    const,
    compute_node,
    eval_node,
    evaluate_graph,
    generator,
    get_recorded_value,
    graph,
    push_queue,
    record,
    replay,
    run_graph,
    schedule,
    set_record_replay_model,
    sink_node,
    stop_engine,
    take,
    null_sink,
    if_true,
)

START = datetime(2020, 1, 1)


def case_run_graph():
    seen = []

    @sink_node
    def keep(a: TS[int], clock: CLOCK = None):
        seen.append((clock.evaluation_time - START, a.value))

    @generator
    def source() -> TS[int]:
        for i in range(5):
            yield START + timedelta(seconds=i), i

    @graph
    def g():
        keep(source())

    run_graph(g, start_time=START, end_time=START + timedelta(seconds=3))
    return seen


def case_evaluate_graph():
    @generator
    def source() -> TS[int]:
        for i in range(3):
            yield START + timedelta(seconds=i), i

    @graph
    def g() -> TS[int]:
        return source()

    return [
        (t - START, v)
        for t, v in evaluate_graph(
            g, GraphConfiguration(start_time=START, end_time=START + timedelta(seconds=9))
        )
    ]


def case_run_graph_result():
    @graph
    def g() -> TS[int]:
        return const(3)

    result = run_graph(g, start_time=START, end_time=START + timedelta(seconds=3))
    return [(t - START, v) for t, v in result]


def case_run_graph_arguments():
    @graph
    def g(n: int, name: str = "x") -> TS[str]:
        return const(name * n)

    result = run_graph(g, 3, name="ab", start_time=START, end_time=START + timedelta(seconds=3))
    return [(t - START, v) for t, v in result]


def case_end_before_start():
    @graph
    def g() -> TS[int]:
        return const(3)

    return run_graph(g, start_time=START, end_time=START - timedelta(seconds=3))


def case_lifecycle_order():
    calls = []

    @compute_node
    def f(a: TS[int], name: str) -> TS[int]:
        calls.append(f"eval {name}")
        return a.value

    @f.start
    def f_start(name: str):
        calls.append(f"start {name}")

    @f.stop
    def f_stop(name: str):
        calls.append(f"stop {name}")

    @graph
    def g(a: TS[int]) -> TS[int]:
        return f(f(a, "1"), "2")

    eval_node(g, [1])
    return calls


def case_observer():
    calls = []

    class Watch(EvaluationLifeCycleObserver):
        def on_before_start_graph(self, graph):
            calls.append("before start")

        def on_after_start_graph(self, graph):
            calls.append("after start")

        def on_before_graph_evaluation(self, graph):
            calls.append("before")

        def on_after_graph_evaluation(self, graph):
            calls.append("after")

        def on_before_stop_graph(self, graph):
            calls.append("before stop")

        def on_after_stop_graph(self, graph):
            calls.append("after stop")

    @graph
    def g(a: TS[int]) -> TS[int]:
        return a

    eval_node(g, [1, 2], __observers__=[Watch()])
    return calls


def later_record_replay():
    @graph
    def write(a: TS[int]):
        record(a, "a")

    @graph
    def read() -> TS[int]:
        return replay("a", TS[int])

    with GlobalState():
        set_record_replay_model("InMemory")
        eval_node(write, [1, None, 3])
        return eval_node(read)


def later_recorded_value():
    @graph
    def write(a: TS[int]):
        record(a, "a")

    with GlobalState():
        eval_node(write, [1, None, 3])
        return [(t, v) for t, v in get_recorded_value("a")]


def case_real_time_generator():
    @generator
    def source(start: datetime) -> TS[int]:
        for i in range(3):
            yield start + timedelta(milliseconds=5 * i), i

    @graph
    def g(start: datetime) -> TS[int]:
        return source(start)

    start = datetime.now(UTC).replace(tzinfo=None) + timedelta(milliseconds=20)
    config = GraphConfiguration(
        run_mode=EvaluationMode.REAL_TIME,
        start_time=start - timedelta(milliseconds=5),
        end_time=start + timedelta(milliseconds=200),
    )
    return [v for _, v in evaluate_graph(g, config, start)]


def case_push_queue():
    @push_queue(TS[int])
    def source(sender):
        for i in range(3):
            sender(i)

    @compute_node
    def collect(a: TS[int], seen: object) -> TS[int]:
        seen.append(a.value)
        return len(seen)

    seen = []

    @graph
    def g():
        stop_engine(if_true(collect(source(), seen) == 3))

    start = datetime.now(UTC).replace(tzinfo=None)
    run_graph(g, run_mode=EvaluationMode.REAL_TIME, end_time=start + timedelta(milliseconds=500))
    return seen


def case_push_queue_in_simulation():
    @push_queue(TS[int])
    def source(sender):
        sender(1)

    @graph
    def g() -> TS[int]:
        return source()

    return eval_node(g)


def case_stop_engine_ends_run():
    seen = []

    @sink_node
    def keep(a: TS[bool]):
        seen.append(a.value)

    @graph
    def g():
        s = schedule(timedelta(seconds=1))
        keep(s)
        stop_engine(take(s, 1))

    run_graph(g, start_time=START, end_time=START + timedelta(seconds=10))
    return seen


def case_schedule_grid():
    @graph
    def g() -> TS[bool]:
        return schedule(timedelta(seconds=2), max_ticks=3)

    result = run_graph(g, start_time=START, end_time=START + timedelta(seconds=60))
    return [(t - START, v) for t, v in result]


def case_exact_end_is_included():
    @generator
    def source() -> TS[int]:
        yield START, 0
        yield START + timedelta(seconds=1), 1
        yield START + timedelta(seconds=1, microseconds=1), 2

    @graph
    def g() -> TS[int]:
        return source()

    result = run_graph(g, start_time=START, end_time=START + timedelta(seconds=1))
    return [(t - START, v) for t, v in result]
