"""Dictionaries over time: keys turned, joined, split and looked up.

What moves values from one key to another moves references, so a value's own ticks reach the reader without
passing through the node. What compares or combines values reads them.
"""

from typing import Any

from mainspring.graph.operators._base import (
    K_1,
    REF,
    REMOVE,
    SCALAR,
    SIZE,
    STATE,
    TS,
    TS_OUT,
    TSD,
    TSD_OUT,
    TSL,
    TSS,
    TSS_OUT,
    K,
    V,
    changed,
    compute_node,
    graph,
    is_dict,
    make_reference,
    set_delta,
)
from mainspring.graph.operators._delta import whole
from mainspring.graph.operators._names import (
    bit_and,
    bit_or,
    bit_xor,
    collapse_keys,
    contains_,
    difference,
    eq_,
    flip,
    flip_keys,
    getitem_,
    intersection,
    keys_,
    len_,
    make_tsd,
    merge,
    partition,
    rekey,
    sub_,
    symmetric_difference,
    uncollapse_keys,
    union,
    unpartition,
    values_,
)
from mainspring.graph.operators._sets import _folded


@compute_node(overloads=len_)
def len_dict(ts: TSD[K, V], _output: TS_OUT[int] = None) -> TS[int]:
    """The number of keys, when it changes."""
    return changed(len(ts), _output)


@compute_node(overloads=contains_, valid=("item",))
def contains_key(ts: TSD[K, V], item: TS[K], _output: TS_OUT[bool] = None) -> TS[bool]:
    """Whether the key is there: for every new key asked for, and when it comes or goes."""
    found = ts.valid and item.value in ts
    return found if item.modified else changed(found, _output)


@compute_node(overloads=eq_, valid=())
def eq_dicts(lhs: TSD[K, V], rhs: TSD[K, V]) -> TS[bool]:
    """True when both have a value, and the same keys with equal values."""
    return (
        lhs.valid
        and rhs.valid
        and len(lhs) == len(rhs)
        and all(key in rhs and item.value == rhs[key].value for key, item in lhs.items())
    )


@compute_node(overloads=eq_)
def eq_dicts_nearly(lhs: TSD[K, TS[float]], rhs: TSD[K, TS[float]], epsilon: TS[float]) -> TS[bool]:
    """True when both have the same keys with values no further apart than `epsilon`."""
    return len(lhs) == len(rhs) and all(
        key in rhs and abs(item.value - rhs[key].value) <= epsilon.value
        for key, item in lhs.items()
    )


@graph(overloads=keys_)
def keys_dict(ts: TSD[K, V]) -> TSS[K]:
    """The keys."""
    return ts.key_set


@compute_node(overloads=keys_)
def keys_frozen(
    ts: TSD[SCALAR, V], _output: TS_OUT[frozenset[SCALAR]] = None
) -> TS[frozenset[SCALAR]]:
    """The keys as one value, when they change: `keys_[TS[frozenset[str]]](ts)`."""
    return changed(frozenset(ts.keys()), _output)


@compute_node(overloads=values_)
def values_dict(ts: TSD[K, TS[SCALAR]], _output: TSS_OUT[SCALAR] = None) -> TSS[SCALAR]:
    """The distinct values."""
    has = dict.fromkeys(item.value for item in ts.valid_values())
    had = list(_output.values()) if _output.valid else []
    added = [value for value in has if not had or value not in _output]
    removed = [value for value in had if value not in has]
    if added or removed or not _output.valid:
        return set_delta(added=added, removed=removed)
    return None


@compute_node(overloads=getitem_)
def getitem_key(ts: TSD[K, REF[V]], key: TS[K], _output: TS_OUT[object] = None) -> REF[V]:
    """The value of a key; a reference to nothing while the key is not there."""
    found = ts[key.value].value if key.value in ts else None
    return changed(make_reference(None) if found is None else found, _output)


