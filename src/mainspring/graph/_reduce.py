"""`reduce`: many values into one, as a tree where the function is associative, else in order."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from mainspring.graph._errors import WiringError
from mainspring.graph._inner import callable_of, finish_captures, name_of, parameters_of, wire_inner
from mainspring.graph._match import MatchError, match
from mainspring.graph._operator import BuiltIn
from mainspring.graph._signature import Param, Signature, is_port, value_type
from mainspring.graph._types import TSDm, TSLm, TSm
from mainspring.graph._wiring import (
    Context,
    Input,
    WiringNode,
    WiringPort,
    const_of,
    nothing_of,
    plain,
)

_NO_ZERO = object()


@BuiltIn
def reduce(
    func: Any, ts: Any, zero: Any = _NO_ZERO, is_associative: bool = True, **kwargs: Any
) -> Any:
    """Combine the elements of a dictionary or list with a binary graph.

    Associative, those that have a value are combined as a tree over the order of their places; the
    zero is what there is without any, and joins what is alone. Otherwise they are combined in order:
    a dictionary's from the zero on, a list's with the zero for what has no value.
    """
    func = callable_of(func)
    port = plain(ts)
    tp = port.type_
    if isinstance(tp, TSLm):
        return _reduce_list(func, port, tp, zero, is_associative)
    if isinstance(tp, TSm) and get_origin(tp.scalar) is tuple:
        port = _elements(port, get_args(tp.scalar)[0])
        tp = port.type_
    if not isinstance(tp, TSDm):
        raise WiringError(f"reduce takes a TSD or a TSL, not {tp!r}")
    element = tp.element
    inputs = [Input("ts", port, False, 0)]
    result = element
    zero_port = None
    if zero is not _NO_ZERO and zero is not None:
        zero_port = zero if is_port(zero) else const_of(zero, _zero_type(zero, element))
        if not is_associative:
            result = zero_port.type_.dereference()
        inputs.append(Input("zero", plain(zero_port), False, 0))
    elif not is_associative:
        raise WiringError("an ordered reduce needs its zero")

    names = [n for n in parameters_of(func) if n not in kwargs][:2]

    def make(context: Context) -> dict[str, Any]:
        return {
            names[0]: context.stub(names[0], result),
            names[1]: context.stub(names[1], element),
        }

    if len(names) < 2:  # *args, or a builtin without names
        raise WiringError(f"reduce needs a function of two arguments, {name_of(func)} has {names}")
    nested = wire_inner(func, kwargs, name_of(func), make)
    if nested.output is None:
        raise WiringError(f"reduce: {name_of(func)} gives no result")
    finish_captures(nested, inputs)
    node = WiringNode(
        f"reduce({name_of(func)})",
        "reduce" if is_associative else "fold",
        "nested",
        result,
        inputs,
        plan={"has_zero": zero_port is not None, "zero_waits": False},
        nested=(nested,),
        link=True,
        function=getattr(func, "fn", func),
    )
    return WiringPort(node, (), result)


def _zero_type(zero: Any, element: Any) -> Any:
    tp = value_type(zero, element)
    try:
        match(element, tp, {})
    except MatchError:
        return tp
    return element


def _or_else(port: WiringPort, other: WiringPort) -> WiringPort:
    """The port where it has a value, else the other."""
    tp = port.type_.dereference()
    node = WiringNode(
        "or_else",
        "or_else",
        "compute",
        tp,
        [Input("ts", plain(port), True, 0), Input("other", other, True, 0)],
        link=True,
    )
    return WiringPort(node, (), tp)


def _elements(port: WiringPort, scalar: Any) -> WiringPort:
    """The elements of a tuple as a dictionary by their places."""
    from mainspring.graph._python_nodes import PythonNode
    from mainspring.graph._sentinels import REMOVE

    def elements(ts: Any, _output: Any) -> Any:
        change: dict[int, Any] = dict(enumerate(ts.value))
        for key in _output:
            if key not in change:
                change[key] = REMOVE
        return change

    params = [Param("ts", "ts", port.type_), Param("_output", "output", None, None)]
    signature = Signature("elements", params, TSDm(int, TSm(scalar)))
    made: WiringPort = PythonNode(elements, "compute_node", signature=signature)(port)
    return made


def _reduce_list(func: Any, port: WiringPort, tp: TSLm, zero: Any, is_associative: bool) -> Any:
    parts = [p for _, p in port.children_()]
    has_zero = zero is not _NO_ZERO and zero is not None
    if has_zero and not is_port(zero):
        zero = const_of(zero, _zero_type(zero, tp.element))
    if not is_associative and not has_zero:
        raise WiringError("an ordered reduce needs its zero")
    if not parts:
        if not has_zero:
            raise WiringError("reduce over an empty list needs a zero")
        return zero
    if not is_associative:  # the zero stands for what has no value
        made, *rest = (_or_else(part, plain(zero)) for part in parts)
        for part in rest:
            made = func(made, part)
        return made
    level = parts = [plain(part) for part in parts]
    while len(level) > 1:
        pairs = [_both(func(a, b), a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    if not has_zero:
        return level[0]
    # The zero is what there is where nothing has a value, and joins what alone has one.
    none = nothing_of(tp.element.dereference())
    alone = func(_by_count(none, level[0], none, parts), zero)
    return _by_count(plain(zero), alone, level[0], parts)


def _both(joined: WiringPort, a: WiringPort, b: WiringPort) -> WiringPort:
    """What joins two ports, where both have a value; else the one that has."""
    tp = joined.type_.dereference()
    inputs = [
        Input("joined", plain(joined), False, 0),
        Input("a", plain(a), True, 0),
        Input("b", plain(b), True, 0),
    ]
    return WiringPort(WiringNode("both", "both", "compute", tp, inputs, link=True), (), tp)


def _by_count(
    none: WiringPort, one: WiringPort, more: WiringPort, parts: list[WiringPort]
) -> WiringPort:
    """One of three ports, by how many of the parts have a value."""
    tp = one.type_.dereference()
    choices = {"none": none, "one": one, "more": more}
    inputs = [Input(name, plain(port), False, 0) for name, port in choices.items()]
    inputs += [Input(f"part_{i}", part, True, 0) for i, part in enumerate(parts)]
    return WiringPort(WiringNode("by_count", "by_count", "compute", tp, inputs, link=True), (), tp)


__all__ = [
    "reduce",
]
