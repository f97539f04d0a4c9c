"""The scalar type that a Python value is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.graph._match import scalar_fits
from mainspring.graph._types import TsMeta


def scalar_type_of(value: Any) -> Any:
    """The scalar type of a Python value: `(1, 2)` is `tuple[int, ...]`."""
    kind = type(value)
    if kind in (bool, int, float, str, bytes):
        return kind
    if kind is tuple or kind is list:
        inner = [scalar_type_of(item) for item in value]
        if not inner:
            return kind
        first = inner[0]
        if all(tp == first for tp in inner):
            return kind[(first, ...) if kind is tuple else first]
        return kind[tuple(inner) if kind is tuple else object]
    if kind in (set, frozenset, SetDeltaType()):
        inner = [scalar_type_of(item) for item in value]
        base = frozenset
        return base[common_scalar(inner)] if inner else base
    if isinstance(value, Mapping):
        if not value:
            return dict
        keys = common_scalar([scalar_type_of(k) for k in value])
        values = common_scalar([scalar_type_of(v) for v in value.values()])
        return Mapping[keys, values]  # type: ignore[valid-type]  # a type that is made here
    if isinstance(value, (type, TsMeta)):
        return type
    return kind


def SetDeltaType() -> Any:
    from mainspring.graph._sentinels import SetDelta

    return SetDelta


def common_scalar(found: list[Any]) -> Any:
    first = found[0]
    if all(tp == first for tp in found):
        return first
    for candidate in found:
        if all(scalar_fits(candidate, tp) for tp in found):
            return candidate
    if all(tp in (int, float) for tp in found):
        return float
    return object
