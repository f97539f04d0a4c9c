"""State as bytes: one canonical encoding for everything that is saved, restored and hashed.

The promise: equal values encode to equal bytes in every process and under every hash seed,
`decode(encode(value))` gives the value back with its types, and what cannot be kept is
refused with its path (`robot.scripts[Arm].target`), never dropped.

    >>> decode(encode({"pose": (1, 2.5), "seen": {"b", "a"}}, "arm"))
    {'pose': (1, 2.5), 'seen': {...}}
    >>> encode({"f": print}, "arm")
    Traceback (most recent call last):
    mainspring.errors.StateError: arm['f'] is a builtin_function_or_method, ...

Mappings keep their order, because their order is state; sets are sorted by their encoding, unless they are
of a class derived from `set` or `frozenset`, which is taken to have an order of its own. A constant that
pickles as its name is kept as that.
Part of the state is whatever follows the `Stateful` protocol.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import importlib
import types
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
import xxhash

from mainspring._kernel.log import encode as _encode
from mainspring.errors import StateError

__all__ = ["Stateful", "decode", "digest", "encode"]


@runtime_checkable
class Stateful(Protocol):
    """Anything that is part of a simulation's state.

    `save` returns plain data (numbers, strings, bytes, lists, tuples, dicts, sets, arrays,
    dataclasses, `msgspec.Struct`s, enums); `restore` takes what `save` returned and leaves
    the object as it was at that moment.
    """

    def save(self) -> Any: ...

    def restore(self, state: Any) -> None: ...


def encode(value: Any, owner: str = "state") -> bytes:
    """The canonical bytes of `value`; `owner` begins the path in an error."""
    try:
        return _encode(value, _encode_object)
    except (StateError, UnicodeEncodeError, RecursionError):
        # Once more in Python, which keeps track of the path that the error should name.
        return _pack(_plain(value, owner))


def _encode_object(value: Any) -> bytes:
    """What the kernel's encoder cannot do itself: arrays, objects, large numbers."""
    return _pack(_plain(value, ""))


def decode(data: bytes | memoryview) -> Any:
    """The value that `encode` was given."""
    return _unpack(data)


def digest(value: Any, owner: str = "state") -> bytes:
    """A 16-byte hash of `value`, the same wherever the value is the same."""
    data = value if isinstance(value, bytes) else encode(value, owner)
    return xxhash.xxh3_128_digest(data)


# Extension codes of the encoding. They are part of the log format: never reuse one.
_ARRAY, _BIGINT, _TUPLE, _SET, _FROZENSET, _OBJECT, _DICT, _SCALAR = range(1, 9)

_pack = msgspec.msgpack.Encoder().encode
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1

# How the standard library's value types become plain data and come back.
_VALUE_TYPES: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    fractions.Fraction: (
        "fraction",
        lambda v: [v.numerator, v.denominator],
        lambda v: fractions.Fraction(*v),
    ),
    decimal.Decimal: ("decimal", str, decimal.Decimal),
    datetime.datetime: (
        "datetime",
        lambda v: [v.isoformat(), v.fold],
        lambda v: datetime.datetime.fromisoformat(v[0]).replace(fold=v[1]),
    ),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.time: (
        "time",
        lambda v: [v.isoformat(), v.fold],
        lambda v: datetime.time.fromisoformat(v[0]).replace(fold=v[1]),
    ),
    datetime.timedelta: (
        "timedelta",
        lambda v: [v.days, v.seconds, v.microseconds],
        lambda v: datetime.timedelta(*v),
    ),
    complex: ("complex", lambda v: [v.real, v.imag], lambda v: complex(*v)),
    bytearray: ("bytearray", bytes, bytearray),
    deque: ("deque", lambda v: [list(v), v.maxlen], lambda v: deque(v[0], v[1])),
}
_REVIVERS = {name: back for name, _, back in _VALUE_TYPES.values()}


def _plain(value: Any, path: str) -> Any:
    """`value` as what msgpack can hold, with an `Ext` wherever a type would be lost."""
    kind = type(value)
    if value is None or kind in (bool, float, str, bytes):
        return value
    if kind is int:
        if _INT_MIN <= value <= _INT_MAX:
            return value
        return msgspec.msgpack.Ext(_BIGINT, str(value).encode())
    if kind is list:
        return [_plain(item, f"{path}[{i}]") for i, item in enumerate(value)]
    if kind is dict:
        if all(type(key) is str for key in value):
            return {key: _plain(item, f"{path}[{key!r}]") for key, item in value.items()}
        pairs = [
            [_plain(key, f"{path} key"), _plain(item, f"{path}[{key!r}]")]
            for key, item in value.items()
        ]
        return msgspec.msgpack.Ext(_DICT, _pack(pairs))
    if kind is tuple:
        items = [_plain(item, f"{path}[{i}]") for i, item in enumerate(value)]
        return msgspec.msgpack.Ext(_TUPLE, _pack(items))
    if kind in (set, frozenset):
        members = sorted(_pack(_plain(item, f"{path} member")) for item in value)
        code = _SET if kind is set else _FROZENSET
        return msgspec.msgpack.Ext(code, _pack(members))
    if kind is np.ndarray:
        return _plain_array(value, path)
    if isinstance(value, np.generic):
        return msgspec.msgpack.Ext(_SCALAR, _pack([value.dtype.str, value.tobytes()]))
    if kind in _VALUE_TYPES:
        if isinstance(getattr(value, "tzinfo", None), datetime.tzinfo) and not isinstance(
            value.tzinfo, datetime.timezone
        ):
            raise StateError(
                f"{path} is in the time zone {value.tzinfo}, whose rules may change",
                hint="keep it in UTC, and the zone's name beside it",
            )
        name, forward, _ = _VALUE_TYPES[kind]
        return _object("", name, _plain(forward(value), path))
    return _plain_object(value, path)


