"""Bundles over time: operators field by field, and statistics over the fields.

``a + b`` on two bundles with the same fields adds field to field. It is wiring alone: each field gets a node
of its own, so a field's tick costs one node. A statistic takes the fields as one collection, in which a field
without a value counts as the zero of its type.
"""

from collections.abc import Callable
from typing import Any

from mainspring.graph.operators._base import (
    TS,
    TS_SCHEMA,
    TS_SCHEMA_1,
    TSB,
    TSm,
    compute_node,
    const_of,
    graph,
    made_node,
    make_schema,
    schema_fields,
)
from mainspring.graph.operators._lists import BINARY, UNARY
from mainspring.graph.operators._names import (
    eq_,
    is_empty,
    len_,
    max_,
    min_,
    std,
    sum_,
    var,
)
from mainspring.graph.operators._statistics import REDUCTIONS


def _bundled(like: Any, ports: dict[str, Any]) -> Any:
    """Return the ports as a bundle of the schema of ``like`` if they have its types, else of a new one."""
    schema = like.output_type.dereference().schema
    types = {name: port.output_type.dereference() for name, port in ports.items()}
    if types != schema_fields(schema):
        schema = make_schema(types, schema.__name__)
    return TSB[schema].from_ts(**ports)


def _same_fields(bindings: Any, scalars: Any) -> bool | str:
    left, right = (set(schema_fields(bindings[v])) for v in (TS_SCHEMA, TS_SCHEMA_1))
    return left == right or f"the bundles differ in {', '.join(sorted(left ^ right))}"


def _fieldwise(apply: Any) -> None:
    def fields(lhs: TSB[TS_SCHEMA], rhs: TSB[TS_SCHEMA_1]):
        right = rhs.as_dict()
        return _bundled(
            lhs, {name: apply(port, right[name]) for name, port in lhs.as_dict().items()}
        )

    fields.__name__ = fields.__qualname__ = f"{apply.__name__.strip('_')}_fields"
    graph(fields, overloads=apply, requires=_same_fields)


def _each_field(apply: Any) -> None:
    def each_field(ts: TSB[TS_SCHEMA]):
        return _bundled(ts, {name: apply(port) for name, port in ts.as_dict().items()})

    each_field.__name__ = each_field.__qualname__ = f"{apply.__name__.strip('_')}_each_field"
    graph(each_field, overloads=apply)


for overloaded in (*BINARY, std, var):
    if overloaded is not sum_:  # which wires `add_`
        _fieldwise(overloaded)
for overloaded in UNARY:
    _each_field(overloaded)


# --- statistics -------------------------------------------------------------------------------------


def _one_scalar(*kinds: type) -> Callable[[Any, Any], bool | str]:
    def required(bindings: Any, scalars: Any) -> bool | str:
        found = set(schema_fields(bindings[TS_SCHEMA]).values())
        known = len(found) == 1 and isinstance(next(iter(found)), TSm)
        return (
            known and (not kinds or next(iter(found)).scalar in kinds)
        ) or "its fields have not one type to go over"

    return required


def _over_fields(overloaded: Any, function: Any, same: bool) -> None:
    def over_fields(ts: TSB[TS_SCHEMA]):
        tp = ts.output_type.dereference()
        item = next(iter(tp.fields.values()))
        zero = item.scalar()

        def over(ts: Any) -> Any:
            return function([one.value if one.valid else zero for one in ts.values()])

        return made_node(over_fields.__name__, over, {"ts": tp}, item if same else TS[float])(ts)

    over_fields.__name__ = over_fields.__qualname__ = (
        f"{overloaded.__name__.strip('_')}_over_fields"
    )
    kinds = () if overloaded in (min_, max_) else (int, float)
    graph(over_fields, overloads=overloaded, requires=_one_scalar(*kinds))


for overloaded, function, same, _ in REDUCTIONS:
    _over_fields(overloaded, function, same)


# --- the whole --------------------------------------------------------------------------------------


@compute_node(overloads=eq_)
def eq_bundles(lhs: TSB[TS_SCHEMA], rhs: TSB[TS_SCHEMA_1]) -> TS[bool]:
    """True when both have the same fields and every field equals its counterpart."""
    return bool(lhs.value == rhs.value)


@graph(overloads=len_)
def len_bundle(ts: TSB[TS_SCHEMA]) -> TS[int]:
    """The number of fields, which a bundle has from the start."""
    return const_of(len(ts.as_dict()), TS[int])


@graph(overloads=is_empty)
def is_empty_bundle(ts: TSB[TS_SCHEMA]) -> TS[bool]:
    """Whether there is no field."""
    return const_of(not ts.as_dict(), TS[bool])
