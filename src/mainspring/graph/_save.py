"""Descriptions as JSON, and back.

What is saved says everything the description says. Types are written as people write them beside
their structure; functions and classes as `module:name`, looked up again when loaded; other values
in the encoding of `mainspring.state`. What cannot be found again (a function made inside another)
is kept as text: such a description loads, draws and compares, and refuses to run, naming the node.
"""

from __future__ import annotations

import base64
import datetime as _dt
import importlib
import json
import types
import typing
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mainspring.errors import StateError
from mainspring.graph import _types
from mainspring.graph._description import GraphDescription, InputDescription, NodeDescription
from mainspring.graph._errors import GraphError
from mainspring.graph._injectables import STATE, StateMaker
from mainspring.state import decode, encode

__all__ = ["Opaque", "from_json", "to_json"]

FORMAT, VERSION = "mainspring.graph", 1

_KINDS: dict[str, Any] = {
    name: getattr(_types, name)
    for name in ("TSm", "TSSm", "TSLm", "TSDm", "TSWm", "REFm", "SIGNALm", "TSBm")
}
# Where a decorated function keeps those it was made of.
_PARTS = ("fn", "start_fn", "stop_fn")


class Opaque:
    """Something a saved description can only name."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise GraphError(f"{self.text} was not saved with its description and cannot be called")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"<{self.text}>"


def to_json(description: GraphDescription, indent: int | None = 1) -> str:
    """The description as JSON text, the same for the same description."""
    saved = {"format": FORMAT, "version": VERSION, "graph": _graph(description)}
    return json.dumps(saved, indent=indent, ensure_ascii=False)


def from_json(text: str | bytes) -> GraphDescription:
    """The description that `to_json` wrote."""
    try:
        saved = json.loads(text)
        known = isinstance(saved, dict) and saved.get("format") == FORMAT
    except ValueError as error:
        raise GraphError(f"this is no saved graph: {error}") from None
    if not known:
        raise GraphError("this is no saved graph", hint="`mainspring graph show` writes them")
    if saved.get("version") != VERSION:
        raise GraphError(
            f"the saved graph has version {saved.get('version')!r}, this package reads {VERSION}"
        )
    try:
        return _load_graph(saved["graph"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise GraphError(f"the saved graph is damaged: {type(error).__name__}: {error}") from error


# --- saving ------------------------------------------------------------------------------------


def _graph(graph: GraphDescription) -> dict[str, Any]:
    return {
        "name": graph.name,
        "nodes": [_node(node) for node in graph.nodes],
        "stubs": list(graph.stubs),
        "output": graph.output,
        "output_path": list(graph.output_path),
        "output_type": _value(graph.output_type),
    }


def _node(node: NodeDescription) -> dict[str, Any]:
    saved: dict[str, Any] = {
        "id": node.id,
        "name": node.name,
        "code": node.code,
        "kind": node.kind,
        "rank": node.rank,
        "inputs": [
            {
                "name": i.name,
                "from": i.source,
                "path": list(i.path),
                "type": _value(i.type),
                "active": i.active,
                "need": i.need,
            }
            for i in node.inputs
        ],
        "output": _value(node.output),
    }
    optional = {
        "label": node.label,
        "scalars": {name: _value(value) for name, value in node.scalars.items()},
        "params": [_value(value) for value in node.params],
        "plan": None if node.plan is None else {k: _value(v) for k, v in node.plan.items()},
        # What a recording has taken in so far is of the run, not of the graph.
        "payload": _value([] if node.code == "record" else node.payload),
        "nested": [_graph(inner) for inner in node.nested],
        "link": node.link,
        "error": _value(node.error),
        "error_depth": 0 if node.error_depth == 1 else node.error_depth,
        "error_values": node.error_values,
        "path": list(node.path),
        "site": node.site,
        "function": _value(node.function),
    }
    saved.update({name: value for name, value in optional.items() if value})
    return saved


def _value(value: Any) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float and value == value and abs(value) != float("inf"):
        return value
    if type(value) is list:
        return [_value(item) for item in value]
    if type(value) is tuple:
        return {"$tuple": [_value(item) for item in value]}
    if isinstance(value, (dict, MappingProxyType)):
        return {"$dict": [[_value(key), _value(item)] for key, item in value.items()]}
    if isinstance(value, _types.TsMeta):
        kind = type(value).__name__
        if kind == "TSBm":
            return {"$ts": repr(value), "kind": kind, "schema": _schema(value.args[0])}
        return {"$ts": repr(value), "kind": kind, "args": [_value(arg) for arg in value.args]}
    if value is Ellipsis:
        return {"$type": "builtins:Ellipsis"}
    if isinstance(value, StateMaker):
        return {"$maker": _value(value.make), "args": [_value(arg) for arg in value.args]}
    if isinstance(value, STATE):
        return {"$values": [[name, _value(item)] for name, item in value.items()]}
    if isinstance(value, type) and issubclass(value, _types.Size):
        window = issubclass(value, _types.WindowSize)
        length = (
            value.SIZE if value.TIME is None else {"ns": value.TIME // _dt.timedelta.resolution}
        )
        return {"$size": length, "window": window}
    if isinstance(value, types.GenericAlias) or typing.get_origin(value) is not None:
        origin, args = typing.get_origin(value), typing.get_args(value)
        return {"$alias": _value(origin), "args": [_value(arg) for arg in args]}
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return _named(value)
    try:
        return {"$state": base64.b64encode(encode(value)).decode(), "text": _text(value)}
    except StateError:
        return {"$opaque": _text(value)}


def _schema(schema: Any) -> Any:
    named = _named(schema) if isinstance(schema, type) else {"$opaque": _text(schema)}
    if "$opaque" not in named or not isinstance(schema, type):
        return named
    return {
        "$schema": schema.__name__,
        "fields": [[name, _value(tp)] for name, tp in _types.schema_fields(schema).items()],
        "scalar": _value(getattr(schema, "__scalar_type__", None)),
    }


def _named(value: Any) -> dict[str, Any]:
    """A class or function by where it stands, if it can be found there again."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    key = "$type" if isinstance(value, type) else "$function"
    if module and name and "<" not in name:
        found = _look_up(f"{module}:{name}")
        if found is value:
            return {key: f"{module}:{name}"}
        for part in _PARTS:
            if getattr(found, part, None) is value:
                return {key: f"{module}:{name}", "part": part}
    return {"$opaque": f"{module}:{name}" if name else _text(value)}


