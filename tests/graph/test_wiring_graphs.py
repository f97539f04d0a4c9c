"""Wiring: what a graph function may be given, give back and overload, beyond what the shared programs say."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import dataclass
from typing import Generic

import pytest

from mainspring.graph import (
    DEFAULT,
    OUT,
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
    WiringError,
    compute_node,
    delayed_binding,
    eval_node,
    generator,
    graph,
    map_,
)
from mainspring.graph._run import MIN_TD


@dataclass
class Chain(CompoundScalar):
    value: int
    next: Chain | None


@dataclass
class Cell(CompoundScalar, Generic[SCALAR]):
    value: SCALAR
    next: "Cell"  # noqa: UP037 - a field of its own class, written as text


class Pair(TimeSeriesSchema):
    a: TS[int]
    b: TS[str]


def test_fields_of_recursive_scalars() -> None:
    """A field may be of the class it is in; of a generic one it has the same arguments."""

    @graph
    def chain(ts: TS[Chain]) -> TS[int]:
        return ts.value

    @graph
    def cell(ts: TS[Cell[int]]) -> TS[int]:
        return ts.next.value

    assert eval_node(chain, [Chain(1, Chain(2, None))]) == [1]
    assert eval_node(cell, [Cell(1, Cell(2, None))]) == [2]


def test_graphs_can_be_overloaded() -> None:
    """The graph that is overloaded stays the general case."""

    @graph
    def general(ts: TIME_SERIES_TYPE) -> TS[str]:
        return "general"

    @graph(overloads=general)
    def special(ts: TS[int]) -> TS[str]:
        return "special"

    @graph
    def both(a: TS[int], b: TS[str]) -> TSL[TS[str], Size[2]]:
        return TSL.from_ts(general(a), general(b))

    assert eval_node(both, [1], ["x"]) == [{0: "special", 1: "general"}]


def test_the_result_type_in_brackets() -> None:
    """`DEFAULT[OUT]` is what bare brackets give; a variable can be named too."""

    @generator
    def bare(value: object) -> DEFAULT[OUT]:
        yield MIN_TD * 0, value

    @generator
    def named(value: object) -> OUT:
        yield MIN_TD * 0, value

    @graph
    def first() -> TS[int]:
        return bare[TS[int]](3)

    @graph
    def second() -> TS[str]:
        return named[OUT : TS[str]]("x")

    @graph
    def untold() -> TS[str]:
        return named("x")

    assert eval_node(first) == [3]
    assert eval_node(second) == ["x"]
    with pytest.raises(WiringError, match="OUT cannot be told"):
        eval_node(untold)


def test_structures_of_ports_are_given_and_returned() -> None:
    """Tuples, dictionaries and stars of ports become lists, bundles and dictionaries."""

    @compute_node
    def both(a: TSL[TS[int], Size[2]], b: TSB[Pair], c: TSD[str, TS[int]]) -> TS[str]:
        return f"{a.value} {b.value} {c.value}"

    @graph
    def given(x: TS[int], s: TS[str]) -> TS[str]:
        return both((x, x), {"a": x, "b": s}, {"k": x})

    @graph
    def returned(x: TS[int]) -> TSL[TS[int], Size[2]]:
        return x, x

    @graph
    def star(*ts: TSL[TS[int], SIZE]) -> TS[int]:
        made = ts[0]
        for item in ts[1:]:
            made = made + item
        return made

    @graph
    def starred(a: TS[int], b: TS[int], c: TS[int]) -> TS[int]:
        return star(a, b, c)

    assert eval_node(given, [1], ["q"]) == ["(1, 1) {'a': 1, 'b': 'q'} {'k': 1}"]
    assert eval_node(returned, [1]) == [{0: 1, 1: 1}]
    assert eval_node(starred, [1], [2], [3]) == [6]


def test_ports_under_keys() -> None:
    """`TSD.from_ts` waits until all its ports have a value, `TSS.from_ts` holds the values there are."""

    @graph
    def keyed(a: TS[int], b: TS[int]) -> TSD[str, TS[int]]:
        return TSD[str, TS[int]].from_ts(a=a, b=b)

    @graph
    def by_number(a: TS[int], b: TS[int]) -> TSD[int, TS[int]]:
        return TSD.from_ts({1: a, 2: b})

    @graph
    def values(a: TS[int], b: TS[int]) -> TSS[int]:
        return TSS.from_ts(a, b)

    ticks = [1, None, 3], [None, 5]
    assert eval_node(keyed, *ticks) == [None, {"a": 1, "b": 5}, {"a": 3}]
    assert eval_node(by_number, *ticks) == [None, {1: 1, 2: 5}, {1: 3}]
    found = eval_node(values, [1, None, 5], [None, 5])
    assert [(set(d.added), set(d.removed)) for d in found] == [
        ({1}, set()),
        ({5}, set()),
        (set(), {1}),
    ]


class Parts(CompoundScalar):
    a: int
    b: int


def test_delayed_bindings_in_parts() -> None:
    """Parts of what comes later can be taken before it is there, through nested graphs too."""

    @graph
    def listed(v: TSL[TS[int], Size[2]]) -> TS[int]:
        later = delayed_binding(TSL[TS[int], Size[2]])
        made = later()[0] + later()[1]
        later(v)
        return made

    @graph
    def mapped(v: TSD[str, TSB[Parts]]) -> TSD[str, TS[int]]:
        later = delayed_binding(v.output_type)
        made = map_(lambda x, y: x + y, later().a, later().b)
        later(v)
        return made

    @graph
    def of_structure(a: TS[int], b: TS[str]) -> TS[int]:
        later = delayed_binding(TSB[Pair])
        made = later().a + 1
        later(TSB[Pair].from_ts(a=a, b=b))
        return made

    @graph
    def to_itself(v: TS[int]) -> TS[int]:
        later = delayed_binding(TS[int])
        later(later())
        return later() + v

    @graph
    def of_another_type(v: TS[str]) -> TS[int]:
        later = delayed_binding(TS[int])
        later(v)
        return later()

    assert eval_node(listed, [(1, 2)]) == [3]
    assert eval_node(mapped, [{"x": {"a": 1, "b": 2}}, {"x": {"a": 5}}]) == [{"x": 3}, {"x": 7}]
    assert eval_node(of_structure, [1], ["q"]) == [2]
    with pytest.raises(WiringError, match="bound to itself"):
        eval_node(to_itself, [1])
    with pytest.raises(WiringError, match="TS\\[int\\]"):
        eval_node(of_another_type, ["a"])


def test_an_input_that_nothing_is_given_for() -> None:
    """It is a view that is never valid, whatever its kind, and holds nothing up."""
    seen = []

    @compute_node
    def node(
        ts: TS[int],
        a: TS[int] = None,
        b: TSD[str, TS[int]] = None,
        c: TSB[Pair] = None,
        d: TSL[TS[int], Size[2]] = None,
        e: TSS[int] = None,
    ) -> TS[int]:
        seen.append([(x.valid, x.modified, x.value) for x in (a, b, c, d, e)])
        return ts.value

    assert eval_node(node, [1, 2]) == [1, 2]
    assert seen == [[(False, False, None)] * 5] * 2


PROGRAM = """
from mainspring.graph import TS, TSS, compute_node, set_delta
from mainspring.graph.test import eval_node

