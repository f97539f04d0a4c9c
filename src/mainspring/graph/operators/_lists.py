"""Lists over time: operators element by element, membership, places.

``a + b`` on two lists of one length adds their elements; a list and anything else applies the operator to
every element. It is wiring alone: each element gets a node of its own, so an element's tick costs one node.
"""

from typing import Any

from mainspring.graph.operators._base import (
    SCALAR,
    SCALAR_1,
    SIZE,
    TIME_SERIES_TYPE,
    TIME_SERIES_TYPE_1,
    TS,
    TS_OUT,
    TSL,
    changed,
    compute_node,
    const_of,
    graph,
)
from mainspring.graph.operators._names import (
    abs_,
    add_,
    bit_and,
    bit_or,
    bit_xor,
    div_,
    eq_,
    floordiv_,
    index_of,
    invert_,
    len_,
    lshift_,
    max_,
    mean,
    min_,
    mod_,
    mul_,
    ne_,
    neg_,
    pos_,
    pow_,
    rshift_,
    std,
    sub_,
    sum_,
    var,
)
from mainspring.graph.operators._scalars import alike, place_of

BINARY = (
    add_, sub_, mul_, div_, floordiv_, mod_, pow_, lshift_, rshift_, bit_and, bit_or, bit_xor, min_,
    max_, sum_, mean,
)  # fmt: skip
UNARY = (abs_, neg_, pos_, invert_)


def _elementwise(apply: Any) -> None:
    def both(lhs: TSL[TIME_SERIES_TYPE, SIZE], rhs: TSL[TIME_SERIES_TYPE_1, SIZE]):
        return TSL.from_ts(*(apply(a, b) for a, b in zip(lhs, rhs, strict=True)))

    def left(lhs: TSL[TIME_SERIES_TYPE, SIZE], rhs: TIME_SERIES_TYPE_1):
        return TSL.from_ts(*(apply(a, rhs) for a in lhs))

    def right(lhs: TIME_SERIES_TYPE, rhs: TSL[TIME_SERIES_TYPE_1, SIZE]):
        return TSL.from_ts(*(apply(lhs, b) for b in rhs))

    for function in (both, left, right):
        function.__name__ = function.__qualname__ = (
            f"{apply.__name__.strip('_')}_{function.__name__}"
        )
        graph(function, overloads=apply)


def _each(apply: Any) -> None:
    def each(ts: TSL[TIME_SERIES_TYPE, SIZE]):
        return TSL.from_ts(*(apply(a) for a in ts))

    each.__name__ = each.__qualname__ = f"{apply.__name__.strip('_')}_each"
    graph(each, overloads=apply)


for overloaded in (*BINARY, std, var):
    _elementwise(overloaded)
for overloaded in UNARY:
    _each(overloaded)


def _differ(lhs: Any, rhs: Any) -> bool:
    """Whether two lists differ at a place where both have a value."""
    pairs = zip(lhs.values(), rhs.values(), strict=False)
    return any(a.valid and b.valid and a.value != b.value for a, b in pairs)


@compute_node(overloads=eq_, valid=())
def eq_lists(lhs: TSL[TIME_SERIES_TYPE, SIZE], rhs: TSL[TIME_SERIES_TYPE_1, SIZE]) -> TS[bool]:
    """True when no element differs from its counterpart; one without a value does not."""
    return not _differ(lhs, rhs)


@compute_node(overloads=ne_, valid=())
def ne_lists(lhs: TSL[TIME_SERIES_TYPE, SIZE], rhs: TSL[TIME_SERIES_TYPE_1, SIZE]) -> TS[bool]:
    """True when an element differs from its counterpart."""
    return _differ(lhs, rhs)


@graph(overloads=len_)
def len_list(ts: TSL[TIME_SERIES_TYPE, SIZE]) -> TS[int]:
    """The number of elements, which a list has from the start."""
    return const_of(len(ts), TS[int])


@compute_node(overloads=index_of)
def index_of_list(
    ts: TSL[TS[SCALAR], SIZE], item: TS[SCALAR], _output: TS_OUT[int] = None
) -> TS[int]:
    """The first place with the item's value, or -1, when it changes."""
    place = next((i for i, one in ts.valid_items() if one.value == item.value), -1)
    return changed(place, _output)


@compute_node(overloads=index_of)
def index_of_tuple(ts: TS[tuple[SCALAR, ...]], item: TS[SCALAR_1]) -> TS[int]:
    """The first place of the item, or -1."""
    return next((i for i, one in enumerate(ts.value) if alike(one, item.value)), -1)


# --- several time series, folded --------------------------------------------------------------------


def _several(bindings: Any, scalars: Any) -> bool | str:
    return bindings[SIZE].SIZE > 2 or "it takes three or more"


def _many(overloaded: Any) -> None:
    def many(*ts: TSL[TIME_SERIES_TYPE, SIZE]):
        return folded(overloaded, list(ts))

    many.__name__ = many.__qualname__ = f"{overloaded.__name__.strip('_')}_many"
    graph(many, overloads=overloaded, requires=_several)


def folded(two: Any, ports: list[Any]) -> Any:
    """Apply an operator of two from left to right."""
    result = ports[0]
    for port in ports[1:]:
        result = two(result, port)
    return result


for overloaded in (min_, max_):
    _many(overloaded)


@graph(overloads=sum_)
def sum_two(lhs: TIME_SERIES_TYPE, rhs: TIME_SERIES_TYPE_1):
    """The sum of two time series, as `+` makes it."""
    return add_(lhs, rhs)


@graph(overloads=sum_, requires=_several)
def sum_many(*ts: TSL[TIME_SERIES_TYPE, SIZE]):
    """The sum of several time series."""
    return folded(add_, list(ts))


@graph(overloads=mean, requires=_several)
def mean_many(*ts: TSL[TIME_SERIES_TYPE, SIZE]):
    """The mean of several time series."""
    ports = list(ts)
    return div_(folded(add_, ports), len(ports))


@compute_node(overloads=min_, valid=())
def min_loose(*ts: TSL[TS[SCALAR], SIZE], __strict__: bool) -> TS[SCALAR]:
    """The least of the values there are; strictly, once all are."""
    return _extreme(min, ts, __strict__)


@compute_node(overloads=max_, valid=())
def max_loose(*ts: TSL[TS[SCALAR], SIZE], __strict__: bool) -> TS[SCALAR]:
    """The greatest of the values there are; strictly, once all are."""
    return _extreme(max, ts, __strict__)


def _extreme(function: Any, ts: Any, strict: bool) -> Any:
    values = [one.value for one in ts.valid_values()]
    if not values or (strict and not ts.all_valid):
        return None
    return function(values, key=place_of)