def _text(value: Any) -> str:
    """A value as text without its address, which differs from run to run."""
    if isinstance(value, type) or callable(value):
        return f"{getattr(value, '__module__', '?')}:{getattr(value, '__qualname__', type(value).__name__)}"
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else text


# --- loading -----------------------------------------------------------------------------------


def _look_up(entry: str) -> Any:
    module, _, name = entry.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found


def _load_graph(saved: Mapping[str, Any]) -> GraphDescription:
    missing: list[str] = []
    nodes = []
    for item in saved["nodes"]:
        lost: list[str] = []
        node = _load_node(item, lost)
        missing += [f"{node.name}[{node.id}]: {what}" for what in lost]
        missing += [f"{node.name}[{node.id}]/{what}" for g in node.nested for what in g.missing]
        nodes.append(node)
    return GraphDescription(
        name=saved["name"],
        nodes=tuple(nodes),
        stubs=tuple(saved["stubs"]),
        output=saved["output"],
        output_path=tuple(saved["output_path"]),
        output_type=_load(saved["output_type"], missing),
        missing=tuple(missing),
    )


def _load_node(saved: Mapping[str, Any], lost: list[str]) -> NodeDescription:
    def get(name: str, otherwise: Any = None) -> Any:
        return _load(saved.get(name, otherwise), lost)

    plan = saved.get("plan")
    return NodeDescription(
        id=saved["id"],
        name=saved["name"],
        code=saved["code"],
        kind=saved["kind"],
        inputs=tuple(
            InputDescription(
                i["name"],
                i["from"],
                tuple(i["path"]),
                _load(i["type"], lost),
                i["active"],
                i["need"],
            )
            for i in saved["inputs"]
        ),
        output=get("output"),
        label=saved.get("label", ""),
        rank=saved["rank"],
        scalars=MappingProxyType(
            {name: _load(value, []) for name, value in saved.get("scalars", {}).items()}
        ),
        params=tuple(get("params", [])),
        plan=None
        if plan is None
        else MappingProxyType({name: _load(value, lost) for name, value in plan.items()}),
        payload=[] if saved["code"] == "record" else get("payload"),
        nested=tuple(_load_graph(inner) for inner in saved.get("nested", ())),
        link=saved.get("link", False),
        error=get("error"),
        error_depth=saved.get("error_depth", 1),
        error_values=saved.get("error_values", False),
        path=tuple(saved.get("path", ())),
        site=saved.get("site", ""),
        function=_load(saved.get("function"), []),
    )


