"""The decorators: `graph`, `compute_node`, `sink_node`, `generator`, `push_queue`, `operator`.

A decorated function is a `Wirable`: calling it while a graph is wired resolves the types of the
call and adds nodes. Brackets fix types before: `node[TS[int]](...)`, `node[SCALAR: int](...)`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from mainspring.graph._contexts import entering
from mainspring.graph._description import NOTHING
from mainspring.graph._errors import (
    AmbiguousOverloadError,
    IncorrectTypeBinding,
    NoOverloadError,
    ParseError,
    RequirementsNotMetWiringError,
    WiringError,
)
from mainspring.graph._injectables import (
    GlobalState,
    RunLogging,
    StateMaker,
    StateParts,
    Traits,
    injected,
    state_factory,
)
from mainspring.graph._signature import (
    INJECTED,
    ArgumentError,
    Known,
    Param,
    Promise,
    Resolved,
    Signature,
    WiringNodeType,
    call_shape,
    call_with_scalars,
    gather,
    is_port,
    parse_signature,
    resolve,
    resolve_gathered,
    to_port,
)
from mainspring.graph._types import (
    Bindings,
    MatchError,
    REFm,
    SIGNALm,
    Size,
    TimeSeriesSchema,
    TSBm,
    TSDm,
    TSm,
    TsMeta,
    is_ts_variable,
    make_schema,
    match,
    parse_ts,
    resolve_hints,
    scalar_type_of,
    substitute,
    type_name,
    variables,
)
from mainspring.graph._wiring import (
    Input,
    PassivePort,
    WiringNode,
    WiringPort,
    adapt,
    current,
    identity,
    inside,
    nothing_of,
    register_port_operator,
    tsb_from_ts,
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
    from typing import get_args

    args = [a for a in get_args(tp) if a is not Ellipsis]
    if args:
        return sum(generic_rank(arg, kind, depth + 1) for arg in args) / len(args)
    return 0.0


# --- nodes that are Python functions -----------------------------------------------------------


def _names(value: Any, resolved: Resolved, signature: Signature) -> frozenset[str] | None:
    """`active=`, `valid=`, `all_valid=`: names, or something that tells them while wiring."""
    if value is None:
        return None
    if callable(value) and not isinstance(value, (str, tuple, list, set, frozenset)):
        value = call_with_scalars(value, resolved.bindings, signature, resolved.arguments)
        if value is None:
            return None
    if isinstance(value, str):
        value = (value,)
    return frozenset(value)


class PythonNode(Wirable):
    """`compute_node` and `sink_node`."""

    code = "python"

    def __init__(
        self,
        fn: Callable[..., Any],
        kind: str,
        *,
        active: Any = None,
        valid: Any = None,
        all_valid: Any = None,
        signature: Signature | None = None,
        **common: Any,
    ) -> None:
        if kind == "sink_node":
            self.node_type = WiringNodeType.SINK_NODE
        super().__init__(fn, signature or parse_signature(fn), **common)
        self.kind = kind
        self.active = active
        self.valid = valid
        self.all_valid = all_valid
        self.start_fn: Callable[..., Any] | None = None
        self.stop_fn: Callable[..., Any] | None = None
        self._check()

    def _check(self) -> None:
        signature = self.signature
        if self.kind == "compute_node":
            if signature.output is None:
                raise ParseError(
                    f"compute_node {signature.name} has no result",
                    hint="annotate it, or use sink_node",
                )
            if not signature.time_series_args:
                raise ParseError(
                    f"compute_node {signature.name} has no time-series input",
                    hint="use generator or const for a source",
                )
        if self.kind == "sink_node":
            if signature.output is not None:
                raise ParseError(f"sink_node {signature.name} cannot have a result")
            if not signature.time_series_args:
                raise ParseError(f"sink_node {signature.name} has no time-series input")
        known = signature.time_series_args
        for what in ("active", "valid", "all_valid"):
            names = getattr(self, what)
            if names is None or callable(names):
                continue
            for name in (names,) if isinstance(names, str) else names:
                if name not in known:
                    raise ParseError(
                        f"{signature.name}: {what}= names {name!r}, which is no time-series input",
                        hint=f"its inputs are {', '.join(sorted(known))}",
                    )

    def start(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate what runs when the node starts."""
        for name in inspect.signature(fn).parameters:
            if name in self.signature.time_series_args:
                raise ParseError(
                    f"{self.signature.name}.start asks for {name!r}, a time series, which has no value yet",
                    hint="it may take scalars and injectables; a stop function may look at inputs",
                )
        self.start_fn = fn
        return fn

    def stop(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate what runs when the node stops."""
        self.stop_fn = fn
        return fn

    def build(self, resolved: Resolved, label: str) -> Any:
        known = resolved.known
        if known is not None and known.prepared is not None:
            arguments = resolved.arguments
            inputs = [
                Input(name, adapt(arguments[name], tp), active, need)
                for name, tp, active, need in known.prepared.inputs
            ]
            return self._node(inputs, NOTHING, known.prepared.plan, resolved.output, label)
        signature = self.signature
        active = _names(self.active, resolved, signature)
        valid = _names(self.valid, resolved, signature)
        all_valid = _names(self.all_valid, resolved, signature) or frozenset()
        inputs = []
        scalars: dict[str, Any] = {}
        places: dict[str, list[tuple[str, Any, str]]] = {}
        for p in signature.params:
            places[p.name] = self._place(p, resolved, inputs, scalars, active, valid, all_valid)
        _share_state(signature, places)
        plan = {
            "eval": entering(_call_plan(self.fn, signature, places), inputs),
            "start": _hook_plan(self.start_fn, places, signature),
            "stop": _hook_plan(self.stop_fn, places, signature),
            "scheduler": any(p.kind == "scheduler" for p in signature.params),
        }
        self.finish_plan(plan)
        shared = MappingProxyType(plan)
        if known is not None and self._is_plain(resolved):
            known.prepared = Prepared(
                [(i.name, resolved.types[i.name], i.active, i.need) for i in inputs], shared
            )
        return self._node(inputs, scalars, shared, resolved.output, label)

    def _is_plain(self, resolved: Resolved) -> bool:
        """Is all that a node of this call's shape takes ports, and what every instance gets alike?"""
        if any(callable(names) for names in (self.active, self.valid, self.all_valid)):
            return False
        return all(
            p.kind in _ALIKE
            or (p.kind == "ts" and not p.star and resolved.arguments[p.name] is not None)
            for p in self.signature.params
        )

    def _node(
        self,
        inputs: list[Input],
        scalars: Mapping[str, Any],
        plan: Mapping[str, Any],
        output: Any,
        label: str,
    ) -> Any:
        """The node of a call: the one that is there already, or a new one."""
        context = current()
        same = self._identity(inputs, scalars, output, label)
        if same is not None:
            found = context.adapted.get(same)
            if found is not None:
                return found
        node = WiringNode(
            self.signature.name,
            self.code,
            "sink" if self.signature.output is None else "source" if not inputs else "compute",
            output,
            inputs,
            label=label,
            scalars=scalars,
            plan=plan,
            function=self.fn,
        )
        if output is None:
            return None
        port = WiringPort(node, (), output)
        if same is not None:
            context.adapted[same] = port
        return port

    def _identity(
        self, inputs: list[Input], scalars: Mapping[str, Any], output: Any, label: str
    ) -> Any:
        """What makes two calls one node; None where they never are."""
        if self.code != "python" or output is None:
            return None
        # Itself, and not its id: a node made for one call is gone after it, and its id goes to the next.
        same: list[Any] = [self, output, label]
        for item in inputs:
            port = item.port
            same += (id(port.node), port.path, item.active, item.need)
        if scalars:
            same += [(name, identity(value)) for name, value in scalars.items()]
        return tuple(same)

    def finish_plan(self, plan: dict[str, Any]) -> None:
        """A place for kinds of node with more to say."""

    def _place(
        self,
        p: Param,
        resolved: Resolved,
        inputs: list[Input],
        scalars: dict[str, Any],
        active: frozenset[str] | None,
        valid: frozenset[str] | None,
        all_valid: frozenset[str],
    ) -> list[tuple[str, Any, str]]:
        """What the function gets for a parameter: `(what, content, keyword)`."""
        if p.kind in INJECTED:
            return [(*_injection(p, self.signature.name), p.name)]
        value = resolved.arguments[p.name]
        want = resolved.types.get(p.name)
        if value is None and p.kind in ("ts", "context"):
            inputs.append(Input(p.name, _unbound(want), False, 0))
            return [("input", len(inputs) - 1, p.name)]
        if p.star and is_port(value) and not isinstance(value.type, TSDm) and not value.children():
            return []  # nothing was given for it
        if p.kind not in ("ts", "context"):
            scalars[p.name] = value
            if p.star == 1:
                return [("scalar", v, "") for v in value]
            if p.star == 2:
                return [("scalar", v, k) for k, v in value.items()]
            return [("scalar", value, p.name)]
        is_active = (active is None or p.name in active) and not isinstance(value, PassivePort)
        is_context = p.kind == "context"  # one that was found is always waited for
        needed = is_context or valid is None or p.name in valid
        need = 2 if p.name in all_valid else 1 if needed else 0
        inputs.append(Input(p.name, adapt(value, want), is_active, need, is_context))
        return [("input", len(inputs) - 1, p.name)]


def _share_state(signature: Signature, places: dict[str, list[tuple[str, Any, str]]]) -> None:
    """A node keeps one thing: where its function asks for several states, they are its parts."""
    names = [p.name for p in signature.params if p.kind in ("state", "recordable_state")]
    if len(names) < 2:
        return
    maker = StateMaker(StateParts.of, tuple(places[name][0][1] for name in names))
    for at, name in enumerate(names):
        places[name] = [("state_part", (maker, at), name)]


def _unbound(want: Any) -> WiringPort:
    """What an input that nothing is given for reads: never valid, never modified."""
    tp = want if isinstance(want, TsMeta) and want.is_resolved() else TSm(object)
    key = ("unbound", tp)
    made = current().adapted.get(key)
    if made is None:
        made = current().adapted[key] = nothing_of(tp)
    return made


# Injectables that are the same whichever graph a node is wired in.
_ALIKE = INJECTED - {"global_state", "logger", "traits"}


class Prepared(NamedTuple):
    """What nodes of one shape of call have in common."""

    inputs: list[tuple[str, Any, bool, int]]
    """By input: the parameter, the type, whether it is active, what it needs."""
    plan: Any = None


def _run_logging() -> RunLogging:
    made = current().state.get("logging")
    return RunLogging() if made is None else made


def _injection(p: Param, name: str) -> tuple[str, Any]:
    """How the kernel, or the parameter itself, provides an injectable to the node of this name."""
    if p.kind in ("state", "recordable_state"):
        default = None if p.default is inspect.Parameter.empty else p.default
        return "state", state_factory(p.annotation, default)
    if p.kind in ("scheduler", "clock", "output", "engine_api", "node", "sender"):
        return p.kind, None
    if p.kind == "logger":
        return "scalar", _run_logging().of((*current().path, name))
    if p.kind == "global_state":
        return "scalar", GlobalState.instance()
    return "scalar", current().state.setdefault("traits", Traits())


def _call_plan(
    fn: Callable[..., Any], signature: Signature, places: dict[str, list[tuple[str, Any, str]]]
) -> tuple[Any, list[tuple[str, Any]], tuple[str, ...]]:
    positional: list[tuple[str, Any]] = []
    named: list[tuple[str, Any]] = []
    keywords: list[str] = []
    if signature.star is not None or signature.kwstar is not None:
        fn = _stars_as_parameters(fn)
        order = {name: i for i, name in enumerate(fn.__code__.co_varnames)}
        params = sorted(signature.params, key=lambda p: order[p.name])
        args = []
        for p in params:
            found = places[p.name]
            if len(found) == 1 and found[0][0] == "input":
                args.append(found[0][:2])
            elif p.star == 1:
                args.append(("scalar", tuple(content for _, content, _ in found)))
            elif p.star == 2:
                args.append(("scalar", {name: content for _, content, name in found}))
            else:
                args.append(found[0][:2])
        return fn, args, ()
    for p in signature.params:
        for what, content, name in places[p.name]:
            if p.keyword_only:
                named.append((what, content))
                keywords.append(name)
            else:
                positional.append((what, content))
    return fn, positional + named, tuple(keywords)


def _stars_as_parameters(fn: Callable[..., Any]) -> Any:
    """The same function with `*args` and `**kwargs` as ordinary parameters.

    Their time series arrive as one list or bundle, which knows when it ticked, and not as a
    tuple or dictionary, which do not.
    """
    code = fn.__code__
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    opened = code.replace(
        co_argcount=code.co_argcount + code.co_kwonlyargcount + stars,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
    )
    return types.FunctionType(opened, fn.__globals__, fn.__name__, None, fn.__closure__)


def _hook_plan(
    fn: Callable[..., Any] | None,
    places: dict[str, list[tuple[str, Any, str]]],
    signature: Signature,
) -> Any:
    """A start or stop function takes what it names of the node's parameters."""
    if fn is None:
        return None
    args: list[tuple[str, Any]] = []
    keywords = []
    hints = resolve_hints(fn)
    for name, parameter in inspect.signature(fn).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        found = places.get(name)
        if found is None:
            if name == "_output":
                found = [("output", None, name)]
            else:
                hint = hints.get(name)
                kind = None if hint is None else injected(hint, name)
                if kind is None and parameter.default is not parameter.empty:
                    continue
                if kind is None:
                    raise ParseError(
                        f"the hook of {signature.name} asks for {name!r}, which the node has not",
                        hint=f"it has {', '.join(places)}",
                    )
                own = Param(name, kind, None, parameter.default, annotation=hint)
                found = [(*_injection(own, signature.name), name)]
        for what, content, _ in found:
            args.append((what, content))
            if parameter.kind is parameter.KEYWORD_ONLY:
                keywords.append(name)
    return fn, args, tuple(keywords)


class GeneratorNode(PythonNode):
    """`generator`."""

    code = "generator"
    node_type = WiringNodeType.PULL_SOURCE_NODE

    def _check(self) -> None:
        if self.signature.output is None:
            raise ParseError(f"generator {self.signature.name} has no result type")
        if self.signature.time_series_args:
            raise ParseError(f"generator {self.signature.name} cannot have time-series inputs")


class PushOptionError(ParseError, ValueError):
    """A push queue is told to hold an impossible number of messages."""


def _check_push(name: str, conflate: bool, burst: bool, max_pending: int | None) -> None:
    if conflate and burst:
        raise ParseError(f"push_queue {name}: conflate= and burst= are mutually exclusive")
    if max_pending is None:
        return
    if conflate:
        raise ParseError(
            f"push_queue {name}: max_pending= is not supported with conflate=, which keeps one message"
        )
    if type(max_pending) is not int:
        raise ParseError(f"push_queue {name}: max_pending= takes a positive integer")
    if max_pending <= 0:
        raise PushOptionError(f"push_queue {name}: max_pending= must be greater than zero")


class PushNode(PythonNode):
    """`push_queue`."""

    code = "push"
    node_type = WiringNodeType.PUSH_SOURCE_NODE

    def __init__(
        self,
        fn: Callable[..., Any],
        tp: Any,
        conflate: bool,
        burst: bool,
        max_pending: int | None,
        **common: Any,
    ) -> None:
        _check_push(getattr(fn, "__name__", "push_queue"), conflate, burst, max_pending)
        self.options = {"conflate": conflate, "burst": burst, "max_pending": max_pending or 0}
        signature = parse_signature(fn, needs_types=False)
        params = signature.params
        if not params:
            raise ParseError(f"push_queue {signature.name} needs a parameter for the sender")
        params[0].kind = "sender"
        for p in params[1:]:
            if p.kind == "any":
                p.kind = "scalar"
                p.type = object
        out = parse_ts(tp, f"push_queue {signature.name}")
        if burst and isinstance(out, TSm):
            pass
        super().__init__(
            fn, "push_queue", signature=Signature(signature.name, params, out), **common
        )

    def _check(self) -> None:
        return

    def finish_plan(self, plan: dict[str, Any]) -> None:
        plan.update(self.options)


# --- graphs ------------------------------------------------------------------------------------


def _check_graph(signature: Signature) -> None:
    """A graph runs while it is wired, when there is no node yet whose state or clock it could have."""
    for p in signature.params:
        if p.kind not in INJECTED:
            continue
        if p.kind in _ALIKE:
            raise ParseError(
                f"graph {signature.name} asks for {p.name!r}, which only a running node has",
                hint="a graph supports only GlobalState and LOGGER; put the rest into a node",
            )
        if p.default is not None:
            raise ParseError(
                f"graph {signature.name}: {p.name!r} must default to None, it is injected"
            )


class GraphFunction(Wirable):
    """`graph`: a function that wires others."""

    kind = "graph"
    node_type = WiringNodeType.GRAPH
    _opened: Any = None  # the function, its stars ordinary parameters

    def build(self, resolved: Resolved, label: str) -> Any:
        signature = self.signature
        values: dict[str, Any] = {}
        for p in signature.params:
            if p.kind in INJECTED:
                value: Any = _injection(p, signature.name)[1]
            else:
                value = resolved.arguments[p.name]
            if p.kind == "context" and value is None:
                value = _unbound(resolved.types[p.name])
            elif p.kind in ("ts", "any") and is_port(value):
                if not isinstance(resolved.types.get(p.name), SIGNALm):
                    value = current().bring_in(value)
            values[p.name] = value
        with inside(label or signature.name):
            return self.result(self._call(values), resolved)

    def _call(self, values: dict[str, Any]) -> Any:
        """Call the function; what `*args` and `**kwargs` take arrives as one list or bundle of ports."""
        signature = self.signature
        if signature.star is not None or signature.kwstar is not None:
            if self._opened is None:
                self._opened = _stars_as_parameters(self.fn)
            names = self._opened.__code__.co_varnames[: self._opened.__code__.co_argcount]
            return self._opened(*[values[name] for name in names])
        keyword_only = {p.name for p in signature.params if p.keyword_only}
        positional = [v for name, v in values.items() if name not in keyword_only]
        return self.fn(*positional, **{name: values[name] for name in keyword_only})

    def result(self, out: Any, resolved: Resolved) -> Any:
        signature = self.signature
        want = resolved.output
        if want is None:
            return as_open_result(out, signature.name) if signature.output is None else None
        if out is None:
            if isinstance(want, TypeVar) and is_ts_variable(want):
                return None  # any time series at all, or none
            raise WiringError(f"graph {signature.name} returned nothing, it declares {want!r}")
        return as_result(out, want, signature.name)

    def resolve(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        given: Bindings | None,
        make: bool = True,
    ) -> Resolved:
        from mainspring.graph._signature import UnresolvedError

        try:
            return super().resolve(args, kwargs, given, make)
        except UnresolvedError:
            if not make:
                raise
            # The body may tell: resolve without the result, which is checked afterwards.
            open_signature = Signature(
                self.signature.name, self.signature.params, None, self.signature.default_variable
            )
            resolved = resolve(open_signature, args, kwargs, given, self.resolvers, make=make)
            resolved.output = substitute(self.signature.output, resolved.bindings)
            return resolved


def as_open_result(out: Any, name: str) -> WiringPort | None:
    """What a graph function that declares no result returned: a port, or ports by name as a bundle."""
    if isinstance(out, Mapping) and out and all(is_port(port) for port in out.values()):
        schema = make_schema({key: port.output_type.dereference() for key, port in out.items()})
        return tsb_from_ts(TSBm(schema), **out)
    if out is not None and not is_port(out):
        raise IncorrectTypeBinding(
            f"graph {name} declares no result but returned {out!r}, which is no port",
            hint="return a port, a dict of ports (a bundle), or const(value)",
        )
    return out  # type: ignore[no-any-return]


def as_result(out: Any, want: Any, name: str) -> WiringPort:
    """What a graph function returned, as a port of the declared type."""
    if not is_port(out):
        try:
            out = to_port(out, want, {}, Param("result", "ts", want), True)
        except MatchError as problem:
            raise IncorrectTypeBinding(
                f"graph {name} declares {type_name(want)}: {problem}"
            ) from None
    try:
        match(want, out.type, {})
    except MatchError as problem:
        raise IncorrectTypeBinding(
            f"graph {name} declares {type_name(want)} but returns {type_name(out.type)}: {problem}"
        ) from None
    port: WiringPort = out
    return port


# --- operators ---------------------------------------------------------------------------------


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
    for p in candidate.signature.open:
        if p.kind != "ts":
            continue
        value = resolved.arguments[p.name]
        if isinstance(value, Promise):
            exact = value.value is None or value.type == TSm(scalar_type_of(value.value))
            far += 1e-4 if exact else 2e-4
        elif is_port(value) and isinstance(p.type, TSm) and isinstance(p.type.scalar, type):
            if value.type.dereference() != p.type:
                far += 1e-4
    return far


def variables_of(tp: Any) -> tuple[TypeVar, ...]:
    return () if tp is None else tuple(variables(tp))


def _shown(value: Any) -> str:
    return type_name(value.type) if is_port(value) else repr(value)


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
        "temporal_attr",
    ]
)


