"""Graphs inside graphs: map_, reduce, switch_, try_except, and keys that come and go."""

from typing import Tuple

from lib import (
    DEFAULT,
    MIN_ST,
    MIN_TD,
    REF,
    REMOVE,
    SIGNAL,
    STATE,
    TS,
    TSB,
    TSD,
    TSL,
    TSS,
    NodeError,
    Removed,
    Size,
    TryExceptResult,
    TimeSeriesSchema,
    add_,
    compute_node,
    const,
    eval_node,
    exception_time_series,
    feedback,
    filter_,
    graph,
    len_,
    map_,
    max_,
    mul_,
    no_key,
    null_sink,
    pass_through,
    reduce,
    sink_node,
    sum_,
    switch_,
    try_except,
)

I = TS[int]
D = TSD[str, I]
L = TSL[I, Size[3]]


def table_map():
    yield (
        "lambda",
        lambda: ticks(
            lambda d: map_(lambda x: x + 1, d),
            (D,),
            [{"a": 1}, {"b": 2, "a": 5}, {"a": REMOVE}, {"a": 7}],
        ),
    )
    yield (
        "two",
        lambda: ticks(
            lambda d, e: map_(lambda x, y: x + y, d, e),
            (D, D),
            [{"a": 1}, {"b": 2}, None],
            [{"b": 5}, {"a": 7}, {"b": REMOVE}],
        ),
    )
    yield "key", lambda: ticks(lambda d: map_(lambda key, x: key, d), (D,), [{"a": 1}, {"b": 2}])
    yield (
        "broadcast",
        lambda: ticks(
            lambda d, k: map_(lambda x, y: x * y, d, k),
            (D, I),
            [{"a": 1}, {"b": 2}, None],
            [10, None, 20],
        ),
    )
    yield (
        "constant",
        lambda: ticks(lambda d: map_(lambda x, y: x * y, d, 3), (D,), [{"a": 1}, {"b": 2}]),
    )
    yield "operator", lambda: ticks(lambda d, e: map_(add_, d, e), (D, D), [{"a": 1}], [{"a": 5}])
    yield (
        "keys",
        lambda: ticks(
            lambda d, k: map_(lambda x: x + 1, d, __keys__=k),
            (D, TSS[str]),
            [{"a": 1, "b": 2}, None, {"c": 3}],
            [{"a"}, {"b"}, {"c", Removed("a")}],
        ),
    )
    yield (
        "no_key",
        lambda: ticks(
            lambda d, e: map_(lambda x, y: x + y, d, no_key(e)),
            (D, D),
            [{"a": 1}, None],
            [{"a": 5, "b": 6}, {"a": 7}],
        ),
    )
    yield (
        "pass_through",
        lambda: ticks(
            lambda d, e: map_(lambda x, y: x + len_(y), d, pass_through(e)),
            (D, D),
            [{"a": 1}, None],
            [{"z": 5}, {"y": 7}],
        ),
    )
    yield "tsl", lambda: ticks(lambda l: map_(lambda x: x + 1, l), (L,), [(1, 2, 3), {1: 7}])
    yield (
        "tsl-two",
        lambda: ticks(
            lambda l, m: map_(lambda x, y: x + y, l, m),
            (L, L),
            [(1, 2, 3), {1: 7}],
            [(1, 1, 1), None],
        ),
    )
    yield (
        "tsl-broadcast",
        lambda: ticks(
            lambda l, m: map_(lambda x, y: x + y, l, m), (L, I), [(1, 2, 3), {1: 7}], [1, 2]
        ),
    )
    yield (
        "tsl-index",
        lambda: ticks(lambda l: map_(lambda ndx, x: x * ndx, l), (L,), [(1, 2, 3), {1: 7}]),
    )
    yield (
        "nested",
        lambda: ticks(
            lambda d: map_(lambda e: map_(lambda x: x + 1, e), d),
            (TSD[str, D],),
            [{"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": REMOVE}}, {"a": REMOVE}],
        ),
    )
    yield (
        "key_arg",
        lambda: ticks(
            lambda d: map_(lambda name, x: name, d, __key_arg__="name"), (D,), [{"a": 1}, {"b": 2}]
        ),
    )


def case_map_named_graph():
    @graph
    def scale(x: TS[int], by: TS[int]) -> TS[int]:
        return x * by

    return ticks(lambda d, k: map_(scale, d, by=k), (D, I), [{"a": 1}, {"b": 2}], [10])


def case_map_key_typed():
    @graph
    def with_key(key: TS[str], x: TS[int]) -> TS[str]:
        from lib import format_

        return format_("{}={}", key, x)

    return ticks(lambda d: map_(with_key, d), (D,), [{"a": 1}, {"b": 2, "a": 3}, {"b": REMOVE}])


def case_map_sink():
    seen = []

    @sink_node
    def keep(x: TS[int]):
        seen.append(x.value)

    ticks(lambda d: map_(keep, d), (D,), [{"a": 1}, {"b": 2}, {"a": 3}])
    return seen


