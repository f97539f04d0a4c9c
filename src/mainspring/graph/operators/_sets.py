"""Sets over time: union and the like by what changed, membership, size; and whether anything is in them.

The nodes look at the elements that came or went in this cycle and at nothing else, so their cost follows the
change. Until the output has a value (and after an input was bound anew) they look at everything once.
"""

from collections.abc import Callable
from typing import Any

from mainspring.graph.operators._base import (
    SCHEDULER,
    SIZE,
    STATE,
    TS,
    TS_OUT,
    TSD,
    TSL,
    TSS,
    TSS_OUT,
    K,
    V,
    annotated,
    came,
    changed,
    compute_node,
    from_the_start,
    graph,
    set_delta,
    went,
)
from mainspring.graph.operators._names import (
    add_,
    and_,
    bit_and,
    bit_or,
    bit_xor,
    contains_,
    difference,
    eq_,
    intersection,
    is_empty,
    len_,
    not_,
    or_,
    sub_,
    symmetric_difference,
    union,
)


def _touched(output: Any, state: Any, *sets: Any) -> dict[Any, None]:
    """The elements whose membership may have changed, in order.

    An input that leads to nothing any more took its elements with it and cannot say which they were, so then
    all there are may have gone.
    """
    there = [ts.valid for ts in sets]
    gone = any(was and not now for was, now in zip(state.get("there", ()), there, strict=False))
    state.there = there
    touched: dict[Any, None] = dict.fromkeys(output.values()) if gone and output.valid else {}
    for ts in sets:
        if not ts.valid:
            continue
        if not output.valid or gone:
            touched.update(dict.fromkeys(ts.values()))
        elif ts.modified:
            touched.update(dict.fromkeys(ts.delta_value.came))
            touched.update(dict.fromkeys(ts.delta_value.went))
    return touched


def _change(output: Any, touched: Any, belongs: Callable[[Any], bool]) -> Any:
    """The change that makes exactly those elements belong that should; None for none."""
    valid = output.valid
    added = [item for item in touched if not (valid and item in output) and belongs(item)]
    removed = [item for item in touched if valid and item in output and not belongs(item)]
    if added or removed or not output.valid:
        return set_delta(added=added, removed=removed)
    return None


@compute_node(overloads=bit_or, valid=())
def union_two(lhs: TSS[K], rhs: TSS[K], _state: STATE = None, _output: TSS_OUT[K] = None) -> TSS[K]:
    """What is in either; a set that has no value yet counts as empty."""
    return _change(
        _output, _touched(_output, _state, lhs, rhs), lambda item: item in lhs or item in rhs
    )


@compute_node(overloads=bit_and, valid=())
def intersection_two(
    lhs: TSS[K], rhs: TSS[K], _state: STATE = None, _output: TSS_OUT[K] = None
) -> TSS[K]:
    """What is in both; a set that has no value yet counts as empty."""
    return _change(
        _output, _touched(_output, _state, lhs, rhs), lambda item: item in lhs and item in rhs
    )


@compute_node(overloads=bit_xor, valid=())
def symmetric_difference_two(
    lhs: TSS[K], rhs: TSS[K], _state: STATE = None, _output: TSS_OUT[K] = None
) -> TSS[K]:
    """What is in one alone; a set that has no value yet counts as empty."""
    return _change(
        _output, _touched(_output, _state, lhs, rhs), lambda item: (item in lhs) != (item in rhs)
    )


@compute_node(overloads=sub_)
def difference_two(
    lhs: TSS[K], rhs: TSS[K], _state: STATE = None, _output: TSS_OUT[K] = None
) -> TSS[K]:
    """What is in the first and not in the second."""
    return _change(
        _output, _touched(_output, _state, lhs, rhs), lambda item: item in lhs and item not in rhs
    )


@compute_node(overloads=add_)
def add_item(lhs: TSS[K], rhs: TS[K], _output: TSS_OUT[K] = None) -> TSS[K]:
    """The set and every item there has been."""
    added = list(came(lhs) if _output.valid else lhs.values())
    removed = [item for item in went(lhs) if item != rhs.value]
    if rhs.value not in added:
        added.append(rhs.value)
    return _net(_output, added, removed)