@compute_node(overloads=getitem_)
def getitem_keys(
    ts: TSD[K, REF[V]], key: TSS[K], _output: TSD_OUT[K, REF[V]] = None
) -> TSD[K, REF[V]]:
    """The part of a dictionary under the given keys."""
    change: dict[Any, Any] = {}
    for item in _output.keys() if _output.valid else ():
        if item not in key or item not in ts:
            change[item] = REMOVE
    for item in key.values():
        if item in ts and (ts[item].modified or not _output.valid or item not in _output):
            change[item] = ts[item].value
    return change or None


def _several(bindings: Any, scalars: Any) -> bool | str:
    return bindings[SIZE].SIZE > 1 or "it takes two or more"


@compute_node(overloads=merge, valid=(), requires=_several)
def merge_dicts(*tsl: TSL[TSD[K, V], SIZE], _output: TSD_OUT[K, V] = None) -> TSD[K, V]:
    """The keys of all; of several values for a key, the one that ticked, the leftmost first.

    Values that are dictionaries themselves are merged in the same way.
    """
    change = _merged(list(tsl.values()), _output, True)
    return change if change or not _output.valid else None


@compute_node(overloads=merge, requires=lambda _, scalars: scalars["disjoint"])
def merge_disjoint(
    *tsl: TSL[TSD[K, REF[V]], SIZE], disjoint: bool, _output: TSD_OUT[K, REF[V]] = None
) -> TSD[K, REF[V]]:
    """The keys of all, for dictionaries with no key in common: the leftmost that has a key leads."""
    wanted: dict[Any, Any] = {}
    for ts in tsl.valid_values():
        for key, item in ts.valid_items():
            wanted.setdefault(key, item.value)
    return _restructured(_output, 1, wanted)


@graph(overloads=merge, requires=lambda _, scalars: not scalars["disjoint"])
def merge_not_disjoint(*tsl: TSL[TSD[K, V], SIZE], disjoint: bool) -> TSD[K, V]:
    """The keys of all."""
    return merge(*tsl)


def _merged(sources: list[Any], output: Any, deep: bool, lost: Any = ()) -> dict[Any, Any]:
    """Return the change that brings the output up to date with what ticked and went in this cycle.

    Without an output it is all there is. ``lost`` are keys that a source had which is not there any more.
    """
    gone = dict.fromkeys(lost)
    for ts in sources:
        gone.update(dict.fromkeys(ts.removed_keys() if ts.modified else ()))
    change: dict[Any, Any] = {}

    def put(key: Any, item: Any, ticked: bool) -> None:
        out = output[key] if output is not None and key in output and output[key].valid else None
        if deep and is_dict(item):
            had = list(out.keys()) if out is not None and key in gone else ()
            inner = _merged(_having(sources, key), out, deep, had)
            if inner or out is None:
                change[key] = inner
        elif ticked:
            change[key] = (
                item.delta_value if out is not None and is_dict(item) else whole(item, out)
            )
        elif out is None or out.value != item.value:
            change[key] = whole(item, out)

    # order: of the arguments, then of the keys
    for ts in sources:
        if output is None or ts.modified:
            for key, item in list(ts.valid_items() if output is None else ts.modified_items()):
                if key not in change and key in ts:
                    put(key, item, True)
    for key in gone:
        if key in change:
            continue
        left = _having(sources, key)
        if left:
            put(key, left[0], False)
        elif output is not None and key in output:
            change[key] = REMOVE
    return change


def _having(sources: list[Any], key: Any) -> list[Any]:
    """Return the elements with a value under a key."""
    return [ts[key] for ts in sources if ts.valid and key in ts and ts[key].valid]


@compute_node(overloads=bit_or, valid=())
def or_dicts(lhs: TSD[K, V], rhs: TSD[K, V], _output: TSD_OUT[K, V] = None) -> TSD[K, V]:
    """The keys of either, each with the value of one of them, the one that ticked."""
    change = _merged([lhs, rhs], _output, False)
    return change if change or not _output.valid else None


