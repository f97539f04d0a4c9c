"""Operators that are subscripted with what they make: ``convert[TS[str]](ts)`` and its kin."""

from typing import Any

from mainspring.graph._operator import BuiltIn
from mainspring.graph.operators._base import (
    OUT,
    REF,
    TS,
    NoOverloadError,
    WiringError,
    is_port,
    lifted,
    made_node,
    type_name,
)
from mainspring.graph.operators._combine import collect_ports, combine_ports, emit_port
from mainspring.graph.operators._convert import convert_ports
from mainspring.graph.operators._names import convert_overloads


class _Making:
    """What the subscripted operators share: the target in brackets."""

    takes_series = True  # lists given to `eval_node` are the ticks of an input
    __name__ = ""

    def __init__(self, target: Any = None) -> None:
        self._target = target

    def __getitem__(self, target: Any) -> Any:
        if isinstance(target, slice):
            target = target.stop
        return type(self)(target)

    def __repr__(self) -> str:
        return f"<operator {self.__name__}>"


class Convert(_Making):
    """``convert[TS[str]](ts)`` or ``convert(ts, TS[str])``: the same as another type.

    Overload it with ``@compute_node(overloads=convert)``: what you add comes before what is built in.
    """

    __name__ = "convert"

    def __call__(
        self,
        *ports: Any,
        to: Any = None,
        key: Any = None,
        ts: Any = None,
        __strict__: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        found = [port for port in (key, *ports, ts) if port is not None]
        if to is None and self._target is None and len(found) > 1 and not is_port(found[-1]):
            to = found.pop()
        target = self._target if to is None else to
        if target is None:
            raise WiringError("convert needs to know into what", hint="convert[TS[str]](ts)")
        if not found:
            raise WiringError("convert needs something to convert", hint="convert[TS[str]](ts)")
        inputs = [lifted(port) for port in found]
        if convert_overloads.overloads:
            given = kwargs if __strict__ is None else {**kwargs, "__strict__": __strict__}
            try:
                return convert_overloads[OUT:target](*inputs, **given)
            except NoOverloadError:
                pass
        return convert_ports(target, inputs, strict=__strict__, **kwargs)

    def overload(self, node: Any) -> Any:
        """Add a conversion; `@compute_node(overloads=convert)` calls this."""
        return convert_overloads.overload(node)


class Combine(_Making):
    """``combine(a, b)``, ``combine(x=a, y=b)`` or ``combine[TS[Point]](x=a, y=b)``: several as one."""

    __name__ = "combine"

    def __call__(self, *args: Any, __strict__: bool | None = None, **kwargs: Any) -> Any:
        return combine_ports(self._target, list(args), kwargs, __strict__)


class Collect(_Making):
    """``collect[TSS](ts)`` or ``collect[TSD](key, value)``: everything that ticked, gathered."""

    __name__ = "collect"

    def __call__(
        self,
        *ports: Any,
        key: Any = None,
        ts: Any = None,
        reset: Any = None,
        exclude: Any = None,
    ) -> Any:
        if self._target is None:
            raise WiringError("collect needs to know into what", hint="collect[TSS](ts)")
        found = [lifted(port) for port in (key, *ports, ts) if port is not None]
        return collect_ports(self._target, found, reset, exclude)


class Emit(_Making):
    """``emit(ts)``: the elements of each tick, one a cycle."""

    __name__ = "emit"

    def __call__(self, ts: Any) -> Any:
        return emit_port(lifted(ts), self._target)


class Cast:
    """``cast_(float, ts)``: every value made into another type by calling it."""

    takes_series = True  # lists given to `eval_node` are the ticks of an input
    __name__ = "cast_"

    def __call__(self, tp: Any, ts: Any) -> Any:
        port = lifted(ts)
        return made_node(
            f"cast_{type_name(tp)}",
            lambda one: tp(one.value),
            {"ts": port.output_type.dereference()},
            TS[tp],
        )(port)


class Downcast:
    """``downcast_(Dog, ts)``: the same values as a more special type; another value is an error."""

    takes_series = True  # lists given to `eval_node` are the ticks of an input
    __name__ = "downcast_"

    def __call__(self, tp: Any, ts: Any) -> Any:
        port = lifted(ts)

        def checked(one: Any) -> Any:
            value = one.value
            if not isinstance(value, tp):
                raise TypeError(f"downcast_: {value!r} is not a {type_name(tp)}")
            return value

        return made_node(
            f"downcast_{type_name(tp)}", checked, {"ts": port.output_type.dereference()}, TS[tp]
        )(port)


class DowncastRef:
    """``downcast_ref(Dog, ts)``: the same time series as one of a more special type, without a look at it."""

    takes_series = True  # lists given to `eval_node` are the ticks of an input
    __name__ = "downcast_ref"

    def __call__(self, tp: Any, ts: Any) -> Any:
        port = lifted(ts)
        inputs = {"ts": REF[port.output_type.dereference()]}
        node = made_node(
            f"downcast_ref_{type_name(tp)}", lambda one: one.value, inputs, REF[TS[tp]]
        )
        return node(port)


convert = Convert()
combine = Combine()
collect = Collect()
emit = Emit()
cast_ = BuiltIn(Cast())
downcast_ = BuiltIn(Downcast())
downcast_ref = BuiltIn(DowncastRef())