@compute_node
def order(s: TSS[str]) -> TS[str]:
    return ",".join(s.value) + "|" + ",".join(s.added()) + "|" + ",".join(s.removed()) + "|" + ",".join(s)

names = [f"name{i * 7 % 23}" for i in range(23)]
print(eval_node(order, [set_delta(names, []), set_delta(["x", "y"], names[3:9]), set_delta(names[3:5], [])]))
"""


def test_sets_are_iterated_in_one_order() -> None:
    """The value of a TSS, and what came and went, have an order that no hash seed changes."""
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (0, 1, 2)
    }
    assert len(found) == 1
    assert "name0" in found.pop()


def test_a_name_that_is_still_to_come_may_be_imported_and_says_so_when_used() -> None:
    """A program that needs nothing of it runs; one that does is told what it waits for."""
    from mainspring.graph import ToComeError, mesh_, service_impl
    from mainspring.graph._to_come import NAMES

    with pytest.raises(ToComeError, match="mesh_ is still to come, with graphs made on demand"):
        mesh_(lambda x: x, 1)
    with pytest.raises(NotImplementedError, match="service_impl is still to come"):

        @service_impl(interfaces=())
        def implementation() -> None:
            """Never made."""

    public = importlib.import_module("mainspring.graph")
    assert not NAMES.keys() & vars(public).keys()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = public.nonsense


def test_every_operator_to_come_is_named_with_what_it_belongs_to() -> None:
    """The table of operators and the names that are kept agree on what is not there."""
    from mainspring.graph._to_come import NAMES
    from mainspring.graph.operators._catalogue import rows

    missing = {
        name for _, name, there, _ in rows(importlib.import_module("mainspring.graph")) if not there
    }
    assert missing <= NAMES.keys() | {"dereference", "downcast_ref"}


def test_a_list_of_open_length_is_refused_in_words():
    @compute_node
    def parts(a: TS[str]) -> TSL[TS[str], Size[-1]]:
        return tuple(a.value)

    with pytest.raises(WiringError, match="as many elements as it is declared with"):
        eval_node(parts, ["abc"])