@graph(overloads=union)
def union_dicts(*ts: TSL[TSD[K, V], SIZE]) -> TSD[K, V]:
    """The keys of any."""
    return _folded(bit_or, ts)


@graph(overloads=intersection)
def intersection_dicts(*ts: TSL[TSD[K, V], SIZE]) -> TSD[K, V]:
    """The keys of all, with the values of the first."""
    return _folded(bit_and, ts)


@graph(overloads=symmetric_difference)
def symmetric_difference_dicts(*ts: TSL[TSD[K, V], SIZE]) -> TSD[K, V]:
    """The keys of an odd number of the dictionaries."""
    return _folded(bit_xor, ts)


@graph(overloads=difference)
def difference_one_dict(ts: TSD[K, V]) -> TSD[K, V]:
    """The dictionary itself."""
    return ts


@graph(overloads=difference)
def difference_dicts(lhs: TSD[K, V], rhs: TSD[K, V]) -> TSD[K, V]:
    """The keys of the first that are not in the second."""
    return sub_(lhs, rhs)


def _selected(output: Any, lhs: Any, rhs: Any, choose: Any) -> Any:
    """Change the output so that each key has the reference `choose(in lhs, in rhs)` picks."""
    touched: dict[Any, None] = {}
    for ts in (lhs, rhs):
        if not output.valid:
            touched.update(dict.fromkeys(ts.keys()))
        elif ts.modified:
            touched.update(dict.fromkeys(ts.modified_keys()))
            touched.update(dict.fromkeys(ts.removed_keys()))
    change: dict[Any, Any] = {}
    for key in touched:
        source = choose(key in lhs, key in rhs)
        if source is not None:
            item = (lhs, rhs)[source][key]
            if item.modified or not output.valid or key not in output:
                change[key] = item.value
        elif output.valid and key in output:
            change[key] = REMOVE
    return change if change or not output.valid else None


def filter_by(ts: Any, expr: Any, **kwargs: Any) -> Any:
    """The part of a dictionary whose values a function says yes to: `filter_by(ts, lambda v: v > 2)`.

    The function is mapped over the dictionary: it may take the key, and more inputs by their names.
    """
    from mainspring.graph._map import map_

    return filter_by_match(ts, map_(expr, ts, **kwargs))


@compute_node(valid=("ts",))
def filter_by_match(
    ts: TSD[K, REF[V]], match: TSD[K, TS[bool]], _output: TSD_OUT[K, REF[V]] = None
) -> TSD[K, REF[V]]:
    """The keys that the second dictionary says true of."""
    touched = dict.fromkeys(() if _output.valid else ts.keys())
    for side in (ts, match):
        if side.modified:
            touched.update(dict.fromkeys((*side.modified_keys(), *side.removed_keys())))
    change: dict[Any, Any] = {}
    for key in touched:
        known = _output.valid and key in _output
        said = match[key] if match.valid and key in match else None
        if key in ts and said is not None and said.valid and said.value:
            if ts[key].modified or not known:
                change[key] = ts[key].value
        elif known:
            change[key] = REMOVE
    return change if change or not _output.valid else None


@compute_node(overloads=bit_and)
def and_dicts(
    lhs: TSD[K, REF[V]], rhs: TSD[K, REF[V]], _output: TSD_OUT[K, REF[V]] = None
) -> TSD[K, REF[V]]:
    """The keys of both, with the values of the first."""
    return _selected(_output, lhs, rhs, lambda left, right: 0 if left and right else None)


@compute_node(overloads=sub_)
def sub_dicts(
    lhs: TSD[K, REF[V]], rhs: TSD[K, REF[V]], _output: TSD_OUT[K, REF[V]] = None
) -> TSD[K, REF[V]]:
    """The keys of the first that are not in the second."""
    return _selected(_output, lhs, rhs, lambda left, right: 0 if left and not right else None)


