"""Messages as columns and back: what Parquet, CSV and plots share.

A plan says how the messages of one channel lie in a table. `columns`: every leaf of the
message has a column of its own, `topic.path`. `json`: the whole message is one text. `bytes`:
the encoding is not JSON, and the message is one value as it is.

A plan is made from the channel's schema and its first message. A later message that does not
fit raises `Misfit`, and the conversion begins again with a plan that takes it, so nothing is
rounded off or left out silently.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from mainspring.capture._reader import Batch, ChannelInfo, Column, decode_json, path_getter
from mainspring.capture._schemas import time_json

__all__ = [
    "Demotion",
    "Misfit",
    "Plan",
    "assemble",
    "column_name",
    "extract",
    "parse_column",
    "plan_of",
]

Demotion = Literal["", "float", "json"]
_EXACT = 2**53


class Misfit(Exception):
    """A message does not fit its channel's plan; carries how to plan it next."""

    def __init__(self, topic: str, demotion: Demotion) -> None:
        super().__init__(topic, demotion)
        self.topic = topic
        self.demotion: Demotion = demotion


@dataclasses.dataclass
class Plan:
    """How one channel's messages lie in a table."""

    channel: ChannelInfo
    kind: Literal["columns", "json", "bytes"]
    columns: tuple[Column, ...]
    tree: Any = None
    """The message with `_Leaf`s where columns go; everything else is the same in every message."""
    checked: bool = False
    """Whether every message is compared with what its columns give back."""
    floats: bool = False
    """Whether integers that share a column with floats may come back as floats."""

    def names(self) -> list[str]:
        """The names of the plan's columns in a table."""
        return [column_name(self.channel.topic, path) for path, _, _ in self.columns]


@dataclasses.dataclass(frozen=True)
class _Leaf:
    column: int  # -1: the message's time


_TIME = _Leaf(-1)


def plan_of(
    channel: ChannelInfo, first: bytes, demotion: Demotion = "", *, stamps: bool = False
) -> Plan:
    """The plan for a channel whose first message is `first`.

    With `stamps`, times inside a message get columns of their own; without, they are the
    row's time and need none.
    """
    if channel.message_encoding != "json":
        return Plan(channel, "bytes", (("", "bytes", 0),))
    whole = Plan(channel, "json", (("", "json", 0),))
    if demotion == "json":
        return whole
    message = decode_json(first, channel)
    if not isinstance(message, dict) or not message:
        return whole
    schema = _schema(channel)
    found: list[Column] = []
    declared = {path: (code, count) for path, code, count in channel.columns}
    tree = _tree(message, schema, "", declared, found, stamps)
    if tree is None or not found or len({path for path, _, _ in found}) != len(found):
        return whole
    if demotion == "float":
        found = [(path, "d" if code == "n" else code, count) for path, code, count in found]
    else:
        found = [
            (path, _number_code(path_getter(path)(message)) if code == "n" else code, count)
            for path, code, count in found
        ]
    # Our recorder's own numeric channels cannot differ from one message to the next.
    checked = not (declared and len(declared) == len(found) and _TIME not in _leaves(tree))
    return Plan(channel, "columns", tuple(found), tree, checked, demotion == "float")


def _tree(
    value: Any,
    schema: dict[str, Any],
    path: str,
    declared: dict[str, Any],
    found: list[Column],
    stamps: bool,
) -> Any:
    """`value` with leaves in the place of what varies; None where it has no columns."""
    if isinstance(value, dict):
        if not stamps and schema.get("title") == "time" and set(value) == {"sec", "nsec"}:
            return _TIME
        properties = schema.get("properties", {})
        node = {}
        for name, item in value.items():
            if any(c in name for c in '.[]"') or not name:
                return None
            inner = properties.get(name, {})
            below = _tree(item, inner, f"{path}.{name}" if path else name, declared, found, stamps)
            if below is None:
                return None
            node[name] = below
        return node
    if path in declared:
        code, count = declared[path]
    elif isinstance(value, bool):
        code, count = "?", 0
    elif isinstance(value, (int, float)):
        code, count = "n", 0
    elif isinstance(value, str):
        code, count = ("n" if schema.get("type") == "number" else "s"), 0
    elif isinstance(value, list) and value and all(type(v) in (int, float) for v in value):
        code, count = "n", len(value)
    else:
        code, count = "json", 0
    found.append((path, code, count))
    return _Leaf(len(found) - 1)


def _leaves(tree: Any) -> list[_Leaf]:
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in _leaves(item)]
    return [tree] if isinstance(tree, _Leaf) else []