def case_map_node():
    @compute_node
    def negate(x: TS[int]) -> TS[int]:
        return -x.value

    return ticks(lambda d: map_(negate, d), (D,), [{"a": 1}, {"b": 2}])


def case_map_start_stop():
    calls = []

    @compute_node
    def node(key: TS[str], x: TS[int]) -> TS[int]:
        return x.value

    @node.start
    def node_start():
        calls.append("start")

    @node.stop
    def node_stop():
        calls.append("stop")

    out = ticks(lambda d: map_(node, d), (D,), [{"a": 1}, {"b": 2}, {"a": REMOVE}])
    return out, calls


def case_map_state_is_per_key():
    @compute_node
    def count(x: TS[int], state: STATE = None) -> TS[int]:
        state.n = getattr(state, "n", 0) + 1
        return state.n

    return ticks(
        lambda d: map_(count, d), (D,), [{"a": 1}, {"a": 1, "b": 1}, {"a": REMOVE}, {"a": 1}]
    )


def case_map_inner_feedback():
    @graph
    def acc(x: TS[int]) -> TS[int]:
        from lib import passive

        fb = feedback(TS[int], 0)
        out = x + passive(fb())
        fb(out)
        return out

    return ticks(lambda d: map_(acc, d), (D,), [{"a": 1}, {"a": 2, "b": 5}, {"b": 1}])


def table_reduce():
    yield (
        "tsd-add",
        lambda: ticks(
            lambda d: reduce(add_, d, 0),
            (D,),
            [{"a": 1}, {"b": 2, "c": 3}, {"a": REMOVE}, {"b": REMOVE, "c": REMOVE}],
        ),
    )
    yield (
        "tsd-lambda",
        lambda: ticks(
            lambda d: reduce(lambda x, y: x + y, d, 0),
            (D,),
            [{"a": 1}, {"b": 2, "c": 3}, {"a": 10}],
        ),
    )
    yield "tsd-no-zero", lambda: ticks(lambda d: reduce(add_, d), (D,), [{"a": 1}, {"b": 2}])
    yield "tsd-empty", lambda: ticks(lambda d: reduce(add_, d, 0), (D,), [{}, {"a": 1}])
    yield (
        "tsd-mul",
        lambda: ticks(
            lambda d: reduce(mul_, d, 1), (D,), [{"a": 2}, {"b": 3}, {"c": 4}, {"b": REMOVE}]
        ),
    )
    yield (
        "tsd-max",
        lambda: ticks(lambda d: reduce(max_, d, -100), (D,), [{"a": 2}, {"b": 3}, {"b": REMOVE}]),
    )
    yield "tsl", lambda: ticks(lambda l: reduce(add_, l, 0), (L,), [(1, 2, 3), {1: 7}])
    yield "tsl-no-zero", lambda: ticks(lambda l: reduce(add_, l), (L,), [(1, 2, 3), {1: 7}])
    yield "tsl-part", lambda: ticks(lambda l: reduce(add_, l, 0), (L,), [{0: 1}, {1: 7}, {2: 1}])
    yield (
        "tuple",
        lambda: ticks(
            lambda l: reduce(lambda x, y: x + y, l, const(0), is_associative=False),
            (TS[Tuple[int, ...]],),
            [(1, 2, 3), ()],
        ),
    )
    yield (
        "ordered-tsd",
        lambda: ticks(
            lambda d: reduce(lambda x, y: x - y, d, const(100), is_associative=False),
            (TSD[int, I],),
            [{0: 1}, {1: 2}, {2: 3}, {2: REMOVE}],
        ),
    )
    yield (
        "ordered-tsl",
        lambda: ticks(
            lambda l: reduce(lambda x, y: x - y, l, const(100), is_associative=False),
            (L,),
            [(1, 2, 3), {0: 5}],
        ),
    )
    yield (
        "map-then-reduce",
        lambda: ticks(
            lambda d: reduce(add_, map_(lambda x: x * x, d), 0),
            (D,),
            [{"a": 1, "b": 2}, {"a": 3}, {"b": REMOVE}],
        ),
    )


