"""What can be called while a graph is wired, and what brackets fix of it beforehand.

Calling a `Wirable` resolves the types of the call and adds nodes. Brackets fix types before:
`node[TS[int]](...)`, `node[SCALAR: int](...)`. How generic a type is ranks overloads.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from mainspring.graph._errors import ParseError, RequirementsNotMetWiringError
from mainspring.graph._match import match
from mainspring.graph._signature import (
    Known,
    Resolved,
    Signature,
    WiringNodeType,
    call_shape,
    call_with_scalars,
    gather,
    resolve,
    resolve_gathered,
)
from mainspring.graph._types import (
    Bindings,
    REFm,
    SIGNALm,
    Size,
    TimeSeriesSchema,
    TSBm,
    TSm,
    TsMeta,
    is_ts_variable,
    type_name,
)


class Wirable:
    """Something that can be called while a graph is wired."""

    kind = "node"
    node_type = WiringNodeType.COMPUTE_NODE

    def __init__(
        self,
        fn: Callable[..., Any],
        signature: Signature,
        *,
        resolvers: Mapping[TypeVar, Any] | None = None,
        requires: Callable[..., Any] | None = None,
        label: str | None = None,
        deprecated: bool | str = False,
    ) -> None:
        self.fn = fn
        self.signature = signature
        self.resolvers = resolvers
        self.requires = requires
        self.label = label
        self.deprecated = deprecated
        self._shapes: dict[Any, Known] = {}  # calls that have been resolved
        signature.node_type = self.node_type
        functools.update_wrapper(self, fn, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.wire(args, kwargs, None)

    def __getitem__(self, item: Any) -> Bound:
        return Bound(self, _bracket_bindings(self, item))

    def __repr__(self) -> str:
        return f"<{self.kind} {self.signature!r}>"

    def wire(self, args: tuple[Any, ...], kwargs: dict[str, Any], given: Bindings | None) -> Any:
        label = kwargs.pop("__label__", None) or self.label or ""
        if self.deprecated:
            text = self.deprecated if isinstance(self.deprecated, str) else "it will be removed"
            warnings.warn(f"{self.signature.name} is deprecated: {text}", DeprecationWarning, 3)
        return self.build(self.resolve(args, kwargs, given), label)

    def resolve(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        given: Bindings | None,
        make: bool = True,
    ) -> Resolved:
        signature = self.signature
        if self.requires is None and not self.resolvers and make:
            return self._resolve_shape(args, kwargs, given)
        resolved = resolve(signature, args, kwargs, given, self.resolvers, make=make)
        if self.requires is not None:
            answer = call_with_scalars(
                self.requires, resolved.bindings, self.signature, resolved.arguments
            )
            if answer is not True and (isinstance(answer, str) or not answer):
                raise RequirementsNotMetWiringError(
                    f"{self.signature.name}: its requirements are not met"
                    + (f": {answer}" if isinstance(answer, str) else "")
                )
        return resolved

    def _resolve_shape(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], given: Bindings | None
    ) -> Resolved:
        """Resolve by types alone, once for each shape of call."""
        signature = self.signature
        arguments = gather(signature, args, kwargs)
        shape = None
        if signature.by_types:
            shape = call_shape(args, kwargs, given, signature.by_value)
        if shape is None:
            return resolve_gathered(signature, arguments, given, None, True)
        known = self._shapes.get(shape)
        if known is not None:
            return known.resolve(arguments)
        before = dict(arguments)
        resolved = resolve_gathered(signature, arguments, given, None, True)
        resolved.known = self._shapes[shape] = Known(resolved, before)
        return resolved

    def build(self, resolved: Resolved, label: str) -> Any:
        raise NotImplementedError

    # Overloads ------------------------------------------------------------------------------

    @functools.cached_property
    def rank(self) -> float:
        """How generic the signature is: the overload with the least takes the call."""
        return sum(
            generic_rank(p.type, p.kind) for p in self.signature.open if p.default is not None
        )


class Bound:
    """A wirable with some types given in brackets."""

    def __init__(self, target: Wirable, bindings: Bindings) -> None:
        self.target = target
        self.bindings = bindings
        self.__name__ = getattr(target, "__name__", "node")

    @property
    def signature(self) -> Signature:
        return self.target.signature

    @property
    def fn(self) -> Any:
        return self.target.fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.target.wire(args, kwargs, self.bindings)

    def wire(self, args: tuple[Any, ...], kwargs: dict[str, Any], given: Bindings | None) -> Any:
        return self.target.wire(args, kwargs, {**self.bindings, **(given or {})})

    def __getitem__(self, item: Any) -> Bound:
        return Bound(self.target, {**self.bindings, **_bracket_bindings(self.target, item)})

    def __repr__(self) -> str:
        inner = ", ".join(f"{v.__name__}: {type_name(t)}" for v, t in self.bindings.items())
        return f"{self.target!r}[{inner}]"


def _bracket_bindings(target: Any, item: Any) -> Bindings:
    """What `node[...]` binds."""
    signature: Signature = target.signature
    items = item if isinstance(item, tuple) else (item,)
    found: Bindings = {}
    for each in items:
        if isinstance(each, slice):
            variable, tp = each.start, each.stop
            if not isinstance(variable, TypeVar):
                raise ParseError(f"{signature.name}[{variable!r}: ...]: a type variable is needed")
            found[variable] = tp
    unnamed = [each for each in items if not isinstance(each, slice)]
    first = signature.default_variable
    rest = [v for v in signature.variables if v not in found and v is not first]
    if unnamed and first is None and len(unnamed) < len(rest) and not getattr(target, "is_open", 0):
        names = ", ".join(v.__name__ for v in rest)
        raise ParseError(
            f"{signature.name}[{', '.join(map(type_name, unnamed))}] does not say which of {names} it is",
            hint=f"name it, {signature.name}[{rest[0].__name__}: ...], or mark one with DEFAULT[...]",
        )
    candidates = iter(rest if first is None else [first, *rest])
    for each in unnamed:
        variable = next(candidates, None)
        if variable is None:
            raise ParseError(
                f"{signature.name}[{type_name(each)}] has nothing to bind it to",
                hint=f"its variables are {', '.join(v.__name__ for v in signature.variables) or 'none'}",
            )
        if not isinstance(variable, TypeVar):  # DEFAULT over a pattern
            match(variable, each, found)
            continue
        # `add_[int]`, where the result is meant, says what it is a time series of.
        found[variable] = TSm(each) if is_ts_variable(variable) and _is_scalar(each) else each
    return found


def _is_scalar(tp: Any) -> bool:
    return isinstance(tp, type) and not issubclass(tp, (Size, TimeSeriesSchema))


def generic_rank(tp: Any, kind: str = "ts", depth: int = 0) -> float:
    """0 for a concrete type, up to 1 for a variable that takes anything."""
    scale = 0.1**depth
    if isinstance(tp, TypeVar):
        if tp.__constraints__:
            return 0.8 * scale
        bound = tp.__bound__
        if bound is None or is_ts_variable(tp):
            return 1.0 * scale
        return 0.9 * scale
    if isinstance(tp, SIGNALm):
        return 1.1 * scale
    if isinstance(tp, REFm):
        return generic_rank(tp.args[0], kind, depth)
    if isinstance(tp, TSBm):
        if isinstance(tp.args[0], TypeVar):
            return 0.5 * scale
        return sum(generic_rank(c, kind, depth + 1) for c in tp.children()) / max(
            1, len(tp.children())
        )
    if isinstance(tp, TsMeta):
        return sum(generic_rank(arg, kind, depth + 1) for arg in tp.args) / max(1, len(tp.args))
    if tp is object and depth:
        return 0.7 * scale
    args = [a for a in get_args(tp) if a is not Ellipsis]
    if args:
        return sum(generic_rank(arg, kind, depth + 1) for arg in args) / len(args)
    return 0.0


__all__ = [
    "Bound",
    "Wirable",
]
