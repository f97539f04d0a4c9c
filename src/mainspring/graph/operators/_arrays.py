"""Arrays: a window as a NumPy array of fixed shape, and what is computed of arrays.

`TS[Array[float, Size[3]]]` ticks plain NumPy arrays; the annotation says what they hold and how long each
dimension is. An array ticks as a whole, and what is computed of it is computed anew at each tick.
"""

from collections.abc import Callable
from math import nan, prod, sqrt
from typing import Any, get_args, get_origin

import numpy as np

from mainspring.graph._types import Array
from mainspring.graph.operators._base import (
    SCALAR,
    SCALAR_1,
    TS,
    TSW,
    WINDOW_SIZE,
    WINDOW_SIZE_MIN,
    Size,
    WiringError,
    compute_node,
    const_of,
    graph,
    made_node,
    type_name,
)
from mainspring.graph.operators._names import (
    as_array,
    contains_,
    corrcoef,
    cumsum,
    get_item,
    getitem_,
    max_,
    mean,
    min_,
    np_std,
    quantile,
    std,
    sum_,
    var,
)
from mainspring.graph.operators._statistics import (
    deviation_about_first,
    deviation_of,
    mean_of,
    quantile_of,
    total_of,
    variance_about_first,
)


def is_array(tp: Any) -> bool:
    """Whether a scalar type is an array."""
    return get_origin(tp) is Array


def element_of(tp: Any) -> Any:
    """Return the type of the elements of an array."""
    return get_args(tp)[0]


def shape_of(tp: Any) -> tuple[int, ...]:
    """Return the lengths of the dimensions of an array."""
    sizes = get_args(tp)[1:]
    if not sizes or any(size.SIZE is None for size in sizes):
        raise WiringError(
            f"{type_name(tp)} does not say how long it is", hint="Array[float, Size[3]]"
        )
    return tuple(size.SIZE for size in sizes)


def array_type(element: Any, shape: tuple[int, ...]) -> Any:
    """Return the type of an array of a shape; of no dimension, the element's."""
    return Array[(element, *(Size[length] for length in shape))] if shape else element


def _computed(name: str, function: Callable[[Any], Any], port: Any, gives: Any) -> Any:
    tp = port.output_type.dereference()
    return made_node(name, lambda ts: function(ts.value), {"ts": tp}, TS[gives])(port)


def _array(bindings: Any, scalars: Any) -> bool | str:
    return is_array(bindings[SCALAR]) or f"{type_name(bindings[SCALAR])} is no array"


def _row(bindings: Any, scalars: Any) -> bool | str:
    tp = bindings[SCALAR]
    return (
        is_array(tp) and len(shape_of(tp)) == 1
    ) or f"{type_name(tp)} is no array of one dimension"


# --- making and taking apart ----------------------------------------------------------------------


@graph(overloads=as_array)
def as_array_window(tsw: TSW[SCALAR, WINDOW_SIZE, WINDOW_SIZE_MIN], zero: TS[SCALAR] = None):
    """The values of a window of so many ticks, filled up with zeros behind the last one."""
    tp = tsw.output_type.dereference()
    element, size, _ = tp.args
    if size.SIZE is None:
        raise WiringError("as_array takes a window of so many ticks, not one of a span of time")

    def filled(ts: Any, zero: Any) -> Any:
        values = ts.value.tolist()
        return np.array([*values, *[zero.value] * (size.SIZE - len(values))])

    rest = const_of(element(), TS[element]) if zero is None else zero
    gives = TS[array_type(element, (size.SIZE,))]
    inputs = {"ts": tp, "zero": TS[element]}
    return made_node("as_array", filled, inputs, gives, all_valid=("ts",))(tsw, rest)


def _picked(ts: Any, place: Any) -> Any:
    tp = ts.output_type.dereference().scalar
    places = place if isinstance(place, tuple) else (place,)
    rest = shape_of(tp)[len(places) :]
    if not all(isinstance(one, int) for one in places) or len(places) > len(shape_of(tp)):
        raise WiringError(f"get_item: {place!r} is no place in {type_name(tp)}")

    def pick(value: Any) -> Any:
        found = value[places]
        return found if rest else found.item()

    return _computed("get_item", pick, ts, array_type(element_of(tp), rest))


@graph(overloads=get_item, requires=_array)
def get_item_array(ts: TS[SCALAR], idx: SCALAR_1):
    """The element at a place, or the part that is left when a place says less."""
    return _picked(ts, idx)