# --- the decorators ----------------------------------------------------------------------------


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


def _register(made: Wirable, overloads: Any) -> Wirable:
    if overloads is not None:
        target = overloads.target if isinstance(overloads, Bound) else overloads
        if isinstance(target, Wirable) and not isinstance(target, Operator):
            target = _promote(target)
        if not hasattr(target, "overload"):
            raise ParseError(
                f"{made.signature.name}: overloads={target!r} is nothing that can be overloaded",
                hint="declare it with @operator, or overload a graph or node",
            )
        target.overload(made)
    return made


def _promote(target: Any) -> Operator:
    """A graph or node that is overloaded becomes an operator it is the general overload of."""
    known = getattr(target, "_as_operator", None)
    if known is None:
        general = copy.copy(target)
        known = target._as_operator = Operator(target.fn)
        known.overload(general)
        target.wire = known.wire
    return known


def _node_decorator(kind: str) -> Callable[..., Any]:
    def decorate(
        fn: Callable[..., Any] | None = None,
        /,
        node_impl: Any = None,
        active: Any = None,
        valid: Any = None,
        all_valid: Any = None,
        overloads: Any = None,
        resolvers: Mapping[TypeVar, Any] | None = None,
        requires: Callable[..., Any] | None = None,
        label: str | None = None,
        deprecated: bool | str = False,
    ) -> Any:
        def make(target: Callable[..., Any]) -> Any:
            return _register(
                PythonNode(
                    target,
                    kind,
                    active=active,
                    valid=valid,
                    all_valid=all_valid,
                    resolvers=resolvers,
                    requires=requires,
                    label=label,
                    deprecated=deprecated,
                ),
                overloads,
            )

        if node_impl is not None:
            raise ParseError(f"{kind}: node_impl is not supported")
        return make if fn is None else make(fn)

    decorate.__name__ = decorate.__qualname__ = kind
    return decorate