@compute_node(overloads=sub_)
def remove_item(lhs: TSS[K], rhs: TS[K], _output: TSS_OUT[K] = None) -> TSS[K]:
    """The set without every item there has been since it was added; it ticks when the set loses one."""
    added = [item for item in (came(lhs) if _output.valid else lhs.values()) if item != rhs.value]
    removed = went(lhs)
    return _net(_output, added, [*removed, rhs.value], bool(removed))


def _net(output: Any, added: list[Any], removed: list[Any], always: bool = False) -> Any:
    valid = output.valid
    added = [item for item in added if not (valid and item in output)]
    removed = [item for item in removed if valid and item in output]
    if always and valid and not added and not removed:
        output.touch()
    if always or added or removed or not valid:
        return set_delta(added=added, removed=removed)
    return None


def _one(overloaded: Any) -> None:
    def one_set(ts: TSS[K]) -> TSS[K]:
        return ts

    one_set.__name__ = one_set.__qualname__ = f"{overloaded.__name__.strip('_')}_one"
    graph(one_set, overloads=overloaded)


for overloaded in (bit_or, bit_and, bit_xor, sub_, difference):
    _one(overloaded)


@graph(overloads=union)
def union_many(*ts: TSL[TSS[K], SIZE]) -> TSS[K]:
    """What is in any of the sets."""
    return _folded(bit_or, ts)


@graph(overloads=intersection)
def intersection_many(*ts: TSL[TSS[K], SIZE]) -> TSS[K]:
    """What is in all of the sets."""
    return _folded(bit_and, ts)


@graph(overloads=symmetric_difference)
def symmetric_difference_many(*ts: TSL[TSS[K], SIZE]) -> TSS[K]:
    """What is in an odd number of the sets."""
    return _folded(bit_xor, ts)


@graph(overloads=difference)
def difference_of_two(lhs: TSS[K], rhs: TSS[K]) -> TSS[K]:
    """What is in the first and not in the second."""
    return sub_(lhs, rhs)


def _folded(two: Any, ports: Any) -> Any:
    result = ports[0]
    for port in list(ports)[1:]:
        result = two(result, port)
    return result


@compute_node(overloads=and_)
def and_sets(lhs: TSS[K], rhs: TSS[K]) -> TS[bool]:
    """True when neither is empty."""
    return len(lhs) > 0 and len(rhs) > 0


@compute_node(overloads=or_)
def or_sets(lhs: TSS[K], rhs: TSS[K]) -> TS[bool]:
    """True when either has an element."""
    return len(lhs) > 0 or len(rhs) > 0


@compute_node(overloads=eq_)
def eq_sets(lhs: TSS[K], rhs: TSS[K]) -> TS[bool]:
    """True when both have the same elements."""
    return len(lhs) == len(rhs) and all(item in rhs for item in lhs.values())


@compute_node(overloads=len_)
def len_set(ts: TSS[K], _output: TS_OUT[int] = None) -> TS[int]:
    """The number of elements, when it changes."""
    return changed(len(ts), _output)


def _emptiness(overloaded: Any, kind: Any) -> None:
    def empty(ts, _output=None, _scheduler=None):
        return changed(not ts.valid or len(ts) == 0, _output)

    annotations = {"ts": kind, "_scheduler": SCHEDULER, "return": TS[bool]}
    node = annotated(empty, f"{overloaded.__name__.strip('_')}_keyed", annotations)
    from_the_start(compute_node(node, overloads=overloaded, valid=()))


for kind in (TSS[K], TSD[K, V]):
    _emptiness(is_empty, kind)
    _emptiness(not_, kind)


@compute_node(overloads=contains_, valid=("item",))
def contains_item(ts: TSS[K], item: TS[K], _output: TS_OUT[bool] = None) -> TS[bool]:
    """Whether the item is an element: for every new item, and when it comes or goes."""
    found = ts.valid and item.value in ts
    return found if item.modified else changed(found, _output)


@compute_node(overloads=contains_)
def contains_items(ts: TSS[K], item: TSS[K], _output: TS_OUT[bool] = None) -> TS[bool]:
    """Whether every element of the second set is in the first, when it changes."""
    return changed(all(one in ts for one in item.values()), _output)
