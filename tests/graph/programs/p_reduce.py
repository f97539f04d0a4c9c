"""What a reduce over a list gives while elements, or all of them, have no value yet; and small things beside."""

from lib import (
    TIME_SERIES_TYPE,
    TS,
    TSD,
    TSL,
    TSS,
    TSS_OUT,
    TS_OUT,
    REMOVE,
    CompoundScalar,
    Size,
    add_,
    combine,
    compute_node,
    delayed_binding,
    eval_node,
    format_,
    graph,
    map_,
    min_,
    mul_,
    null_sink,
    reduce,
    set_delta,
)

LIST = TSL[TS[int], Size[3]]
ARRIVALS = {
    "one-by-one": [{}, {0: 1}, {2: 2}, {1: 1}, {1: 5}],
    "all-at-once": [{0: 1, 1: 2, 2: 3}, {1: 4}],
    "two-alone": [{0: 1}, None, {2: 3}],
    "late": [None, {0: 1}],
}
JOINS = {
    "more": lambda a, b: a + b + 100,
    "add": add_,
    "mul": mul_,
    "min": lambda a, b: min_(a, b),
    "text": None,
}


def table_tree():
    def reduced(join, zero, arrivals):
        def run():
            @graph
            def g(v: LIST) -> TS[int]:
                return reduce(join, v) if zero is None else reduce(join, v, zero)

            return eval_node(g, arrivals)

        return run

    for name, join in JOINS.items():
        if join is None:
            continue
        for zero in (None, 0, 10):
            for how, arrivals in ARRIVALS.items():
                yield f"{name}-{zero}-{how}", reduced(join, zero, arrivals)


def table_ordered():
    def reduced(size, arrivals, zeros):
        def run():
            @graph
            def g(v: TSL[TS[int], Size[size]], z: TS[int]) -> TS[int]:
                return reduce(lambda a, b: a - b, v, z, is_associative=False)

            return eval_node(g, arrivals, zeros)

        return run

    for how, arrivals in ARRIVALS.items():
        for at, zeros in enumerate(([100], [None, 7], [100, None, 7])):
            yield f"{how}-{at}", reduced(3, arrivals, zeros)
    yield "of-one", reduced(1, [{0: 1}, {0: 2}], [10])
    yield "of-one-late", reduced(1, [{}, {0: 2}], [10])
    yield "of-two", reduced(2, [{1: 1}, {0: 2}], [10])


def table_alone():
    def list_of(size, arrivals):
        def run():
            @graph
            def g(v: TSL[TS[int], Size[size]]) -> TS[int]:
                return reduce(lambda a, b: a - b, v, 10)

            return eval_node(g, arrivals)

        return run

    yield "one", list_of(1, [{0: 1}, {0: 2}])
    yield "one-late", list_of(1, [{}, {0: 2}])
    yield "first-of-two", list_of(2, [{0: 1}, {0: 2}])
    yield "second-of-three", list_of(3, [{1: 1}, {1: 2}])

    @graph
    def dictionary(v: TSD[str, TS[int]]) -> TS[int]:
        return reduce(lambda a, b: a - b, v, 10)

    yield "dictionary", lambda: eval_node(dictionary, [{"a": 1}, {"b": 2}, {"a": REMOVE}])


def case_ports_in_a_list():
    @graph
    def g(a: TS[str], b: TS[str], c: TS[str]) -> TS[str]:
        return reduce(lambda x, y: format_("{}+{}", x, y), TSL.from_ts(a, b, c))

    return eval_node(g, ["a", None, "A"], [None, "b"], [None, None, None, "c"])


def case_lists_in_a_list():
    @graph
    def g(v: TSL[TSL[TS[int], Size[2]], Size[2]]) -> TSL[TS[int], Size[2]]:
        return reduce(add_, v)

    return eval_node(g, [{0: {0: 1}}, {1: {0: 2, 1: 3}}, {0: {1: 5}}])


def case_map_over_dictionaries_of_different_keys():
    @graph
    def g(a: TSD[str, TS[int]], b: TSD[int, TS[int]]) -> TSD[str, TS[int]]:
        return map_(lambda x, y: x + y, a, b)

    return eval_node(g, [{"a": 1}], [{1: 1}])


class Point(CompoundScalar):
    x: int = 0
    y: int = 0


class Point3(Point):
    z: int = 3


def case_compound_scalar_that_is_no_dataclass():
    @graph
    def combined(x: TS[int]) -> TS[Point]:
        return combine[TS[Point]](x=x, y=1)

    @compute_node
    def made(x: TS[int]) -> TS[Point3]:
        return Point3(x=x.value, z=5)

    @graph
    def part(x: TS[int]) -> TS[int]:
        return made(x).z + made(x).x

    return (
        eval_node(combined, [1]),
        eval_node(made, [1]),
        eval_node(part, [1]),
        Point(1) == Point(x=1),
    )


def case_any_time_series_or_none():
    @graph
    def g(x: TS[int]) -> TIME_SERIES_TYPE:
        null_sink(x)

    return eval_node(g, [1])


def case_delayed_binding_of_the_type_of_a_port():
    @graph
    def g(x: TS[int]) -> TS[int]:
        later = delayed_binding(x)
        later(x + 1)
        return later()

    return eval_node(g, [1, 2])


def case_set_delta_of_both():
    return set_delta({1, 2}, {2})


def case_outputs_say_what_changed():
    heard = []

    @compute_node
    def members(x: TS[int], _output: TSS_OUT[int] = None) -> TSS[int]:
        heard.append((_output.add(x.value), _output.add(x.value), _output.remove(99)))

    @compute_node
    def value(x: TS[int], _output: TS_OUT[int] = None) -> TS[int]:
        heard.append(_output.can_apply_result(x.value))
        return x.value

    return eval_node(members, [1, 2]), eval_node(value, [1]), heard
