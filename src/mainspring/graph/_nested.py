"""Graphs inside graphs: `feedback`, `map_`, `reduce`, `switch_`, `try_except`."""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar, get_args, get_origin

from mainspring.graph._annotations import TS, TSD
from mainspring.graph._errors import IncorrectTypeBinding, WiringError
from mainspring.graph._nodes import Bound, BuiltIn, Wirable
from mainspring.graph._run import NodeError
from mainspring.graph._signature import STARS, is_port, to_port, value_type
from mainspring.graph._types import (
    DEFAULT,
    TIME_SERIES_TYPE,
    CompoundScalar,
    K,
    MatchError,
    REFm,
    SIGNALm,
    Size,
    TimeSeriesSchema,
    TSBm,
    TSDm,
    TSLm,
    TSm,
    TsMeta,
    TSSm,
    _parametrised,
    match,
    scalar_type_of,
    substitute,
    type_name,
)
from mainspring.graph._wiring import (
    ERROR,
    Context,
    Input,
    NestedGraph,
    WiringNode,
    WiringPort,
    const_of,
    current,
    nothing_of,
    plain,
    struct,
    wiring,
)

# --- feedback ----------------------------------------------------------------------------------


class _Feedback:
    """`f()` is the port; `f(port)` binds what comes back in the next cycle."""

    def __init__(self, tp: Any, default: Any) -> None:
        params = () if default is None else (_Initial(default),)
        self._type = tp
        self._node = WiringNode(
            "feedback",
            "feedback_source",
            "source",
            tp,
            params=tuple(p.value for p in params),
            scalars={"default": default},
        )
        self._bound = False

    def __call__(self, port: Any = None) -> Any:
        if port is None:
            return WiringPort(self._node, (), self._type)
        if self._bound:
            raise WiringError("this feedback is bound already")
        if not is_port(port):
            port = const_of(port, self._type)
        try:
            match(self._type, port.type, {})
        except MatchError as problem:
            raise IncorrectTypeBinding(
                f"the feedback is of {type_name(self._type)}, it cannot take {port!r}: {problem}"
            ) from None
        self._bound = True
        if current() is not self._node.context:
            raise WiringError("a feedback must be bound in the graph it was made in")
        sink = WiringNode(
            "feedback_sink",
            "feedback_sink",
            "sink",
            None,
            [Input("ts", plain(port), True, 1)],
            params=(self._node,),
        )
        sink.strong.append(self._node)
        self._node.strong.append(sink)
        return None

    def __repr__(self) -> str:
        return f"<feedback of {type_name(self._type)}>"


class _Initial:
    def __init__(self, value: Any) -> None:
        self.value = value


class _FeedbackMaker:
    __name__ = "feedback"

    def __call__(self, tp_or_wp: Any, default: Any = None) -> Any:
        if is_port(tp_or_wp):
            made = _Feedback(tp_or_wp.type.dereference(), default)
            made(tp_or_wp)
            return made
        return _Feedback(tp_or_wp, default)

    def __getitem__(self, tp: Any) -> Any:
        return lambda default=None: _Feedback(tp, default)


feedback = _FeedbackMaker()


# --- wiring a function as a nested graph -------------------------------------------------------


def callable_of(fn: Any) -> Any:
    """What a function is to be wired: an operator may be given by its name."""
    if not isinstance(fn, str):
        return fn
    import mainspring.graph

    found = getattr(mainspring.graph, fn, None)
    if isinstance(found, Wirable):
        return found
    close = difflib.get_close_matches(
        fn, [n for n, o in vars(mainspring.graph).items() if isinstance(o, Wirable)], 1
    )
    raise WiringError(
        f"there is no operator named {fn!r}", hint=f"did you mean {close[0]!r}?" if close else None
    )


def parameters_of(fn: Any) -> list[str]:
    """The names a nested function takes, injectables left out."""
    if isinstance(fn, (Wirable, Bound)):
        return [p.name for p in fn.signature.open]
    return list(inspect.signature(fn).parameters)


def name_of(fn: Any) -> str:
    return getattr(fn, "__name__", None) or type(fn).__name__


