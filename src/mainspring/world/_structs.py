"""Structured components as bytes: quick where the type allows it, exact always.

A struct of plain fields goes through msgpack as a whole column; any other goes value by
value through `mainspring.state`. The quick way would turn an `int` standing in a `float` field
into a float, and the state restored would then hash differently from the state saved. So
`decode` checks that its result encodes to the same bytes, and where it does not, builds the
values again without converting anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import inspect

from mainspring import state
from mainspring.errors import StateError

__all__ = ["StructCodec"]

_SCALARS = (
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
    inspect.StrType,
    inspect.BytesType,
)
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode

_Revive = Callable[[Any], Any]


class StructCodec:
    """Encodes and decodes lists of one `msgspec.Struct` type."""

    def __init__(self, kind: type[msgspec.Struct], owner: str) -> None:
        self.kind = kind
        self.owner = owner
        self._revive = _reviver(inspect.type_info(kind))
        self.quick = self._revive is not None
        self._decode = msgspec.msgpack.Decoder(list[kind]).decode  # type: ignore[valid-type]

    def encode(self, values: list[msgspec.Struct]) -> bytes:
        if not self.quick:
            return state.encode(values, self.owner)
        try:
            return _pack(values)
        except (TypeError, OverflowError, RecursionError) as error:
            raise StateError(
                f"{self.owner} cannot be saved: {error}",
                hint="its fields hold something else than their annotations say",
            ) from error

    def decode(self, data: bytes, *, quick: bool) -> list[msgspec.Struct]:
        try:
            values = self._decode_quick(data) if quick else state.decode(data)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise StateError(f"the saved {self.owner} cannot be read: {error}") from error
        if not isinstance(values, list) or any(type(value) is not self.kind for value in values):
            raise StateError(
                f"the saved {self.owner} holds something else than {self.kind.__name__}"
            )
        return values

    def _decode_quick(self, data: bytes) -> list[msgspec.Struct]:
        try:
            values = self._decode(data)
            exact = _pack(values) == data
        except msgspec.ValidationError:
            exact = False
        revive = self._revive
        return values if exact or revive is None else [revive(value) for value in _unpack(data)]


def _reviver(info: inspect.Type, inside: tuple[type, ...] = ()) -> _Revive | None:
    """How a value of this type is built from what msgpack holds; None if it is not plain."""
    if isinstance(info, _SCALARS):
        return _itself
    if isinstance(info, inspect.UnionType):
        parts = [part for part in info.types if not isinstance(part, inspect.NoneType)]
        if all(isinstance(part, _SCALARS) for part in parts):
            return _itself
        inner = _reviver(parts[0], inside) if len(parts) == 1 else None
        return inner and _optional(inner)
    if isinstance(info, inspect.ListType):
        item = _reviver(info.item_type, inside)
        return item and _list_of(item)
    if isinstance(info, inspect.VarTupleType):
        item = _reviver(info.item_type, inside)
        return item and _tuple_of(item)
    if isinstance(info, inspect.TupleType):
        items = [revive for part in info.item_types if (revive := _reviver(part, inside))]
        return _fixed_tuple(items) if len(items) == len(info.item_types) else None
    if isinstance(info, inspect.DictType) and isinstance(info.key_type, inspect.StrType):
        item = _reviver(info.value_type, inside)
        return item and _dict_of(item)
    if isinstance(info, inspect.StructType):
        return _struct(info, inside)
    return None


def _struct(info: inspect.StructType, inside: tuple[type, ...]) -> _Revive | None:
    kind = info.cls
    config = kind.__struct_config__
    if config.tag is not None or config.array_like or config.omit_defaults or kind in inside:
        return None
    if hasattr(kind, "__post_init__") or any(f.name != f.encode_name for f in info.fields):
        return None
    fields: dict[str, _Revive] = {}
    for field in info.fields:
        revive = _reviver(field.type, (*inside, kind))
        if revive is None:
            return None
        fields[field.name] = revive
    return lambda value: (
        kind(**{name: fields[name](part) for name, part in value.items()})
        if isinstance(value, dict)
        else value
    )


# What stands where something else was annotated is left as it is: it encodes to what it was.


def _itself(value: Any) -> Any:
    return value


def _optional(inner: _Revive) -> _Revive:
    return lambda value: None if value is None else inner(value)


def _list_of(item: _Revive) -> _Revive:
    return lambda value: [item(part) for part in value] if isinstance(value, list) else value


def _tuple_of(item: _Revive) -> _Revive:
    return lambda value: tuple(map(item, value)) if isinstance(value, list) else value


def _fixed_tuple(items: list[_Revive]) -> _Revive:
    def revive(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        known = [item(part) for item, part in zip(items, value, strict=False)]
        return (*known, *value[len(known) :])

    return revive


def _dict_of(item: _Revive) -> _Revive:
    return lambda value: (
        {key: item(part) for key, part in value.items()} if isinstance(value, dict) else value
    )
