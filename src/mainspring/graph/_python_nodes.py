"""Nodes that are Python functions: how their calls are laid out and what is injected.

Everything that can be decided while wiring is decided here, once for each shape of a call; the
kernel is handed a plan and looks nothing up by name.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mainspring.graph._contexts import entering
from mainspring.graph._description import NOTHING
from mainspring.graph._errors import ParseError
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
    Param,
    Resolved,
    Signature,
    WiringNodeType,
    call_with_scalars,
    is_port,
    parse_signature,
)
from mainspring.graph._types import TSDm, TSm, TsMeta, is_ts, parse_ts, resolve_hints
from mainspring.graph._types import _scalar as parse_scalar
from mainspring.graph._wirable import Wirable
from mainspring.graph._wiring import (
    Input,
    PassivePort,
    WiringNode,
    WiringPort,
    adapt,
    current,
    identity,
    nothing_of,
)


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
        self._take_in(fn)
        return fn

    def stop(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate what runs when the node stops."""
        self.stop_fn = fn
        self._take_in(fn)
        return fn

    def _take_in(self, hook: Callable[..., Any]) -> None:
        """Let calls of the node give, by name, the scalars that only its hook takes."""
        old = self.signature
        hints = resolve_hints(hook)
        more = [
            Param(name, "scalar", parse_scalar(hints[name]), keyword_only=True, of_hook=True)
            for name, parameter in inspect.signature(hook).parameters.items()
            if parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            and name not in old.by_name
            and name in hints
            and name != "_output"
            and not is_ts(hints[name])
            and injected(hints[name], name) is None
        ]
        if more:
            self.signature = Signature(
                old.name, [*old.params, *more], old.output, old.default_variable
            )
            self.signature.node_type = old.node_type

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
            p.kind in SAME_IN_EVERY_GRAPH
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
            same += (id(port.node_), port.path_, item.active, item.need)
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
            return [(*injection(p, self.signature.name), p.name)]
        value = resolved.arguments[p.name]
        want = resolved.types.get(p.name)
        if value is None and p.kind in ("ts", "context"):
            inputs.append(Input(p.name, unbound(want), False, 0))
            return [("input", len(inputs) - 1, p.name)]
        if (
            p.star
            and is_port(value)
            and not isinstance(value.type_, TSDm)
            and not value.children_()
        ):
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


def unbound(want: Any) -> WiringPort:
    """What an input that nothing is given for reads: never valid, never modified."""
    tp = want if isinstance(want, TsMeta) and want.is_resolved() else TSm(object)
    key = ("unbound", tp)
    made = current().adapted.get(key)
    if made is None:
        made = current().adapted[key] = nothing_of(tp)
    return made


# Injectables that are the same whichever graph a node is wired in.
SAME_IN_EVERY_GRAPH = INJECTED - {"global_state", "logger", "traits"}


class Prepared(NamedTuple):
    """What nodes of one shape of call have in common."""

    inputs: list[tuple[str, Any, bool, int]]
    """By input: the parameter, the type, whether it is active, what it needs."""
    plan: Any = None


def _run_logging() -> RunLogging:
    made = current().state.get("logging")
    return RunLogging() if made is None else made


def injection(p: Param, name: str) -> tuple[str, Any]:
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


def _of_function(signature: Signature) -> list[Param]:
    """The parameters of the node's function itself."""
    return [p for p in signature.params if not p.of_hook]


def _call_plan(
    fn: Callable[..., Any], signature: Signature, places: dict[str, list[tuple[str, Any, str]]]
) -> tuple[Any, list[tuple[str, Any]], tuple[str, ...]]:
    positional: list[tuple[str, Any]] = []
    named: list[tuple[str, Any]] = []
    keywords: list[str] = []
    if signature.star is not None or signature.kwstar is not None:
        fn = stars_as_parameters(fn)
        order = {name: i for i, name in enumerate(fn.__code__.co_varnames)}
        params = sorted(_of_function(signature), key=lambda p: order[p.name])
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
    for p in _of_function(signature):
        for what, content, name in places[p.name]:
            if p.keyword_only:
                named.append((what, content))
                keywords.append(name)
            else:
                positional.append((what, content))
    return fn, positional + named, tuple(keywords)


def stars_as_parameters(fn: Callable[..., Any]) -> Any:
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
                found = [(*injection(own, signature.name), name)]
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


__all__ = [
    "GeneratorNode",
    "PushNode",
    "PythonNode",
]
