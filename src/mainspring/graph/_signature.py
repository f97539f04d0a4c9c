"""Signatures: what a node, graph or operator takes, and how a call's types are resolved.

Resolution goes in a fixed order: types given in brackets, then ports, then Python values given
for time series, then scalars, then resolvers, then defaults. What stays open is an error.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_origin

from mainspring.errors import MainspringError
from mainspring.graph._contexts import find_context
from mainspring.graph._errors import IncorrectTypeBinding, ParseError, WiringError
from mainspring.graph._injectables import injected
from mainspring.graph._match import MatchError, match, match_scalar
from mainspring.graph._types import (
    AUTO_RESOLVE,
    SIZE,
    TS_SCHEMA,
    Bindings,
    ContextMark,
    DefaultMark,
    REFm,
    SIGNALm,
    Size,
    TSBm,
    TSDm,
    TSLm,
    TSm,
    TsMeta,
    TSSm,
    is_ts,
    is_ts_variable,
    make_schema,
    parse_ts,
    resolve_hints,
    substitute,
    type_name,
    variables,
)
from mainspring.graph._types import _scalar as parse_scalar
from mainspring.graph._value_types import common_scalar, scalar_type_of
from mainspring.graph._wiring import WiringPort, const_of, tsb_from_ts, tsd_from_ts, tsl_from_ts

MISSING: Any = inspect.Parameter.empty
STARS: Mapping[Any, int] = {inspect.Parameter.VAR_POSITIONAL: 1, inspect.Parameter.VAR_KEYWORD: 2}
"""How many stars stand before a parameter that has any."""


@dataclass(slots=True)
class Param:
    """One parameter: a time series, a scalar, a type, a context or an injectable."""

    name: str
    kind: str
    type: Any
    default: Any = MISSING
    star: int = 0  # 1: *args, 2: **kwargs
    keyword_only: bool = False
    annotation: Any = None
    carrier: Any = (
        None  # of a type: the variable whose type it is, from a default such as DEFAULT[OUT]
    )
    of_hook: bool = False  # taken by the start or stop function alone


class WiringNodeType(enum.Enum):
    """What a node is to its graph."""

    GRAPH = 0
    COMPUTE_NODE = 1
    SINK_NODE = 2
    PULL_SOURCE_NODE = 3
    PUSH_SOURCE_NODE = 4
    OPERATOR = 5


class Signature:
    """What a callable takes and gives, in terms of time-series types."""

    def __init__(
        self, name: str, params: list[Param], output: Any, default_variable: Any = None
    ) -> None:
        self.name = name
        self.params = params
        self.by_name = {p.name: p for p in params}
        self.output = output
        self.node_type = WiringNodeType.COMPUTE_NODE  # until a decorator says otherwise
        self.default_variable = default_variable
        self.open = [p for p in params if p.kind not in INJECTED]
        self.positional = [p for p in self.open if not p.star and not p.keyword_only]
        self.star = next((p for p in params if p.star == 1), None)
        self.kwstar = next((p for p in params if p.star == 2), None)
        # Do the types in a call say all about it? A context depends on where the call stands.
        self.by_types = not any(p.star or p.kind == "context" for p in params)
        self.by_value = any(p.kind == "type" for p in params)
        found: dict[TypeVar, None] = {}
        for p in params:
            for v in variables(p.type):
                found[v] = None
            if p.carrier is not None:
                found[p.carrier] = None
        for v in variables(output):
            found[v] = None
        self.variables = list(found)
        self.is_generic = bool(found)

    @property
    def args(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.params)

    @property
    def input_types(self) -> dict[str, Any]:
        return {p.name: p.type for p in self.params}

    @property
    def output_type(self) -> Any:
        return self.output

    @property
    def time_series_args(self) -> frozenset[str]:
        return frozenset(p.name for p in self.params if p.kind in ("ts", "context"))

    @property
    def scalar_args(self) -> frozenset[str]:
        return frozenset(p.name for p in self.params if p.kind in ("scalar", "type"))

    @property
    def unresolved_args(self) -> frozenset[str]:
        return frozenset(p.name for p in self.params if any(True for _ in variables(p.type)))

    @property
    def defaults(self) -> dict[str, Any]:
        return {p.name: p.default for p in self.params if p.default is not MISSING}

    def __repr__(self) -> str:
        parts = []
        for p in self.params:
            text = "*" * p.star + f"{p.name}: {type_name(p.type)}"
            if p.default is not MISSING and p.kind not in INJECTED:
                text += f" = {p.default!r}"
            parts.append(text)
        out = "" if self.output is None else f" -> {type_name(self.output)}"
        return f"{self.name}({', '.join(parts)}){out}"


INJECTED = frozenset(
    {
        "state", "recordable_state", "scheduler", "clock", "output", "engine_api", "node", "logger",
        "global_state", "traits", "sender",
    }
)  # fmt: skip


def _unmark(tp: Any) -> Any:
    return tp.type if isinstance(tp, DefaultMark) else tp


def _find_default(tp: Any) -> Any:
    if isinstance(tp, DefaultMark):
        return _unmark(tp.type)
    if isinstance(tp, TsMeta):
        for arg in tp.args:
            found = _find_default(arg)
            if found is not None:
                return found
    for arg in get_args(tp):
        found = _find_default(arg)
        if found is not None:
            return found
    return None


def parse_signature(fn: Callable[..., Any], *, needs_types: bool = True) -> Signature:
    """The signature of a Python function written in time-series types.

    Without `needs_types` a parameter may go without an annotation, and takes whatever it is given.
    """
    name = getattr(fn, "__name__", repr(fn))
    hints = resolve_hints(fn)
    params = []
    default_variable = None
    for parameter in inspect.signature(fn).parameters.values():
        where = f"{name}({parameter.name})"
        tp = hints.get(parameter.name, MISSING)
        default_variable = default_variable or (None if tp is MISSING else _find_default(tp))
        tp = _unmark(tp)
        star = STARS.get(parameter.kind, 0)
        common = {
            "default": parameter.default,
            "star": star,
            "keyword_only": parameter.kind is parameter.KEYWORD_ONLY,
            "annotation": tp,
        }
        if tp is MISSING:
            kind = injected(None, parameter.name)
            if kind is None:
                if needs_types:
                    raise ParseError(
                        f"{where} has no annotation",
                        hint="annotate it with a time series (TS[int]) or a scalar type (int)",
                    )
                params.append(Param(parameter.name, "any", None, **common))
                continue
            params.append(Param(parameter.name, kind, None, **common))
            continue
        kind = injected(tp, parameter.name)
        if kind is not None:
            params.append(Param(parameter.name, kind, None, **common))
        elif isinstance(tp, ContextMark):
            params.append(Param(parameter.name, "context", tp.type, **common))
        else:
            tp = _optional(tp)
            if is_ts(tp):
                if star == 1 and not isinstance(tp, TSLm) and not isinstance(tp, TSBm):
                    tp = TSLm(tp, SIZE)
                elif star == 2 and not isinstance(tp, (TSBm, TSDm)):
                    tp = _var_bundle()
                params.append(Param(parameter.name, "ts", _strip_default(tp), **common))
            elif get_origin(tp) is type or tp is type:
                args = get_args(tp)
                default = common["default"]
                if isinstance(default, DefaultMark):
                    default_variable = default_variable or default.type
                if isinstance(_unmark(default), TypeVar):
                    common |= {"carrier": _unmark(default), "default": AUTO_RESOLVE}
                params.append(Param(parameter.name, "type", args[0] if args else object, **common))
            else:
                with contextlib.suppress(TypeError):
                    parse_ts(tp, where) if tp.__class__ is type and tp.__name__ in _BARE else None
                params.append(Param(parameter.name, "scalar", parse_scalar(tp), **common))
    output = hints.get("return")
    default_variable = default_variable or (None if output is None else _find_default(output))
    output = _strip_default(_unmark(output))
    if output is not None and not is_ts(output):
        if (isinstance(output, type) and output is type(None)) or (
            get_origin(output) is not None
            and getattr(get_origin(output), "__name__", "")
            in (
                "Generator",
                "Iterator",
                "Iterable",
            )
        ):
            output = None
        else:
            output = parse_ts(output, f"the result of {name}")
    return Signature(name, params, output, default_variable)


_BARE = frozenset({"TS", "TSS", "TSD", "TSL", "TSB"})


def _strip_default(tp: Any) -> Any:
    if isinstance(tp, DefaultMark):
        return tp.type
    return tp


def _optional(tp: Any) -> Any:
    """`TS[int] | None` as `TS[int]`."""
    if get_origin(tp) in (typing.Union, types.UnionType):
        rest = [a for a in get_args(tp) if a is not type(None)]
        if all(is_ts(a) for a in rest):
            return rest[0] if len(rest) == 1 else _one_of(tuple(rest))
    return tp


@functools.cache
def _one_of(options: tuple[Any, ...]) -> TypeVar:
    """`TS[int] | TS[str]`: a variable for either."""
    name = " | ".join(type_name(option) for option in options)
    return TypeVar(name, *options)


# --- calls -------------------------------------------------------------------------------------


def gather(signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by parameter name, defaults included."""
    positional = signature.positional
    if len(args) == len(positional) == len(signature.open) and not kwargs:
        return {p.name: value for p, value in zip(positional, args, strict=True)}
    given: dict[str, Any] = {}
    if len(args) > len(positional):
        star = signature.star
        if star is None:
            raise ArgumentError(
                f"{signature.name} takes {len(positional)} arguments, {len(args)} were given",
                signature,
            )
        given[star.name] = args[len(positional) :]
    for p, value in zip(positional, args, strict=False):
        given[p.name] = value
    extra: dict[str, Any] = {}
    for name, value in kwargs.items():
        named = signature.by_name.get(name)
        if named is None or named.star == 2:
            if signature.kwstar is None:
                raise ArgumentError(f"{signature.name} has no parameter {name!r}", signature)
            extra[name] = value
        elif name in given and value is not given[name]:
            raise ArgumentError(f"{signature.name} was given {name!r} twice", signature)
        else:
            given[name] = value
    if signature.kwstar is not None:
        given[signature.kwstar.name] = extra
    if signature.star is not None:
        given.setdefault(signature.star.name, ())
    for p in signature.open:
        if p.name not in given:
            if p.default is MISSING:
                if p.kind == "context":
                    given[p.name] = None
                    continue
                raise ArgumentError(f"{signature.name} needs {p.name!r}", signature)
            given[p.name] = p.default
    return given