def _number_code(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return "q" if all(type(v) is int for v in values) else "d"


def _schema(channel: ChannelInfo) -> dict[str, Any]:
    if channel.schema_encoding != "jsonschema":
        return {}
    try:
        schema = msgspec.json.decode(channel.schema_data)
    except msgspec.MsgspecError:
        return {}
    return schema if isinstance(schema, dict) else {}


def extract(plan: Plan, batch: Batch) -> list[Any]:
    """One array (or list of texts or bytes) for each of the plan's columns."""
    if plan.kind == "bytes":
        return [batch.messages]
    if plan.kind == "json":
        batch.decode()  # it is JSON, or the error says which channel is not
        return [[message.decode() for message in batch.messages]]
    messages = batch.decode()
    topic = plan.channel.topic
    columns: list[Any] = []
    for path, code, count in plan.columns:
        getter = path_getter(path)
        try:
            values = [getter(message) for message in messages]
        except (KeyError, IndexError, TypeError):
            raise Misfit(topic, "json") from None
        columns.append(_column(values, code, count, topic))
    if plan.checked:
        again = assemble_values(plan, columns, batch.times_ns)
        for one, other in zip(messages, again, strict=True):
            if _text(one, plan.floats) != _text(other, plan.floats):
                raise Misfit(topic, "json")
    return columns


def _text(value: Any, floats: bool) -> str:
    """What messages are compared by: as text 1, 1.0 and True differ."""
    return json.dumps(_as_floats(value) if floats else value, sort_keys=True)


def _as_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_floats(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_floats(item) for item in value]
    return float(value) if type(value) is int and abs(value) <= _EXACT else value


def _column(values: list[Any], code: str, count: int, topic: str) -> Any:
    if code == "json":
        return [msgspec.json.encode(value).decode() for value in values]
    if count and any(type(value) is not list or len(value) != count for value in values):
        raise Misfit(topic, "json")
    flat = [item for value in values for item in value] if count else values
    kinds = set(map(type, flat))
    if code == "s":
        if kinds - {str}:
            raise Misfit(topic, "json")
        return values
    if code == "?":
        if kinds - {bool}:
            raise Misfit(topic, "json")
    elif code in "df":
        if kinds - {float, int, str}:
            raise Misfit(topic, "json")
        if str in kinds and {v for v in flat if type(v) is str} - {"NaN", "Infinity", "-Infinity"}:
            raise Misfit(topic, "json")
        if int in kinds and any(abs(v) > _EXACT for v in flat if type(v) is int):
            raise Misfit(topic, "json")
    elif kinds - {int}:
        raise Misfit(topic, "float" if kinds <= {int, float, str} else "json")
    dtype = np.dtype(np.bool_) if code == "?" else np.dtype(np.float64 if code in "df" else code)
    try:
        array = np.array(flat, dtype)
    except OverflowError:
        raise Misfit(topic, "json") from None
    if code == "f":
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
    return array.reshape(-1, count) if count else array


def assemble(plan: Plan, columns: Sequence[Any], times_ns: Any) -> list[bytes]:
    """The messages that the columns were made from."""
    if plan.kind == "bytes":
        return list(columns[0])
    if plan.kind == "json":
        return [text.encode() for text in columns[0]]
    return [msgspec.json.encode(value) for value in assemble_values(plan, columns, times_ns)]


def assemble_values(plan: Plan, columns: Sequence[Any], times_ns: Any) -> list[Any]:
    lists = [
        _plain(column, code) for column, (_, code, _) in zip(columns, plan.columns, strict=True)
    ]
    return [
        _filled(plan.tree, row, time_ns)
        for row, time_ns in zip(
            zip(*lists, strict=True), np.asarray(times_ns).tolist(), strict=True
        )
    ]


def _plain(column: Any, code: str) -> list[Any]:
    if code == "s":
        return list(column)
    if code == "json":
        return [msgspec.json.decode(text) for text in column]
    if code not in "df":
        return column.tolist()  # type: ignore[no-any-return]
    # The shortest text of a float32 names it; as a float64 it would show sixteen digits.
    wide = column.astype(str).astype(np.float64) if code == "f" else column
    values: list[Any] = wide.tolist()
    if np.isfinite(wide).all():
        return values
    return [
        [_named(v) for v in value] if isinstance(value, list) else _named(value) for value in values
    ]


def _named(value: float) -> Any:
    if value - value == 0.0:
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _filled(tree: Any, row: Sequence[Any], time_ns: int) -> Any:
    if isinstance(tree, dict):
        return {name: _filled(item, row, time_ns) for name, item in tree.items()}
    if isinstance(tree, _Leaf):
        return time_json(time_ns) if tree.column < 0 else row[tree.column]
    return tree


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as JSON values, to lie in a file's metadata."""
    channel = plan.channel
    return {
        "topic": channel.topic,
        "message_encoding": channel.message_encoding,
        "schema_name": channel.schema_name,
        "schema_encoding": channel.schema_encoding,
        "schema_data": channel.schema_data,
        "metadata": channel.metadata,
        "kind": plan.kind,
        "columns": plan.columns,
        "tree": _tree_to_json(plan.tree),
    }


def plan_from_json(data: dict[str, Any]) -> Plan:
    """What `plan_to_json` was given."""
    import base64

    channel = ChannelInfo(
        id=0,
        topic=data["topic"],
        message_encoding=data["message_encoding"],
        schema_name=data["schema_name"],
        schema_encoding=data["schema_encoding"],
        schema_data=base64.b64decode(data["schema_data"]),
        metadata=dict(data["metadata"]),
    )
    columns = tuple((str(path), str(code), int(count)) for path, code, count in data["columns"])
    return Plan(channel, data["kind"], columns, _tree_from_json(data["tree"]))


def _tree_to_json(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {"fields": {name: _tree_to_json(item) for name, item in tree.items()}}
    return {"column": tree.column} if isinstance(tree, _Leaf) else {"constant": tree}


def _tree_from_json(data: Any) -> Any:
    if "fields" in data:
        return {name: _tree_from_json(item) for name, item in data["fields"].items()}
    return _Leaf(data["column"]) if "column" in data else data["constant"]


def column_name(topic: str, path: str) -> str:
    """The column of a field: `/arm/q.value`. A topic that would be misread stands in quotes."""
    if any(c in topic for c in '.["') or not topic or not (path or topic.startswith("/")):
        topic = json.dumps(topic)
    return f"{topic}.{path}" if path else topic


def parse_column(name: str) -> tuple[str, str]:
    """The topic and the path in a column's name."""
    if name.startswith('"'):
        try:
            topic, end = json.JSONDecoder().raw_decode(name)
        except json.JSONDecodeError:
            return name, ""
        return str(topic), name[end:].removeprefix(".")
    cut = min((i for i in (name.find("."), name.find("[")) if i >= 0), default=len(name))
    return name[:cut], name[cut:].removeprefix(".")
