"""Wiring: ports, the graph under construction, and how it becomes a description.

A `WiringPort` is one end of an edge: a node that is being wired, a path into its output, a type.
Nothing here runs. The `Context` of a graph under construction collects nodes; graphs inside others
(`map_`, `switch_`, ...) get a context of their own, and a port of an outer context that is used in
an inner one becomes an input of the inner graph by itself.
"""

from __future__ import annotations

import datetime as _dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from types import CodeType, MappingProxyType
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from mainspring.graph._description import (
    NOTHING,
    GraphDescription,
    InputDescription,
    NodeDescription,
)
from mainspring.graph._errors import (
    GraphError,
    IncorrectTypeBinding,
    StructureError,
    WiringError,
    call_site,
)
from mainspring.graph._match import MatchError, match
from mainspring.graph._types import (
    REFm,
    SIGNALm,
    Size,
    TSBm,
    TSDm,
    TSLm,
    TSm,
    is_ts,
    make_schema,
    scalar_fields,
    schema_fields,
    substitute,
    type_name,
)
from mainspring.graph._value_types import scalar_type_of

KEY_SET = 2**32 - 2  # the step of a path that leads to a TSD's keys
ERROR = 2**32 - 1  # the step that leads to a node's error output


class WiringNode:
    """A node under construction."""

    __slots__ = (
        "code",
        "context",
        "error",
        "error_depth",
        "error_values",
        "function",
        "id",
        "inputs",
        "kind",
        "label",
        "link",
        "name",
        "nested",
        "output",
        "params",
        "path",
        "payload",
        "plan",
        "rank",
        "scalars",
        "site",
        "strong",
    )

    def __init__(
        self,
        name: str,
        code: str,
        kind: str,
        output: Any = None,
        inputs: Sequence[Input] = (),
        *,
        label: str = "",
        scalars: Mapping[str, Any] = NOTHING,
        params: tuple[Any, ...] = (),
        plan: Mapping[str, Any] | None = None,
        payload: Any = None,
        nested: tuple[NestedGraph, ...] = (),
        link: bool = False,
        function: Any = None,
    ) -> None:
        self.name = name
        self.code = code
        self.kind = kind
        self.output = output
        self.inputs = inputs
        self.label = label
        self.scalars = scalars
        self.params = params
        self.plan = plan
        self.payload = payload
        self.nested = nested
        self.link = link
        self.function = function
        self.error: Any = None
        self.error_depth = 1
        self.error_values = False
        self.rank = -1
        self.id = -1
        self.strong: list[WiringNode] = []  # nodes that must exist when this one does
        context = current()
        self.context = context
        self.path = context.path
        self.site = call_site(context.sites)
        context.nodes.append(self)


class Input(msgspec.Struct):
    """An input under construction."""

    name: str
    port: Any  # a WiringPort
    active: bool = True
    need: int = 1
    context: bool = False  # taken from an enclosing `with`


class NestedGraph:
    """The graph inside a node: its context, its stubs, its result."""

    def __init__(self, context: Context, output: WiringPort | None) -> None:
        self.context = context
        self.output = output
        self.description: GraphDescription | None = None


