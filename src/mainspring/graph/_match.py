"""Comparing a pattern of types with an actual type, and binding the variables in it."""

from __future__ import annotations

import collections.abc
import enum
import types as _pytypes
import typing
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar, get_args, get_origin

from mainspring.graph._types import (
    Bindings,
    REFm,
    SIGNALm,
    Size,
    TimeSeries,
    TimeSeriesSchema,
    TSBm,
    TSDm,
    TSLm,
    TSm,
    TsMeta,
    TSSm,
    TSWm,
    WindowSize,
    type_name,
)


class MatchError(Exception):
    """A type does not fit a pattern; the message says where."""


def _bind(variable: TypeVar, actual: Any, bindings: Bindings) -> None:
    known = bindings.get(variable)
    if known is not None:
        if known == actual:
            return
        if isinstance(known, TsMeta) or isinstance(actual, TsMeta):
            if isinstance(known, TsMeta) and isinstance(actual, TsMeta):
                if known.dereference() == actual.dereference():
                    return
                if known.is_resolved():
                    match(known, actual, bindings)
                    return
                bindings[variable] = actual
                return
        elif scalar_fits(known, actual):
            return
        elif scalar_fits(actual, known) and not isinstance(actual, TypeVar):
            bindings[variable] = actual
            return
        raise MatchError(
            f"{variable.__name__} is {type_name(known)} already and cannot be {type_name(actual)}"
        )
    constraints = variable.__constraints__
    if (
        constraints
        and not isinstance(actual, TypeVar)
        and not any(
            (c == actual) or (not isinstance(c, TsMeta) and scalar_fits(c, actual))
            for c in constraints
        )
    ):
        raise MatchError(f"{type_name(actual)} is not one of the types of {variable.__name__}")
    bound = variable.__bound__
    if isinstance(bound, type) and not isinstance(actual, (TypeVar, TsMeta)):
        if (
            bound not in (TimeSeries, Hashable)
            and not (isinstance(actual, type) and issubclass(actual, bound))
            and not (bound is TimeSeriesSchema and isinstance(actual, type))
        ):
            raise MatchError(
                f"{type_name(actual)} is no {bound.__name__}, which {variable.__name__} asks for"
            )
    bindings[variable] = actual


def scalar_fits(pattern: Any, actual: Any) -> bool:
    """Can a value of the scalar type `actual` stand where `pattern` is asked for?"""
    if pattern == actual or pattern is object or pattern is typing.Any:
        return True
    if isinstance(pattern, type) and isinstance(actual, type) and not get_args(pattern):
        if pattern in (int, float, str) and actual is not pattern:
            # bool is no int here, and an IntEnum no number
            return issubclass(actual, pattern) and not issubclass(actual, (bool, enum.Enum))
        base = get_origin(actual) or actual
        try:
            return issubclass(base, pattern)
        except TypeError:
            return False
    origin = get_origin(pattern)
    if origin is typing.Union or origin is _pytypes.UnionType:
        return any(scalar_fits(option, actual) for option in get_args(pattern))
    return False


_MAPPINGS = (dict, Mapping, collections.abc.Mapping, collections.abc.MutableMapping)