def table_switch():
    branches = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b}
    kinds = (TS[str], I, I)
    yield (
        "two",
        lambda: ticks(
            lambda k, a, b: switch_(k, branches, a, b),
            kinds,
            ["add", None, "sub", None],
            [1, 2, None, 4],
            [10, None, None, 20],
        ),
    )
    yield (
        "unknown",
        lambda: ticks(
            lambda k, a, b: switch_(k, branches, a, b), kinds, ["add", "what"], [1, 2], [10]
        ),
    )
    yield (
        "default",
        lambda: ticks(
            lambda k, a, b: switch_(
                k, {"add": lambda a, b: a + b, DEFAULT: lambda a, b: a * b}, a, b
            ),
            kinds,
            ["add", "what", None],
            [1, 2, 3],
            [10],
        ),
    )
    yield (
        "same-key",
        lambda: ticks(
            lambda k, a, b: switch_(k, branches, a, b),
            kinds,
            ["add", "add", "add"],
            [1, None, 2],
            [10],
        ),
    )
    yield (
        "reload",
        lambda: ticks(
            lambda k, a, b: switch_(k, branches, a, b, reload_on_ticked=True),
            kinds,
            ["add", "add", "add"],
            [1, None, 2],
            [10],
        ),
    )
    yield (
        "with-key",
        lambda: ticks(
            lambda k, a: switch_(
                k, {"x": lambda key, a: key, DEFAULT: lambda key, a: key + "!"}, a
            ),
            (TS[str], I),
            ["x", "y"],
            [1, None],
        ),
    )
    yield (
        "bool",
        lambda: ticks(
            lambda k, a: switch_(k, {True: lambda a: a + 1, False: lambda a: -a}, a),
            (TS[bool], I),
            [True, False, None],
            [1, None, 5],
        ),
    )
    yield (
        "const",
        lambda: ticks(
            lambda k: switch_(k, {1: lambda: const("one"), 2: lambda: const("two")}),
            (I,),
            [1, 2, 1],
        ),
    )
    yield (
        "int-keys",
        lambda: ticks(
            lambda k, a: switch_(k, {0: lambda a: a, 1: lambda a: a * 2}, a),
            (I, I),
            [0, 1],
            [1, None, 5],
        ),
    )
    yield (
        "tsd",
        lambda: ticks(
            lambda k, d: switch_(
                k, {"id": lambda d: d, "inc": lambda d: map_(lambda x: x + 1, d)}, d
            ),
            (TS[str], D),
            ["id", "inc", None, "id"],
            [{"a": 1}, None, {"b": 2}, None],
        ),
    )
    yield (
        "in-map",
        lambda: ticks(
            lambda d, k: map_(
                lambda x, kk: switch_(kk, {"a": lambda x: x + 1, "b": lambda x: x - 1}, x), d, k
            ),
            (D, TSD[str, TS[str]]),
            [{"p": 1, "q": 2}, None, {"p": 5}],
            [{"p": "a", "q": "b"}, {"p": "b"}, None],
        ),
    )


def case_switch_state_is_lost():
    @compute_node
    def count(x: TS[int], state: STATE = None) -> TS[int]:
        state.n = getattr(state, "n", 0) + 1
        return state.n

    return ticks(
        lambda k, a: switch_(k, {"a": lambda a: count(a), "b": lambda a: count(a) * 100}, a),
        (TS[str], I),
        ["a", None, "b", None, "a"],
        [1, 2, 3, 4, 5],
    )


def case_try_except():
    @compute_node
    def inverse(a: TS[int]) -> TS[float]:
        return 1.0 / a.value

    def program(a):
        r = try_except(inverse, a)
        return r.out

    return ticks(program, (I,), [1, 0, 2])


def case_try_except_error():
    @compute_node
    def inverse(a: TS[int]) -> TS[float]:
        return 1.0 / a.value

    @compute_node
    def message(e: TS[NodeError]) -> TS[str]:
        return e.value.error_msg

    def program(a):
        r = try_except(inverse, a)
        return message(r.exception)

    return [None if m is None else "zero" in m for m in ticks(program, (I,), [1, 0, 2])]


def case_try_except_graph():
    @compute_node
    def inverse(a: TS[int]) -> TS[float]:
        return 1.0 / a.value

    @graph
    def inner(a: TS[int]) -> TS[float]:
        return inverse(a) + 1.0

    return ticks(lambda a: try_except(inner, a).out, (I,), [1, 0, 2])


def case_exception_time_series():
    @compute_node
    def inverse(a: TS[int]) -> TS[float]:
        return 1.0 / a.value

    @compute_node
    def message(e: TS[NodeError]) -> TS[bool]:
        return "zero" in e.value.error_msg

    def program(a):
        out = inverse(a)
        errors = exception_time_series(out)
        null_sink(out)
        return message(errors)

    return ticks(program, (I,), [1, 0, 2])


def case_exception_of_map():
    @compute_node
    def inverse(a: TS[int]) -> TS[float]:
        return 1.0 / a.value

    def program(d):
        return try_except(lambda d: map_(inverse, d), d).out

    return ticks(program, (D,), [{"a": 1, "b": 2}, {"a": 0}, {"b": 4}])


def case_key_order_survives():
    @compute_node
    def order(d: TSD[str, TS[int]]) -> TS[Tuple[str, ...]]:
        return tuple(d.keys())

    return [
        tuple(sorted(t))
        for t in ticks(order, (D,), [{"c": 1, "a": 2}, {"b": 3}, {"a": REMOVE}, {"a": 4}])
    ]


def case_error_in_node():
    @compute_node
    def bad(a: TS[int]) -> TS[int]:
        raise ValueError("boom")

    return ticks(lambda a: bad(a), (I,), [1])


def case_error_stops_nodes():
    calls = []

    @compute_node
    def bad(a: TS[int]) -> TS[int]:
        raise ValueError("boom")

    @bad.stop
    def bad_stop():
        calls.append("stop")

    try:
        ticks(lambda a: bad(a), (I,), [1])
    except Exception as error:
        return calls, "boom" in str(error)
