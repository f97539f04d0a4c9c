"""How values and time series read as text: what ``str_``, ``format_`` and the printing sinks show.

A value reads as Python writes it, but for what is inside of it: a member of an enumeration is its name, a
date is ISO text and a set is in braces, at any depth. A bundle of scalars reads as an instance of its
schema, a list in square brackets; what has no value yet is ``<unset>`` in an instance and ``<null>``
elsewhere.
"""

import functools
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import Any

import numpy as np

from mainspring.graph.operators._base import (
    CompoundScalar,
    TSBm,
    TSDm,
    TSLm,
    TSm,
    TSSm,
    TSWm,
    scalar_fields,
)

NULL = "<null>"
UNSET = "<unset>"

_NUMBERS = frozenset({bool, int, float})
_AS_WRITTEN = _NUMBERS | {str}


def shown(value: Any) -> str:
    """Return a value as text."""
    if type(value) is str:
        return value
    if isinstance(value, str) and not isinstance(value, Enum):
        return value
    return in_full(value)


def in_full(value: Any) -> str:
    """Return a value as text inside of another one, where text is in quotes."""
    if type(value) in _NUMBERS:
        return str(value)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, tuple):
        return f"({_listed(value)},)" if len(value) == 1 else f"({_listed(value)})"
    if isinstance(value, np.ndarray):
        return in_full(value.tolist())
    if isinstance(value, list):
        return f"[{_listed(value)}]"
    if isinstance(value, set | frozenset):
        return "{" + _listed(value) + "}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{in_full(k)}: {in_full(v)}" for k, v in value.items()) + "}"
    if isinstance(value, date | datetime | time | timedelta):
        return str(value)
    if isinstance(value, CompoundScalar):
        parts = {name: getattr(value, name, None) for name in scalar_fields(type(value))}
        return _instance(
            type(value).__name__,
            {name: UNSET if item is None else in_full(item) for name, item in parts.items()},
        )
    return str(value)


def _listed(values: Any) -> str:
    return ", ".join(map(in_full, values))


def _instance(name: str, parts: Mapping[str, str]) -> str:
    return f"{name}({', '.join(f'{key}={text}' for key, text in parts.items())})"


@functools.cache
def reader(tp: Any) -> Callable[[Any], str]:
    """Return what shows a time series of a type that has a value, inside of another or in a pattern."""
    if isinstance(tp, TSLm):
        item = _or(reader(tp.element), NULL)
        return lambda ts: f"[{', '.join(map(item, ts.values()))}]"
    if isinstance(tp, TSDm):
        item = _or(reader(tp.element), NULL)
        return lambda ts: "{" + ", ".join(f"{in_full(k)}: {item(v)}" for k, v in ts.items()) + "}"
    if isinstance(tp, TSBm):
        if not all(isinstance(field, TSm) for field in tp.fields.values()):
            return whole_reader(tp)
        items = {key: _or(reader(field), UNSET) for key, field in tp.fields.items()}
        name = tp.schema.__name__
        return lambda ts: _instance(name, {key: item(ts[key]) for key, item in items.items()})
    if isinstance(tp, TSSm):
        return lambda ts: "{" + _listed(ts.values()) + "}"
    if isinstance(tp, TSWm):
        return lambda ts: f"[{_listed(ts.value.tolist())}]"
    return lambda ts: in_full(ts.value)


@functools.cache
def whole_reader(tp: Any) -> Callable[[Any], str]:
    """Return what shows a time series of a type on its own: `str_`."""
    if isinstance(tp, TSm):
        show = in_full if tp.scalar is object else shown
        return lambda ts: show(ts.value)
    if isinstance(tp, TSLm):
        item = _or(reader(tp.element), "")
        return lambda ts: f"({', '.join(map(item, ts.values()))})"
    if isinstance(tp, TSBm):
        items = {key: _or(reader(field), NULL) for key, field in tp.fields.items()}
        return lambda ts: (
            "{" + ", ".join(f"{key!r}: {item(ts[key])}" for key, item in items.items()) + "}"
        )
    return reader(tp)


@functools.cache
def change_reader(tp: Any) -> Callable[[Any], str]:
    """Return what shows the change of a time series of a type in this cycle."""
    if isinstance(tp, TSLm):
        item = change_reader(tp.element)
        return lambda ts: "{" + ", ".join(f"{i}: {item(v)}" for i, v in ts.modified_items()) + "}"
    if isinstance(tp, TSDm):
        item = change_reader(tp.element)
        return lambda ts: (
            f"{{removed: {{{_listed(ts.removed_keys())}}}, modified: {{"
            + ", ".join(f"{in_full(k)}: {item(v)}" for k, v in ts.modified_items() if k in ts)
            + "}}"
        )
    if isinstance(tp, TSBm):
        items = {key: change_reader(field) for key, field in tp.fields.items()}
        return lambda ts: (
            "{"
            + ", ".join(
                f"{key}: {item(ts[key]) if ts[key].modified else UNSET}"
                for key, item in items.items()
            )
            + "}"
        )
    if isinstance(tp, TSSm):
        return lambda ts: (
            f"{{added: {{{_listed(ts.added())}}}, removed: {{{_listed(ts.removed())}}}}}"
        )
    return lambda ts: in_full(ts.delta_value)


def _or(item: Callable[[Any], str], otherwise: str) -> Callable[[Any], str]:
    return lambda ts: item(ts) if ts.valid else otherwise


class Shown:
    """A value in a pattern: shown as here, its own format specification honoured where it has one."""

    __slots__ = ("text", "value")

    def __init__(self, value: Any, text: str) -> None:
        self.value = value
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return repr(self.value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value, name)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __format__(self, specification: str) -> str:
        if not specification:
            return self.text
        if isinstance(self.value, int | float | date | datetime | time):
            return format(self.value, specification)
        return format(self.text, specification)


def value_reader(tp: Any) -> Callable[[Any], str]:
    """Return what shows a time series of a type in a line of text."""
    return whole_reader(tp) if isinstance(tp, TSm) else reader(tp)


def pattern_reader(tp: Any) -> Callable[[Any], Any]:
    """Return what gives that which stands for a time series in a pattern; None where it has no value."""
    read = value_reader(tp)

    def stands_for(ts: Any) -> Any:
        if not ts.valid:
            return None
        value = ts.value
        # Python writes and formats these as they are to be shown.
        return value if type(value) in _AS_WRITTEN else Shown(value, read(ts))

    return stands_for