compute_node = _node_decorator("compute_node")
compute_node.__doc__ = """Decorate a function that computes a time series from others.

It is called when an active input ticks and every input in `valid` has a value (by default all of
them); what it returns ticks its output, `None` does not.
"""
sink_node = _node_decorator("sink_node")
sink_node.__doc__ = "Decorate a function that consumes time series and gives none."


def generator(
    fn: Callable[..., Any] | None = None,
    overloads: Any = None,
    resolvers: Mapping[TypeVar, Any] | None = None,
    requires: Callable[..., Any] | None = None,
    label: str | None = None,
    deprecated: bool | str = False,
) -> Any:
    """Decorate a Python generator that yields `(time, value)`: a source of ticks."""

    def make(target: Callable[..., Any]) -> Any:
        return _register(
            GeneratorNode(
                target,
                "generator",
                resolvers=resolvers,
                requires=requires,
                label=label,
                deprecated=deprecated,
            ),
            overloads,
        )

    return make if fn is None else make(fn)


def push_queue(
    tp: Any,
    overloads: Any = None,
    resolvers: Mapping[TypeVar, Any] | None = None,
    requires: Callable[..., Any] | None = None,
    label: str | None = None,
    deprecated: bool | str = False,
    *,
    conflate: bool = False,
    burst: bool = False,
    max_pending: int | None = None,
) -> Any:
    """Decorate a function that is handed a sender; what is sent ticks (real time only).

    The sender may be called from any thread and says whether it took the message. `conflate`
    keeps the newest only, `burst` ticks everything waiting as one tuple, `max_pending` bounds
    what may wait.
    """

    def make(target: Callable[..., Any]) -> Any:
        return _register(
            PushNode(
                target,
                tp,
                conflate,
                burst,
                max_pending,
                resolvers=resolvers,
                requires=requires,
                label=label,
                deprecated=deprecated,
            ),
            overloads,
        )

    return make


