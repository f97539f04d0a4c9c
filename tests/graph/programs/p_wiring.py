"""What wiring refuses, and the way it says so."""

from dataclasses import dataclass
from typing import Tuple

from lib import (
    K,
    REF,
    SCALAR,
    SIZE,
    TIME_SERIES_TYPE,
    TS,
    TSB,
    TSD,
    TSL,
    TSS,
    CompoundScalar,
    Size,
    TimeSeriesSchema,
    compute_node,
    const,
    eval_node,
    generator,
    graph,
    map_,
    nothing,
    reduce,
    sink_node,
    switch_,
    feedback,
)

I = TS[int]


@compute_node
def text(a: TS[str]) -> TS[str]:
    return a.value


@compute_node
def pair(a: TS[SCALAR], b: TS[SCALAR]) -> TS[SCALAR]:
    return a.value


@sink_node
def sink(a: TS[int]):
    pass


def table_refused():
    yield "wrong-input-type", lambda: ticks(lambda a: text(a), (I,), [1])
    yield "wrong-constant", lambda: ticks(lambda a: text(5), (I,), [1])
    yield "variable-clash", lambda: ticks(lambda a, b: pair(a, b), (I, TS[str]), [1], ["a"])
    yield "missing-argument", lambda: ticks(lambda a: pair(a), (I,), [1])
    yield "too-many-arguments", lambda: ticks(lambda a: text(a, a), (TS[str],), ["a"])
    yield "unknown-keyword", lambda: ticks(lambda a: text(a=a, b=a), (TS[str],), ["a"])
    yield "truth", lambda: ticks(lambda a: a if a else a, (I,), [1])
    yield "truth-and", lambda: ticks(lambda a: a and a, (I,), [1])
    yield "iterate", lambda: ticks(lambda a: [x for x in a][0], (I,), [1])
    yield "len", lambda: ticks(lambda a: len(a), (I,), [1])
    yield "contains", lambda: ticks(lambda a: 1 in a, (TSS[int],), [{1}])
    yield "float", lambda: ticks(lambda a: float(a), (I,), [1])
    yield "int-index", lambda: ticks(lambda a: [1, 2][a], (I,), [1])
    yield "call", lambda: ticks(lambda a: a(1), (I,), [1])
    yield "set-attribute-of-nothing", lambda: ticks(lambda a: a.nothing_here, (I,), [1])
    yield "sink-result-used", lambda: ticks(lambda a: sink(a) + 1, (I,), [1])
    yield "add-text", lambda: ticks(lambda a: a + "x", (I,), [1])
    yield "node-outside-graph", lambda: text("a")
    yield "operator-outside-graph", lambda: const(1)
    yield (
        "map-mixed",
        lambda: ticks(lambda d: map_(lambda x: text(x), d), (TSD[str, I],), [{"a": 1}]),
    )
    yield "map-nothing-mapped", lambda: ticks(lambda a: map_(lambda x: x, a), (I,), [1])
    yield "reduce-scalar", lambda: ticks(lambda a: reduce(lambda x, y: x, a), (I,), [1])
    yield (
        "switch-different-outputs",
        lambda: ticks(
            lambda k, a: switch_(k, {"a": lambda a: a, "b": lambda a: const("x")}, a),
            (TS[str], I),
            ["a"],
            [1],
        ),
    )


def case_wrong_output_type():
    @graph
    def g(a: TS[int]) -> TS[str]:
        return a

    return eval_node(g, [1])


def case_missing_output():
    @graph
    def g(a: TS[int]) -> TS[int]:
        pass

    return eval_node(g, [1])


def case_node_without_annotation():
    @compute_node
    def f(a) -> TS[int]:
        return 1

    return eval_node(f, [1])


def case_node_wrong_value_type():
    @compute_node
    def f(a: TS[int]) -> TS[int]:
        return "text"

    return eval_node(f, [1])


def case_bool_for_int():
    @compute_node
    def f(a: TS[int]) -> TS[int]:
        return True

    return eval_node(f, [1])