@graph(overloads=getitem_, requires=_array)
def getitem_array(ts: TS[SCALAR], key: int):
    """The element, or the row, at a place."""
    return _picked(ts, key)


@compute_node(overloads=contains_, requires=_row)
def contains_array(ts: TS[SCALAR], item: TS[SCALAR_1]) -> TS[bool]:
    """Whether the item is an element."""
    return item.value in ts.value.tolist()


# --- computing --------------------------------------------------------------------------------------


@graph(overloads=cumsum, requires=_array)
def cumsum_array(a: TS[SCALAR], axis: int = None):
    """The sums up to each element: of all in a row, or along an axis."""
    tp = a.output_type.dereference().scalar
    shape = shape_of(tp) if axis is not None else (prod(shape_of(tp)),)
    return _computed("cumsum", lambda v: np.cumsum(v, axis), a, array_type(element_of(tp), shape))


def _correlated(rows: list[list[float]]) -> Any:
    """Return how the rows go together, pair by pair: NaN for one that does not vary."""
    offs = [[value - row[0] for value in row] for row in rows]
    totals = [total_of(row) for row in offs]

    def shared(i: int, j: int) -> float:
        products = total_of(a * b for a, b in zip(offs[i], offs[j], strict=True))
        return float(products - totals[i] * totals[j] / len(offs[i]))

    spreads = [shared(i, i) for i in range(len(offs))]

    def pair(i: int, j: int) -> float:
        scale = sqrt(spreads[i] * spreads[j])
        if scale == 0.0:
            return nan
        return 1.0 if i == j else min(1.0, max(-1.0, shared(i, j) / scale))

    places = range(len(offs))
    return np.array([[pair(i, j) for j in places] for i in places])


def _rows(value: Any, rowvar: bool) -> list[list[float]]:
    value = np.atleast_2d(np.asarray(value, float))
    return (value if rowvar or value.shape[0] == 1 else value.T).tolist()


@graph(overloads=corrcoef, requires=_array)
def corrcoef_array(x: TS[SCALAR], y: TS[SCALAR_1] = None, rowvar: bool = True):
    """How the rows of one or two arrays go together (or the columns): a matrix of correlations."""
    ports = [port for port in (x, y) if port is not None]
    types = [port.output_type.dereference() for port in ports]
    count = 0
    for tp in types:
        if not is_array(tp.scalar) or len(shape_of(tp.scalar)) > 2:
            raise WiringError(
                f"corrcoef takes arrays of one or two dimensions, not {type_name(tp)}"
            )
        shape = shape_of(tp.scalar)
        count += 1 if len(shape) == 1 else shape[0 if rowvar else 1]

    def correlated(*views: Any) -> Any:
        rows = [row for view in views for row in _rows(view.value, rowvar)]
        found = _correlated(rows)
        return found.item() if count == 1 else found

    inputs = {f"arg_{i}": tp for i, tp in enumerate(types)}
    gives = TS[array_type(float, (count, count) if count > 1 else ())]
    return made_node("corrcoef", correlated, inputs, gives)(*ports)


def deviation_of_all(values: list[float], ddof: int) -> float:
    """Return the standard deviation; of too few values, NaN."""
    return deviation_of(values, ddof) if len(values) > ddof else nan


@compute_node(overloads=np_std, requires=_array)
def np_std_array(ts: TS[SCALAR], ddof: int = 0) -> TS[float]:
    """The standard deviation of all elements; NaN when there are too few."""
    return deviation_of_all(ts.value.ravel().tolist(), ddof)


@compute_node(overloads=quantile, requires=_row)
def quantile_array(
    a: TS[SCALAR], q: TS[float], method: str = "linear", keepdims: bool = False
) -> TS[float]:
    """A quantile of the elements, between two of them as `method` says."""
    return quantile_of(a.value.tolist(), q.value, method)


def _reduced(overloaded: Any, function: Callable[[Any], Any], same: bool) -> None:
    def reduced(ts: TS[SCALAR]):
        element = element_of(ts.output_type.dereference().scalar)
        name = f"{overloaded.__name__}array"
        return _computed(name, lambda v: function(v.tolist()), ts, element if same else float)

    reduced.__name__ = reduced.__qualname__ = f"{overloaded.__name__.strip('_')}_array"
    graph(reduced, overloads=overloaded, requires=_row)


for overloaded, function, same in (
    (min_, min, True),
    (max_, max, True),
    (sum_, total_of, True),
    (mean, mean_of, False),
    (std, deviation_about_first, False),
    (var, variance_about_first, False),
):
    _reduced(overloaded, function, same)
