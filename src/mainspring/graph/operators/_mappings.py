"""Mappings as values: looked up, and their keys turned, joined and split.

What ``_dicts.py`` does to dictionaries over time is done here to a mapping that ticks as a whole: every tick
gives a new mapping, made anew.
"""

from collections.abc import Mapping
from typing import Any

from mainspring.graph.operators._base import (
    K_1,
    SCALAR,
    SCALAR_1,
    TS,
    TSS,
    TSS_OUT,
    K,
    compute_node,
)
from mainspring.graph.operators._convert import set_change
from mainspring.graph.operators._names import (
    collapse_keys,
    flip,
    flip_keys,
    getitem_,
    keys_,
    partition,
    rekey,
    uncollapse_keys,
    values_,
)


@compute_node(overloads=keys_)
def keys_mapping(ts: TS[Mapping[K, SCALAR]]) -> TS[frozenset[K]]:
    """The keys of the current mapping."""
    return frozenset(ts.value)


@compute_node(overloads=keys_)
def keys_mapping_set(
    ts: TS[Mapping[SCALAR, SCALAR_1]], _output: TSS_OUT[SCALAR] = None
) -> TSS[SCALAR]:
    """The keys of the current mapping as a set over time: `keys_[TSS[int]](ts)`."""
    return set_change(ts.value, _output)


@compute_node(overloads=values_)
def values_mapping(ts: TS[Mapping[K, SCALAR]]) -> TS[tuple[SCALAR, ...]]:
    """The values of the current mapping."""
    return tuple(ts.value.values())


@compute_node(overloads=getitem_)
def getitem_mapping(ts: TS[Mapping[K, SCALAR]], key: TS[K]) -> TS[SCALAR]:
    """The value of a key; no tick while the key is not there."""
    return ts.value.get(key.value)


@compute_node(overloads=getitem_, valid=("ts", "key"))
def getitem_mapping_default(
    ts: TS[Mapping[K, SCALAR]], key: TS[K], default_value: TS[SCALAR]
) -> TS[SCALAR]:
    """The value of a key, or the default."""
    return ts.value.get(key.value, default_value.value if default_value.valid else None)


@compute_node(overloads=flip)
def flip_mapping(ts: TS[Mapping[K, K_1]]) -> TS[Mapping[K_1, K]]:
    """Values become keys. A value that two keys have keeps the later one."""
    return {item: key for key, item in ts.value.items()}


@compute_node(overloads=flip_keys)
def flip_keys_mapping(
    ts: TS[Mapping[K, Mapping[K_1, SCALAR]]],
) -> TS[Mapping[K_1, Mapping[K, SCALAR]]]:
    """Outer keys become inner ones and inner keys outer ones."""
    return _nested(
        (inner, outer, item) for outer, items in ts.value.items() for inner, item in items.items()
    )


@compute_node(overloads=collapse_keys)
def collapse_keys_mapping(
    ts: TS[Mapping[K, Mapping[K_1, SCALAR]]],
) -> TS[Mapping[tuple[K, K_1], SCALAR]]:
    """Two levels of keys become one of pairs."""
    return {
        (outer, inner): item for outer, items in ts.value.items() for inner, item in items.items()
    }


@compute_node(overloads=uncollapse_keys)
def uncollapse_keys_mapping(
    ts: TS[Mapping[tuple[K, K_1], SCALAR]],
) -> TS[Mapping[K, Mapping[K_1, SCALAR]]]:
    """Pairs of keys become two levels."""
    return _nested((outer, inner, item) for (outer, inner), item in ts.value.items())


@compute_node(overloads=rekey)
def rekey_mapping(
    ts: TS[Mapping[K, SCALAR]], new_keys: TS[Mapping[K, K_1]]
) -> TS[Mapping[K_1, SCALAR]]:
    """Each value under its key's new key; a key without a new one is left out."""
    return {new_keys.value[key]: item for key, item in ts.value.items() if key in new_keys.value}


@compute_node(overloads=partition)
def partition_mapping(
    ts: TS[Mapping[K, SCALAR]], partitions: TS[Mapping[K, K_1]]
) -> TS[Mapping[K_1, Mapping[K, SCALAR]]]:
    """A mapping for each part, of the keys that belong to it."""
    return _nested(
        (partitions.value[key], key, item)
        for key, item in ts.value.items()
        if key in partitions.value
    )


def _nested(rows: Any) -> dict[Any, dict[Any, Any]]:
    found: dict[Any, dict[Any, Any]] = {}
    for outer, inner, item in rows:
        found.setdefault(outer, {})[inner] = item
    return found