def graph(
    fn: Callable[..., Any] | None = None,
    overloads: Any = None,
    resolvers: Mapping[TypeVar, Any] | None = None,
    requires: Callable[..., Any] | None = None,
    label: str | None = None,
    deprecated: bool | str = False,
) -> Any:
    """Decorate a function that wires nodes together. It runs while the graph is built."""

    def make(target: Callable[..., Any]) -> Any:
        signature = parse_signature(target, needs_types=False)
        _check_graph(signature)
        return _register(
            GraphFunction(
                target,
                signature,
                resolvers=resolvers,
                requires=requires,
                label=label,
                deprecated=deprecated,
            ),
            overloads,
        )

    return make if fn is None else make(fn)


def operator(fn: Callable[..., Any] | None = None, deprecated: bool | str = False) -> Any:
    """Declare an operator: a signature for which overloads are registered."""

    def make(target: Callable[..., Any]) -> Any:
        return Operator(target, deprecated=deprecated)

    return make if fn is None else make(fn)


def lift(
    fn: Callable[..., Any],
    inputs: Mapping[str, Any] | None = None,
    output: Any = None,
    active: Any = None,
    valid: Any = None,
    all_valid: Any = None,
    dedup_output: bool = False,
    defaults: Mapping[str, Any] | None = None,
) -> Any:
    """A plain function as a compute node: each scalar parameter becomes a `TS` of it."""
    hints = resolve_hints(fn)
    params = []
    for name, parameter in inspect.signature(fn).parameters.items():
        tp = (inputs or {}).get(name)
        if tp is None:
            hint = hints.get(name, object)
            tp = hint if isinstance(hint, TsMeta) else TSm(hint)
        default = (defaults or {}).get(name, parameter.default)
        params.append(Param(name, "ts", tp, default, annotation=tp))
    out = output
    if out is None:
        hint = hints.get("return", object)
        out = hint if isinstance(hint, TsMeta) else TSm(hint)

    names = [p.name for p in params]

    def call(*views: Any) -> Any:
        return fn(*[None if v is None else v.value for v in views])

    if dedup_output:
        call = _dedup(fn)
        params.append(Param("_output", "output", None, None))
    call.__name__ = getattr(fn, "__name__", "lifted")
    call.__doc__ = fn.__doc__
    del names
    return PythonNode(
        call,
        "compute_node",
        active=active,
        valid=valid,
        all_valid=all_valid,
        signature=Signature(call.__name__, params, parse_ts(out, call.__name__)),
    )


