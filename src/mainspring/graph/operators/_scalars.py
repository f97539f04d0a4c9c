"""Operators on scalars that are not numbers: text, dates, spans of time, tuples, sets and mappings.

Numbers are native (``_native.py``). What is here is a table: a function of two plain values and the types
it is defined for. A node is made for each row, which ticks whenever one of its inputs does, once both are
valid.
"""

import operator as python
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any

import numpy as np

from mainspring.graph.operators._base import (
    ENUM,
    SCALAR,
    TS,
    CmpResult,
    CompoundScalar,
    K,
    compute_node,
    is_subclass,
    scalar_fields,
    type_name,
)
from mainspring.graph.operators._names import (
    abs_,
    add_,
    and_,
    bit_and,
    bit_or,
    bit_xor,
    cmp_,
    div_,
    eq_,
    floordiv_,
    ge_,
    gt_,
    le_,
    lt_,
    max_,
    mean,
    min_,
    mul_,
    ne_,
    neg_,
    not_,
    or_,
    pos_,
    sub_,
)

TUPLE = tuple[SCALAR, ...]
SET = frozenset[SCALAR]
DICT = Mapping[K, SCALAR]


def binary(
    overloaded: Any,
    function: Callable[[Any, Any], Any],
    left: Any,
    right: Any,
    out: Any,
    **options: Any,
) -> None:
    """Overload an operator with a function of two values."""

    def node(lhs, rhs):
        return function(lhs.value, rhs.value)

    annotations = {"lhs": TS[left], "rhs": TS[right], "return": TS[out]}
    _declare(node, overloaded, annotations, left, right, **options)


def unary(overloaded: Any, function: Callable[[Any], Any], kind: Any, out: Any) -> None:
    """Overload an operator with a function of one value."""

    def node(ts):
        return function(ts.value)

    _declare(node, overloaded, {"ts": TS[kind], "return": TS[out]}, kind)


def _declare(
    node: Any, overloaded: Any, annotations: dict[str, Any], *kinds: Any, **options: Any
) -> None:
    names = "_".join(getattr(kind, "__name__", str(kind)).strip("~") for kind in kinds)
    node.__name__ = f"{overloaded.__name__.strip('_')}_{names}"
    node.__qualname__ = node.__name__
    node.__annotations__ = annotations
    compute_node(node, overloads=overloaded, **options)


def compared(left: Any, right: Any) -> CmpResult:
    """Say how two values stand to each other; mappings, which have no order, are equal or else GT."""
    if left == right:
        return CmpResult.EQ
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return CmpResult.GT
    return CmpResult.LT if place_of(left) < place_of(right) else CmpResult.GT


def alike(left: Any, right: Any) -> bool:
    """Say whether two values are equal and of one type: 1 is no element of a tuple of floats."""
    return type(left) is type(right) and bool(left == right)


def same(left: Any, right: Any) -> bool:
    """Say whether two values are equal; arrays, when all their elements are."""
    if isinstance(left, np.ndarray):
        return bool(np.array_equal(left, right))
    return bool(left == right)


def place_of(value: Any) -> Any:
    """Return what orders a value.

    That is itself, but for a member of an enumeration (its number, else the place it is written at) and a
    compound scalar (its fields, one after the other).
    """
    if isinstance(value, CompoundScalar):
        return tuple(place_of(getattr(value, name)) for name in scalar_fields(type(value)))
    if not isinstance(value, Enum):
        return value
    if isinstance(value.value, int):
        return value.value
    return list(type(value)).index(value)


