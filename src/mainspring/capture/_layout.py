"""How a channel's values look: as Python objects, as bytes on the tape, as JSON and as a schema.

The promise: a layout is found once, from a dtype or from a channel's first value, and what it
describes comes back from the recording value for value. Floats are written as the shortest
text that reads back equal (a whole one keeps its `.0`), integers stay integers, and NaN and
the infinities, which JSON has no number for, are written as `"NaN"`, `"Infinity"` and
`"-Infinity"`, the way protobuf's JSON mapping does.

Arrays of arrays are written flat, row by row, because viewers take no nested ones; the shape
stands in the channel's metadata. What has no fixed numeric form (text, lists that grow,
objects) is encoded at the moment it is sampled, so that nobody can change it later.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from mainspring.capture._errors import ChannelError

__all__ = [
    "Layout",
    "encode_json",
    "json_layout",
    "layout_of_dtype",
    "layout_of_value",
    "number_layout",
]

Op = tuple[Any, ...]

_CODES = {
    np.dtype(name).str: code
    for name, code in (
        ("<f8", "d"), ("<f4", "f"), ("<i8", "q"), ("<i4", "i"), ("<i2", "h"), ("i1", "b"),
        ("<u8", "Q"), ("<u4", "I"), ("<u2", "H"), ("u1", "B"), ("?", "?"),
    )
}  # fmt: skip
_JSON_TYPES = {"d": "number", "f": "number", "n": "number", "?": "boolean"}


@dataclasses.dataclass(frozen=True)
class Layout:
    """One way of turning a value into bytes on the tape, and those into a message."""

    fetch: str
    """How the sampler copies a value: number, float, array, table or blob."""
    size: int
    """Bytes of one value on the tape, or of one row of a table."""
    program: tuple[Op, ...]
    """How the chunk builder writes it as JSON."""
    properties: dict[str, Any]
    """The JSON Schema of the message's fields."""
    columns: tuple[tuple[str, str, int], ...]
    """Every numeric field: path, scalar code, count (0: no array). Empty for free JSON."""
    dtype: np.dtype[Any] | None = None
    shape: tuple[int, ...] = ()
    schema_name: str = ""
    """Empty: the recorder names the schema after the channel."""
    adapt: Callable[[Any], Any] | None = None
    """Turns what the source gave into what `fetch` copies; none where it fits as it is."""

    def schema(self, title: str) -> bytes:
        """The JSON Schema of a message."""
        return msgspec.json.encode(
            {"title": title, "type": "object", "properties": self.properties}
        )

    def fit(self, value: Any, topic: str) -> Any:
        """`value` as this layout's buffer, or an error that says how it differs."""
        if isinstance(value, int) and self.fetch == "number":
            raise ChannelError(
                f"channel {topic!r} was given {_describe(value)}, which 64 bits do not hold",
                hint="record it as text or as a float, or as a NumPy uint64 where that is enough",
            )
        if self.dtype is None:
            raise ChannelError(
                f"channel {topic!r} was given {_describe(value)} where a number is expected",
                hint="give the channel a source that returns a number every time",
            )
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.asarray(None)
        same_fields = array.dtype.names == self.dtype.names
        fits = array.shape[1:] == self.shape if self.fetch == "table" else array.shape == self.shape
        if not fits or not same_fields or not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise ChannelError(
                f"channel {topic!r} was given {_describe(value)} where its first value was "
                f"{self.dtype} of shape {self.shape}",
                hint="a channel keeps its type and shape; use two channels, or a list for what grows",
            )
        return np.asarray(array, dtype=self.dtype, order="C")


def number_layout(kind: str = "number") -> Layout:
    """One int, float or bool a message, each kept with its kind; or `kind="float"`."""
    code = "d" if kind == "float" else "n"
    return Layout(
        fetch=kind,
        size=0,
        program=(("literal", '{"value":'), ("value", code), ("literal", "}")),
        properties={"value": {"type": "number"}},
        columns=(("value", code, 0),),
    )


def json_layout(sample: Any) -> Layout:
    """Free JSON, with a schema guessed from one value."""
    # The schema sees a NaN as the number it is, not as the name that JSON needs for it.
    plain = msgspec.to_builtins(sample, str_keys=True, enc_hook=_enc_hook)
    wrapped = not isinstance(plain, dict)
    fields = {"value": plain} if wrapped else plain
    return Layout(
        fetch="blob",
        size=0,
        program=(("blob",),),
        properties=_properties(fields),
        columns=(),
        adapt=_encode_wrapped if wrapped else encode_json,
    )


def layout_of_dtype(dtype: np.dtype[Any], shape: tuple[int, ...], *, table: bool = False) -> Layout:
    """A fixed numeric layout. Raises `TypeError` for a dtype that has no numeric form."""
    packed = packed_dtype(dtype)
    if packed is None:
        raise TypeError(f"{dtype} has no numeric form")
    if packed.names is None:
        count = math.prod(shape)
        code = _CODES[packed.str]
        body: list[Op] = [("array", code, count) if shape else ("value", code)]
        inner = _array_schema(code) if shape else _scalar_schema(code)
        columns: list[tuple[str, str, int]] = [("value", code, count if shape else 0)]
        named = False
    else:
        body, columns = [], []
        inner = {"type": "object", "properties": _record(packed, "", body, columns)}
        named = True
    row = packed.itemsize * math.prod(shape)
    if table:
        if not named:
            body = [("literal", '{"value":'), *body, ("literal", "}")]
            inner = {"type": "object", "properties": {"value": inner}}
        ops: list[Op] = [("literal", '{"rows":'), ("table", body), ("literal", "}")]
        properties: dict[str, Any] = {"rows": {"type": "array", "items": inner}}
        columns = []
    elif named:
        if shape:
            raise TypeError("an array of records is a table")
        ops, properties = body, inner["properties"]
    else:
        ops, properties = [("literal", '{"value":'), *body, ("literal", "}")], {"value": inner}
    return Layout(
        fetch="table" if table else "array",
        size=row,
        program=tuple(ops),
        properties=properties,
        columns=tuple(columns),
        dtype=packed,
        shape=shape,
    )


