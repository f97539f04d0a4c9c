"""The kernel against the slow evaluator of tests/model/graph.py, tick by tick."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.graph.graph_programs import (
    random_program,
    run_keyed,
    run_program,
    switch_program,
)
from tests.model.graph import Evaluator, keyed, switched

from mainspring.graph.test import eval_node

ROOT = Path(__file__).resolve().parents[2]
relaxed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@relaxed
@given(st.integers(0, 2**32))
def test_programs_tick_as_the_model_does(seed: int) -> None:
    """Arithmetic, flow, state, schedules and feedback, in any shape."""
    program, inputs = random_program(random.Random(seed))
    assert run_program(program, inputs) == Evaluator(program, inputs).run()


changes = st.none() | st.dictionaries(
    st.sampled_from(["a", "b", "c", "d", "e"]), st.none() | st.integers(0, 99), min_size=1
)


@relaxed
@given(st.lists(changes, min_size=1, max_size=14))
def test_maps_and_reductions_follow_their_keys(churn: list[dict[str, int | None] | None]) -> None:
    """Keys that come, go and come back; state goes with its key."""
    churn = [{"a": 1}, *churn]
    assert run_keyed(churn) == keyed(churn)


@relaxed
@given(
    st.lists(st.tuples(st.none() | st.integers(0, 2), st.none() | st.integers(0, 9)), min_size=1)
)
def test_switches_start_anew_with_each_key(rows: list[tuple[int | None, int | None]]) -> None:
    """A case begins without the state of the one before, with the value there is."""
    rows = [*rows, (1, 1)]
    keys, values = [k for k, _ in rows], [v for _, v in rows]
    assert eval_node(switch_program, keys, values) == switched(keys, values)


@pytest.mark.slow
def test_twins_in_other_processes_and_hash_seeds_tick_alike() -> None:
    """The same programs in three processes, each with another hash seed: the same bytes."""
    found = {
        subprocess.run(
            [sys.executable, "-m", "tests.graph.graph_programs"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }  # fmt: skip
    assert len(found) == 1


def test_a_reduction_follows_when_its_only_key_is_replaced_by_one_that_makes_it_grow() -> None:
    """The zero was joined with a root that growing had moved; it showed the key that went."""
    assert run_keyed([{"a": 1}, {"a": None, "b": 0}]) == keyed([{"a": 1}, {"a": None, "b": 0}])