class ArgumentError(MainspringError, TypeError):
    """A call that does not fit a signature in number or names of arguments."""

    def __init__(self, message: str, signature: Signature) -> None:
        super().__init__(message, hint=f"it is {signature!r}")


class Resolved:
    """A call whose types are known: arguments by name, the bindings, the output."""

    __slots__ = ("arguments", "bindings", "known", "output", "types")

    def __init__(
        self, arguments: dict[str, Any], bindings: Bindings, types: dict[str, Any], output: Any
    ) -> None:
        self.arguments = arguments
        self.bindings = bindings
        self.types = types
        self.output = output
        self.known: Known | None = None


def is_port(value: Any) -> bool:
    return isinstance(value, WiringPort)


# --- calls of a shape that has been seen ---------------------------------------------------------

_PLAIN = frozenset({bool, int, float, str})


def call_shape(
    args: tuple[Any, ...], kwargs: dict[str, Any], given: Bindings | None, by_value: bool
) -> Any:
    """What the types of a call are resolved by: two calls of one shape have the same types.

    That is the types of its ports and of its plain values (with `by_value`, the values themselves).
    None for a call with more to it, such as a tuple of ports.
    """
    shape: list[Any] = []
    odd = bool(given)
    for value in args:
        kind = type(value)
        if kind is WiringPort:
            shape.append(value.type_)
        elif kind in _PLAIN:
            shape.append((kind, value) if by_value else kind)
        elif value is None or isinstance(value, (type, TsMeta, enum.Enum)):
            shape.append((kind, value))
            odd = True
        elif isinstance(value, WiringPort):
            shape.append((kind, value.type_))
        else:
            return None
    if kwargs:
        inner = call_shape(tuple(kwargs.values()), {}, None, by_value)
        if inner is None:
            return None
        shape += [tuple(kwargs), *inner]
    if given:
        shape.append(tuple(given.items()))
    made = tuple(shape)
    if odd:
        try:
            hash(made)
        except TypeError:
            return None
    return made