def _plain_array(value: np.ndarray[Any, Any], path: str) -> Any:
    if value.dtype.hasobject:
        raise StateError(
            f"{path} is an array of Python objects, which has no stable bytes",
            hint="use a numeric dtype, or a list",
        )
    descr = value.dtype.str if value.dtype.names is None else value.dtype.descr
    data = np.ascontiguousarray(value).tobytes()
    return msgspec.msgpack.Ext(_ARRAY, _pack([descr, list(value.shape), data]))


def _plain_object(value: Any, path: str) -> Any:
    cls = type(value)
    if isinstance(value, enum.Enum):
        return _object(cls.__module__, cls.__qualname__, value.name)
    if isinstance(value, msgspec.Struct):
        names: tuple[str, ...] = cls.__struct_fields__
    elif dataclasses.is_dataclass(value):
        names = tuple(field.name for field in dataclasses.fields(value))
    elif isinstance(value, tuple) and hasattr(cls, "_fields"):
        names = cls._fields
    elif isinstance(value, (set, frozenset)):  # of a kind of its own: its order is state
        items = [_plain(item, f"{path} member") for item in value]
        return _object(cls.__module__, cls.__qualname__, items)
    elif (name := _constant(value)) is not None:
        return _object(cls.__module__, name, None)
    else:
        raise StateError(
            f"{path} is a {cls.__name__}, which cannot be saved",
            hint="keep plain data, an array, a dataclass or a msgspec.Struct there, "
            "or leave it out of what save() returns",
        )
    if "<locals>" in cls.__qualname__:
        raise StateError(
            f"{path} is a {cls.__name__}, which is defined inside a function and cannot be found again",
            hint="define the class at the top of its module",
        )
    fields = {name: _plain(getattr(value, name), f"{path}.{name}") for name in names}
    return _object(cls.__module__, cls.__qualname__, fields)


def _constant(value: Any) -> str | None:
    """The name of a constant of its class's module, which says so as it would to pickle."""
    reduce = type(value).__dict__.get("__reduce__")
    name = reduce(value) if isinstance(reduce, types.FunctionType) else None
    return name if isinstance(name, str) else None


def _object(module: str, name: str, content: Any) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(_OBJECT, _pack([module, name, content]))


def _unpack(data: bytes | memoryview) -> Any:
    return msgspec.msgpack.decode(data, ext_hook=_ext_hook)


def _ext_hook(code: int, data: memoryview) -> Any:
    if code == _BIGINT:
        return int(bytes(data))
    content = _unpack(data)
    if code == _ARRAY:
        descr, shape, raw = content
        dtype = np.dtype(descr if isinstance(descr, str) else [_field(f) for f in descr])
        return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()
    if code == _SCALAR:
        return np.frombuffer(content[1], dtype=content[0])[0]
    if code == _TUPLE:
        return tuple(content)
    if code == _SET:
        return {_unpack(item) for item in content}
    if code == _FROZENSET:
        return frozenset(_unpack(item) for item in content)
    if code == _DICT:
        return dict(content)
    if code == _OBJECT:
        return _revive_object(*content)
    raise StateError(f"unknown extension code {code} in encoded state")


def _field(field: list[Any]) -> tuple[Any, ...]:
    return (field[0], field[1], *(tuple(part) for part in field[2:]))


def _revive_object(module: str, name: str, content: Any) -> Any:
    if not module:
        return _REVIVERS[name](content)
    target: Any = importlib.import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    if content is None:
        return target
    if isinstance(target, type) and issubclass(target, enum.Enum):
        return target[content]
    if dataclasses.is_dataclass(target):
        return _revive_dataclass(target, content)
    return target(content) if isinstance(content, list) else target(**content)


def _revive_dataclass(cls: Any, content: dict[str, Any]) -> Any:
    # Not through __init__: a saved object comes back as it was, init=False fields included.
    value = cls.__new__(cls)
    for name, item in content.items():
        object.__setattr__(value, name, item)
    return value
