"""Nodes and how they are wired: inputs, outputs, injectables, defaults, generics, overloads, start and stop."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Callable, FrozenSet, Mapping, Tuple, Type

from lib import (
    AUTO_RESOLVE,
    CLOCK,
    DEFAULT,
    K,
    LOGGER,
    MIN_DT,
    MIN_ST,
    MIN_TD,
    OUT,
    REF,
    REMOVE,
    SCALAR,
    SCALAR_1,
    SCHEDULER,
    SIGNAL,
    SIZE,
    STATE,
    TIME_SERIES_TYPE,
    TS,
    TSB,
    TSD,
    TSL,
    TSS,
    TSW,
    TS_OUT,
    TSD_OUT,
    TSS_OUT,
    V,
    CompoundScalar,
    EvaluationClock,
    EvaluationEngineApi,
    GlobalState,
    Removed,
    Size,
    TimeSeriesSchema,
    WindowSize,
    compute_node,
    const,
    delayed_binding,
    eval_node,
    feedback,
    generator,
    graph,
    lift,
    operator,
    pass_through,
    set_delta,
    sink_node,
    null_sink,
)

I = TS[int]


def case_add():
    @compute_node
    def add(a: TS[int], b: TS[int]) -> TS[int]:
        return a.value + b.value

    return eval_node(add, [1, None, 3], [10, 20])


def case_valid_subset():
    @compute_node(valid=("a",))
    def add(a: TS[int], b: TS[int]) -> TS[int]:
        return a.value + (b.value if b.valid else 0)

    return eval_node(add, [1, None, 3], [None, 20])


def case_valid_none():
    @compute_node(valid=())
    def add(a: TS[int], b: TS[int]) -> TS[str]:
        return f"{a.valid}{b.valid}"

    return eval_node(add, [None, 1, 3], [5, None, 20])


def case_active_subset():
    @compute_node(active=("a",))
    def add(a: TS[int], b: TS[int]) -> TS[int]:
        return a.value + b.value

    return eval_node(add, [1, None, 3], [10, 20])


def case_all_valid():
    @compute_node(all_valid=("l",))
    def total(l: TSL[TS[int], Size[2]]) -> TS[int]:
        return sum(x.value for x in l.values())

    return eval_node(total, [{0: 1}, {1: 2}, {0: 5}])


def case_not_all_valid():
    @compute_node
    def total(l: TSL[TS[int], Size[2]]) -> TS[int]:
        return sum(x.value for x in l.valid_values())

    return eval_node(total, [{0: 1}, {1: 2}, {0: 5}])


def case_none_is_no_tick():
    @compute_node
    def odd(a: TS[int]) -> TS[int]:
        if a.value % 2:
            return a.value

    return eval_node(odd, [1, 2, 3])


def case_default_scalar():
    @compute_node
    def scale(a: TS[int], by: int = 2) -> TS[int]:
        return a.value * by

    @graph
    def g(a: TS[int]) -> TS[int]:
        return scale(a) + scale(a, 3) + scale(a, by=4)

    return eval_node(g, [1, 2])


def case_optional_input():
    @compute_node(valid=("a",))
    def add(a: TS[int], b: TS[int] = None) -> TS[int]:
        return a.value + (b.value if b is not None and b.valid else 100)

    @graph
    def g(a: TS[int]) -> TS[int]:
        return add(a)

    return eval_node(g, [1, 2])


def case_state():
    @compute_node
    def count(a: TS[int], state: STATE = None) -> TS[int]:
        state.n += 1
        return state.n

    @count.start
    def count_start(state: STATE):
        state.n = 0

    return eval_node(count, [5, None, 5])


def case_typed_state():
    @dataclass
    class Counter:
        n: int = 10

    @compute_node
    def count(a: TS[int], state: STATE[Counter] = None) -> TS[int]:
        state.n += 1
        return state.n

    return eval_node(count, [5, None, 5])


def case_start_stop():
    calls = []

    @compute_node
    def node(a: TS[int], name: str) -> TS[int]:
        calls.append(a.value)
        return a.value

    @node.start
    def node_start(name: str):
        calls.append(f"start {name}")

    @node.stop
    def node_stop(name: str):
        calls.append(f"stop {name}")

    @graph
    def g(a: TS[int]) -> TS[int]:
        return node(a, "x")

    return eval_node(g, [1, 2]), calls


def case_scheduler():
    @compute_node
    def later(a: TS[int], scheduler: SCHEDULER = None) -> TS[int]:
        if a.modified:
            scheduler.schedule(MIN_TD * 2, tag="t")
            return a.value
        if scheduler.is_scheduled_now:
            return -a.value

    return eval_node(later, [1, None, None, 2])


def case_scheduler_retag():
    @compute_node
    def later(a: TS[int], scheduler: SCHEDULER = None) -> TS[int]:
        if a.modified:
            scheduler.schedule(MIN_TD * 2, tag="t")
        if scheduler.is_scheduled_now:
            return -a.value

    return eval_node(later, [1, 2, 3, None, None])


def case_scheduler_no_tag():
    @compute_node
    def later(a: TS[int], scheduler: SCHEDULER = None) -> TS[int]:
        if a.modified:
            scheduler.schedule(MIN_TD * 2)
        if scheduler.is_scheduled_now:
            return -a.value

    return eval_node(later, [1, 2, 3, None, None])


def case_scheduler_unschedule():
    @compute_node
    def later(a: TS[int], stop: TS[bool], scheduler: SCHEDULER = None) -> TS[int]:
        if a.modified:
            scheduler.schedule(MIN_TD * 3, tag="t")
        if stop.modified and stop.value:
            scheduler.un_schedule("t")
        if scheduler.is_scheduled_now:
            return a.value

    return eval_node(later, [1, None, None, None, 2, None, None, None], [False, True])


def case_scheduler_has_tag():
    seen = []

    @compute_node
    def later(a: TS[int], scheduler: SCHEDULER = None) -> TS[bool]:
        seen.append((scheduler.has_tag("t"), scheduler.is_scheduled, scheduler.is_scheduled_now))
        if a.modified and a.value == 1:
            scheduler.schedule(MIN_TD, tag="t")
        return scheduler.has_tag("t")

    return eval_node(later, [1, 2, 3]), seen


def case_scheduler_pop_tag():
    @compute_node
    def later(a: TS[int], scheduler: SCHEDULER = None) -> TS[bool]:
        if a.modified and a.value == 1:
            scheduler.schedule(MIN_TD * 2, tag="t")
            return None
        return scheduler.pop_tag("t", MIN_DT) == MIN_ST + MIN_TD * 2

    return eval_node(later, [1, 2, 3])


def case_scheduler_at_start():
    @compute_node
    def tick(a: TS[int], scheduler: SCHEDULER = None) -> TS[int]:
        return a.value

    @tick.start
    def tick_start(scheduler: SCHEDULER):
        scheduler.schedule(MIN_ST + MIN_TD * 2)

    return eval_node(tick, [1, None, None, None])


def case_clock():
    @compute_node
    def now(a: TS[int], clock: CLOCK = None) -> TS[datetime]:
        return clock.evaluation_time

    return eval_node(now, [1, None, 2])


def case_clock_next():
    @compute_node
    def now(a: TS[int], clock: EvaluationClock = None) -> TS[bool]:
        return clock.next_cycle_evaluation_time == clock.evaluation_time + MIN_TD

    return eval_node(now, [1, None, 2])


def case_engine_api():
    @compute_node
    def node(a: TS[int], api: EvaluationEngineApi = None) -> TS[bool]:
        return api.start_time == MIN_ST

    return eval_node(node, [1])


def case_stop_from_node():
    @compute_node
    def node(a: TS[int], api: EvaluationEngineApi = None) -> TS[int]:
        if a.value == 2:
            api.request_engine_stop()
        return a.value

    return eval_node(node, [1, 2, 3])


def case_output():
    @compute_node
    def total(a: TS[int], _output: TS_OUT[int] = None) -> TS[int]:
        return a.value + (_output.value if _output.valid else 0)

    return eval_node(total, [1, 2, None, 3])


def case_tsd_output():
    @compute_node
    def last(k: TS[str], v: TS[int], _output: TSD_OUT[str, TS[int]] = None) -> TSD[str, TS[int]]:
        if k.value in _output:
            return {k.value: REMOVE}
        return {k.value: v.value}

    return eval_node(last, ["a", "b", "a"], [1, 2, 3])


def case_tss_output():
    @compute_node
    def toggle(k: TS[str], _output: TSS_OUT[str] = None) -> TSS[str]:
        if _output.valid and k.value in _output.value:
            return {Removed(k.value)}
        return {k.value}

    return eval_node(toggle, ["a", "b", "a"])


def case_set_delta_result():
    @compute_node
    def node(a: TS[int]) -> TSS[int]:
        return set_delta(added={a.value}, removed={a.value - 1})

    return eval_node(node, [1, 2])


def case_sink_and_lists():
    seen = []

    @sink_node
    def keep(a: TS[int]):
        seen.append(a.value)

    @graph
    def g(a: TS[int]):
        keep(a)
        keep(a)

    return eval_node(g, [1, None, 2]), seen


def case_signal():
    @compute_node
    def count(s: SIGNAL, state: STATE = None) -> TS[bool]:
        return s.modified

    @graph
    def g(a: TSD[str, TS[int]]) -> TS[bool]:
        return count(a)

    return eval_node(g, [{"a": 1}, None, {"a": REMOVE}])


def case_make_passive():
    @compute_node
    def once(a: TS[int], b: TS[int]) -> TS[int]:
        if a.modified and a.active:
            a.make_passive()
        return a.value + b.value

    return eval_node(once, [1, 2, 3, None], [10, None, None, 20])


def case_make_active():
    @compute_node(active=("b",))
    def again(a: TS[int], b: TS[int]) -> TS[int]:
        if b.modified:
            a.make_active()
        return a.value + b.value

    return eval_node(again, [1, 2, 3, 4], [None, 20, None, None])


def case_last_modified():
    @compute_node
    def when(a: TS[int], b: TS[int]) -> TS[datetime]:
        return a.last_modified_time

    return eval_node(when, [1, None, 3], [1, 2, 3])


def case_modified_flags():
    @compute_node
    def flags(a: TS[int], b: TS[int]) -> TS[Tuple[bool, bool]]:
        return a.modified, b.modified

    return eval_node(flags, [1, None, 3], [1, 2, None])


def case_values_of_tsl():
    @compute_node
    def node(l: TSL[TS[int], Size[3]]) -> TS[Tuple[int, ...]]:
        return (
            tuple(l.modified_keys())
            + tuple(v.value for v in l.modified_values())
            + tuple(k for k, _ in l.valid_items())
        )

    return eval_node(node, [{0: 1}, {1: 2, 2: 3}, {0: 9}])


def case_values_of_tsd():
    @compute_node
    def node(d: TSD[str, TS[int]]) -> TS[str]:
        return (
            f"{sorted(d.keys())} +{sorted(d.added_keys())} -{sorted(d.removed_keys())} "
            f"~{sorted(d.modified_keys())} {sorted((k, v.value) for k, v in d.modified_items())} {len(d)}"
        )

    return eval_node(
        node, [{"a": 1, "b": 2}, {"a": 3}, {"b": REMOVE, "c": 4}, {"c": REMOVE, "a": 5}]
    )


def case_tsd_value_and_delta():
    @compute_node
    def node(d: TSD[str, TS[int]]) -> TS[str]:
        return f"{sorted(d.value.items())} {sorted((k, str(v)) for k, v in d.delta_value.items())}"

    return eval_node(node, [{"a": 1, "b": 2}, {"a": 3}, {"b": REMOVE}])


def case_values_of_tss():
    @compute_node
    def node(s: TSS[int]) -> TS[str]:
        return f"{sorted(s.value)} +{sorted(s.added())} -{sorted(s.removed())} {1 in s} {len(s)}"

    return eval_node(node, [{1, 2}, {3, Removed(1)}, {1}])


def case_tsb_fields():
    class AB(TimeSeriesSchema):
        a: TS[int]
        b: TS[str]

    @compute_node
    def node(t: TSB[AB]) -> TS[str]:
        return (
            f"{t.a.modified} {t.b.modified} {t.a.valid} {t.b.valid} {sorted(t.delta_value.items())}"
        )

    return eval_node(node, [{"a": 1}, {"b": "x"}, {"a": 2, "b": "y"}])


def case_tsb_output():
    class AB(TimeSeriesSchema):
        a: TS[int]
        b: TS[str]

    @compute_node
    def node(t: TS[int]) -> TSB[AB]:
        return {"a": t.value} if t.value % 2 else {"b": str(t.value)}

    return eval_node(node, [1, 2, 3])


def case_tsw():
    @compute_node
    def node(w: TSW[int, WindowSize[3], WindowSize[1]]) -> TS[Tuple[int, ...]]:
        return tuple(w.value)

    return eval_node(node, [1, 2, 3, 4])


def case_kwargs_graph():
    @graph
    def total(*args: TSL[TS[int], SIZE]) -> TS[int]:
        return args[0] + args[1]

    @graph
    def g(a: TS[int], b: TS[int]) -> TS[int]:
        return total(a, b)

    return eval_node(g, [1], [2])


def case_kwargs_bundle():
    from lib import TS_SCHEMA

    @graph
    def total(**kwargs: TSB[TS_SCHEMA]) -> TS[int]:
        return (
            kwargs.as_dict()["x"] + kwargs.as_dict()["y"]
            if hasattr(kwargs, "as_dict")
            else kwargs["x"] + kwargs["y"]
        )

    @graph
    def g(a: TS[int], b: TS[int]) -> TS[int]:
        return total(x=a, y=b)

    return eval_node(g, [1], [2])


def case_generic_node():
    @compute_node
    def same(a: TS[SCALAR], b: TS[SCALAR]) -> TS[bool]:
        return a.value == b.value

    return eval_node(same[SCALAR:int], [1, 2], [1, 3])


def case_generic_graph():
    @compute_node
    def first(a: TIME_SERIES_TYPE, b: TIME_SERIES_TYPE) -> TIME_SERIES_TYPE:
        return a.delta_value

    @graph
    def g(a: TSD[str, TS[int]], b: TSD[str, TS[int]]) -> TSD[str, TS[int]]:
        return first(a, b)

    return eval_node(g, [{"a": 1}], [{"b": 1}])


def case_auto_resolve():
    @compute_node
    def kind(a: TS[SCALAR], tp: Type[SCALAR] = AUTO_RESOLVE) -> TS[str]:
        return tp.__name__

    @graph
    def g(a: TS[int]) -> TS[str]:
        return kind(a)

    return eval_node(g, [1])


def case_explicit_type():
    @compute_node
    def parse(a: TS[str], tp: Type[SCALAR] = AUTO_RESOLVE) -> TS[SCALAR]:
        return tp(a.value)

    @graph
    def g(a: TS[str]) -> TS[int]:
        return parse[SCALAR:int](a)

    return eval_node(g, ["1"])


def case_default_type_variable():
    @compute_node
    def parse(a: TS[str], tp: Type[OUT] = AUTO_RESOLVE) -> DEFAULT[OUT]:
        return int(a.value)

    @graph
    def g(a: TS[str]) -> TS[int]:
        return parse[TS[int]](a)

    return eval_node(g, ["1"])


def case_resolvers():
    @compute_node(resolvers={SCALAR_1: lambda m, s: str})
    def text(a: TS[SCALAR]) -> TS[SCALAR_1]:
        return str(a.value)

    @graph
    def g(a: TS[int]) -> TS[str]:
        return text(a)

    return eval_node(g, [1])


def case_requires():
    @compute_node(requires=lambda m, s: m[SCALAR] == int or "only ints")
    def text(a: TS[SCALAR]) -> TS[str]:
        return str(a.value)

    @graph
    def good(a: TS[int]) -> TS[str]:
        return text(a)

    @graph
    def bad(a: TS[float]) -> TS[str]:
        return text(a)

    try:
        eval_node(bad, [1.0])
    except Exception as error:
        return eval_node(good, [1]), "Wiring" in "".join(t.__name__ for t in type(error).__mro__)


def case_operator_overloads():
    @operator
    def describe(a: TIME_SERIES_TYPE) -> TS[str]: ...

    @compute_node(overloads=describe)
    def describe_any(a: TIME_SERIES_TYPE) -> TS[str]:
        return "any"

    @compute_node(overloads=describe)
    def describe_scalar(a: TS[SCALAR]) -> TS[str]:
        return "scalar"

    @compute_node(overloads=describe)
    def describe_int(a: TS[int]) -> TS[str]:
        return "int"

    @graph
    def g(a: TS[int], b: TS[str], c: TSS[int]) -> TSL[TS[str], Size[3]]:
        return TSL.from_ts(describe(a), describe(b), describe(c))

    return eval_node(g, [1], ["x"], [{1}])


def case_operator_no_match():
    @operator
    def describe(a: TIME_SERIES_TYPE) -> TS[str]: ...

    @compute_node(overloads=describe)
    def describe_int(a: TS[int]) -> TS[str]:
        return "int"

    @graph
    def g(a: TS[str]) -> TS[str]:
        return describe(a)

    return eval_node(g, ["x"])


def case_operator_graph_overload():
    @operator
    def twice(a: TIME_SERIES_TYPE) -> TIME_SERIES_TYPE: ...

    @graph(overloads=twice)
    def twice_int(a: TS[int]) -> TS[int]:
        return a + a

    @graph
    def g(a: TS[int]) -> TS[int]:
        return twice(a)

    return eval_node(g, [2])


def case_lift():
    def plain(a: int, b: int) -> int:
        return a * b

    @graph
    def g(a: TS[int], b: TS[int]) -> TS[int]:
        return lift(plain)(a, b)

    return eval_node(g, [2, 3], [4, None])


def case_lift_typed():
    @graph
    def g(a: TS[int]) -> TS[str]:
        return lift(lambda x: str(x), inputs={"x": TS[int]}, output=TS[str])(a)

    return eval_node(g, [2, 3])


def case_generator():
    @generator
    def source(n: int) -> TS[int]:
        for i in range(n):
            yield MIN_ST + MIN_TD * (2 * i), i

    @graph
    def g() -> TS[int]:
        return source(3)

    return eval_node(g)


def case_generator_relative():
    @generator
    def source() -> TS[int]:
        yield MIN_TD, 1
        yield MIN_TD, 2

    @graph
    def g() -> TS[int]:
        return source()

    return eval_node(g)


def case_generator_past():
    @generator
    def source() -> TS[int]:
        yield MIN_ST + MIN_TD * 2, 1
        yield MIN_ST, 2
        yield MIN_ST + MIN_TD * 3, 3

    @graph
    def g() -> TS[int]:
        return source()

    return eval_node(g)


def case_generator_tsd():
    @generator
    def source() -> TSD[str, TS[int]]:
        yield MIN_ST, {"a": 1}
        yield MIN_ST + MIN_TD, {"b": 2, "a": REMOVE}

    @graph
    def g() -> TSD[str, TS[int]]:
        return source()

    return eval_node(g)


def case_const_lifted():
    @compute_node
    def add(a: TS[int], b: TS[int]) -> TS[int]:
        return a.value + b.value

    @graph
    def g(a: TS[int]) -> TS[int]:
        return add(a, 5)

    return eval_node(g, [1, 2])


def case_delayed_binding():
    @graph
    def g(a: TS[int]) -> TS[int]:
        later = delayed_binding(TS[int])
        out = later() + a
        later(a * 2)
        return out

    return eval_node(g, [1, 2])


def case_delayed_never_bound():
    @graph
    def g(a: TS[int]) -> TS[int]:
        later = delayed_binding(TS[int])
        return later() + a

    return eval_node(g, [1, 2])


def case_feedback():
    @graph
    def g(a: TS[int]) -> TS[int]:
        fb = feedback(TS[int], 0)
        out = a + fb()
        fb(out)
        return out

    return eval_node(g, [1, None, None], __end_time__=MIN_ST + MIN_TD * 4)


def case_feedback_passive():
    from lib import passive

    @graph
    def g(a: TS[int]) -> TS[int]:
        fb = feedback(TS[int], 0)
        out = a + passive(fb())
        fb(out)
        return out

    return eval_node(g, [1, 2, None, 3])


def case_feedback_no_default():
    @compute_node(valid=("a",))
    def add(a: TS[int], b: TS[int]) -> TS[int]:
        return a.value + (b.value if b.valid else 100) if a.modified else None

    @graph
    def g(a: TS[int]) -> TS[int]:
        fb = feedback(TS[int])
        out = add(a, fb())
        fb(out)
        return out

    return eval_node(g, [1, 2, None, 3])


def case_ref_pass():
    @compute_node
    def pick(
        c: TS[bool], a: REF[TIME_SERIES_TYPE], b: REF[TIME_SERIES_TYPE]
    ) -> REF[TIME_SERIES_TYPE]:
        return a.value if c.value else b.value

    @graph
    def g(c: TS[bool], a: TS[int], b: TS[int]) -> TS[int]:
        return pick(c, a, b)

    return eval_node(g, [True, None, False, None], [1, 2, None, 3], [10, 20, None, 30])


def case_global_state():
    @compute_node
    def read(a: TS[int]) -> TS[int]:
        return a.value + GlobalState.instance().get("offset")

    with GlobalState(offset=5):
        return eval_node(read, [1])


def case_compound_input():
    @dataclass(frozen=True)
    class P(CompoundScalar):
        x: int
        y: int = 7

    @compute_node
    def make(a: TS[int]) -> TS[P]:
        return P(a.value)

    @graph
    def g(a: TS[int]) -> TS[int]:
        p = make(a)
        return p.x + p.y

    return eval_node(g, [1, 2])


def case_nested_graphs():
    @graph
    def inner(a: TS[int], k: int) -> TS[int]:
        return a * k

    @graph
    def outer(a: TS[int]) -> TSL[TS[int], Size[2]]:
        return TSL.from_ts(inner(a, 2), inner(a, k=3))

    return eval_node(outer, [1, 2])


def case_graph_scalars():
    @graph
    def g(a: TS[int], k: int, name: str = "z") -> TS[str]:
        from lib import format_

        return format_("{}" + name + str(k), a)

    return eval_node(g, [1, 2], k=4)


def case_elide():
    @graph
    def g(a: TS[int]) -> TS[int]:
        return a

    return eval_node(g, [1, None, None, 2], __elide__=True)


def case_start_time():
    @compute_node
    def now(a: TS[int], clock: CLOCK = None) -> TS[datetime]:
        return clock.evaluation_time

    return eval_node(now, [1, 2], __start_time__=datetime(2020, 1, 1), __elide__=True)


def case_end_time():
    @graph
    def g(a: TS[int]) -> TS[int]:
        return a

    return eval_node(g, [1, 2, 3, 4], __end_time__=MIN_ST + MIN_TD)


def case_rank_order():
    order = []

    @compute_node
    def mark(a: TS[int], name: str) -> TS[int]:
        order.append(name)
        return a.value

    @graph
    def g(a: TS[int]) -> TS[int]:
        x = mark(a, "x")
        y = mark(x, "y")
        z = mark(a, "z")
        return y + z

    return eval_node(g, [1]), sorted(order)


def case_diamond_evaluates_once():
    count = []

    @compute_node
    def join(a: TS[int], b: TS[int]) -> TS[int]:
        count.append(1)
        return a.value + b.value

    @graph
    def g(a: TS[int]) -> TS[int]:
        return join(a + 1, a * 2)

    return eval_node(g, [1, 2, 3]), len(count)