class Known:
    """What resolving a call came to: the same for every call of its shape."""

    __slots__ = ("bindings", "constants", "output", "prepared", "types")

    def __init__(self, resolved: Resolved, before: Mapping[str, Any]) -> None:
        self.bindings = resolved.bindings
        self.types = resolved.types
        self.output = resolved.output
        self.constants = [
            (name, value.type_ if is_port(value) else None, value)
            for name, value in resolved.arguments.items()
            if value is not before[name]
        ]
        """Arguments that are not what was given: constants by their types, and resolved types."""
        self.prepared: Any = None  # by whoever builds from it

    def resolve(self, arguments: dict[str, Any]) -> Resolved:
        """A call of the shape, with its own arguments."""
        for name, tp, value in self.constants:
            arguments[name] = value if tp is None else const_of(arguments[name], tp)
        made = Resolved(arguments, self.bindings, self.types, self.output)
        made.known = self
        return made


def resolve(
    signature: Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    given: Bindings | None = None,
    resolvers: Mapping[TypeVar, Any] | None = None,
    *,
    make: bool = True,
) -> Resolved:
    """Resolve a call; with `make`, Python values for time series become constants."""
    return resolve_gathered(signature, gather(signature, args, kwargs), given, resolvers, make)


def resolve_gathered(
    signature: Signature,
    arguments: dict[str, Any],
    given: Bindings | None,
    resolvers: Mapping[TypeVar, Any] | None,
    make: bool,
) -> Resolved:
    """Resolve a call whose arguments are gathered; they change in place."""
    bindings: Bindings = dict(given or {})
    later = []
    for p in signature.open:
        value = arguments[p.name]
        if p.kind == "context":
            value = arguments[p.name] = find_context(p.name, value, p.type)
            if value is not None and not (
                isinstance(p.type, TSm) and isinstance(value.type_, TSBm)
            ):
                _match_port(signature, p, value, bindings)
        elif p.kind == "ts":
            if value is None:
                continue
            if is_port(value) and not p.star:
                _match_port(signature, p, value, bindings)
            else:
                later.append(p)
        elif p.kind == "type":
            if p.carrier is not None:
                value = _carried(signature, p, value, bindings)
            if value is AUTO_RESOLVE or value is None:
                continue
            arguments[p.name] = value
            pattern = p.type
            if type(value) in _PLAIN:
                raise _misfit(signature, p, value, MatchError(f"{value!r} is no type"))
            try:
                if isinstance(pattern, TypeVar):
                    if bindings.get(pattern) is None:
                        bindings[pattern] = value
                elif isinstance(pattern, TsMeta):
                    match(pattern, value, bindings)
                elif pattern is not object:
                    match_scalar(pattern, value, bindings)
            except MatchError as problem:
                raise _misfit(signature, p, value, problem) from None
    for p in later:
        arguments[p.name] = _match_value(signature, p, arguments[p.name], bindings, make)
    for p in signature.open:
        if p.kind == "scalar":
            _match_scalar(signature, p, arguments[p.name], bindings)
    if resolvers:
        _run_resolvers(signature, resolvers, bindings, arguments)
    types = {}
    for p in signature.open:
        if p.kind in ("ts", "context"):
            types[p.name] = substitute(p.type, bindings)
            if p.kind == "context" and isinstance(getattr(arguments[p.name], "type_", None), TSBm):
                types[p.name] = arguments[p.name].type_  # the bundle of a scalar class
        elif p.kind == "type" and arguments[p.name] is AUTO_RESOLVE:
            found = bindings.get(p.carrier) or substitute(p.type, bindings)
            if isinstance(found, TypeVar):
                raise WiringError(
                    f"{signature.name}: the type of {p.name!r} cannot be told",
                    hint=f"give it: {signature.name}[{found.__name__}: ...](...)",
                )
            arguments[p.name] = found
    output = signature.output
    if output is not None:
        output = substitute(output, bindings)
        open_variables = list(variables(output))
        if open_variables:
            raise UnresolvedError(
                f"{signature.name}: the output type {type_name(output)} cannot be told from the arguments",
                hint=f"give it: {signature.name}[{open_variables[0].__name__}: ...](...)",
            )
    return Resolved(arguments, bindings, types, output)