def match_scalar(pattern: Any, actual: Any, bindings: Bindings) -> None:
    """Bind the variables of a scalar pattern, or raise `MatchError`."""
    if isinstance(pattern, TypeVar):
        _bind(pattern, actual, bindings)
        return
    if pattern == actual or scalar_fits(pattern, actual):
        return
    p_origin, a_origin = get_origin(pattern), get_origin(actual)
    p_args, a_args = get_args(pattern), get_args(actual)
    same = p_origin is not None and (
        p_origin is a_origin
        or (
            p_origin in _MAPPINGS
            and (a_origin in _MAPPINGS or getattr(a_origin, "__name__", "") == "frozendict")
        )
        or (p_origin in (set, frozenset, collections.abc.Set) and a_origin in (set, frozenset))
    )
    if same:
        if p_origin is tuple:
            p_open = len(p_args) == 2 and p_args[1] is Ellipsis
            a_open = len(a_args) == 2 and a_args[1] is Ellipsis
            if p_open and a_open:
                match_scalar(p_args[0], a_args[0], bindings)
                return
            if p_open:
                for arg in a_args:
                    match_scalar(p_args[0], arg, bindings)
                return
            if a_open or len(p_args) != len(a_args):
                raise MatchError(f"{type_name(actual)} is not {type_name(pattern)}")
        for p, a in zip(p_args, a_args, strict=False):
            match_scalar(p, a, bindings)
        return
    # A generic class and the instance of it that an actual class is.
    if isinstance(p_origin, type) and isinstance(actual, type) and issubclass(actual, p_origin):
        for base in getattr(actual, "__orig_bases__", ()):
            if get_origin(base) is p_origin:
                for p, a in zip(p_args, get_args(base), strict=False):
                    match_scalar(p, a, bindings)
        return
    raise MatchError(f"{type_name(actual)} is not {type_name(pattern)}")


def match(pattern: Any, actual: Any, bindings: Bindings) -> None:
    """Bind the variables of a time-series pattern, or raise `MatchError`."""
    if pattern is actual and not isinstance(pattern, TypeVar):
        return
    if isinstance(pattern, TypeVar):
        bound = pattern.__bound__
        if isinstance(bound, TsMeta):
            match(bound, actual, dict(bindings))
        _bind(pattern, actual.dereference() if isinstance(actual, TsMeta) else actual, bindings)
        return
    if isinstance(actual, TypeVar):
        raise MatchError(f"{actual.__name__} is not resolved")
    if isinstance(pattern, REFm):
        match(pattern.args[0], actual.args[0] if isinstance(actual, REFm) else actual, bindings)
        return
    if isinstance(actual, REFm):
        match(pattern, actual.args[0], bindings)
        return
    if isinstance(pattern, SIGNALm):
        return
    if type(pattern) is not type(actual):
        raise MatchError(f"{actual!r} is not {pattern!r}")
    if isinstance(pattern, (TSm, TSSm)):
        match_scalar(pattern.args[0], actual.args[0], bindings)
    elif isinstance(pattern, TSLm):
        match(pattern.args[0], actual.args[0], bindings)
        _match_size(pattern.args[1], actual.args[1], bindings)
    elif isinstance(pattern, TSDm):
        match_scalar(pattern.args[0], actual.args[0], bindings)
        match(pattern.args[1], actual.args[1], bindings)
    elif isinstance(pattern, TSWm):
        match_scalar(pattern.args[0], actual.args[0], bindings)
        _match_size(pattern.args[1], actual.args[1], bindings)
        _match_size(pattern.args[2], actual.args[2], bindings)
    elif isinstance(pattern, TSBm):
        if isinstance(pattern.args[0], TypeVar):
            _bind(pattern.args[0], actual.args[0], bindings)
            return
        wanted, given = pattern.fields, actual.fields
        same_class = isinstance(actual.args[0], type) and issubclass(
            actual.args[0], pattern.args[0]
        )
        if not same_class and list(wanted) != list(given):
            missing = [n for n in wanted if n not in given]
            extra = [n for n in given if n not in wanted]
            if missing or extra:
                raise MatchError(
                    f"{actual!r} has not the fields of {pattern!r} "
                    f"(missing {missing}, not wanted {extra})"
                )
        for name, tp in wanted.items():
            match(tp, given[name], bindings)
    elif pattern != actual:
        raise MatchError(f"{actual!r} is not {pattern!r}")


def _match_size(pattern: Any, actual: Any, bindings: Bindings) -> None:
    if isinstance(pattern, TypeVar):
        _bind(pattern, actual, bindings)
    elif pattern is Size or pattern is WindowSize:
        return
    elif pattern.SIZE != actual.SIZE or pattern.TIME != actual.TIME:
        raise MatchError(f"{actual!r} is not {pattern!r}")
