"""Wiring takes any size: cost goes with the number of nodes, depth is no limit."""

from __future__ import annotations

import gc
import sys
from types import FrameType
from typing import Any

import pytest

from mainspring.graph import (
    TS,
    WiringError,
    compute_node,
    const,
    delayed_binding,
    feedback,
    graph,
    null_sink,
    wire_graph,
)
from mainspring.graph.test import eval_node


@compute_node
def step_up(a: TS[int]) -> TS[int]:
    return a.value + 1


def _chain(length: int) -> Any:
    @graph
    def program() -> None:
        a: Any = const(0)
        for _ in range(length // 2):
            a = step_up(a) + 1
        null_sink(a)

    return program


def _calls(length: int) -> int:
    """How many Python calls it takes to wire a chain."""
    program, seen = _chain(length), 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal seen
        seen += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        wire_graph(program)
    finally:
        sys.setprofile(before)
    return seen


def test_ten_times_the_nodes_take_ten_times_the_work() -> None:
    """What a node costs does not depend on how many there are."""
    _calls(10)  # what is done once: choosing the overload, resolving the shapes of the calls
    small, large = _calls(100), _calls(1000)
    assert large <= 10 * small
    assert large / 1000 < 50


@pytest.mark.slow
def test_a_chain_of_a_hundred_thousand_nodes_is_wired_and_run() -> None:
    """Depth is no limit: ranks are found without recursion."""

    @graph
    def deep(a: TS[int]) -> TS[int]:
        for _ in range(100_000):
            a = a + 1
        return a

    assert eval_node(deep, [1, 2]) == [100_001, 100_002]


def test_a_chain_wired_from_its_end_is_ranked_from_its_start() -> None:
    """Producers that are wired after their readers still come before them."""
    length = 20_000

    @graph
    def backwards(a: TS[int]) -> TS[int]:
        wanted = delayed_binding(TS[int])
        result = wanted()
        for _ in range(length):
            port = delayed_binding(TS[int])
            wanted(port() + 1)
            wanted = port
        wanted(a)
        return result + 0

    assert eval_node(backwards, [1, 2]) == [length + 1, length + 2]


def test_a_cycle_is_named_wherever_it_begins() -> None:
    """A cycle through a delayed binding is an error before anything runs; feedback is none."""

    @graph
    def circle() -> None:
        port = delayed_binding(TS[int])
        a = port() + 1
        b = a + 1
        null_sink(const(1) + b)
        port(b)

    with pytest.raises(WiringError, match="cycle through 'add_'"):
        wire_graph(circle)

    @graph
    def itself() -> None:
        port = delayed_binding(TS[int])
        a = port() + 1
        port(a)
        null_sink(a)

    with pytest.raises(WiringError, match="cycle through 'add_'"):
        wire_graph(itself)

    @graph
    def loop() -> None:
        back = feedback(TS[int], 0)
        a = back() + 1
        back(a)
        null_sink(a)

    assert len(wire_graph(loop).nodes) == 5


def test_the_collector_is_as_it_was_after_wiring() -> None:
    """It waits while a graph is wired, and goes on after it, even after one that failed."""
    seen: list[bool] = []

    @graph
    def fails() -> None:
        seen.append(gc.isenabled())
        raise RuntimeError("no graph")

    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="no graph"):
        wire_graph(fails)
    assert gc.isenabled()
    gc.disable()
    try:
        wire_graph(_chain(10))
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert seen == [False]
