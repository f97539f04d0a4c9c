"""Operators on text: parts, patterns, joining and formatting."""

import re
from typing import Any, get_args

from mainspring.graph._sentinels import KeySet
from mainspring.graph.operators._base import (
    AUTO_RESOLVE,
    SCALAR,
    SIZE,
    TIME_SERIES_TYPE,
    TS,
    TSB,
    TSL,
    TimeSeriesSchema,
    TSm,
    called_node,
    compute_node,
    graph,
    made_node,
)
from mainspring.graph.operators._names import (
    contains_,
    getitem_,
    is_empty,
    join,
    match_,
    replace,
    split,
    str_,
    substr,
    type_,
)
from mainspring.graph.operators._shown import in_full, shown, whole_reader


class Match(TimeSeriesSchema):
    """What `match_` found: whether the text fits, and the groups of the pattern."""

    is_match: TS[bool]
    groups: TS[tuple[str, ...]]


@compute_node(overloads=match_)
def match_text(pattern: TS[str], s: TS[str]) -> TSB[Match]:
    """Search the pattern in the text; the groups tick when it is found, one that takes no part as empty."""
    found = re.search(pattern.value, s.value)
    if found is None:
        return {"is_match": False}
    return {"is_match": True, "groups": found.groups("")}


@compute_node(overloads=replace)
def replace_text(pattern: TS[str], repl: TS[str], s: TS[str]) -> TS[str]:
    """Replace what the pattern matches, as `re.sub` does."""
    return re.sub(pattern.value, repl.value, s.value)


@compute_node(overloads=substr)
def substr_text(s: TS[str], start: TS[int], end: TS[int]) -> TS[str]:
    """Return the text from start to end, counted as slices count."""
    return s.value[start.value : end.value]


@compute_node(overloads=is_empty)
def is_empty_text(ts: TS[str]) -> TS[bool]:
    """Return whether there are no characters."""
    return not ts.value


@compute_node(overloads=contains_)
def contains_text(ts: TS[str], item: TS[str]) -> TS[bool]:
    """Return whether the second text is part of the first."""
    return item.value in ts.value


@compute_node(overloads=getitem_)
def getitem_text(ts: TS[str], key: TS[int]) -> TS[str]:
    """Return one character."""
    return ts.value[key.value]


@compute_node(overloads=split)
def split_tuple(s: TS[str], separator: str) -> TS[tuple[str, ...]]:
    """Return the parts between separators."""
    return tuple(s.value.split(separator))


def _is_row(bindings: Any, scalars: Any) -> bool | str:
    args = get_args(bindings[SCALAR])
    return (len(args) > 0 and set(args) == {str}) or "it makes tuples of text"


@compute_node(overloads=split, requires=_is_row)
def split_row(s: TS[str], separator: str, tp: type[SCALAR] = AUTO_RESOLVE) -> TS[SCALAR]:
    """Return so many parts; the last is all that is left."""
    return _parts(s.value, separator, len(get_args(tp)))


@compute_node(overloads=split)
def split_list(s: TS[str], separator: str, size: type[SIZE] = AUTO_RESOLVE) -> TSL[TS[str], SIZE]:
    """Return as many parts as the list has places; the last is all that is left."""
    if size.SIZE is None:
        raise ValueError("split: the list has no fixed size")
    return _parts(s.value, separator, size.SIZE)


def _parts(text: str, separator: str, count: int) -> tuple[str, ...]:
    parts = tuple(text.split(separator, count - 1))
    if len(parts) != count:
        raise ValueError(f"split: {text!r} has {len(parts)} parts, not {count}")
    return parts


@compute_node(overloads=join)
def join_tuple(ts: TS[tuple[str, ...]], separator: str, __strict__: bool = True) -> TS[str]:
    """Return the parts with the separator between them."""
    return separator.join(ts.value)


@compute_node(overloads=join)
def join_list(strings: TSL[TS[str], SIZE], separator: str, __strict__: bool = False) -> TS[str]:
    """Return the texts that have a value with the separator between them."""
    if __strict__ and not strings.all_valid:
        return None
    return separator.join(part.value for part in strings.valid_values())


@compute_node(overloads=join, valid=())
def join_many(*ts: TSL[TS[str], SIZE], separator: str, __strict__: bool = False) -> TS[str]:
    """Return the texts that have a value with the separator between them; strictly, once all have one."""
    if __strict__ and not ts.all_valid:
        return None
    return separator.join(part.value for part in ts.values() if part.valid)


@graph(overloads=str_)
def str_any(ts: TIME_SERIES_TYPE) -> TS[str]:
    """Return the value as text."""
    tp = ts.output_type.dereference()
    if isinstance(tp, TSm):
        return called_node("str_", in_full if tp.scalar is object else shown, ts, TS[str])
    return made_node("str_", whole_reader(tp), {"ts": tp}, TS[str])(ts)


@compute_node(overloads=type_)
def type_any(ts: TIME_SERIES_TYPE) -> TS[type]:
    """Return the type of the value."""
    kind = type(ts.value)
    return set if kind is KeySet else kind