def layout_of_value(value: Any) -> Layout:
    """The layout that a channel's first value asks for."""
    if isinstance(value, (bool, np.bool_)):
        return layout_of_dtype(np.dtype(bool), ()) if isinstance(value, np.bool_) else _BOOLEAN
    if isinstance(value, (int, float)) and not isinstance(value, np.generic):
        return number_layout()
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        # order: a structured array of one axis is a table, whose length may change.
        table = array.dtype.names is not None and array.ndim == 1
        if packed_dtype(array.dtype) is not None and (array.dtype.names is None or array.ndim <= 1):
            return layout_of_dtype(array.dtype, () if table else array.shape, table=table)
        return json_layout(value)
    return json_layout(value)


def packed_dtype(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """`dtype` in the form that lies on the tape, or None where there is none."""
    if dtype.names is not None:
        fields: list[tuple[Any, ...]] = []
        for name in dtype.names:
            field = dtype[name]
            base = packed_dtype(field.base)
            if base is None:
                return None
            fields.append((name, base, field.shape))
        return np.dtype(fields)
    if dtype.kind == "f":
        return np.dtype("<f4") if dtype.itemsize <= 4 else np.dtype("<f8")
    if dtype.kind in "iub":
        return dtype.newbyteorder("<")
    return None


def _record(
    dtype: np.dtype[Any], prefix: str, ops: list[Op], columns: list[tuple[str, str, int]]
) -> dict[str, Any]:
    """Append how a record is written; returns its fields' schema."""
    properties: dict[str, Any] = {}
    for position, name in enumerate(dtype.names or ()):
        key = msgspec.json.encode(name).decode()
        ops.append(("literal", ("{" if position == 0 else ",") + key + ":"))
        field = dtype[name]
        path = f"{prefix}{name}"
        if field.base.names is not None:
            if field.shape:
                raise TypeError("a record may not hold an array of records")
            properties[name] = {
                "type": "object",
                "properties": _record(field.base, path + ".", ops, columns),
            }
            continue
        code = _CODES[field.base.str]
        count = math.prod(field.shape) if field.shape else 0
        ops.append(("array", code, count) if field.shape else ("value", code))
        properties[name] = _array_schema(code) if field.shape else _scalar_schema(code)
        columns.append((path, code, count))
    ops.append(("literal", "}"))
    return properties


def _scalar_schema(code: str) -> dict[str, Any]:
    return {"type": _JSON_TYPES.get(code, "integer")}


def _array_schema(code: str) -> dict[str, Any]:
    return {"type": "array", "items": _scalar_schema(code)}


def _properties(fields: Mapping[Any, Any]) -> dict[str, Any]:
    """The schemas of a message's fields. What one value does not show, what an empty list holds or
    what stands where a None is, is left out: viewers refuse a schema with an open type, and any
    field may be in a message beside those of its schema."""
    found = {name: _schema_of(item) for name, item in fields.items()}
    return {name: schema for name, schema in found.items() if schema is not None}


def _schema_of(value: Any) -> dict[str, Any] | None:
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, (int, float)):
        return {"type": "number"}  # a later one may have a fraction
    if isinstance(value, str):
        return {"type": "string"}
    if isinstance(value, dict):
        return {"type": "object", "properties": _properties(value)}
    if isinstance(value, (list, tuple)):
        schemas = [_schema_of(item) for item in value]
        if not schemas or schemas[0] is None or schemas[0]["type"] == "array":
            return None
        kinds = {None if schema is None else schema["type"] for schema in schemas}
        return {"type": "array", "items": schemas[0]} if len(kinds) == 1 else None
    return None


def _builtins(value: Any) -> Any:
    """`value` as JSON's own types, non-finite numbers as their names."""
    return _finite(msgspec.to_builtins(value, str_keys=True, enc_hook=_enc_hook))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _enc_hook(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.reshape(-1).tolist() if value.dtype.names is None else value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} has no JSON form")


_encoder = msgspec.json.Encoder(enc_hook=_enc_hook)


def encode_json(value: Any) -> bytes:
    """`value` as JSON, non-finite numbers as their names."""
    data = _encoder.encode(value)
    # msgspec writes NaN and the infinities as null: only where there is a null is it worth a look.
    return msgspec.json.encode(_builtins(value)) if b"null" in data else data


def _encode_wrapped(value: Any) -> bytes:
    return b'{"value":' + encode_json(value) + b"}"


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(value).__name__})"


_BOOLEAN = dataclasses.replace(
    number_layout(),
    program=(("literal", '{"value":'), ("value", "?"), ("literal", "}")),
    fetch="array",
    size=1,
    dtype=np.dtype(bool),
    properties={"value": {"type": "boolean"}},
    columns=(("value", "?", 0),),
    adapt=np.bool_,
)