def _carried(signature: Signature, p: Param, value: Any, bindings: Bindings) -> Any:
    """The type a parameter such as `to: type[OUT] = DEFAULT[OUT]` has: one with its variable, given either way."""
    known = bindings.get(p.carrier)
    if value is AUTO_RESOLVE or value is None:
        return value if known is None else known
    if known is not None and known != value:
        problem = f"{p.carrier.__name__} is {type_name(known)} already"
        raise _misfit(signature, p, value, MatchError(problem))
    bindings[p.carrier] = value
    return value


class UnresolvedError(WiringError):
    """A type variable stays open."""


def _match_port(signature: Signature, p: Param, port: WiringPort, bindings: Bindings) -> None:
    try:
        match(p.type, port.type_, bindings)
    except MatchError as problem:
        raise _misfit(signature, p, port, problem) from None


def _misfit(signature: Signature, p: Param, value: Any, problem: Exception) -> WiringError:
    what = type_name(value.type_) if is_port(value) else repr(value)
    return IncorrectTypeBinding(
        f"{signature.name}: {p.name!r} takes {type_name(p.type)}, not {what}: {problem}",
        hint=f"it is {signature!r}",
    )


def _match_value(signature: Signature, p: Param, value: Any, bindings: Bindings, make: bool) -> Any:
    """A Python value given for a time series: a structure of ports, or a constant."""
    want = substitute(p.type, bindings)
    try:
        port = to_port(value, want, bindings, p, make)
    except MatchError as problem:
        raise _misfit(signature, p, value, problem) from None
    if port is None:
        return None
    if is_port(port):
        try:
            match(p.type, port.type_, bindings)
        except MatchError as problem:
            raise _misfit(signature, p, port, problem) from None
        return port
    if isinstance(port, Promise):
        try:
            match(p.type, port.type, bindings)
        except MatchError as problem:
            raise _misfit(signature, p, value, problem) from None
    return port