class Context:
    """A graph under construction."""

    def __init__(self, name: str, parent: Context | None = None) -> None:
        self.name = name
        self.parent = parent
        self.nodes: list[WiringNode] = []
        self.stubs: list[WiringNode] = []
        self.captured: dict[tuple[int, tuple[int, ...]], tuple[WiringPort, WiringPort]] = {}
        self.path: tuple[str, ...] = () if parent is None else parent.path
        self.adapted: dict[Any, WiringPort] = {}
        self.published: list[tuple[str | None, WiringPort]] = []
        self.state: dict[str, Any] = {} if parent is None else parent.state
        self.sites: dict[tuple[int, int], tuple[CodeType, str]]
        self.sites = {} if parent is None else parent.sites

    def stub(self, name: str, tp: Any) -> WiringPort:
        """A new input of this graph."""
        node = WiringNode(name, "stub", "stub", tp, link=True)
        self.stubs.append(node)
        return WiringPort(node, (), tp)

    def value_stub(self, name: str, tp: Any) -> WiringPort:
        """A new input of this graph that is a value of its own (a key)."""
        node = WiringNode(name, "stub", "stub", tp)
        self.stubs.append(node)
        return WiringPort(node, (), tp)

    def bring_in(self, port: WiringPort) -> WiringPort:
        """A port usable here: one of an outer graph comes in through a stub of its own."""
        if port.node_.context is self:
            return port
        outer = self.parent
        if outer is None:
            raise WiringError(
                f"{port!r} belongs to a graph that is not being wired any more",
                hint="ports are good inside the graph function that made them",
            )
        port = outer.bring_in(port)
        key = (id(port.node_), port.path_)
        found = self.captured.get(key)
        if found is None:
            found = self.captured[key] = (
                port,
                self.stub(f"captured_{port.node_.name}", port.type_),
            )
        return found[1]


_stack: list[Context] = []


def current() -> Context:
    """The graph under construction."""
    if not _stack:
        raise GraphError(
            "a node can only be wired inside a graph",
            hint="call it inside a function decorated with @graph and run that with run_graph, "
            "or test it with eval_node",
        )
    return _stack[-1]


def is_wiring() -> bool:
    """Is a graph under construction?"""
    return bool(_stack)


