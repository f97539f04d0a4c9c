"""Graphs inside graphs: what comes out, tick by tick."""

from __future__ import annotations

import gc
import weakref

import pytest

from mainspring.graph import (
    DEFAULT,
    REF,
    REMOVE,
    TS,
    TSB,
    TSD,
    TSL,
    TSS,
    NodeError,
    NodeException,
    Removed,
    Size,
    TimeSeriesSchema,
    compute_node,
    exception_time_series,
    feedback,
    graph,
    map_,
    no_key,
    null_sink,
    reduce,
    switch_,
    try_except,
)
from mainspring.graph.test import eval_node


class Pair(TimeSeriesSchema):
    a: TS[int]
    b: TS[str]


@compute_node
def plus(a: TS[int], b: TS[int]) -> TS[int]:
    return a.value + b.value


@compute_node
def inc(a: TS[int]) -> TS[int]:
    return a.value + 1


@compute_node
def neg(a: TS[int]) -> TS[int]:
    return -a.value


@compute_node
def boom(a: TS[int]) -> TS[int]:
    if a.value == 2:
        raise ValueError("two")
    return a.value


@compute_node
def message(e: TS[NodeError]) -> TS[str]:
    return e.value.error_msg


def test_map_follows_keys():
    """A graph for each key: it comes, ticks and goes with the key."""

    @graph
    def main(d: TSD[str, TS[int]]) -> TSD[str, TS[int]]:
        return map_(inc, d)

    ticks = eval_node(main, [{"a": 1}, {"b": 2}, {"a": 5}, {"a": REMOVE}, {"a": 7}])
    assert ticks == [{"a": 2}, {"b": 3}, {"a": 6}, {"a": REMOVE}, {"a": 8}]


def test_map_gives_whole_arguments_to_each():
    """An argument that is no dictionary is shared, and ticks all of them."""

    @graph
    def main(d: TSD[str, TS[int]], x: TS[int]) -> TSD[str, TS[int]]:
        return map_(lambda v, y: plus(v, y), d, x)

    ticks = eval_node(main, [{"a": 1}, {"b": 2}, None, {"a": REMOVE}], [10, None, 20, 30])
    assert ticks == [{"a": 11}, {"b": 12}, {"a": 21, "b": 22}, {"b": 32, "a": REMOVE}]


def test_map_gives_the_key():
    """A first parameter named key gets it."""

    @compute_node
    def named(key: TS[str], v: TS[int]) -> TS[str]:
        return f"{key.value}={v.value}"

    @graph
    def main(d: TSD[str, TS[int]]) -> TSD[str, TS[str]]:
        return map_(named, d)

    assert eval_node(main, [{"a": 1}, {"a": 5}]) == [{"a": "a=1"}, {"a": "a=5"}]


def test_map_over_given_keys():
    """`__keys__` decides, whatever the dictionary holds."""

    @graph
    def main(d: TSD[str, TS[int]], ks: TSS[str]) -> TSD[str, TS[int]]:
        return map_(inc, d, __keys__=ks)

    ticks = eval_node(
        main, [{"a": 1}, {"b": 2}, None, None], [{"a"}, None, {"b", "c"}, {Removed("a")}]
    )
    assert ticks == [{"a": 2}, None, {"b": 3}, {"a": REMOVE}]


def test_no_key_argument_makes_no_graphs():
    """Its elements are taken, its keys are not."""

    @graph
    def main(d: TSD[str, TS[int]], e: TSD[str, TS[int]]) -> TSD[str, TS[int]]:
        return map_(plus, d, no_key(e))

    assert eval_node(main, [{"a": 1}, {"b": 2}, None], [{"a": 1, "z": 2}, None, {"b": 7}]) == [
        {"a": 2},
        {},
        {"b": 9},
    ]


def test_map_of_maps_and_switches():
    """Nesting goes as deep as one likes."""

    @graph
    def maps(d: TSD[str, TSD[str, TS[int]]]) -> TSD[str, TSD[str, TS[int]]]:
        return map_(lambda v: map_(inc, v), d)

    ticks = eval_node(
        maps,
        [
            {"a": {"x": 1}},
            {"a": {"y": 2}},
            {"b": {"z": 3}},
            {"a": {"x": REMOVE}},
            {"a": REMOVE},
        ],
    )
    assert ticks == [
        {"a": {"x": 2}},
        {"a": {"y": 3}},
        {"b": {"z": 4}},
        {"a": {"x": REMOVE}},
        {"a": REMOVE},
    ]

    @graph
    def switches(d: TSD[str, TS[int]]) -> TSD[str, TS[int]]:
        return map_(lambda key, v: switch_(key, {"a": inc, DEFAULT: neg}, v), d)

    assert eval_node(switches, [{"a": 1}, {"b": 2}, {"a": 3}]) == [{"a": 2}, {"b": -2}, {"a": 4}]


def test_map_sink():
    """A function without a result is run for its effects."""
    seen = []

    @compute_node
    def note(v: TS[int]) -> TS[int]:
        seen.append(v.value)
        return v.value

    @graph
    def main(d: TSD[str, TS[int]]):
        map_(lambda v: null_sink(note(v)), d)

    assert eval_node(main, [{"a": 1}, {"a": 2, "b": 3}]) is None
    assert seen == [1, 2, 3]


def test_reduce_dictionary():
    """A tree over the live elements; the zero stands for none of them."""

    @graph
    def main(d: TSD[str, TS[int]]) -> TS[int]:
        return reduce(plus, d, 0)

    ticks = eval_node(
        main,
        [
            {"a": 1},
            {"b": 2},
            {"c": 5, "d": 6},
            {"a": REMOVE},
            {"b": REMOVE, "c": REMOVE, "d": REMOVE},
        ],
    )
    assert ticks == [1, 3, 14, 13, 0]
    assert eval_node(main, [None, {"b": 2}]) == [0, 2]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 33])