def has_port(value: Any) -> bool:
    if is_port(value):
        return True
    if isinstance(value, (tuple, list)):
        return any(has_port(v) for v in value)
    if isinstance(value, Mapping):
        return any(has_port(v) for v in value.values())
    return False


class Promise:
    """Stands for the constant a value will become, once an overload has been chosen."""

    __slots__ = ("type", "value")

    def __init__(self, value: Any, tp: Any) -> None:
        self.value = value
        self.type = tp


def to_port(value: Any, want: Any, bindings: Bindings, p: Param, make: bool) -> Any:
    """The port that a value given for a time series of type `want` stands for."""
    if is_port(value):
        return value
    inner = want.dereference() if isinstance(want, TsMeta) else want
    if p.star == 1 and isinstance(inner, TSBm) and isinstance(value, tuple):
        value = {f"_{i}": v for i, v in enumerate(value)}  # of different types, so a bundle
    if (
        isinstance(inner, TSLm)
        and isinstance(value, (tuple, list))
        and (p.star == 1 or has_port(value))
    ):
        if not value:
            element = inner.element
            if isinstance(element, TSm) and isinstance(element.scalar, TypeVar):
                element = TSm(object)
            if isinstance(element, TypeVar):
                raise MatchError(f"{p.name} was given nothing, so its type cannot be told")
            match(inner, TSLm(element, Size[0]), bindings)
            return _structure(
                lambda: tsl_from_ts(tp=TSLm(element, Size[0])), TSLm(element, Size[0]), make
            )
        element = inner.element
        for v in value:
            if is_port(v):
                match(element, v.type_, bindings)
        element = substitute(element, bindings)
        if any(True for _ in variables(element)):
            for v in value:
                if v is not None and not is_port(v):
                    match(element, value_type(v, element), bindings)
                    break
            element = substitute(element, bindings)
        whole = TSLm(element, Size[len(value)])
        return _structure(lambda: tsl_from_ts(*value, tp=whole, element_type=element), whole, make)
    if isinstance(inner, TSBm) and isinstance(value, Mapping) and (p.star or has_port(value)):
        if isinstance(inner.args[0], TypeVar):
            fields = {
                n: v.type_.dereference() if is_port(v) else TSm(scalar_type_of(v))
                for n, v in value.items()
            }
            tp = TSBm(make_schema(fields, p.name))
        else:
            tp = inner
            for n, v in value.items():
                if is_port(v) and n in inner.fields:
                    match(inner.fields[n], v.type_, bindings)
            tp = substitute(inner, bindings)
        return _structure(lambda: tsb_from_ts(tp, **value), tp, make)
    if isinstance(inner, TypeVar) and p.star == 2:
        return to_port(value, _var_bundle(), bindings, p, make)
    if isinstance(inner, TSDm) and isinstance(value, Mapping) and has_port(value):
        for k, v in value.items():
            match_scalar(inner.key, scalar_type_of(k), bindings)
            if is_port(v):
                match(inner.element, v.type_, bindings)
        tp = substitute(inner, bindings)
        return _structure(lambda: tsd_from_ts(tp, value, waits=False), tp, make)
    if isinstance(inner, SIGNALm):
        inner = TSm(scalar_type_of(value))
    tp = value_type(value, inner)
    match(inner, tp, bindings)
    tp = substitute(inner, bindings) if not isinstance(inner, TypeVar) else tp
    if any(True for _ in variables(tp)):
        tp = value_type(value, inner)
    return const_of(value, tp) if make else Promise(value, tp)


