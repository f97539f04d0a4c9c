"""State as bytes: equal values give equal bytes, and come back as they were."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
from collections import deque
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring import StateError
from mainspring.state import decode, digest, encode


@dataclasses.dataclass
class Pose:
    x: float
    tags: set[str]


class Item(msgspec.Struct):
    name: str
    pose: Pose


class Color(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.fractions(),
    st.datetimes(),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.complex_numbers(allow_nan=False),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(), inner, max_size=4),
        st.dictionaries(st.integers() | st.tuples(st.integers(), st.text()), inner, max_size=4),
        st.tuples(inner, inner),
        st.sets(st.integers() | st.text(), max_size=5),
        st.frozensets(st.text(), max_size=5),
        st.builds(deque, st.lists(inner, max_size=3), st.just(7)),
    ),
    max_leaves=20,
)


@given(values)
def test_what_is_encoded_comes_back(value: Any) -> None:
    """decode(encode(value)) is the value, with its types and the order of its mappings."""
    again = decode(encode(value))
    assert again == value
    assert repr(again) == repr(value) or "{" in repr(value)
    assert encode(again) == encode(value)


@given(st.lists(st.text(), unique=True, max_size=8), st.randoms())
def test_sets_do_not_remember_how_they_were_filled(members: list[str], random: Any) -> None:
    """Sets with the same members have the same bytes; dicts with another order do not."""
    shuffled = list(members)
    random.shuffle(shuffled)
    assert encode(set(members)) == encode(set(shuffled))
    if shuffled != members:
        assert encode(dict.fromkeys(members)) != encode(dict.fromkeys(shuffled))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?", "c16", "M8[ns]", "S3", "U2"])
def test_arrays_keep_dtype_shape_and_bytes(dtype: str) -> None:
    """Arrays come back with dtype and shape, contiguous or not, and can be written to."""
    array = np.zeros((3, 4, 2), dtype=dtype)[:, ::2]
    again = decode(encode(array))
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert np.array_equal(again, array)
    assert again.flags.writeable


def test_structured_arrays_and_scalars() -> None:
    """Fields of structured dtypes and NumPy scalars keep their types."""
    array = np.zeros(3, dtype=[("id", "i4"), ("pos", "f8", (3,))])
    array["pos"][1] = 2.0
    again = decode(encode(array))
    assert again.dtype == array.dtype
    assert np.array_equal(again, array)
    scalar = decode(encode(np.float32(1.5)))
    assert type(scalar) is np.float32


def test_classes_come_back_as_themselves() -> None:
    """Dataclasses, structs, enums and named tuples come back as their classes."""
    value = [Item("a", Pose(1.0, {"x"})), Color.RED, Point(1, 2)]
    again = decode(encode(value))
    assert again == value
    assert [type(v) for v in again] == [Item, Color, Point]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": [1, {"b": print}]}, r"arm\['a'\]\[1\]\['b'\] is a builtin_function_or_method"),
        ([object()], r"arm\[0\] is a object"),
        (np.array([object()]), "array of Python objects"),
        ({"x": Pose(1.0, {print})}, r"arm\['x'\].tags member"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_path(value: Any, words: str) -> None:
    """The error says where the value is and what to do."""
    with pytest.raises(StateError, match=words):
        encode(value, "arm")


def test_a_class_defined_in_a_function_is_refused() -> None:
    """A class that could not be found again is an error when saving, not when restoring."""

    @dataclasses.dataclass
    class Local:
        x: int

    with pytest.raises(StateError, match="defined inside a function"):
        encode(Local(1))


def test_value_types() -> None:
    """The standard library's value types keep their type."""
    for value in (
        fractions.Fraction(1, 3),
        decimal.Decimal("1.10"),
        datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        datetime.date(2026, 1, 2),
        datetime.timedelta(days=-1, microseconds=3),
        1 + 2j,
        bytearray(b"x"),
        2**100,
    ):
        again = decode(encode(value))
        assert again == value
        assert type(again) is type(value)


def test_digests_are_stable() -> None:
    """The digest of a value is fixed for ever: logs compare it across versions."""
    assert digest({"a": [1, 2.5, "x"], "b": (None, True)}).hex() == GOLDEN


GOLDEN = "2c66642ccd78b10d8b3352650b4d0236"