def without(items: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
    """Return ``items`` without any that equals ``item``."""
    return tuple(other for other in items if other != item)


def lesser(left: Any, right: Any) -> Any:
    """Return the lesser value, the left one on a tie."""
    return min(left, right)


def greater(left: Any, right: Any) -> Any:
    """Return the greater value, the left one on a tie."""
    return max(left, right)


ARITHMETIC: list[tuple[Any, Callable[[Any, Any], Any], Any, Any, Any]] = [
    (add_, python.add, str, str, str),
    (add_, python.add, timedelta, timedelta, timedelta),
    (add_, python.add, datetime, timedelta, datetime),
    (add_, python.add, timedelta, datetime, datetime),
    (add_, python.add, date, timedelta, date),
    (add_, python.add, TUPLE, TUPLE, TUPLE),
    (add_, lambda items, item: (*items, item), TUPLE, SCALAR, TUPLE),
    (sub_, python.sub, timedelta, timedelta, timedelta),
    (sub_, python.sub, datetime, timedelta, datetime),
    (sub_, python.sub, datetime, datetime, timedelta),
    (sub_, python.sub, date, timedelta, date),
    (sub_, python.sub, date, date, timedelta),
    (sub_, without, TUPLE, SCALAR, TUPLE),
    (sub_, python.sub, SET, SET, SET),
    (sub_, lambda a, b: {k: v for k, v in a.items() if k not in b}, DICT, DICT, DICT),
    (mul_, python.mul, str, int, str),
    (mul_, python.mul, int, str, str),
    (mul_, python.mul, timedelta, int, timedelta),
    (mul_, python.mul, int, timedelta, timedelta),
    (mul_, python.mul, timedelta, float, timedelta),
    (mul_, python.mul, float, timedelta, timedelta),
    (mul_, python.mul, TUPLE, int, TUPLE),
    (div_, python.truediv, timedelta, timedelta, float),
    (div_, python.truediv, timedelta, int, timedelta),
    (div_, python.truediv, timedelta, float, timedelta),
    (floordiv_, python.floordiv, timedelta, timedelta, int),
    (mean, lambda a, b: (a + b) / 2, timedelta, timedelta, timedelta),
    (bit_and, python.and_, SET, SET, SET),
    (bit_or, python.or_, SET, SET, SET),
    (bit_xor, python.xor, SET, SET, SET),
    (bit_or, lambda a, b: {**a, **b}, DICT, DICT, DICT),
]

ORDERED = (str, date, datetime, timedelta)
TRUTHS = (str, TUPLE, SET, DICT)

for row in ARITHMETIC:
    binary(*row)

for kind in ORDERED:
    for overloaded, function in (
        (lt_, python.lt),
        (le_, python.le),
        (gt_, python.gt),
        (ge_, python.ge),
    ):
        binary(overloaded, function, kind, kind, bool)
for kind in (*ORDERED, TUPLE):
    binary(min_, lesser, kind, kind, kind)
    binary(max_, greater, kind, kind, kind)
for kind in TRUTHS:
    binary(and_, lambda a, b: bool(a) and bool(b), kind, kind, bool)
    binary(or_, lambda a, b: bool(a) or bool(b), kind, kind, bool)


def _ordered(bindings: Any, scalars: Any) -> bool | str:
    if bindings[ENUM] is CmpResult:
        return "how two values compare has no order itself"
    return is_subclass(bindings[ENUM], Enum) or f"{type_name(bindings[ENUM])} is no enumeration"


for overloaded, function in (
    (lt_, python.lt),
    (le_, python.le),
    (gt_, python.gt),
    (ge_, python.ge),
):
    binary(
        overloaded,
        lambda a, b, function=function: function(place_of(a), place_of(b)),
        ENUM,
        ENUM,
        bool,
        requires=_ordered,
    )
binary(min_, lambda a, b: min(a, b, key=place_of), ENUM, ENUM, ENUM, requires=_ordered)
binary(max_, lambda a, b: max(a, b, key=place_of), ENUM, ENUM, ENUM, requires=_ordered)

binary(eq_, same, SCALAR, SCALAR, bool)
binary(ne_, lambda a, b: not same(a, b), SCALAR, SCALAR, bool)
binary(cmp_, compared, SCALAR, SCALAR, CmpResult)
binary(cmp_, compared, int, int, CmpResult)
binary(cmp_, compared, float, float, CmpResult)
binary(cmp_, compared, int, float, CmpResult)
binary(cmp_, compared, float, int, CmpResult)


@compute_node(overloads=add_, valid=())
def add_tuples_loose(lhs: TS[TUPLE], rhs: TS[TUPLE], __strict__: bool) -> TS[TUPLE]:
    """One after the other; strictly, once both are there."""
    if __strict__ and not (lhs.valid and rhs.valid):
        return None
    return tuple(item for ts in (lhs, rhs) if ts.valid for item in ts.value)


@compute_node(overloads=sub_)
def sub_tuple_item_by(
    lhs: TS[TUPLE], rhs: TS[SCALAR], cmp: Callable[[SCALAR, SCALAR], bool]
) -> TS[TUPLE]:
    """The tuple without the items that a function says are like the one."""
    return tuple(item for item in lhs.value if not cmp(item, rhs.value))


unary(not_, python.not_, str, bool)
unary(neg_, python.neg, timedelta, timedelta)
unary(pos_, python.pos, timedelta, timedelta)
unary(abs_, abs, timedelta, timedelta)