def _var_bundle() -> TSBm:
    return TSBm(TS_SCHEMA)


def _structure(build: Callable[[], Any], tp: Any, make: bool) -> Any:
    return build() if make else Promise(None, tp)


def value_type(value: Any, want: Any) -> Any:
    """The time-series type a Python value has where `want` is asked for."""
    if isinstance(want, REFm):
        want = want.args[0]
    if isinstance(want, TypeVar) and is_ts_variable(want):
        return TSm(scalar_type_of(value))
    if isinstance(want, TSm):
        return TSm(_value_scalar(value, want.scalar))
    if isinstance(want, TSSm) and isinstance(value, (set, frozenset, tuple, list)):
        if not value and want.is_resolved():
            return want
        items = [scalar_type_of(v) for v in value]
        return TSSm(common_scalar(items) if items else object)
    if isinstance(want, TSLm) and isinstance(value, (tuple, list)):
        if want.is_resolved():
            return want
        element = want.element
        if any(True for _ in variables(element)):
            element = value_type(next(v for v in value if v is not None), element)
        return TSLm(element, Size[len(value)])
    if isinstance(want, TSLm) and isinstance(value, Mapping) and want.is_resolved():
        return want
    if isinstance(want, TSDm) and isinstance(value, Mapping):
        if want.is_resolved():
            return want
        key = common_scalar([scalar_type_of(k) for k in value]) if value else object
        element = want.element
        if any(True for _ in variables(element)):
            element = value_type(next(iter(value.values())), element)
        return TSDm(key, element)
    if isinstance(want, TSBm) and want.is_resolved():
        return want
    return TSm(scalar_type_of(value))


