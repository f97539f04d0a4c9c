"""`map_`: a nested graph for each key of a dictionary, or a call for each place of a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from mainspring.graph._errors import IncorrectTypeBinding, WiringError
from mainspring.graph._inner import (
    annotations_of,
    as_port,
    call_by_name,
    callable_of,
    collect_stars,
    finish_captures,
    gather_arguments,
    name_of,
    parameters_of,
    wire_inner,
)
from mainspring.graph._match import MatchError, match
from mainspring.graph._operator import BuiltIn
from mainspring.graph._signature import has_port, is_port, to_port, value_type
from mainspring.graph._types import (
    REFm,
    SIGNALm,
    Size,
    TSDm,
    TSLm,
    TSm,
    TsMeta,
    TSSm,
    substitute,
    type_name,
)
from mainspring.graph._wiring import Context, Input, WiringNode, WiringPort, const_of, plain, struct


class _Marked:
    """An argument of `map_` with a remark on how it is taken."""

    def __init__(self, port: Any) -> None:
        self.port = port

    @property
    def output_type(self) -> Any:
        return self.port.type_


class _PassThrough(_Marked):
    pass


class _NoKey(_Marked):
    pass


def pass_through(tsd: Any) -> Any:
    """In `map_`: give this dictionary or list whole to every inner graph."""
    return _PassThrough(tsd)


def no_key(tsd: Any) -> Any:
    """In `map_`: take the elements, but let its keys make no inner graphs."""
    return _NoKey(tsd)


def _declared(declared: Mapping[str, Any], name: str) -> Any:
    p = declared.get(name)
    return None if p is None or p.kind not in ("ts", "context") else p.type


def _takes_all(want: Any) -> bool:
    """Does a parameter take any time series?"""
    return want is None or isinstance(want, TypeVar)


def _is_mapped(port: WiringPort, want: Any) -> bool:
    """Is an element of `port`, rather than all of it, what the parameter takes?"""
    tp = port.type_.dereference()
    if not isinstance(tp, (TSDm, TSLm)):
        return False
    if want is None:
        return True
    inner = tp.element
    if isinstance(want, (TypeVar, SIGNALm)):
        return True
    if isinstance(want, REFm):
        want = want.args[0]
        if isinstance(want, TypeVar):
            return True
    try:
        match(want, inner, {})
        return True
    except MatchError:
        pass
    try:
        match(want, tp, {})
        return False
    except MatchError:
        return True


@BuiltIn
def map_(
    func: Any,
    *args: Any,
    __label__: str | None = None,
    __keys__: Any = None,
    __key_arg__: str | None = None,
    **kwargs: Any,
) -> Any:
    """A graph for each key of the dictionaries (or element of the lists) among the arguments.

    An argument whose element, rather than itself, is what the parameter takes is taken apart;
    others are given whole. Keys are those of all dictionaries taken apart (but `no_key`), or
    `__keys__`. A first parameter named `key` (`ndx` for lists), or `__key_arg__`, gets the key.
    """
    func = callable_of(func)
    names = parameters_of(func)
    declared = annotations_of(func)
    key_name = __key_arg__
    if key_name is None and names and names[0] in ("key", "ndx"):
        taken = len([n for n in names if n not in kwargs])
        if names[0] not in kwargs and (taken > len(args) or names[0] == "key" or names[0] == "ndx"):
            key_name = names[0]
    elif key_name == "":
        key_name = None
    arguments = gather_arguments(func, args, kwargs, (key_name,) if key_name else ())
    ports: dict[str, tuple[WiringPort, str]] = {}
    scalars: dict[str, Any] = {}
    is_list = False
    is_dict = __keys__ is not None
    key_type = None if __keys__ is None else _key_type({}, __keys__)
    # Beside dictionaries a list is not taken apart, unless the parameter asks for its elements.
    has_dict = is_dict or any(
        is_port(a) and isinstance(a.type_.dereference(), TSDm) for a in arguments.values()
    )
    for name, value in arguments.items():
        mark = "auto"
        if isinstance(value, _Marked):
            mark = "whole" if isinstance(value, _PassThrough) else "no_key"
            value = value.port
        base = name.partition("[")[0]
        want = _declared(declared, base)
        if "[" in name and isinstance(want, (TSLm,)):
            want = want.element
        if not is_port(value):
            p = declared.get(base)
            if p is not None and p.kind == "ts" and has_port(value):
                value = to_port(value, want, {}, p, True)
            elif p is not None and p.kind == "ts" and value is not None:
                tp = value_type(value, want)
                if isinstance(want, TsMeta) and not want.is_resolved():
                    bindings: dict[Any, Any] = {}
                    match(want, tp, bindings)
                    tp = substitute(want, bindings)
                value = const_of(value, tp)
            else:
                scalars[name] = value
                continue
        port = plain(value)
        if mark == "auto":
            mark = "each" if _is_mapped(port, want) else "whole"
        tp = port.type_.dereference()
        if mark == "each" and has_dict and isinstance(tp, TSLm) and _takes_all(want):
            mark = "whole"
        if mark == "each" and isinstance(tp, TSDm):
            key_type = tp.key if key_type is None else key_type
            if isinstance(want, TypeVar) and not _same_keys(tp.key, key_type):
                mark = "whole"  # which the parameter takes as well
        ports[name] = (port, mark)
        if mark in ("each", "no_key"):
            is_dict = is_dict or isinstance(tp, TSDm)
            is_list = is_list or isinstance(tp, TSLm)
    if not is_dict and not is_list:
        raise WiringError(
            f"map_({name_of(func)}): none of the arguments is a dictionary or list to take apart",
            hint="give at least one TSD or TSL whose elements the function takes",
        )
    if is_list and not is_dict:
        return _map_list(func, ports, scalars, key_name, __label__)
    return _map_dict(func, ports, scalars, key_name, __keys__, __label__)


def _key_type(ports: Mapping[str, tuple[WiringPort, str]], keys: Any) -> Any:
    if keys is not None:
        tp = keys.type_.dereference()
        return tp.scalar if isinstance(tp, TSSm) else tp.key
    for port, mark in ports.values():
        tp = port.type_.dereference()
        if mark in ("each", "no_key") and isinstance(tp, TSDm):
            return tp.key
    raise WiringError("map_ has no keys")


def _same_keys(one: Any, other: Any) -> bool:
    """May a key of the one type be a key of the other?"""
    if not (isinstance(one, type) and isinstance(other, type)):
        return True
    return issubclass(one, other) or issubclass(other, one)


def _map_dict(
    func: Any,
    ports: dict[str, tuple[WiringPort, str]],
    scalars: dict[str, Any],
    key_name: str | None,
    keys: Any,
    label: str | None,
) -> Any:
    key_type = _key_type(ports, keys)
    inputs: list[Input] = []
    plan_inputs: list[tuple[str, int | None, bool]] = []
    key_stub: list[int | None] = [None]

    def make(context: Context) -> dict[str, Any]:
        inner: dict[str, Any] = {}
        if key_name is not None:
            inner[key_name] = context.value_stub(key_name, TSm(key_type))
            key_stub[0] = len(context.stubs) - 1
        for name, (port, mark) in ports.items():
            tp = port.type_.dereference()
            inner[name] = context.stub(name, tp if mark == "whole" else tp.element)
        return collect_stars(func, inner)

    nested = wire_inner(func, collect_stars(func, scalars), name_of(func), make)
    at = 0 if key_name is None else 1
    for name, (port, mark) in ports.items():
        tp = port.type_.dereference()
        if mark in ("each", "no_key") and not isinstance(tp, TSDm):
            raise WiringError(f"map_({name_of(func)}): {name!r} is a {tp!r} among dictionaries")
        if mark in ("each", "no_key") and not _same_keys(tp.key, key_type):
            raise IncorrectTypeBinding(
                f"map_({name_of(func)}): {name!r} has keys of {type_name(tp.key)}, "
                f"the others of {type_name(key_type)}",
                hint="dictionaries are taken apart together by the same keys; "
                f"pass_through({name}) gives the whole to each",
            )
        inputs.append(Input(name, port, False, 0))
        plan_inputs.append((mark, at, mark == "each" and keys is None))
        at += 1
    if keys is not None:
        keys = plain(keys)
        if isinstance(keys.type_, TSDm):
            keys = keys.key_set
        inputs.append(Input("__keys__", keys, False, 0))
        plan_inputs.append(("keys", None, True))
    for place in finish_captures(nested, inputs):
        plan_inputs.append(("whole", place, False))
    if not any(counts for _, _, counts in plan_inputs):
        raise WiringError(f"map_({name_of(func)}): no argument gives keys", hint="give __keys__")
    out = None if nested.output is None else TSDm(key_type, nested.output.type_.dereference())
    node = WiringNode(
        f"map_({name_of(func)})",
        "map",
        "sink" if out is None else "nested",
        out,
        inputs,
        label=label or "",
        plan={
            "inputs": plan_inputs,
            "key_stub": key_stub[0],
            "key_set": TSSm(key_type),
        },
        nested=(nested,),
        scalars=scalars,
        function=getattr(func, "fn", func),
    )
    return None if out is None else WiringPort(node, (), out)


def _map_list(
    func: Any,
    ports: dict[str, tuple[WiringPort, str]],
    scalars: dict[str, Any],
    key_name: str | None,
    label: str | None,
) -> Any:
    sizes = {
        port.type_.dereference().size.SIZE
        for port, mark in ports.values()
        if mark in ("each", "no_key")
    }
    sizes.discard(None)
    if not sizes:
        raise WiringError("map_ over a TSL needs a fixed Size")
    count = min(sizes)
    made = []
    for i in range(count):
        arguments: dict[str, Any] = dict(scalars)
        if key_name is not None:
            arguments[key_name] = const_of(i, TSm(int))
        for name, (port, mark) in ports.items():
            tp = port.type_.dereference()
            arguments[name] = port if mark == "whole" else port.child_(i, tp.element)
        out = call_by_name(func, collect_stars(func, arguments))
        made.append(as_port(out) if out is not None and not is_port(out) else out)
    if not made or made[0] is None:
        return None
    tp = TSLm(made[0].type_.dereference(), Size[count])
    return struct(tp, [(str(i), p) for i, p in enumerate(made)])


__all__ = [
    "map_",
    "no_key",
    "pass_through",
]
