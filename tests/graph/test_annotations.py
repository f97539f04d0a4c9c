"""What a static checker makes of a user's nodes."""

from __future__ import annotations

import pytest
from typing_extensions import TypeAliasType, TypeVar

from mainspring.graph import TS, TSD, compute_node
from mainspring.graph.test import eval_node

PROGRAM = """
from mainspring.graph import (
    CLOCK, REF, SCHEDULER, SIGNAL, STATE, TS, TS_OUT, TSB, TSD, TSS, TSW, TimeSeriesSchema,
    compute_node, const, generator, graph, sink_node,
)


class Quote(TimeSeriesSchema):
    bid: TS[float]
    ask: TS[float]


@compute_node
def count(ts: TS[int], _state: STATE = None, _output: TS_OUT[int] = None) -> TS[int]:
    _state.count = getattr(_state, "count", 0) + ts.value
    return _state.count


@compute_node
def spread(quote: TSB[Quote]) -> TS[float]:
    return quote.ask.value - quote.bid.value


@compute_node
def by_name(names: TSS[str], on: SIGNAL, last: TSW[int]) -> TSD[str, TS[int]]:
    return {name: len(name) for name in names.added()}


@sink_node
def show(ts: REF[TS[int]], clock: CLOCK = None, later: SCHEDULER = None) -> None:
    print(clock.evaluation_time, ts.value)


@graph
def main(quotes: TSB[Quote]) -> TS[float]:
    return spread(quotes) * 2.0 + const(1.0)
"""


@pytest.mark.slow
def test_nodes_pass_a_strict_checker_without_a_word_of_their_own(tmp_path):
    """Annotations, defaults of injected parameters, plain results and port syntax are all fine."""
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    out, errors, _ = api.run(
        ["--strict", "--config-file=", f"--cache-dir={tmp_path}", str(program)]
    )
    assert errors == ""
    assert out.startswith("Success"), out


@pytest.mark.slow
def test_a_mistake_beside_the_nodes_is_still_found(tmp_path):
    """What is Any to the checker does not spread to what has a type."""
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "\n\nfirst: int = Quote\n")
    out, _, _ = api.run(["--strict", "--config-file=", f"--cache-dir={tmp_path}", str(program)])
    assert out.count("error:") == 1
    assert "[assignment]" in out


T = TypeVar("T")
Price = TypeAliasType("Price", float)
Quoted = TypeAliasType("Quoted", Price)
Prices = TypeAliasType("Prices", TS[Quoted])
Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))
Stream = TypeAliasType("Stream", TSD[str, TS[T]], type_params=(T,))


def test_a_type_alias_is_what_it_names() -> None:
    """`type Price = float` may stand wherever `float` may, and so on for series and patterns."""

    @compute_node
    def scaled(ts: Prices, by: Price) -> Prices:
        return ts.value * by

    @compute_node
    def added(ts: TS[Pair[int]], each: Stream[int]) -> TS[int]:
        return sum(ts.value) + sum(each.value.values())

    assert eval_node(scaled, [1.5], 2.0) == [3.0]
    assert eval_node(added, [(1, 2)], [{"a": 3}]) == [6]
