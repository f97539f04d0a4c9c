"""Identical nodes are one node; nodes that only look alike are not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest

from mainspring.graph import (
    TIME_SERIES_TYPE,
    TS,
    TSL,
    CompoundScalar,
    IncorrectTypeBinding,
    Size,
    compute_node,
    const,
    graph,
    null_sink,
    passive,
    wire_graph,
)
from mainspring.graph.test import eval_node


@dataclass(frozen=True)
class Numbers(CompoundScalar):
    """As many fields as it takes for one reader's place in memory to go to the next."""

    a: int
    b: int = 10
    c: int = 100
    d: int = 1000
    e: int = 10000


@compute_node
def numbers(a: TS[int]) -> TS[Numbers]:
    return Numbers(a.value)


def test_fields_read_by_nodes_made_on_the_spot_are_not_mixed_up() -> None:
    """Each field is read by its own node, though the functions that made them are gone."""

    @graph
    def total(a: TS[int]) -> TS[int]:
        n = numbers(a)
        return n.a + n.b + n.c + n.d + n.e

    assert eval_node(total, [1, 2]) == [11111, 11112]


def test_the_same_call_twice_is_one_node() -> None:
    """The same node on the same inputs is evaluated once a cycle."""
    calls: list[int] = []

    @compute_node
    def count(a: TS[int]) -> TS[int]:
        calls.append(a.value)
        return a.value

    @graph
    def twice(a: TS[int]) -> TS[int]:
        return count(a) + count(a)

    assert eval_node(twice, [1, 2]) == [2, 4]
    assert calls == [1, 2]


def test_constants_that_are_equal_but_not_alike_are_not_one() -> None:
    """`1`, `1.0` and `True` are equal, and so are the zeros; a node for one is none for another."""

    @compute_node
    def told(a: TS[int], value: object) -> TS[str]:
        return repr(value)

    @graph
    def every(a: TS[int]) -> TSL[TS[str], Size[6]]:
        return TSL.from_ts(*(told(a, value) for value in (1, 1.0, True, (1,), (1.0,), (True,))))

    assert eval_node(every, [1]) == [
        dict(enumerate(["1", "1.0", "True", "(1,)", "(1.0,)", "(True,)"]))
    ]

    @graph
    def zeros(a: TS[float]) -> TSL[TS[float], Size[2]]:
        return TSL.from_ts(a * const(0.0), a * const(-0.0))

    (zero,) = eval_node(zeros, [1.0])
    assert [math.copysign(1.0, zero[i]) for i in range(2)] == [1.0, -1.0]


def test_a_constant_is_wired_once_in_a_graph() -> None:
    """The ones that a chain of `+ 1` adds are one node."""

    @graph
    def chain(a: TS[int]) -> TS[int]:
        for _ in range(5):
            a = a + 1
        return a

    @graph
    def program() -> None:
        null_sink(chain(const(0)))

    names = [node.name for node in wire_graph(program).nodes]
    assert names.count("const") == 2
    assert eval_node(chain, [0, 10]) == [5, 15]


def test_a_call_is_resolved_by_its_types_each_time() -> None:
    """What an earlier call of the same node came to does not stick."""

    @compute_node
    def same(a: TIME_SERIES_TYPE, b: TIME_SERIES_TYPE, by: int = 1) -> TIME_SERIES_TYPE:
        return a.value

    @graph
    def ints(a: TS[int], b: TS[float]) -> TS[int]:
        assert same(a, 2).output_type == TS[int]
        assert same(b, 2.0).output_type == TS[float]
        assert same(b, 3, 2).output_type == TS[float]
        assert same[TIME_SERIES_TYPE : TS[float]](b, b=1).output_type == TS[float]
        with pytest.raises(IncorrectTypeBinding):
            same(a, b)
        with pytest.raises(IncorrectTypeBinding):
            same(a, "two")
        with pytest.raises(IncorrectTypeBinding):
            same(a, 2, by="two")
        return same(a, 2)

    assert eval_node(ints, [1, 2], [1.0]) == [1, 2]


def test_a_passive_port_is_told_from_one_that_is_not() -> None:
    """The same call with a passive input is another node, evaluated by the other input alone."""

    @compute_node
    def first(a: TS[int], b: TS[int]) -> TS[int]:
        return a.value

    @graph
    def both(a: TS[int], b: TS[int]) -> TSL[TS[int], Size[2]]:
        return TSL.from_ts(first(a, b), first(passive(a), b))

    assert eval_node(both, [1, 2], [1, None]) == [{0: 1, 1: 1}, {0: 2}]


def test_a_loop_that_wires_tells_each_line() -> None:
    """Nodes made by the same line share its place, those of the next line have theirs."""

    @graph
    def program() -> None:
        a: Any = const(0)
        for i in range(3):
            a = a + i
            a = a * 2
        null_sink(a)

    sites = [(n.name, n.site.rpartition(":")[2]) for n in wire_graph(program).nodes]
    lines = {name: {line for other, line in sites if other == name} for name, _ in sites}
    assert len(lines["add_"]) == len(lines["mul_"]) == 1
    assert lines["add_"] != lines["mul_"]
    assert all(n.site.rpartition(":")[0] == __file__ for n in wire_graph(program).nodes)
