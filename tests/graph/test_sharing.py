"""Identical nodes are one node; nodes that only look alike are not."""

from __future__ import annotations

from dataclasses import dataclass

from mainspring.graph import TS, CompoundScalar, compute_node, graph
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