def case_int_for_float():
    @compute_node
    def f(a: TS[int]) -> TS[float]:
        return 1

    return eval_node(f, [1])


def case_float_for_int():
    @compute_node
    def f(a: TS[int]) -> TS[int]:
        return 1.5

    return eval_node(f, [1])


def case_wrong_input_value():
    @graph
    def g(a: TS[int]) -> TS[int]:
        return a

    return eval_node(g, ["x"])


def case_big_int():
    @compute_node
    def f(a: TS[int]) -> TS[int]:
        return 2**70

    return eval_node(f, [1])


def case_error_names_wiring():
    @graph
    def inner(a: TS[int]) -> TS[str]:
        return text(a)

    try:
        eval_node(inner, [1])
    except Exception as error:
        message = str(error)
        return "text" in message, "TS[int]" in message, "TS[str]" in message


def case_cycle():
    from lib import delayed_binding

    @graph
    def g(a: TS[int]) -> TS[int]:
        later = delayed_binding(TS[int])
        out = later() + a
        later(out)
        return out

    return eval_node(g, [1])


def case_feedback_never_bound():
    @graph
    def g(a: TS[int]) -> TS[int]:
        return feedback(TS[int], 0)() + a

    return eval_node(g, [1])


def case_schema_inheritance():
    class A(TimeSeriesSchema):
        a: TS[int]

    class B(A):
        b: TS[int]

    @graph
    def g(x: TSB[B]) -> TS[int]:
        return x.a + x.b

    return eval_node(g, [{"a": 1, "b": 2}])


def case_generic_schema():
    from typing import Generic

    class A(TimeSeriesSchema, Generic[SCALAR]):
        a: TS[SCALAR]

    @graph
    def g(x: TSB[A[int]]) -> TS[int]:
        return x.a

    return eval_node(g, [{"a": 1}])


def case_subclass_scalar():
    @dataclass(frozen=True)
    class P(CompoundScalar):
        x: int

    @dataclass(frozen=True)
    class Q(P):
        y: int

    @compute_node
    def f(p: TS[P]) -> TS[int]:
        return p.value.x

    @graph
    def g(q: TS[Q]) -> TS[int]:
        return f(q)

    return eval_node(g, [Q(1, 2)])


def case_subclass_refused():
    @dataclass(frozen=True)
    class P(CompoundScalar):
        x: int

    @dataclass(frozen=True)
    class Q(P):
        y: int

    @compute_node
    def f(q: TS[Q]) -> TS[int]:
        return q.value.y

    @graph
    def g(p: TS[P]) -> TS[int]:
        return f(p)

    return eval_node(g, [P(1)])


def case_object_accepts_all():
    @compute_node
    def f(a: TS[object]) -> TS[str]:
        return type(a.value).__name__

    @graph
    def g(a: TS[int], b: TS[str]) -> TSL[TS[str], Size[2]]:
        return TSL.from_ts(f(a), f(b))

    return eval_node(g, [1], ["x"])


def case_size_variable():
    @compute_node
    def total(l: TSL[TS[int], SIZE]) -> TS[int]:
        return sum(x.value for x in l.values())

    @graph
    def g(a: TSL[TS[int], Size[2]], b: TSL[TS[int], Size[3]]) -> TS[int]:
        return total(a) + total(b)

    return eval_node(g, [(1, 2)], [(3, 4, 5)])


def case_key_variable():
    @compute_node
    def first(d: TSD[K, TS[int]]) -> TS[K]:
        return sorted(d.keys())[0]

    @graph
    def g(d: TSD[str, TS[int]]) -> TS[str]:
        return first(d)

    return eval_node(g, [{"b": 1, "a": 2}])


def case_shared_subexpression():
    starts = []

    @compute_node
    def f(a: TS[int]) -> TS[int]:
        return a.value

    @f.start
    def f_start():
        starts.append(1)

    @graph
    def g(a: TS[int]) -> TS[int]:
        return f(a) + f(a)

    return eval_node(g, [1]), len(starts)