def wire_inner(
    fn: Any, named: Mapping[str, Any], name: str, make: Callable[[Context], Mapping[str, Any]]
) -> NestedGraph:
    """Wire `fn` in a context of its own; `make` gives it its ports by parameter name."""
    context = Context(name, current())
    with wiring(context):
        arguments = {**named, **make(context)}
        out = call_by_name(fn, arguments)
        if out is not None and not is_port(out):
            out = _as_port(out)
        if out is not None:
            out = plain(out)
    return NestedGraph(context, out)


def _as_port(value: Any) -> WiringPort:
    from mainspring.graph._signature import has_port
    from mainspring.graph._wiring import tsb_from_ts, tsl_from_ts

    if isinstance(value, Mapping) and has_port(value):
        return tsb_from_ts(None, **value)
    if isinstance(value, (tuple, list)) and has_port(value):
        return tsl_from_ts(*value)
    return const_of(value, TSm(scalar_type_of(value)))


def call_by_name(fn: Any, arguments: Mapping[str, Any]) -> Any:
    """Call with arguments by name, `*args` and `**kwargs` opened."""
    if isinstance(fn, (Wirable, Bound)):
        params = fn.signature.open
        positional: list[Any] = []
        named: dict[str, Any] = {}
        by_position = True
        for p in params:
            if p.name not in arguments:
                by_position = False
                continue
            value = arguments[p.name]
            if p.star == 1:
                positional += list(value)
            elif p.star == 2:
                named.update(value)
            elif p.keyword_only or not by_position:
                named[p.name] = value
            else:
                positional.append(value)
        known = {p.name for p in params}
        for n, value in arguments.items():
            if n not in known:
                named[n] = value
        return fn(*positional, **named)
    positional = []
    named = {}
    for n, parameter in inspect.signature(fn).parameters.items():
        if n not in arguments:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += list(arguments[n])
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[n] = arguments[n]
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(arguments[n])
        else:
            positional.append(arguments[n])
    return fn(*positional, **named)


def annotations_of(fn: Any) -> dict[str, Any]:
    """The declared types of a nested function's parameters, where there are any."""
    if isinstance(fn, (Wirable, Bound)):
        return {p.name: p for p in fn.signature.open}
    return {}


def gather_arguments(
    fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], skip: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Arguments by parameter name; those in `skip` are filled in by the caller."""
    names = [n for n in parameters_of(fn) if n not in skip]
    stars = {}
    if isinstance(fn, (Wirable, Bound)):
        stars = {p.name: p.star for p in fn.signature.open}
    else:
        for n, parameter in inspect.signature(fn).parameters.items():
            stars[n] = STARS.get(parameter.kind, 0)
    found: dict[str, Any] = {}
    plain_names = [n for n in names if not stars.get(n)]
    star = next((n for n in names if stars.get(n) == 1), None)
    if len(args) > len(plain_names) and star is None:
        raise WiringError(
            f"{name_of(fn)} takes {len(plain_names)} arguments, {len(args)} were given"
        )
    for n, value in zip(plain_names, args, strict=False):
        found[n] = value
    if star is not None and len(args) > len(plain_names):
        for i, value in enumerate(args[len(plain_names) :]):
            found[f"{star}[{i}]"] = value
    for n, value in kwargs.items():
        if n in found:
            raise WiringError(f"{name_of(fn)} was given {n!r} twice")
        found[n] = value
    return found


def collect_stars(fn: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """`ts[0]`, `ts[1]` back into the one `*ts`."""
    made: dict[str, Any] = {}
    for n, value in arguments.items():
        if n.endswith("]") and "[" in n:
            made.setdefault(n.partition("[")[0], []).append(value)
        else:
            made[n] = value
    return made


def finish_captures(nested: NestedGraph, inputs: list[Input]) -> list[int]:
    """Inputs for what the inner graph took from outside by itself; their stubs' places."""
    places = []
    for outer, inner in list(nested.context.captured.values()):
        places.append(nested.context.stubs.index(inner.node))
        inputs.append(Input(inner.node.name, current().bring_in(outer), False, 0))
    return places


# --- map_ --------------------------------------------------------------------------------------


