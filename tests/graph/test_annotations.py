"""What a static checker makes of a user's nodes."""

from __future__ import annotations

import pytest

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
