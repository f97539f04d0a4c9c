"""The kernel's operators against Python's own, and at the edge of what fits."""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.graph import (
    TS,
    NodeException,
    add_,
    div_,
    eval_node,
    floordiv_,
    graph,
    lshift_,
    max_,
    min_,
    mod_,
    mul_,
    neg_,
    pow_,
    rshift_,
    sub_,
    sum_,
)
from mainspring.graph.operators import _names
from mainspring.graph.operators._native import rows

EDGE = 2**63
INTS = st.integers(-EDGE, EDGE - 1) | st.integers(-100, 100)
FLOATS = st.floats(-1e6, 1e6)


def one(function: Callable[..., Any], kinds: tuple[Any, ...], *values: Any) -> Any:
    """Evaluate an operator once."""
    names = [f"in_{i}" for i in range(len(kinds))]
    namespace: dict[str, Any] = {f"t_{n}": kind for n, kind in zip(names, kinds, strict=True)}
    namespace["function"] = function
    arguments = ", ".join(f"{n}: t_{n}" for n in names)
    exec(f"def program({arguments}):\n    return function({', '.join(names)})\n", namespace)
    found = eval_node(graph(namespace["program"]), *[[value] for value in values])
    return None if found is None else found[0]


@settings(max_examples=60, deadline=None)
@given(
    pair=st.sampled_from(
        [
            (add_, python.add),
            (sub_, python.sub),
            (mul_, python.mul),
            (floordiv_, python.floordiv),
            (mod_, python.mod),
            (min_, min),
            (max_, max),
        ]
    ),
    a=INTS,
    b=INTS,
)
def test_ints_are_pythons_or_an_error(pair: tuple[Any, Callable[..., Any]], a: int, b: int) -> None:
    """An int result is exactly Python's; one that does not fit, or a zero divisor, is an error."""
    overloaded, function = pair
    try:
        expected = function(a, b)
    except ZeroDivisionError:
        expected = None
    if expected is None or not -EDGE <= expected < EDGE:
        with pytest.raises(NodeException):
            one(overloaded, (TS[int], TS[int]), a, b)
    else:
        assert one(overloaded, (TS[int], TS[int]), a, b) == expected


@settings(max_examples=60, deadline=None)
@given(
    pair=st.sampled_from(
        [(add_, python.add), (sub_, python.sub), (mul_, python.mul), (mod_, python.mod)]
    ),
    a=FLOATS,
    b=FLOATS.filter(lambda value: value != 0.0),
)
def test_floats_are_pythons(pair: tuple[Any, Callable[..., Any]], a: float, b: float) -> None:
    """A float result is Python's to the last bit."""
    overloaded, function = pair
    found = one(overloaded, (TS[float], TS[float]), a, b)
    expected = function(a, b)
    assert found == expected
    assert math.copysign(1.0, found) == math.copysign(1.0, expected)


@pytest.mark.parametrize(
    ("overloaded", "values"),
    [
        (add_, (EDGE - 1, 1)),
        (sub_, (-EDGE, 1)),
        (mul_, (2**32, 2**31)),
        (pow_, (2, 63)),
        (lshift_, (1, 63)),
        (lshift_, (3, 62)),
        (floordiv_, (-EDGE, -1)),
        (neg_, (-EDGE,)),
        (abs, (-EDGE,)),
    ],
)
def test_what_does_not_fit_is_an_error(overloaded: Any, values: tuple[int, ...]) -> None:
    """An int that needs more than 64 bits is an OverflowError in the node, never another number."""
    with pytest.raises(NodeException, match="does not fit a 64-bit int"):
        one(overloaded, (TS[int],) * len(values), *values)


def test_a_running_sum_that_overflows_is_an_error() -> None:
    """What is gathered over time does not wrap either."""

    @graph
    def total(a: TS[int]) -> TS[int]:
        return sum_(a)

    with pytest.raises(NodeException, match="does not fit"):
        eval_node(total, [2**62, 2**62])


def test_shifts_by_more_than_there_is() -> None:
    """Far to the right nothing but the sign is left; zero can be shifted by anything."""
    assert one(rshift_, (TS[int], TS[int]), -5, 200) == -1
    assert one(lshift_, (TS[int], TS[int]), 0, 200) == 0


def test_division_of_ints_is_exact_where_floats_are() -> None:
    """Ints are divided as floats."""
    assert one(div_, (TS[int], TS[int]), 7, 2) == 3.5


def test_native_rows_are_overloads_the_kernel_has() -> None:
    """Every row of the table is registered, and wired as the node its code names."""
    for name, overloads in rows().items():
        registered = {getattr(one, "code", None) for one in getattr(_names, name).overloads}
        assert {row.code for row in overloads} <= registered