@compute_node(overloads=bit_xor)
def xor_dicts(
    lhs: TSD[K, REF[V]], rhs: TSD[K, REF[V]], _output: TSD_OUT[K, REF[V]] = None
) -> TSD[K, REF[V]]:
    """The keys of one alone."""
    return _selected(
        _output, lhs, rhs, lambda left, right: None if left == right else (0 if left else 1)
    )


@compute_node(overloads=flip, requires=lambda _, scalars: scalars["unique"])
def flip_unique(
    ts: TSD[K, TS[K_1]],
    unique: bool = True,
    _output: TSD_OUT[K_1, TS[K]] = None,
    _state: STATE = None,
) -> TSD[K_1, TS[K]]:
    """Values become keys. A value that two keys have keeps the one that ticked last."""
    had, owner = _state.had, _state.owner
    new = {
        key: item.value
        for key, item in ts.modified_items()
        if key in ts and owner.get(item.value, ts) != key
    }
    change: dict[Any, Any] = {}
    for key in (*ts.removed_keys(), *new):
        old = had.pop(key, None)
        if owner.get(old) == key:
            del owner[old]
            change[old] = REMOVE
    for key, item in new.items():
        had[key], owner[item] = item, key
        change[item] = key
    return change or None


@flip_unique.start
def flip_unique_start(_state: STATE) -> None:
    """Begin with no key."""
    _state.had = {}
    _state.owner = {}


@compute_node(overloads=flip, requires=lambda _, scalars: not scalars["unique"])
def flip_many(
    ts: TSD[K, TS[K_1]], unique: bool, _output: TSD_OUT[K_1, TSS[K]] = None
) -> TSD[K_1, TSS[K]]:
    """Values become keys, each with the set of the keys that have it."""
    turned: dict[Any, dict[Any, None]] = {}
    for key, item in ts.valid_items():
        turned.setdefault(item.value, {})[key] = None
    change: dict[Any, Any] = {}
    for value in _output.keys() if _output.valid else ():
        if value not in turned:
            change[value] = REMOVE
    for value, keys in turned.items():
        had = list(_output[value].values()) if _output.valid and value in _output else []
        added = [key for key in keys if key not in had]
        removed = [key for key in had if key not in keys]
        if added or removed:
            change[value] = set_delta(added=added, removed=removed)
    return change if change or not _output.valid else None


def _restructured(
    output: Any, depth: int, wanted: dict[Any, Any], remove_empty: bool = True
) -> Any:
    """The change that gives the output the wanted references, `depth` levels of keys deep."""
    change: dict[Any, Any] = {}
    for key in output.keys() if output.valid else ():
        if key not in wanted:
            change[key] = REMOVE
    for key, item in wanted.items():
        there = output.valid and key in output
        if depth > 1:
            if not there:
                change[key] = item
            else:
                inner = _restructured(output[key], depth - 1, item)
                if inner:
                    change[key] = inner
        elif not there or output[key].value != item:
            change[key] = item
    return change or None


@compute_node(overloads=flip_keys)
def flip_keys_dict(
    ts: TSD[K, TSD[K_1, REF[V]]], _output: TSD_OUT[K_1, TSD[K, REF[V]]] = None
) -> TSD[K_1, TSD[K, REF[V]]]:
    """Outer keys become inner ones and inner keys outer ones."""
    wanted: dict[Any, dict[Any, Any]] = {}
    for outer, items in ts.valid_items():
        for inner, item in items.valid_items():
            wanted.setdefault(inner, {})[outer] = item.value
    return _restructured(_output, 2, wanted)


@compute_node(overloads=collapse_keys)
def collapse_keys_dict(
    ts: TSD[K, TSD[K_1, REF[V]]], _output: TSD_OUT[tuple[K, K_1], REF[V]] = None
) -> TSD[tuple[K, K_1], REF[V]]:
    """Two levels of keys become one of pairs."""
    wanted = {
        (outer, inner): item.value
        for outer, items in ts.valid_items()
        for inner, item in items.valid_items()
    }
    return _restructured(_output, 1, wanted)