def _dedup(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(*views: Any) -> Any:
        *inputs, out = views
        return _news(out, fn(*[None if v is None else v.value for v in inputs]))

    return call


def _news(out: Any, value: Any) -> Any:
    """What of a value an output has not got yet; None for nothing."""
    if not out.valid:
        return value
    if isinstance(value, Mapping) and hasattr(out, "get"):
        found = {k: v if k not in out else _news(out[k], v) for k, v in value.items()}
        return {k: v for k, v in found.items() if v is not None} or None
    return None if out.value == value else value


def native(
    name: str,
    code: str,
    signature: Signature,
    *,
    overloads: Any = None,
    requires: Callable[..., Any] | None = None,
    resolvers: Mapping[TypeVar, Any] | None = None,
    need: Mapping[str, int] | None = None,
    active: frozenset[str] | None = None,
) -> Any:
    """A node the kernel implements under an op code; scalars become its params, in order."""
    return _register(
        NativeNode(
            name, code, signature, requires=requires, resolvers=resolvers, need=need, active=active
        ),
        overloads,
    )


class NativeNode(Wirable):
    """A node implemented by the kernel."""

    kind = "native"

    def __init__(
        self,
        name: str,
        code: str,
        signature: Signature,
        *,
        need: Mapping[str, int] | None = None,
        active: frozenset[str] | None = None,
        **common: Any,
    ) -> None:
        def stand_in() -> None:
            """Implemented by the kernel."""

        stand_in.__name__ = name
        super().__init__(stand_in, signature, **common)
        self.code = code
        self.need = need or {}
        self.active = active

    def build(self, resolved: Resolved, label: str) -> Any:
        known = resolved.known
        inputs: list[Input]
        if known is not None and known.prepared is not None:
            arguments = resolved.arguments
            inputs = [
                Input(name, adapt(arguments[name], tp), active, need)
                for name, tp, active, need in known.prepared.inputs
            ]
            return self._node(inputs, (), NOTHING, resolved.output, label)
        inputs, params, scalars = [], [], {}
        for p in self.signature.open:
            value = resolved.arguments[p.name]
            if p.kind == "ts":
                if value is None:
                    continue
                inputs.append(
                    Input(
                        p.name,
                        adapt(value, resolved.types[p.name]),
                        (self.active is None or p.name in self.active)
                        and not isinstance(value, PassivePort),
                        self.need.get(p.name, 1),
                    )
                )
            else:
                params.append(value)
                scalars[p.name] = value
        if known is not None and not scalars and len(inputs) == len(self.signature.open):
            known.prepared = Prepared(
                [(i.name, resolved.types[i.name], i.active, i.need) for i in inputs]
            )
        return self._node(inputs, tuple(params), scalars, resolved.output, label)

    def _node(
        self,
        inputs: list[Input],
        params: tuple[Any, ...],
        scalars: Mapping[str, Any],
        output: Any,
        label: str,
    ) -> Any:
        node = WiringNode(
            self.signature.name,
            self.code,
            "sink" if output is None else "compute" if inputs else "source",
            output,
            inputs,
            label=label,
            scalars=scalars,
            params=params,
        )
        return None if output is None else WiringPort(node, (), output)


__all__ = [
    "Bound",
    "BuiltIn",
    "GeneratorNode",
    "GraphFunction",
    "NativeNode",
    "Operator",
    "PushNode",
    "PythonNode",
    "Wirable",
    "compute_node",
    "generator",
    "graph",
    "lift",
    "native",
    "operator",
    "push_queue",
    "sink_node",
]
