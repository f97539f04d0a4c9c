"""The kernel's encoder against the one in Python: the same bytes for every value."""

from __future__ import annotations

import enum
import math
from collections import deque
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring import state
from mainspring.errors import StateError
from mainspring.state import _pack, _plain


class Colour(enum.Enum):
    RED = 1


@dataclass
class Point:
    x: float
    tags: tuple[str, ...] = ()


class Pair(NamedTuple):
    a: int
    b: Any


class Struct(msgspec.Struct):
    name: str
    items: list[Any]


edges = [
    n + d
    for n in (0, 2**5, 2**7, 2**8, 2**15, 2**16, 2**31, 2**32, 2**63, 2**64, -(2**63))
    for d in (-1, 0, 1)
]
numbers = st.one_of(st.sampled_from(edges + [-n for n in edges]), st.integers())
leaves = st.one_of(
    st.none(),
    st.booleans(),
    numbers,
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.builds(Fraction, st.integers(-9, 9), st.integers(1, 9)),
    st.just(Decimal("1.50")),
    st.just(Colour.RED),
    st.just(np.float32(1.5)),
    st.just(np.arange(6).reshape(2, 3)),
    st.just(bytearray(b"x")),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=20),
        st.dictionaries(st.text("abc", max_size=3), inner, max_size=20),
        st.dictionaries(st.integers(), inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(st.integers(), max_size=4),
        st.lists(inner, max_size=2).map(lambda x: deque(x, maxlen=9)),
        st.builds(Point, st.floats(), st.just(("a",))),
        st.builds(Pair, st.integers(), inner),
        st.builds(Struct, st.text("xyz"), st.lists(inner, max_size=2)),
    ),
    max_leaves=30,
)


@settings(max_examples=400, deadline=None)
@given(values)
def test_both_encoders_agree(value: Any) -> None:
    """Byte for byte, and what is decoded encodes to the same bytes again."""
    data = state.encode(value)
    assert data == _pack(_plain(value, "state"))
    assert state.encode(state.decode(data)) == data


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 31, 32, 255, 256, 65535, 65536, 70000])
def test_sizes_where_the_form_changes(size: int) -> None:
    """Texts, bytes, lists, tuples and mappings of every length that has a header of its own."""
    for value in (
        "x" * size, b"x" * size, [0] * size, (0,) * size, {str(i): i for i in range(size)},
    ):  # fmt: skip
        data = state.encode(value)
        assert data == _pack(_plain(value, "state"))
        assert state.decode(data) == value


def test_errors_still_name_the_path() -> None:
    """The fast way falls back to the one that knows where it is."""
    with pytest.raises(StateError, match=r"arm\['a'\]\[1\]\['b'\] is a object"):
        state.encode({"a": [1, {"b": object()}]}, "arm")
    with pytest.raises(StateError, match=r"arm\[0\] is a lock"):
        state.encode([__import__("threading").Lock()], "arm")


def test_not_a_number_and_minus_zero_are_kept() -> None:
    """By their bits."""
    assert math.isnan(state.decode(state.encode(float("nan"))))
    assert math.copysign(1, state.decode(state.encode(-0.0))) == -1


def test_lone_surrogates_and_depth_fail_alike() -> None:
    """What cannot be encoded raises what it always raised."""
    with pytest.raises(UnicodeEncodeError):
        state.encode("\ud800")
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        state.encode(deep)
    while deep:  # let go of it without a recursion of its own
        deep = deep.pop()