@compute_node(overloads=uncollapse_keys)
def uncollapse_keys_dict(
    ts: TSD[tuple[K, K_1], REF[V]],
    remove_empty: bool = True,
    _output: TSD_OUT[K, TSD[K_1, REF[V]]] = None,
) -> TSD[K, TSD[K_1, REF[V]]]:
    """Pairs of keys become two levels; an outer key without any goes, or stays empty."""
    wanted: dict[Any, dict[Any, Any]] = {}
    if not remove_empty and _output.valid:
        wanted.update((outer, {}) for outer in list(_output.keys()))
    for (outer, inner), item in ts.valid_items():
        wanted.setdefault(outer, {})[inner] = item.value
    return _restructured(_output, 2, wanted)


@compute_node(overloads=rekey)
def rekey_dict(
    ts: TSD[K, REF[V]], new_keys: TSD[K, TS[K_1]], _output: TSD_OUT[K_1, REF[V]] = None
) -> TSD[K_1, REF[V]]:
    """Each value under its key's new key; a key without a new one is left out."""
    wanted = {
        new_keys[key].value: item.value
        for key, item in ts.valid_items()
        if key in new_keys and new_keys[key].valid
    }
    return _restructured(_output, 1, wanted)


@compute_node(overloads=rekey)
def rekey_dict_many(
    ts: TSD[K, REF[V]], new_keys: TSD[K, TSS[K_1]], _output: TSD_OUT[K_1, REF[V]] = None
) -> TSD[K_1, REF[V]]:
    """Each value under each of its key's new keys."""
    wanted = {
        new_key: item.value
        for key, item in ts.valid_items()
        if key in new_keys and new_keys[key].valid
        for new_key in new_keys[key].values()
    }
    return _restructured(_output, 1, wanted)


@compute_node(overloads=partition)
def partition_dict(
    ts: TSD[K, REF[V]],
    partitions: TSD[K, TS[K_1]],
    _output: TSD_OUT[K_1, TSD[K, REF[V]]] = None,
) -> TSD[K_1, TSD[K, REF[V]]]:
    """A dictionary for each part, of the keys that belong to it."""
    wanted: dict[Any, dict[Any, Any]] = {}
    if _output.valid:
        wanted.update((part, {}) for part in list(_output.keys()))
    for key, item in ts.valid_items():
        if key in partitions and partitions[key].valid:
            wanted.setdefault(partitions[key].value, {})[key] = item.value
    return _restructured(_output, 2, wanted)


@compute_node(overloads=unpartition)
def unpartition_dict(
    ts: TSD[K_1, TSD[K, REF[V]]], _output: TSD_OUT[K, REF[V]] = None
) -> TSD[K, REF[V]]:
    """The keys of all parts in one dictionary."""
    wanted = {key: item.value for _, items in ts.valid_items() for key, item in items.valid_items()}
    return _restructured(_output, 1, wanted)


def _under(key: Any, value: Any, output: Any) -> dict[Any, Any]:
    """Return the change that keeps the value under a key: all of it when the key is new or ticks again."""
    known = output.valid and key.value in output
    if known and not key.modified:
        return {key.value: value.delta_value}
    return {key.value: whole(value, output[key.value] if known else None)}


@compute_node(overloads=make_tsd)
def make_tsd_one(key: TS[K], value: V, _output: TSD_OUT[K, V] = None) -> TSD[K, V]:
    """A dictionary of the value under each key there has been; the last one is kept up to date."""
    return _under(key, value, _output)


@compute_node(overloads=make_tsd, valid=("key", "value"))
def make_tsd_removable(
    key: TS[K], value: V, remove_key: TS[bool], _output: TSD_OUT[K, V] = None
) -> TSD[K, V]:
    """A dictionary of the value under each key; the key there is goes when `remove_key` ticks true."""
    known = _output.valid and key.value in _output
    if remove_key.valid and remove_key.modified and remove_key.value:
        return {key.value: REMOVE} if known else None
    if not value.modified and not key.modified:
        return None
    return _under(key, value, _output)