class _Marked:
    """An argument of `map_` with a remark on how it is taken."""

    def __init__(self, port: Any) -> None:
        self.port = port

    @property
    def output_type(self) -> Any:
        return self.port.type


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
    tp = port.type.dereference()
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
    # Beside dictionaries a list is not taken apart, unless the parameter asks for its elements.
    has_dict = is_dict or any(
        is_port(a) and isinstance(a.type.dereference(), TSDm) for a in arguments.values()
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
            if p is not None and p.kind == "ts" and value is not None:
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
        tp = port.type.dereference()
        if mark == "each" and has_dict and isinstance(tp, TSLm) and _takes_all(want):
            mark = "whole"
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
        tp = keys.type.dereference()
        return tp.scalar if isinstance(tp, TSSm) else tp.key
    for port, mark in ports.values():
        tp = port.type.dereference()
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
            tp = port.type.dereference()
            inner[name] = context.stub(name, tp if mark == "whole" else tp.element)
        return collect_stars(func, inner)

    nested = wire_inner(func, collect_stars(func, scalars), name_of(func), make)
    at = 0 if key_name is None else 1
    for name, (port, mark) in ports.items():
        tp = port.type.dereference()
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
        if isinstance(keys.type, TSDm):
            keys = keys.key_set
        inputs.append(Input("__keys__", keys, False, 0))
        plan_inputs.append(("keys", None, True))
    for place in finish_captures(nested, inputs):
        plan_inputs.append(("whole", place, False))
    if not any(counts for _, _, counts in plan_inputs):
        raise WiringError(f"map_({name_of(func)}): no argument gives keys", hint="give __keys__")
    out = None if nested.output is None else TSDm(key_type, nested.output.type.dereference())
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
        port.type.dereference().size.SIZE
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
            tp = port.type.dereference()
            arguments[name] = port if mark == "whole" else port.child(i, tp.element)
        out = call_by_name(func, collect_stars(func, arguments))
        made.append(_as_port(out) if out is not None and not is_port(out) else out)
    if not made or made[0] is None:
        return None
    tp = TSLm(made[0].type.dereference(), Size[count])
    return struct(tp, [(str(i), p) for i, p in enumerate(made)])


# --- reduce ------------------------------------------------------------------------------------

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
    tp = port.type
    if isinstance(tp, TSLm):
        return _reduce_list(func, port, tp, zero, is_associative)
    if isinstance(tp, TSm) and get_origin(tp.scalar) is tuple:
        port = _elements(port, get_args(tp.scalar)[0])
        tp = port.type
    if not isinstance(tp, TSDm):
        raise WiringError(f"reduce takes a TSD or a TSL, not {tp!r}")
    element = tp.element
    inputs = [Input("ts", port, False, 0)]
    result = element
    zero_port = None
    if zero is not _NO_ZERO and zero is not None:
        zero_port = zero if is_port(zero) else const_of(zero, _zero_type(zero, element))
        if not is_associative:
            result = zero_port.type.dereference()
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
    tp = port.type.dereference()
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
    from mainspring.graph._nodes import PythonNode
    from mainspring.graph._sentinels import REMOVE
    from mainspring.graph._signature import Param, Signature

    def elements(ts: Any, _output: Any) -> Any:
        change: dict[int, Any] = dict(enumerate(ts.value))
        for key in _output:
            if key not in change:
                change[key] = REMOVE
        return change

    params = [Param("ts", "ts", port.type), Param("_output", "output", None, None)]
    signature = Signature("elements", params, TSDm(int, TSm(scalar)))
    made: WiringPort = PythonNode(elements, "compute_node", signature=signature)(port)
    return made


def _reduce_list(func: Any, port: WiringPort, tp: TSLm, zero: Any, is_associative: bool) -> Any:
    parts = [p for _, p in port.children()]
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
    tp = joined.type.dereference()
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
    tp = one.type.dereference()
    choices = {"none": none, "one": one, "more": more}
    inputs = [Input(name, plain(port), False, 0) for name, port in choices.items()]
    inputs += [Input(f"part_{i}", part, True, 0) for i, part in enumerate(parts)]
    return WiringPort(WiringNode("by_count", "by_count", "compute", tp, inputs, link=True), (), tp)


# --- switch_ -----------------------------------------------------------------------------------


@BuiltIn
def switch_(
    key: Any,
    cases: Mapping[Any, Any],
    *args: Any,
    reload_on_ticked: bool = False,
    __label__: str | None = None,
    **kwargs: Any,
) -> Any:
    """The graph of the current key; a change of key stops the one and starts the other."""
    if isinstance(key, Mapping) and is_port(cases):
        key, cases = cases, key
    if not cases:
        raise WiringError("switch_ needs at least one case")
    port = key if is_port(key) else const_of(key, TSm(scalar_type_of(key)))
    port = plain(port)
    given = dict(enumerate(args)) | dict(kwargs)
    ports = {k: plain(a) for k, a in given.items() if is_port(a)}
    scalars = {k: a for k, a in given.items() if k not in ports}
    inputs = [Input("key", port, True, 0)]
    places = {}
    for k, a in ports.items():
        places[k] = len(inputs) - 1
        inputs.append(Input(str(k), a, False, 0))
    nested: list[NestedGraph] = []
    wirings: list[tuple[int | None, dict[int, int]]] = []
    table: list[tuple[Any, int]] = []
    otherwise = None
    seen: dict[int, int] = {}
    for value, func in cases.items():
        which = seen.get(id(func))
        if which is None:
            which = seen[id(func)] = len(nested)
            nested_graph, key_stub, stubs = _case(func, port, args, ports, scalars, places)
            nested.append(nested_graph)
            wirings.append((key_stub, stubs))
        if value is DEFAULT:
            otherwise = which
        else:
            table.append((value, which))
    for one, (_, stubs) in zip(nested, wirings, strict=True):
        for outer, inner in list(one.context.captured.values()):
            stubs[len(inputs) - 1] = one.context.stubs.index(inner.node)
            inputs.append(Input(inner.node.name, current().bring_in(outer), False, 0))
    out = _declared_output(cases.values())
    if out is None:
        out = _common_output([n.output for n in nested], "switch_")
    count = len(inputs) - 1
    node = WiringNode(
        "switch_",
        "switch",
        "sink" if out is None else "nested",
        out,
        inputs,
        label=__label__ or "",
        plan={
            "cases": table,
            "wiring": [(k, [s.get(i) for i in range(count)]) for k, s in wirings],
            "otherwise": otherwise,
            "reload": reload_on_ticked,
        },
        nested=tuple(nested),
        link=True,
        scalars={"cases": list(cases)},
    )
    return None if out is None else WiringPort(node, (), out)


def _case(
    func: Any,
    key: WiringPort,
    args: tuple[Any, ...],
    ports: Mapping[Any, WiringPort],
    scalars: Mapping[Any, Any],
    places: Mapping[Any, int],
) -> tuple[NestedGraph, int | None, dict[int, int]]:
    if isinstance(func, str) and args:
        with contextlib.suppress(WiringError):  # else it is a text, and what the case gives
            func = callable_of(func)
    if func is None or not callable(func):
        value = func
        return (
            wire_inner(
                lambda: None if value is None else _as_port(value), {}, "case", lambda c: {}
            ),
            None,
            {},
        )
    names = parameters_of(func)
    takes_key = bool(names) and names[0] == "key" and "key" not in ports and "key" not in scalars
    skip = ("key",) if takes_key else ()
    arguments = gather_arguments(
        func,
        tuple(range(len(args))),
        {k: k for k in {**ports, **scalars} if isinstance(k, str)},
        skip,
    )
    stubs: dict[int, int] = {}
    key_stub: list[int | None] = [None]

    def make(context: Context) -> dict[str, Any]:
        inner: dict[str, Any] = {}
        if takes_key:
            inner["key"] = context.value_stub("key", key.type.dereference())
            key_stub[0] = 0
        for name, source in arguments.items():
            if source in ports:
                inner[name] = context.stub(name, ports[source].type.dereference())
                stubs[places[source]] = len(context.stubs) - 1
            else:
                inner[name] = scalars[source]
        return collect_stars(func, inner)

    return wire_inner(func, {}, name_of(func), make), key_stub[0], stubs


def _declared_output(cases: Iterable[Any]) -> TSm | None:
    """The compound scalar that all the cases declare, whatever special kind of it they give."""
    declared = [getattr(getattr(case, "signature", None), "output", None) for case in cases]
    first = declared[0]
    if declared.count(first) != len(declared) or not isinstance(first, TSm):
        return None
    compound = isinstance(first.scalar, type) and issubclass(first.scalar, CompoundScalar)
    return first if compound else None


def _common_output(outputs: list[WiringPort | None], what: str) -> Any:
    types = [None if o is None else o.type.dereference() for o in outputs]
    first = next((t for t in types if t is not None), None)
    if first is None:
        return None
    for tp in types:
        if tp is None:
            raise WiringError(f"{what}: some cases have a result and some have none")
        if tp != first:
            raise IncorrectTypeBinding(
                f"{what}: the cases give different types, {first!r} and {tp!r}"
            )
    return first


# --- try_except --------------------------------------------------------------------------------


class TryExceptResult(TimeSeriesSchema, Generic[TIME_SERIES_TYPE]):
    """What `try_except` gives for a graph with a result."""

    exception: TS[NodeError]
    out: TIME_SERIES_TYPE


class TryExceptTsdMapResult(TimeSeriesSchema, Generic[K, TIME_SERIES_TYPE]):
    """What `try_except` gives for a `map_`."""

    exception: TSD[K, TS[NodeError]]
    out: TIME_SERIES_TYPE


def try_except(
    func: Any,
    *args: Any,
    __trace_back_depth__: int = 1,
    __capture_values__: bool = False,
    **kwargs: Any,
) -> Any:
    """Run a graph so that a failure ends in `exception` rather than ending the run.

    Gives a bundle of `out` and `exception`; for a graph without a result, the exceptions alone.
    """
    func = callable_of(func)
    if func is map_:
        out = map_(*args, **kwargs)
        if out is None:
            raise WiringError("try_except(map_, ...) needs a function with a result")
        errors = exception_time_series(out, __trace_back_depth__, __capture_values__)
        tp = TSBm(_parametrised(TryExceptTsdMapResult, (out.type.key, out.type)))
        return struct(tp, [("exception", errors), ("out", out)])
    arguments = gather_arguments(func, args, kwargs)
    declared = annotations_of(func)
    ports: dict[str, WiringPort] = {}
    scalars: dict[str, Any] = {}
    for name, value in arguments.items():
        p = declared.get(name.partition("[")[0])
        if is_port(value):
            ports[name] = plain(value)
        elif p is not None and p.kind == "ts" and value is not None:
            made = to_port(value, p.type, {}, p, True)
            ports[name] = made
        else:
            scalars[name] = value

    def make(context: Context) -> dict[str, Any]:
        inner = {n: context.stub(n, port.type.dereference()) for n, port in ports.items()}
        return collect_stars(func, inner)

    nested = wire_inner(func, collect_stars(func, scalars), name_of(func), make)
    inputs = [Input(n, port, False, 0) for n, port in ports.items()]
    finish_captures(nested, inputs)
    result = None if nested.output is None else nested.output.type.dereference()
    out = TSm(NodeError) if result is None else TSBm(_parametrised(TryExceptResult, result))
    node = WiringNode(
        f"try_except({name_of(func)})",
        "box",
        "nested",
        out,
        inputs,
        plan={"catches": True, "out_field": None if result is None else 1},
        nested=(nested,),
        function=getattr(func, "fn", func),
    )
    if result is None:
        node.kind = "sink"
    return WiringPort(node, (), out)


def exception_time_series(ts: Any, trace_back_depth: int = 1, capture_values: bool = False) -> Any:
    """The failures of the node behind a port, as a time series of `NodeError`."""
    port = ts
    node = port.node
    if node.context is not current():
        raise WiringError("exception_time_series must be called where the node was wired")
    if node.code in ("deref", "struct") and node.inputs:
        return exception_time_series(node.inputs[0].port, trace_back_depth, capture_values)
    tp: Any = TSm(NodeError)
    if node.code == "map":
        tp = TSDm(node.output.key, tp)
    node.error = tp
    node.error_depth = trace_back_depth
    node.error_values = capture_values
    return WiringPort(node, (ERROR,), tp)


__all__ = [
    "TryExceptResult",
    "TryExceptTsdMapResult",
    "exception_time_series",
    "feedback",
    "map_",
    "no_key",
    "pass_through",
    "reduce",
    "switch_",
    "try_except",
]