@contextmanager
def wiring(context: Context) -> Iterator[Context]:
    """Wire inside `context`."""
    _stack.append(context)
    try:
        yield context
    finally:
        _stack.pop()


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Wire a graph that is inlined: nodes get its name on their path."""
    context = current()
    before = context.path
    context.path = (*before, name)
    try:
        yield
    finally:
        context.path = before


# --- ports -------------------------------------------------------------------------------------


class PortAttributeError(WiringError, AttributeError):
    """A port has no such field."""


class PortIndexError(StructureError, IndexError):
    """A port has no such element."""


class WiringPort:
    """An output of a node under construction, to be given to other nodes.

    It has no value yet: comparing, adding and the like wire operators; `bool()`, iterating a
    scalar one and the like explain themselves.
    """

    # Fields of a bundle are attributes of its port: what is the port's own ends in an underscore.
    __slots__ = ("node_", "path_", "type_")

    def __init__(self, node: Any, path: tuple[int, ...], tp: Any) -> None:
        self.node_ = node
        self.path_ = path
        self.type_ = tp

    @property
    def output_type(self) -> Any:
        return self.type_

    # children ---------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in WiringPort.__slots__:
            raise AttributeError(name)
        tp = self.type_.dereference()
        if isinstance(tp, TSBm):
            items = tp.fields
            if name in items:
                return self.child_(list(items).index(name), items[name])
            if name == "as_schema":
                return self
        if isinstance(tp, TSDm) and name == "key_set":
            port = plain(self)
            return WiringPort(port.node_, (*port.path_, KEY_SET), tp.key_set())
        found = port_attribute(self, name)
        if found is not None:
            return found
        if name == "items":
            return self.children_
        if name == "values":
            return self._parts
        if name == "get":
            return self._get
        known = list(tp.fields) if isinstance(tp, TSBm) else []
        hint = f"its fields are {', '.join(known)}" if known else None
        raise PortAttributeError(f"{self!r} has no {name!r}", hint=hint)

    def child_(self, index: int, tp: Any) -> WiringPort:
        """The child at a fixed place of a bundle or list."""
        node, port = self.node_, self
        # A structure put together here is looked through: the edge goes to the part itself.
        if isinstance(node, WiringNode) and node.code == "struct" and not self.path_:
            part: WiringPort = node.inputs[index].port
            return part
        port = plain(self)
        return WiringPort(port.node_, (*port.path_, index), tp)

    def at_(self, step: int) -> WiringPort:
        """The child that a step of a path leads to."""
        tp = self.type_.dereference()
        if step == KEY_SET:
            keys: WiringPort = self.key_set
            return keys
        return self.child_(step, tp.element if isinstance(tp, TSLm) else tp.children()[step])

    def children_(self) -> list[tuple[Any, WiringPort]]:
        """Names or indices with the ports at fixed places."""
        tp = self.type_.dereference()
        if isinstance(tp, TSBm):
            return [(n, self.child_(i, t)) for i, (n, t) in enumerate(tp.fields.items())]
        if (
            isinstance(tp, TSLm)
            and tp.size is not Size
            and getattr(tp.size, "SIZE", None) is not None
        ):
            return [(i, self.child_(i, tp.element)) for i in range(tp.size.SIZE)]
        raise WiringError(
            f"{self!r} has no parts at fixed places",
            hint="only a TSB, or a TSL with a fixed Size, can be taken apart while wiring",
        )

    def __getitem__(self, item: Any) -> Any:
        tp = self.type_.dereference()
        if isinstance(tp, TSBm):
            if isinstance(item, int):
                return self.children_()[item][1]
            if isinstance(item, str):
                items = tp.fields
                if item in items:
                    return self.child_(list(items).index(item), items[item])
                raise PortAttributeError(
                    f"{tp!r} has no field {item!r}", hint=f"its fields are {', '.join(items)}"
                )
        if (
            isinstance(tp, TSLm)
            and isinstance(item, (int, slice))
            and getattr(tp.size, "SIZE", None) is not None
        ):
            if isinstance(item, slice):
                return tsl_from_ts(*[port for _, port in self.children_()[item]])
            count = tp.size.SIZE
            if not -count <= item < count:
                raise PortIndexError(
                    f"{tp!r} has no element {item}", hint=f"its elements are 0 to {count - 1}"
                )
            return self.child_(item % count, tp.element)
        return port_operator("getitem_", self, item)

    def __iter__(self) -> Iterator[Any]:
        tp = self.type_.dereference()
        if isinstance(tp, TSLm) and getattr(tp.size, "SIZE", None) is not None:
            return iter([port for _, port in self.children_()])
        if isinstance(tp, TSBm):
            return iter([port for _, port in self.children_()])
        raise TypeError(
            f"{self!r} cannot be iterated while wiring: it has no values yet. "
            "hint: use map_ to do something for each element, or iterate inside a compute_node"
        )

    def __len__(self) -> int:
        tp = self.type_.dereference()
        if isinstance(tp, TSLm) and getattr(tp.size, "SIZE", None) is not None:
            return int(tp.size.SIZE)
        if isinstance(tp, TSBm):
            return len(tp.fields)
        raise TypeError(f"{self!r} has no length while wiring; hint: use len_(ts)")

    def keys(self) -> Any:
        tp = self.type_.dereference()
        if isinstance(tp, TSDm):
            return self.key_set
        return tuple([name for name, _ in self.children_()])

    def _parts(self) -> list[WiringPort]:
        return [port for _, port in self.children_()]

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} has no truth value while wiring: it has no value yet. "
            "hint: use if_then_else, switch_ or filter_, or test .value inside a compute_node"
        )

    def __hash__(self) -> int:
        return hash((id(self.node_), self.path_))

    def __repr__(self) -> str:
        steps = "".join(
            ".key_set" if s == KEY_SET else ".error" if s == ERROR else f"[{s}]" for s in self.path_
        )
        return f"<port {getattr(self.node_, 'name', '?')}{steps}: {type_name(self.type_)}>"

    def _get(self, name: str, default: Any = None) -> Any:
        """The part with a name, or the default."""
        return self.as_dict().get(name, default)

    def __contains__(self, item: Any) -> bool:
        tp = self.type_.dereference()
        if isinstance(tp, TSBm) and isinstance(item, str):
            return item in tp.fields
        raise TypeError(f"`in` cannot be wired; hint: use contains_({self!r}, item)")

    def reduce(self, func: Any, zero: Any = None, **kwargs: Any) -> Any:
        """`reduce(func, self, zero)`."""
        from mainspring.graph._reduce import reduce

        return reduce(func, self, zero, **kwargs)

    def copy_with(self, **changed: Any) -> Any:
        """The bundle with some fields replaced."""
        parts = dict(self.children_()) | changed
        return tsb_from_ts(self.type_.dereference(), **parts)

    def as_dict(self) -> dict[Any, WiringPort]:
        """The parts by name."""
        return dict(self.children_())

    def as_scalar_ts(self) -> Any:
        """The bundle as one time series of its scalar class."""
        return port_operator("as_scalar_ts", self)

    # a port is a context: `with port:` publishes it ------------------------------------------------

    def __enter__(self) -> WiringPort:
        current().published.append((None, self))
        return self

    def __exit__(self, *exc: object) -> None:
        published = current().published
        for i in range(len(published) - 1, -1, -1):
            if published[i][1] is self:
                del published[i]
                return


class PassivePort(WiringPort):
    """The same port, given to an input that its ticks shall not evaluate."""

    __slots__ = ()


_operators: dict[str, Callable[..., Any]] = {}


def port_operator(name: str, *args: Any, **kwargs: Any) -> Any:
    """Wire the operator behind a piece of syntax."""
    found = _operators.get(name)
    if found is None:
        raise WiringError(f"the operator {name!r} that this needs is not there")
    return found(*args, **kwargs)


def register_port_operator(name: str, operator: Callable[..., Any]) -> None:
    """Let port syntax use `operator` under `name` (operators register themselves)."""
    _operators[name] = operator


def port_attribute(port: WiringPort, name: str) -> Any:
    """What a port shows under a name that is no field: an operator taking it first, or None."""
    tp = port.type_.dereference()
    if isinstance(tp, TSDm) and "getattr_" in _operators:
        inner = tp.element
        parts = inner.fields if isinstance(inner, TSBm) else scalar_fields(inner.args[0])
        if name in parts:
            return _operators["getattr_"](port, name)
    if isinstance(tp, TSm) and "getattr_" in _operators:
        if name in scalar_fields(tp.scalar):
            return _operators["getattr_"](port, name)
        if get_origin(tp.scalar) is tuple and name in scalar_fields(get_args(tp.scalar)[0]):
            return _operators["getattr_"](port, name)
        if "value_attr" in _operators:
            return _operators["value_attr"](port, name)
    return None


def _syntax() -> None:
    pairs = {
        "add": "add_", "sub": "sub_", "mul": "mul_", "truediv": "div_", "floordiv": "floordiv_",
        "mod": "mod_", "pow": "pow_", "lshift": "lshift_", "rshift": "rshift_", "and": "bit_and",
        "or": "bit_or", "xor": "bit_xor", "divmod": "divmod_",
    }  # fmt: skip
    for dunder, name in pairs.items():

        def forward(self: Any, other: Any, name: str = name) -> Any:
            return port_operator(name, self, other)

        def backward(self: Any, other: Any, name: str = name) -> Any:
            return port_operator(name, other, self)

        setattr(WiringPort, f"__{dunder}__", forward)
        setattr(WiringPort, f"__r{dunder}__", backward)
    for dunder in ("eq", "ne", "lt", "le", "gt", "ge"):

        def compare(self: Any, other: Any, name: str = f"{dunder}_") -> Any:
            return port_operator(name, self, other)

        setattr(WiringPort, f"__{dunder}__", compare)
    for dunder, name in {"neg": "neg_", "pos": "pos_", "invert": "invert_", "abs": "abs_"}.items():

        def unary(self: Any, name: str = name) -> Any:
            return port_operator(name, self)

        setattr(WiringPort, f"__{dunder}__", unary)

    def rounded(self: Any, n: Any = None) -> Any:
        return port_operator("round_", self, *([] if n is None else [n]))

    setattr(WiringPort, "__round__", rounded)  # noqa: B010  # as the others, by name


_syntax()


# --- adapting ports to what an input takes -----------------------------------------------------


def plain(port: WiringPort) -> WiringPort:
    """The port with its references followed."""
    port = current().bring_in(port)
    tp = port.type_
    if isinstance(tp, SIGNALm) or not tp.has_reference:
        return port
    key = (id(port.node_), port.path_, "deref")
    made = current().adapted.get(key)
    if made is None:
        want = tp.dereference()
        node = WiringNode(
            "deref",
            "deref",
            "structure",
            want,
            [Input("ts", port, True, 0)],
            link=isinstance(tp, REFm),
        )
        made = current().adapted[key] = WiringPort(node, (), want)
    return made


def adapt(port: WiringPort, want: Any) -> WiringPort:
    """The port as the type an input takes: references are followed, or made."""
    if port.type_ is want and type(port) is WiringPort and port.node_.context is _stack[-1]:
        return port
    port = current().bring_in(port)
    if isinstance(want, SIGNALm) or port.type_ is want or port.type_ == want:
        return port if not isinstance(want, SIGNALm) else plain(port)
    if not want.has_reference:
        return plain(port)
    port = plain(port)
    key = (id(port.node_), port.path_, "ref", want)
    made = current().adapted.get(key)
    if made is None:
        node = WiringNode("ref", "ref", "structure", want, [Input("ts", port, False, 0)])
        made = current().adapted[key] = WiringPort(node, (), want)
    return made


# --- structures --------------------------------------------------------------------------------


def struct(tp: Any, parts: list[tuple[str, WiringPort | None]]) -> WiringPort:
    """A bundle or list put together from separate ports; None leaves a place empty."""
    inputs = []
    children = list(tp.fields.values()) if isinstance(tp, TSBm) else [tp.element] * len(parts)
    for (name, port), child in zip(parts, children, strict=True):
        if port is None:
            port = nothing_of(child)
        inputs.append(Input(name, adapt(port, child), False, 0))
    node = WiringNode("TSB" if isinstance(tp, TSBm) else "TSL", "struct", "structure", tp, inputs)
    return WiringPort(node, (), tp)


def nothing_of(tp: Any) -> WiringPort:
    """A port of a type that never ticks."""
    return WiringPort(WiringNode("nothing", "nothing", "source", tp), (), tp)


def const_of(value: Any, tp: Any, delay: Any = None) -> WiringPort:
    """A port that ticks `value` once. The same constant of a graph is one node."""
    adapted = current().adapted
    key = None
    if type(tp) is TSm:  # bundles that are equal may make values of different classes
        key = ("const", tp, identity(value), delay)
        found = adapted.get(key)
        if found is not None:
            return found
    params = (value,) if not delay else (value, delay)
    node = WiringNode("const", "const", "source", tp, params=params, scalars={"value": value})
    port = WiringPort(node, (), tp)
    if key is not None:
        adapted[key] = port
    return port


def identity(value: Any) -> Any:
    """What tells a value from every other: itself where equal values are alike, else the object.

    `1`, `1.0` and `True` are equal and so are the zeros, yet none may stand for another.
    """
    kind = type(value)
    if kind in _ALIKE:
        return kind, value
    if kind is float:
        return kind, value.hex()
    if kind is tuple:
        return kind, tuple([identity(item) for item in value])
    return kind, id(value)


_ALIKE = frozenset({bool, int, str, bytes, _dt.date, _dt.timedelta, type(None)})


def tsl_from_ts(*args: Any, tp: Any = None, element_type: Any = None) -> WiringPort:
    """A list from ports (or values): `TSL.from_ts(a, b)`."""
    if (
        len(args) == 1
        and not isinstance(args[0], WiringPort)
        and not isinstance(args[0], (int, float, str))
    ):
        args = tuple(args[0])
    ports: list[Any] = list(args)
    element = element_type or (tp.element if isinstance(tp, TSLm) else tp)
    if element is not None and (isinstance(element, TypeVar) or not element.is_resolved()):
        element = None
    if element is None:
        for port in ports:
            if isinstance(port, WiringPort):
                element = port.type_.dereference()
                break
        else:
            if not ports or ports[0] is None:
                raise WiringError("TSL.from_ts needs at least one port", hint="or give tp=TSL[...]")
            element = TSm(scalar_type_of(ports[0]))
    ports = [p if isinstance(p, WiringPort) or p is None else const_of(p, element) for p in ports]
    for i, port in enumerate(ports):
        if port is None:
            continue
        try:
            match(element.dereference(), port.type_.dereference(), {})
        except MatchError:
            raise StructureError(
                f"element {i} of TSL.from_ts is {port.type_!r}, it should be {element!r}"
            ) from None
    return struct(TSLm(element, Size[len(ports)]), [(str(i), p) for i, p in enumerate(ports)])


def tsb_from_ts(tp: Any, *args: Any, **kwargs: Any) -> WiringPort:
    """A bundle from ports: `TSB[Schema].from_ts(a=..., b=...)`."""
    if tp is None and kwargs.get("__type__") is not None:
        tp = kwargs.pop("__type__")
    if tp is None or not isinstance(tp.args[0], type):
        fields = {}
        for name, port in kwargs.items():
            fields[name] = (
                port.type_.dereference()
                if isinstance(port, WiringPort)
                else TSm(scalar_type_of(port))
            )
        tp = TSBm(make_schema(fields, "un_named"))
    items = tp.fields
    given = dict(zip(items, args, strict=False)) | kwargs
    if args and len(args) == 1 and isinstance(args[0], Mapping) and not kwargs:
        given = dict(args[0])
    unknown = [name for name in given if name not in items]
    if unknown:
        raise IncorrectTypeBinding(
            f"{tp!r} has no field {unknown[0]!r}", hint=f"its fields are {', '.join(items)}"
        )
    parts: list[tuple[str, WiringPort | None]] = []
    bindings: dict[Any, Any] = {}
    for name, child in items.items():
        port = given.get(name)
        if port is not None and not isinstance(port, WiringPort):
            port = const_of(port, child)
        if port is not None and is_ts(child):
            try:
                match(child, port.type_, bindings)
            except MatchError as problem:
                raise StructureError(f"{tp!r}.{name} takes {child!r}: {problem}") from None
        parts.append((name, port))
    if bindings:
        tp = substitute(tp, bindings)
    return struct(tp, parts)


def tsd_from_ts(tp: Any, items: Mapping[Any, Any], waits: bool = True) -> Any:
    """A dictionary from ports at fixed keys, which waits until all have a value, or takes each as it comes."""
    return port_operator("tsd_from_ports", tp, dict(items), waits)


def tss_from_ts(*args: Any, **kwargs: Any) -> Any:
    """A set from ports."""
    return port_operator("tss_from_ports", *args, **kwargs)


# --- from context to description ---------------------------------------------------------------


def describe(context: Context, output: WiringPort | None) -> GraphDescription:
    """The finished description of a context: what is needed, in rank order."""
    with wiring(context):
        if output is not None:
            output = _bound(context.bring_in(output))
        for node in context.nodes:  # which grows where a part of what was bound is looked up
            for item in node.inputs:
                if item.port.node_.code == "delayed":
                    item.port = _bound(item.port)
    order = _ranked(_needed(context, output))
    for index, node in enumerate(order):
        node.id = index
    made = []
    for node in order:
        inputs = tuple(
            [
                InputDescription(
                    i.name, i.port.node_.id, i.port.path_, i.port.type_, i.active, i.need
                )
                for i in node.inputs
            ]
        )
        nested = []
        for inner in node.nested:
            if inner.description is None:
                inner.description = describe(inner.context, inner.output)
            nested.append(inner.description)
        made.append(
            NodeDescription(
                node.id,
                node.name,
                node.code,
                node.kind,
                inputs,
                node.output,
                node.label,
                node.rank,
                _frozen(node.scalars),
                tuple([p.id if isinstance(p, WiringNode) else p for p in node.params]),
                None if node.plan is None else _frozen(node.plan),
                node.payload,
                tuple(nested),
                node.link,
                node.error,
                node.error_depth,
                node.error_values,
                node.path,
                node.site,
                node.function,
            )
        )
    return GraphDescription(
        name=context.name,
        nodes=tuple(made),
        stubs=tuple(stub.id for stub in context.stubs),
        output=None if output is None else output.node_.id,
        output_path=() if output is None else output.path_,
        output_type=None if output is None else output.type_,
    )


def _frozen(given: Mapping[str, Any]) -> Mapping[str, Any]:
    return given if type(given) is MappingProxyType else MappingProxyType(dict(given))


def _bound(port: WiringPort) -> WiringPort:
    """The port itself, or the one that a delayed binding came to stand for."""
    seen = 0
    while port.node_.code == "delayed":
        if not port.node_.inputs:
            raise WiringError(
                f"a delayed binding of {type_name(port.node_.output)} was never bound",
                hint="call it with the port that produces its values",
            )
        seen += 1
        if seen > len(port.node_.context.nodes):
            raise WiringError(
                "a delayed binding is bound to itself", hint="break it with feedback()"
            )
        path, port = port.path_, port.node_.inputs[0].port
        for step in path:
            port = port.at_(step)
    return port


def _needed(context: Context, output: WiringPort | None) -> list[WiringNode]:
    """What sinks, the output and the stubs need; the rest never runs."""
    waiting: list[WiringNode] = [n for n in context.nodes if n.kind == "sink"]
    waiting += context.stubs
    if output is not None:
        waiting.append(output.node_)
    keep: set[int] = set(map(id, waiting))
    while waiting:
        node = waiting.pop()
        below = [item.port.node_ for item in node.inputs]
        for each in (*below, *node.strong) if node.strong else below:
            if id(each) not in keep:
                keep.add(id(each))
                waiting.append(each)
    return [node for node in context.nodes if id(node) in keep]


def _ranked(nodes: list[WiringNode]) -> list[WiringNode]:
    """Nodes by rank (the longest way from a source), then in the order they were wired."""
    for node in nodes:
        node.rank = _UNRANKED
    for node in nodes:
        if node.rank == _UNRANKED:
            _rank(node)
    return sorted(nodes, key=attrgetter("rank"))  # stable: order of wiring breaks ties


_UNRANKED, _UNDER_WAY = -3, -2  # a push source ranks -1, every other node 0 or more


def _rank(start: WiringNode) -> None:
    """Rank a node, after everything below it: without recursion, for chains of any length."""
    stack = [start]
    while stack:
        node = stack[-1]
        if node.rank > _UNDER_WAY:  # it was below two others
            stack.pop()
            continue
        node.rank = _UNDER_WAY
        below = [item.port.node_ for item in node.inputs]
        waiting = [each for each in below if each.rank <= _UNDER_WAY]
        if not waiting:
            base = -1 if node.code == "push" else 0
            node.rank = max([each.rank for each in below]) + 1 if below else base
            stack.pop()
            continue
        for each in waiting:
            if each.rank == _UNDER_WAY:
                raise WiringError(
                    f"the graph has a cycle through {each.name!r}",
                    hint="break it with feedback(), which ticks in the next cycle",
                )
        stack += waiting


def schema_of(tp: Any) -> dict[str, Any]:
    """The fields of a bundle type."""
    return schema_fields(tp.args[0])
