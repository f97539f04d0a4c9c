"""What starts, stops, is asked for once, and is kept: hooks, notifications, states, the global state."""

from dataclasses import dataclass, field

from lib import (
    CLOCK,
    GlobalContext,
    GlobalState,
    GraphConfiguration,
    EvaluationEngineApi,
    EvaluationLifeCycleObserver,
    EvaluationMode,
    LOGGER,
    MIN_TD,
    NODE,
    RECORDABLE_STATE,
    SCHEDULER,
    STATE,
    TS,
    TSB,
    TSD,
    TSL,
    CompoundScalar,
    Size,
    TimeSeriesSchema,
    compute_node,
    const,
    eval_node,
    evaluate_graph,
    graph,
    push_queue,
    sink_node,
    switch_,
)


def refused(make):
    """The errors of a declaration are kinds of TypeError in both libraries."""
    try:
        make()
    except TypeError:
        return "TypeError"
    except Exception as error:
        return type(error).__name__
    return "accepted"


def case_notifications_at_cycle_ends():
    heard = []

    @compute_node
    def node(t: TS[int], _api: EvaluationEngineApi = None) -> TS[int]:
        n = t.value
        heard.append(f"eval-{n}")
        _api.add_after_evaluation_notification(lambda: heard.append(f"after-{n}"))
        _api.add_before_evaluation_notification(lambda: heard.append(f"before-{n}"))
        return n

    return eval_node(node, [1, None, 2]), heard


def case_notifications_that_ask_again():
    heard = []

    @compute_node
    def node(t: TS[int], _api: EvaluationEngineApi = None) -> TS[int]:
        def ask(name):
            def call():
                heard.append(name)
                _api.add_after_evaluation_notification(lambda: heard.append("inner " + name))

            _api.add_after_evaluation_notification(call)

        ask("one")
        ask("two")
        return t.value

    return eval_node(node, [1]), heard


def case_notifications_of_a_cycle_that_fails():
    heard = []

    @compute_node
    def node(t: TS[int], _api: EvaluationEngineApi = None) -> TS[int]:
        _api.add_after_evaluation_notification(lambda: heard.append(f"after {t.value}"))
        _api.add_before_evaluation_notification(lambda: heard.append("before"))
        if t.value == 2:
            raise ValueError("two")
        return t.value

    try:
        eval_node(node, [1, 2, 3])
    except RuntimeError:
        heard.append("failed")
    return heard


def case_notifications_asked_for_while_stopping():
    heard = []

    @sink_node
    def node(t: TS[int]):
        pass

    @node.stop
    def node_stop(_api: EvaluationEngineApi = None):
        _api.add_before_evaluation_notification(lambda: heard.append("before"))
        _api.add_after_evaluation_notification(lambda: heard.append("after"))

    eval_node(node, [1])
    return heard


def case_hooks_ask_for_more_than_the_node():
    heard = []

    @compute_node
    def node(t: TS[int], label: str, _state: STATE = None) -> TS[int]:
        return t.value + _state.bias

    @node.start
    def node_start(label, _state: STATE, clock: CLOCK):
        _state.bias = 10
        heard.append((label, clock.evaluation_time))

    @node.stop
    def node_stop(t, label, _state):
        heard.append((label, _state.bias, t.value))

    return ticks(lambda t: node(t, "tag"), (TS[int],), [1, 2]), heard


def table_hooks_refused():
    @compute_node
    def node(t: TS[int], label: str = "x") -> TS[int]:
        return t.value

    def start_with_input():
        @node.start
        def hook(t):
            pass

        eval_node(node, [1])

    def start_with_unknown():
        @node.start
        def hook(other: int):
            pass

        eval_node(node, [1])

    yield "start-input", lambda: refused(start_with_input)
    yield "start-unknown", lambda: refused(start_with_unknown)


def table_injectables_of_graphs():
    def asking(kind, default=None):
        def fn(t: TS[int], asked: kind = default) -> TS[int]:
            return t

        return lambda: eval_node(graph(fn), [1])

    for name, kind in (
        ("scheduler", SCHEDULER),
        ("state", STATE),
        ("clock", CLOCK),
        ("api", EvaluationEngineApi),
        ("node", NODE),
    ):
        yield name, lambda kind=kind: refused(asking(kind))

    @graph
    def logging_graph(t: TS[int], _logger: LOGGER = None) -> TS[int]:
        _logger.debug("wiring")
        return t

    yield "logger", lambda: eval_node(logging_graph, [1])

    @graph
    def reading(t: TS[int], _state: GlobalState = None) -> TS[int]:
        return t + _state.get("more", 5)

    yield "global-state", lambda: eval_node(reading, [1])

    def without_default():
        @graph
        def fn(t: TS[int], _logger: LOGGER) -> TS[int]:
            return t

    yield "without-default", lambda: refused(without_default)
    yield "supplied", lambda: refused(lambda: eval_node(graph(lambda: logging_graph(const(1), 5))))


def table_global_state():
    def nested():
        with GlobalState():
            with GlobalState():
                pass

    def nested_context():
        with GlobalState():
            with GlobalContext(GlobalState()):
                pass

    @graph
    def wired(t: TS[int]) -> TS[int]:
        GlobalState.instance()["seen"] = 7
        return t

    def kept():
        with GlobalState(a=1) as state:
            return eval_node(wired, [1]), state["seen"], state["a"]

    yield "none", lambda: GlobalState.instance()
    yield "has-none", lambda: GlobalState.has_instance()
    yield "nested", nested
    yield "nested-context", nested_context
    yield "kept", kept
    yield "gone-after-a-run", lambda: (eval_node(wired, [1]), GlobalState.has_instance())