def test_reduce_any_size(count):
    """Growing, ticking and shrinking agree with the sum at every step."""

    @graph
    def main(d: TSD[int, TS[int]]) -> TS[int]:
        return reduce(plus, d, 0)

    held: dict[int, int] = {}
    steps: list[dict[int, object]] = []
    sums = []
    for i in range(count):
        steps.append({i: i + 1})
        held[i] = i + 1
        sums.append(sum(held.values()))
    for i in range(count):
        steps.append({i: 100 + i})
        held[i] = 100 + i
        sums.append(sum(held.values()))
    for i in range(0, count, 2):
        steps.append({i: REMOVE})
        del held[i]
        sums.append(sum(held.values()))
    assert eval_node(main, steps) == sums


def test_reduce_in_order():
    """Not associative: from the zero on, in the order of the keys."""

    @graph
    def main(d: TSD[int, TS[int]]) -> TS[int]:
        return reduce(lambda a, b: plus(a, neg(b)), d, 100, is_associative=False)

    assert eval_node(main, [{0: 1}, {1: 2}, {1: 5}, {1: REMOVE}]) == [99, 97, 94, 99]


def test_reduce_list():
    """Of a list with a size the tree is wired as it stands."""

    @graph
    def main(d: TSL[TS[int], Size[4]]) -> TS[int]:
        return reduce(plus, d, 0)

    assert eval_node(main, [(1, 2, 3, 4), {0: 5}]) == [10, 14]


def test_switch():
    """A change of key starts the other graph on what its inputs hold."""

    @graph
    def main(k: TS[str], v: TS[int]) -> TS[int]:
        return switch_(k, {"i": inc, "n": neg}, v)

    assert eval_node(main, ["i", None, "n", None, "i"], [1, 2, None, 3, None]) == [2, 3, -2, -3, 4]
    with pytest.raises(NodeException, match="no case"):
        eval_node(main, ["z"], [1])


def test_failures_can_be_caught():
    """By a boundary around a graph, or at the node; the run goes on."""

    @graph
    def out(v: TS[int]) -> TS[int]:
        return try_except(boom, v).out

    @graph
    def exception(v: TS[int]) -> TS[str]:
        return message(try_except(boom, v).exception)

    @graph
    def at_the_node(v: TS[int]) -> TS[str]:
        return message(exception_time_series(boom(v)))

    assert eval_node(out, [1, 2, 3]) == [1, None, 3]
    assert eval_node(exception, [1, 2, 3]) == [None, "ValueError: two", None]
    assert eval_node(at_the_node, [1, 2, 3]) == [None, "ValueError: two", None]


def test_uncaught_failure_tells_where():
    """Path, message, the user's traceback, the inputs, and the cause itself."""
    with pytest.raises(NodeException) as caught:
        eval_node(boom, [1, 2, 3])
    error = caught.value.error
    assert error.signature_name == "boom"
    assert error.inputs == {"a": 2}
    assert "ValueError: two" in error.stack_trace
    assert "*a*=2" in error.activation_back_trace
    assert isinstance(caught.value.__cause__, ValueError)


def test_feedback():
    """What is bound comes back in the next cycle."""

    @compute_node(active=("a",))
    def total(a: TS[int], b: TS[int]) -> TS[int]:
        return a.value + b.value

    @graph
    def main(v: TS[int]) -> TS[int]:
        back = feedback(TS[int], 0)
        out = total(v, back())
        back(out)
        return out

    assert eval_node(main, [1, 2, 3, 4]) == [1, 3, 6, 10]


def test_references():
    """A reference ticks when it leads elsewhere; what it leads to ticks by itself."""

    @compute_node
    def pick(c: TS[bool], a: REF[TS[int]], b: REF[TS[int]]) -> REF[TS[int]]:
        return a.value if c.value else b.value

    ticks = eval_node(pick, [True, None, False, None], [1, 2, 3, 4], [10, 20, 30, 40])
    assert ticks == [1, 2, 30, 40]


def test_keys_that_go_free_what_they_held():
    """The graph of a removed key, its state and its values are gone when the cycle is over."""

    class Held:
        pass

    alive: list[weakref.ref[Held]] = []

    @compute_node
    def hold(v: TS[int]) -> TS[object]:
        made = Held()
        alive.append(weakref.ref(made))
        return made

    counts = []

    @compute_node
    def count(v: TS[int]) -> TS[int]:
        gc.collect()
        counts.append(sum(1 for ref in alive if ref() is not None))
        return v.value

    @graph
    def main(d: TSD[str, TS[int]], tick: TS[int]) -> TSD[str, TS[object]]:
        null_sink(count(tick))
        null_sink(map_(hold, d))
        return map_(inc, d)

    @graph
    def root(d: TSD[str, TS[int]], tick: TS[int]):
        null_sink(count(tick))
        null_sink(map_(hold, d))

    eval_node(root, [{"a": 1, "b": 2}, None, {"a": REMOVE}, None], [None, 1, None, 2])
    assert counts == [2, 1]


def test_bundle_of_separate_ports():
    """Fields keep their own ticks inside a bundle put together while wiring."""

    @compute_node
    def show(x: TSB[Pair]) -> TS[str]:
        return f"{x.a.value} {x.b.value} {x.a.modified} {x.b.modified}"

    @graph
    def main(a: TS[int], b: TS[str]) -> TS[str]:
        return show({"a": a, "b": b})

    assert eval_node(main, [1, None, 2], [None, "x", None]) == [
        "1 None True False",
        "1 x False True",
        "2 x True False",
    ]