def _value_scalar(value: Any, want: Any) -> Any:
    if want is float and type(value) is int:
        return float
    if isinstance(want, type):
        try:
            if isinstance(value, want) and not (type(value) is bool and want is int):
                return want
        except TypeError:
            pass
    if not isinstance(want, TypeVar) and not any(True for _ in variables(want)):
        origin = get_origin(want)
        if isinstance(origin, type):
            try:
                if isinstance(value, origin) or (
                    origin in (frozenset, set) and isinstance(value, (set, frozenset))
                ):
                    return want
            except TypeError:
                pass
    return scalar_type_of(value)


def _match_scalar(signature: Signature, p: Param, value: Any, bindings: Bindings) -> None:
    if value is None or p.type is None:
        return
    if is_port(value):
        raise IncorrectTypeBinding(
            f"{signature.name}: {p.name!r} is a scalar of {type_name(p.type)}, it cannot follow a port",
            hint=f"give a value, or declare it as TS[{type_name(p.type)}]",
        )
    pattern = p.type
    if pattern is object:
        return
    items = value if p.star == 1 else value.values() if p.star == 2 else (value,)
    for item in items:
        if callable(item) and _wants_callable(pattern):
            continue
        if isinstance(pattern, type):
            try:
                if isinstance(item, pattern) and not (type(item) is bool and pattern is int):
                    continue
            except TypeError:
                continue
            if pattern is float and type(item) is int:
                continue
        if not any(True for _ in variables(pattern)):
            origin = get_origin(pattern)
            if isinstance(origin, type) and isinstance(item, origin):
                continue
            if origin is typing.Union or type(pattern).__name__ == "UnionType":
                if any(_loosely(option, item) for option in get_args(pattern)):
                    continue
        try:
            match_scalar(pattern, scalar_type_of(item), bindings)
        except MatchError as problem:
            raise _misfit(signature, p, item, problem) from None


def _loosely(option: Any, item: Any) -> bool:
    origin = get_origin(option) or option
    try:
        return isinstance(item, origin)
    except TypeError:
        return True


def _wants_callable(pattern: Any) -> bool:
    import collections.abc

    origin = get_origin(pattern) or pattern
    return origin in (Callable, collections.abc.Callable, typing.Callable)


def _run_resolvers(
    signature: Signature,
    resolvers: Mapping[TypeVar, Any],
    bindings: Bindings,
    arguments: dict[str, Any],
) -> None:
    for variable, resolver in resolvers.items():
        if variable in bindings:
            continue
        if not callable(resolver) or isinstance(resolver, (type, TsMeta)):
            bindings[variable] = resolver
            continue
        found = call_with_scalars(resolver, bindings, signature, arguments)
        if found is not None:
            bindings[variable] = found


def call_with_scalars(
    fn: Callable[..., Any], bindings: Bindings, signature: Signature, arguments: Mapping[str, Any]
) -> Any:
    """Call a resolver, `requires` or the like with the bindings and the scalars it names."""
    wanted = inspect.signature(fn).parameters
    names = list(wanted)
    takes_all = any(p.kind is p.VAR_KEYWORD for p in wanted.values())
    scalars = {
        p.name: arguments.get(p.name)
        for p in signature.open
        if p.kind in ("scalar", "type") and p.name in arguments
    }
    if len(names) > 1 and names[1] == "scalars":
        return fn(bindings, scalars)
    picked = {n: v for n, v in scalars.items() if takes_all or n in names[1:]}
    if takes_all or any(n in arguments for n in names[1:]):
        for n in names[1:]:
            if n not in picked and n in arguments:
                picked[n] = arguments[n]
    if len(names) == 2 and not picked and not takes_all and names[1] not in arguments:
        return fn(bindings, scalars)
    return fn(bindings, **picked)


__all__ = [
    "INJECTED",
    "MISSING",
    "ArgumentError",
    "Known",
    "Param",
    "Promise",
    "Resolved",
    "Signature",
    "UnresolvedError",
    "WiringNodeType",
    "call_shape",
    "call_with_scalars",
    "gather",
    "is_port",
    "parse_signature",
    "resolve",
    "resolve_gathered",
    "to_port",
    "value_type",
]