def table_configuration():
    g = graph(lambda: const(1))
    for name, options in (
        ("negative-depth", {"trace_back_depth": -1}),
        ("unknown", {"unknown": 1}),
        ("odd-level", {"default_log_level": "x"}),
        ("odd-mode", {"run_mode": "nonsense"}),
    ):
        yield (
            name,
            lambda options=options: [
                v for _, v in evaluate_graph(g, GraphConfiguration(**options))
            ],
        )
    yield "mode-is-text", lambda: EvaluationMode.REAL_TIME == "real_time"


def table_push_options():
    def declared(**options):
        def make():
            @push_queue(TS[int], **options)
            def source(sender):
                pass

        return make

    yield "conflate-burst", lambda: refused(declared(conflate=True, burst=True))
    yield "conflate-bounded", lambda: refused(declared(conflate=True, max_pending=1))
    yield "none-pending", declared(max_pending=0)
    yield "bool-pending", lambda: refused(declared(max_pending=True))
    yield "burst-bounded", lambda: refused(declared(burst=True, max_pending=2))


def case_typed_state_with_names_of_its_own():
    @dataclass
    class History:
        values: list = field(default_factory=list)
        value: int = 0

    @compute_node
    def node(t: TS[int], state: STATE[History] = None) -> TS[int]:
        state.values.append(t.value)
        state.value += 1
        return sum(state.values) * 10 + state.value

    return eval_node(node, [1, 2, 3])


def case_state_and_recordable_state():
    class Kept(TimeSeriesSchema):
        total: TS[int]

    heard = []

    @compute_node
    def node(t: TS[int], own: STATE = None, kept: RECORDABLE_STATE[Kept] = None) -> TS[int]:
        own.total += t.value
        kept.total.value = own.total
        return kept.total.value

    @node.start
    def node_start(own: STATE = None, kept: RECORDABLE_STATE[Kept] = None):
        heard.append(kept.total.valid)
        own.total = 0

    @node.stop
    def node_stop(own: STATE = None, kept: RECORDABLE_STATE[Kept] = None):
        heard.append((own.total, kept.total.value))

    return eval_node(node, [1, 2]), heard


def case_state_is_updated():
    heard = []

    @compute_node
    def node(t: TS[int], state: STATE = None) -> TS[int]:
        heard.append(state.is_updated())
        if t.value != 2:
            state.total = t.value
        heard.append(state.is_updated())
        state.reset_updated()
        return t.value

    return eval_node(node, [1, 2, 3]), heard


def case_node_knows_that_it_stops():
    heard = []

    @compute_node
    def node(t: TS[int], n: NODE = None) -> TS[int]:
        return t.value

    @node.start
    def node_start(n: NODE = None):
        heard.append((n.started, n.is_starting, n.is_stopping, n.graph.is_starting))

    @node.stop
    def node_stop(n: NODE = None):
        heard.append((n.started, n.is_starting, n.is_stopping, n.graph.is_stopping))

    eval_node(node, [1])
    return heard


def case_an_observer_that_fails():
    heard = []

    @sink_node
    def sink(t: TS[int]):
        pass

    @sink.stop
    def sink_stop():
        heard.append("stopped")

    class Failing(EvaluationLifeCycleObserver):
        def on_before_graph_evaluation(self, graph):
            raise ValueError("no")

    try:
        eval_node(sink, [1], __observers__=[Failing()])
    except RuntimeError:
        heard.append("RuntimeError")
    return heard


def case_all_valid_asks_one_level():
    class Inner(TimeSeriesSchema):
        a: TS[int]
        b: TS[int]

    class Outer(TimeSeriesSchema):
        inner: TSB[Inner]

    @compute_node(valid=())
    def of_lists(x: TSL[TSL[TS[int], Size[2]], Size[2]]) -> TS[tuple[bool, ...]]:
        return (x.all_valid, x[0].all_valid, x[1].all_valid)

    @compute_node(valid=())
    def of_bundles(x: TSB[Outer]) -> TS[tuple[bool, ...]]:
        return (x.all_valid, x.inner.all_valid)

    @compute_node(valid=())
    def of_dicts(x: TSD[str, TSL[TS[int], Size[2]]]) -> TS[bool]:
        return x.all_valid

    return (
        eval_node(of_lists, [{0: {0: 1}, 1: {0: 2}}, {0: {1: 1}}]),
        eval_node(of_bundles, [{"inner": {"a": 1}}, {"inner": {"b": 1}}]),
        eval_node(of_dicts, [{"x": {0: 1}}]),
    )


def case_next_scheduled_time_while_due():
    @compute_node
    def node(t: TS[int], s: SCHEDULER = None) -> TS[object]:
        if t.modified:
            s.schedule(MIN_TD * 2, tag="a")
            s.schedule(MIN_TD * 4, tag="b")
        return (s.is_scheduled_now, s.has_tag("a"), s.next_scheduled_time)

    return eval_node(node, [1, None, None, 2])


@dataclass(frozen=True)
class Thing(CompoundScalar):
    name: str


@dataclass(frozen=True)
class Round(Thing):
    radius: int


@dataclass(frozen=True)
class Square(Thing):
    side: float


def table_cases_of_one_kind():
    @graph
    def round_one() -> TS[Thing]:
        return const(Round("r", 1))

    @graph
    def square_one() -> TS[Thing]:
        return const(Square("s", 2.0))

    @graph
    def declared(k: TS[str]) -> TS[Thing]:
        return switch_(k, {"r": round_one, "s": square_one})

    @graph
    def plain(k: TS[str]) -> TS[Thing]:
        return switch_(k, {"r": lambda: const(Round("r", 1)), "s": lambda: const(Square("s", 1.0))})

    yield "declared", lambda: eval_node(declared, ["r", "s", "r"])
    yield "not-declared", lambda: eval_node(plain, ["r", "s"])
