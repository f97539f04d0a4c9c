"""Operators: names with overloads, of which a call takes the one that fits it most nearly."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from mainspring.graph._errors import (
    AmbiguousOverloadError,
    NoOverloadError,
    RequirementsNotMetWiringError,
    WiringError,
)
from mainspring.graph._match import MatchError, match
from mainspring.graph._python_nodes import PythonNode
from mainspring.graph._signature import (
    ArgumentError,
    Promise,
    Resolved,
    WiringNodeType,
    call_shape,
    is_port,
    parse_signature,
)
from mainspring.graph._types import Bindings, TSm, type_name, variables
from mainspring.graph._value_types import scalar_type_of
from mainspring.graph._wirable import Bound, Wirable
from mainspring.graph._wiring import register_port_operator


class Operator(Wirable):
    """`operator`: a signature, and overloads that implement it."""

    kind = "operator"
    # Whether the overloads alone say what it takes: an operator of the library, whose signature is a stand-in.
    is_open = False
    node_type = WiringNodeType.OPERATOR

    def __init__(self, fn: Callable[..., Any], **common: Any) -> None:
        super().__init__(fn, parse_signature(fn), **common)
        self.overloads: list[Wirable] = []
        self._chosen: dict[Any, Wirable] = {}  # by the shape of the call
        self._by_value = False
        name = self.signature.name
        if name in PORT_SYNTAX:
            register_port_operator(name, self)

    def overload(self, candidate: Any = None, **options: Any) -> Any:
        """Add an implementation (also usable as a decorator)."""
        if candidate is None:
            return lambda fn: self.overload(fn, **options)
        if not isinstance(candidate, (Wirable, Bound)):
            candidate = PythonNode(candidate, "compute_node", **options)
        target = candidate.target if isinstance(candidate, Bound) else candidate
        self.overloads.append(target)
        self._chosen.clear()
        # What says no may look at values; types alone tell the others apart.
        self._by_value = self._by_value or bool(
            isinstance(target, Operator)
            or target.requires is not None
            or target.resolvers
            or target.signature.by_value
        )
        return candidate

    def wire(self, args: tuple[Any, ...], kwargs: dict[str, Any], given: Bindings | None) -> Any:
        if self.deprecated:
            text = self.deprecated if isinstance(self.deprecated, str) else "it will be removed"
            warnings.warn(f"{self.signature.name} is deprecated: {text}", DeprecationWarning, 3)
        shape = call_shape(args, kwargs, given, self._by_value)
        if shape is not None:
            known = self._chosen.get(shape)
            if known is not None:
                return known.wire(args, kwargs, self._for(known, given) if given else None)
        chosen = self.choose(args, kwargs, given)
        if shape is not None:
            self._chosen[shape] = chosen
        return chosen.wire(args, dict(kwargs), self._for(chosen, given))

    def _for(self, candidate: Wirable, given: Bindings | None) -> Bindings | None:
        """Bindings given to the operator, as they apply to an overload with its own variables."""
        if not given:
            return None
        found: Bindings = {}
        known = set(candidate.signature.variables)
        for variable, tp in given.items():
            if variable in known:
                found[variable] = tp
            elif (
                variable in variables_of(self.signature.output)
                and candidate.signature.output is not None
            ):
                pattern = self.signature.output
                own = candidate.signature.output
                if isinstance(pattern, TypeVar) and own.is_resolved():
                    match(tp, own, {})  # what it makes has to be what is asked for
                elif isinstance(pattern, TypeVar):
                    match(own, tp, found)
        return found

    def choose(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], given: Bindings | None
    ) -> Wirable:
        """The overload with the least generic signature that takes the call."""
        fits: list[tuple[float, Wirable]] = []
        refused: list[tuple[Wirable, Exception]] = []
        for candidate in self.overloads:
            try:
                own = self._for(candidate, given)
                options = {k: v for k, v in kwargs.items() if k != "__label__"}
                cost = 0.0
                if isinstance(candidate, Operator):
                    candidate.choose(args, options, own)
                else:
                    cost = _distance(candidate.resolve(args, options, own, make=False), candidate)
            except (WiringError, MatchError, ArgumentError) as problem:
                refused.append((candidate, problem))
                continue
            fits.append((candidate.rank + cost, candidate))
        if not fits:
            raise self._no_fit(args, kwargs, refused)
        fits.sort(key=lambda item: item[0])
        if len(fits) > 1 and abs(fits[1][0] - fits[0][0]) < 1e-12:
            tied = [c for r, c in fits if abs(r - fits[0][0]) < 1e-12]
            raise AmbiguousOverloadError(
                f"{self.signature.name}: these overloads fit equally well: "
                + "; ".join(repr(c.signature) for c in tied),
                hint="make one more specific, or tell them apart with requires=",
            )
        return fits[0][1]

    def _no_fit(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        refused: list[tuple[Wirable, Exception]],
    ) -> WiringError:
        shown = [_shown(a) for a in args] + [f"{k}={_shown(v)}" for k, v in kwargs.items()]
        reasons = "".join(f"\n  {c.signature!r}: {str(p).splitlines()[0]}" for c, p in refused[:12])
        more = f"\n  ... and {len(refused) - 12} more" if len(refused) > 12 else ""
        if len(refused) == 1:
            kind: type[WiringError] = (
                RequirementsNotMetWiringError
                if isinstance(refused[0][1], RequirementsNotMetWiringError)
                else NoOverloadError
            )
        else:
            kind = NoOverloadError
        return kind(
            f"no overload of {self.signature.name} takes ({', '.join(shown)}); tried:{reasons}{more}"
            if refused
            else f"{self.signature.name} has no overloads"
        )


def _distance(resolved: Resolved, candidate: Wirable) -> float:
    """How far the arguments are from what a signature takes, to tell apart what is equally generic.

    A plain value that stays what it is beats one made a constant, and that one made into another
    type; a port of the very type beats one of a special case of it.
    """
    far = 0.0
    beside_ports = any(is_port(value) for value in resolved.arguments.values())
    for p in candidate.signature.open:
        if p.kind != "ts":
            continue
        value = resolved.arguments[p.name]
        if isinstance(value, Promise):
            exact = value.value is None or value.type == TSm(scalar_type_of(value.value))
            far += 1e-4 if exact else 2e-4
            if type(value.value) is int and value.type == TSm(float) and not beside_ports:
                far += 1.0  # an integer on its own stays one, even where only a variable takes it
        elif is_port(value) and isinstance(p.type, TSm) and isinstance(p.type.scalar, type):
            if value.type_.dereference() != p.type:
                far += 1e-4
    return far


def variables_of(tp: Any) -> tuple[TypeVar, ...]:
    return () if tp is None else tuple(variables(tp))


def _shown(value: Any) -> str:
    return type_name(value.type_) if is_port(value) else repr(value)


PORT_SYNTAX = frozenset(
    [
        "add_",
        "sub_",
        "mul_",
        "div_",
        "floordiv_",
        "mod_",
        "pow_",
        "lshift_",
        "rshift_",
        "bit_and",
        "bit_or",
        "bit_xor",
        "divmod_",
        "matmul_",
        "eq_",
        "ne_",
        "lt_",
        "le_",
        "gt_",
        "ge_",
        "neg_",
        "pos_",
        "invert_",
        "abs_",
        "round_",
        "getitem_",
        "getattr_",
        "contains_",
        "len_",
        "convert",
        "tsd_from_ports",
        "tss_from_ports",
        "value_attr",
    ]
)


class BuiltIn:
    """A function of the library that wires by itself (`map_`, `reduce`, ...), open to overloads.

    A call that an overload takes goes to it, any other to the function.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self.__name__: str = getattr(fn, "__name__", type(fn).__name__)
        self._overloads: Operator | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._overloads is not None:
            try:
                chosen = self._overloads.choose(args, kwargs, None)
            except (NoOverloadError, RequirementsNotMetWiringError):
                pass
            else:
                return chosen.wire(args, kwargs, None)
        return self.__wrapped__(*args, **kwargs)

    def overload(self, candidate: Wirable) -> Any:
        """Add an overload; `@graph(overloads=map_)` calls this."""
        if self._overloads is None:

            def stand_in() -> None:
                """What overloads are added to."""

            stand_in.__name__ = self.__name__
            self._overloads = Operator(stand_in)
        return self._overloads.overload(candidate)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return f"<operator {self.__name__}>"


__all__ = [
    "BuiltIn",
    "Operator",
]
