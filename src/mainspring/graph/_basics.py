"""The few nodes that wiring itself is not complete without."""

from __future__ import annotations

import datetime as _dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mainspring.graph._contexts import context_named
from mainspring.graph._decorators import compute_node
from mainspring.graph._errors import IncorrectTypeBinding, WiringError
from mainspring.graph._match import MatchError, match
from mainspring.graph._native_nodes import NativeNode
from mainspring.graph._signature import Param, Signature, is_port, value_type
from mainspring.graph._types import TIME_SERIES_TYPE, TSm, TsMeta, is_ts, type_name
from mainspring.graph._value_types import scalar_type_of
from mainspring.graph._wiring import (
    Input,
    PassivePort,
    WiringNode,
    WiringPort,
    adapt,
    const_of,
    current,
    inside,
    nothing_of,
    plain,
)


class _Const:
    """`const(value)` ticks once, at the start (or `delay` after it)."""

    __name__ = "const"

    def __init__(self, tp: Any = None) -> None:
        self._type = tp

    def __getitem__(self, tp: Any) -> _Const:
        return _Const(tp.stop if isinstance(tp, slice) else tp)

    def __call__(self, value: Any, tp: Any = None, delay: Any = None, **options: Any) -> WiringPort:
        if is_port(value):
            raise WiringError(f"const() takes a value; {value!r} ticks already")
        tp = tp or self._type
        if tp is None:
            tp = TSm(scalar_type_of(value))
        elif not isinstance(tp, TsMeta):
            tp = TSm(tp) if not is_ts(tp) else value_type(value, tp)
        elif not tp.is_resolved():
            tp = value_type(value, tp)
        return const_of(value, tp, delay if delay and delay > _dt.timedelta() else None)


const = _Const()


class _Nothing:
    """`nothing(TS[int])` never ticks."""

    __name__ = "nothing"

    def __init__(self, tp: Any = None) -> None:
        self._type = tp

    def __getitem__(self, tp: Any) -> _Nothing:
        return _Nothing(tp)

    def __call__(self, tp: Any = None) -> WiringPort:
        tp = self._type if tp is None else tp
        if is_port(tp) or not is_ts(tp):
            raise WiringError(f"nothing() needs a time-series type, not {type_name(tp)}")
        return nothing_of(tp)


nothing = _Nothing()


null_sink = NativeNode(
    "null_sink", "null_sink", Signature("null_sink", [Param("ts", "ts", TIME_SERIES_TYPE)], None)
)
null_sink.__doc__ = "Consume a time series, so that what makes it runs."


@compute_node
def pass_through_node(ts: TIME_SERIES_TYPE) -> TIME_SERIES_TYPE:
    """Tick what ticks."""
    return ts.delta_value


def passive(ts: Any) -> WiringPort:
    """The port as a passive input: its ticks are seen, but evaluate nothing."""
    return PassivePort(ts.node_, ts.path_, ts.type_)


def delayed_binding(tp_: Any) -> Any:
    """A port of this type, or of the type of this port, whose producer is bound later: call it with a port to bind it."""
    return _Delayed(tp_.type_.dereference() if is_port(tp_) else tp_)


class _Delayed:
    """Called without a port it is one; called with a port it is bound.

    The port belongs to a node that stands for the producer while the graph is wired, and is not
    there any more when it is described.
    """

    def __init__(self, tp: Any) -> None:
        self._node = WiringNode("delayed_binding", "delayed", "structure", tp)
        self._port = WiringPort(self._node, (), tp)

    def __call__(self, port: Any = None) -> Any:
        if port is None:
            return self._port
        self.bind(port)
        return None

    def bind(self, port: Any) -> None:
        tp = self._port.type_
        if self._node.inputs:
            raise WiringError("this delayed binding is bound already")
        if not is_port(port):
            port = const_of(port, tp)
        try:
            match(tp, port.type_, {})
        except MatchError as problem:
            raise IncorrectTypeBinding(
                f"the delayed binding is of {type_name(tp)}, it cannot be {port!r}: {problem}"
            ) from None
        self._node.inputs = [Input("ts", adapt(port, tp), False, 0)]


class context:
    """`with context("name", port):` publishes a port for CONTEXT parameters inside."""

    def __init__(self, name: str, port: WiringPort) -> None:
        self._name = name
        self._port = port

    def __enter__(self) -> WiringPort:
        current().published.append((self._name, self._port))
        return self._port

    def __exit__(self, *exc: object) -> None:
        current().published.remove((self._name, self._port))

    @staticmethod
    def get(name: str) -> WiringPort:
        """The port published under a name."""
        found = context_named(name)
        if found is None:
            raise WiringError(f"no context named {name!r} is published here")
        return found

    @staticmethod
    def has(name: str) -> bool:
        """Is something published under this name?"""
        return context_named(name) is not None


class _GetContext:
    def __init__(self, tp: Any = None) -> None:
        self._type = tp

    def __getitem__(self, tp: Any) -> _GetContext:
        return _GetContext(tp)

    def __call__(self, name: str, tp_: Any = None, required: bool = False) -> Any:
        return context.get(name) if required else context_named(name)


get_context = _GetContext()


@contextmanager
def labelled(name: str) -> Iterator[None]:
    """Wire nodes under a name of their own."""
    with inside(name):
        yield


def sink(name: str, code: str, port: WiringPort, **options: Any) -> None:
    """Add a native sink."""
    WiringNode(name, code, "sink", None, [Input("ts", plain(port), True, 1)], **options)