def _load(saved: Any, lost: list[str]) -> Any:
    if isinstance(saved, list):
        return [_load(item, lost) for item in saved]
    if not isinstance(saved, dict):
        return saved
    for key, loader in _LOADERS.items():
        if key in saved:
            return loader(saved, lost)
    raise GraphError(f"the saved graph has a value of an unknown kind: {', '.join(saved)}")


def _lost(text: str, lost: list[str]) -> Opaque:
    if text not in lost:
        lost.append(text)
    return Opaque(text)


def _load_named(saved: Any, lost: list[str]) -> Any:
    entry = saved.get("$type") or saved["$function"]
    if entry == "builtins:Ellipsis":
        return Ellipsis
    found = _look_up(entry)
    if found is not None and "part" in saved:
        found = getattr(found, saved["part"], None)
    return _lost(entry, lost) if found is None else found


def _load_ts(saved: Any, lost: list[str]) -> Any:
    if "schema" in saved:
        return _types._intern(_types.TSBm, (_load(saved["schema"], lost),))
    return _types._intern(_KINDS[saved["kind"]], tuple(_load(arg, lost) for arg in saved["args"]))


def _load_schema(saved: Any, lost: list[str]) -> Any:
    fields = {name: _load(tp, lost) for name, tp in saved["fields"]}
    return _types.make_schema(fields, saved["$schema"], _load(saved["scalar"], lost))


def _load_size(saved: Any, lost: list[str]) -> Any:
    cls: Any = _types.WindowSize if saved["window"] else _types.Size
    length = saved["$size"]
    if length is None:
        return cls
    return cls[_dt.timedelta.resolution * length["ns"] if isinstance(length, dict) else length]


def _load_alias(saved: Any, lost: list[str]) -> Any:
    origin = _load(saved["$alias"], lost)
    args = tuple(_load(arg, lost) for arg in saved["args"])
    if origin is types.UnionType or origin is typing.Union:
        return typing.Union[args]
    return origin if isinstance(origin, Opaque) else types.GenericAlias(origin, args)


_LOADERS: dict[str, Callable[[Any, list[str]], Any]] = {
    "$tuple": lambda saved, lost: tuple(_load(item, lost) for item in saved["$tuple"]),
    "$dict": lambda saved, lost: {_load(k, lost): _load(v, lost) for k, v in saved["$dict"]},
    "$ts": _load_ts,
    "$type": _load_named,
    "$function": _load_named,
    "$maker": lambda saved, lost: StateMaker(
        _load(saved["$maker"], lost), tuple(_load(arg, lost) for arg in saved["args"])
    ),
    "$values": lambda saved, lost: STATE(**{k: _load(v, lost) for k, v in saved["$values"]}),
    "$schema": _load_schema,
    "$size": _load_size,
    "$alias": _load_alias,
    "$state": lambda saved, lost: decode(base64.b64decode(saved["$state"])),
    "$opaque": lambda saved, lost: _lost(saved["$opaque"], lost),
}
