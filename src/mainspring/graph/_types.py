"""Time-series types: what stands in annotations, and how types with variables are resolved.

`TS[int]`, `TSD[str, TS[float]]` and the like are instances of `TsMeta`: immutable, interned by
value, hashable. A scalar is any Python annotation. Type variables are ordinary `typing.TypeVar`s;
one that is bound to `TimeSeries` stands for a whole time series, every other for a scalar, a size
or a schema.

`substitute` puts in what `match` (beside it, in `_match`) has bound variables to.
"""

from __future__ import annotations

import collections.abc
import datetime as _dt
import enum
import types as _pytypes
import typing
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from typing import Any, TypeVar, get_args, get_origin

import numpy as np

from mainspring._kernel import graph as _k
from mainspring.graph._errors import ParseError

TimeSeries = _k.TimeSeries


class TsMeta:
    """A time-series type. Equal types are equal, whoever wrote them."""

    __slots__ = ("_hash", "_kernel", "_resolved", "_stripped", "args")
    kind = "TS"

    def __init__(self, *args: Any) -> None:
        self.args = args
        self._hash = hash((type(self), args))
        self._kernel: Any = None
        self._stripped: Any = None
        self._resolved: bool | None = None

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self.args == other.args)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self.kind}[{', '.join(type_name(arg) for arg in self.args)}]"

    def __or__(self, other: Any) -> Any:
        return self if other is None else typing.Union[self, other]

    __ror__ = __or__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self!r} is a type of time series, it has no instances to be called for")

    # What differs by kind -----------------------------------------------------------------

    def children(self) -> tuple[Any, ...]:
        """The time-series types inside."""
        return ()

    def rebuild(self, change: Callable[[Any], Any]) -> TsMeta:
        """The same kind of type with every argument changed."""
        args = tuple(change(arg) for arg in self.args)
        return self if args == self.args else type(self)(*args)

    @property
    def scalar(self) -> Any:
        return self.args[0]

    def is_resolved(self) -> bool:
        if self._resolved is None:
            self._resolved = not any(True for _ in variables(self))
        return self._resolved

    def dereference(self) -> TsMeta:
        """The type with no REF in it."""
        if self._stripped is None:
            self._stripped = self.rebuild(_dereference)
        stripped: TsMeta = self._stripped
        return stripped

    @property
    def has_reference(self) -> bool:
        return self.dereference() is not self and self.dereference() != self

    def kernel(self) -> Any:
        """The kernel's form of the type; it must be resolved."""
        if self._kernel is None:
            self._kernel = self._make_kernel()
        return self._kernel

    def _make_kernel(self) -> Any:
        return _k.ts_type("TS", scalar_type=_kernel_scalar(self.args[0]))


def _dereference(arg: Any) -> Any:
    return arg.dereference() if isinstance(arg, TsMeta) else arg


def _kernel_scalar(scalar: Any) -> Any:
    """The class a scalar is checked against at run time, or None for no check."""
    # `list[int]` has an origin, and calls itself an instance of type.
    if isinstance(scalar, type) and get_origin(scalar) is None:
        return None if scalar in (object, enum.Enum) else scalar
    origin = get_origin(scalar)
    if origin in (tuple, list, frozenset):
        return origin
    return frozenset if origin is set else None


class TSm(TsMeta):
    __slots__ = ()


class TSSm(TsMeta):
    __slots__ = ()
    kind = "TSS"

    def _make_kernel(self) -> Any:
        return _k.ts_type("TSS", scalar_type=_kernel_scalar(self.args[0]))


class TSLm(TsMeta):
    __slots__ = ()
    kind = "TSL"

    def children(self) -> tuple[Any, ...]:
        return (self.args[0],)

    @property
    def element(self) -> Any:
        return self.args[0]

    @property
    def size(self) -> Any:
        return self.args[1]

    def from_ts(self, *args: Any, **kwargs: Any) -> Any:
        """A list of this type from the ports of its elements."""
        from mainspring.graph._wiring import tsl_from_ts

        return tsl_from_ts(*args, tp=self, **kwargs)

    def _make_kernel(self) -> Any:
        size = self.args[1]
        count = size.SIZE if isinstance(size, _SizeMeta) and size.SIZE else 0
        if count < 0:
            raise ParseError(
                f"{type_name(self)}: a list over time has as many elements as it is declared with",
                hint="say how many, or use a TSD with int keys, which grows and shrinks",
            )
        return _k.ts_type("TSL", children=[self.args[0].kernel()], size=count)


class TSDm(TsMeta):
    __slots__ = ()
    kind = "TSD"

    def children(self) -> tuple[Any, ...]:
        return (self.args[1],)

    @property
    def key(self) -> Any:
        return self.args[0]

    @property
    def element(self) -> Any:
        return self.args[1]

    def key_set(self) -> TsMeta:
        return TSSm(self.args[0])

    def from_ts(self, *args: Any, **kwargs: Any) -> Any:
        """A dictionary of this type from the ports of its keys."""
        from mainspring.graph._wiring import tsd_from_ts

        return tsd_from_ts(self, args[0] if args else kwargs)

    def _make_kernel(self) -> Any:
        return _k.ts_type(
            "TSD",
            scalar_type=_kernel_scalar(self.args[0]),
            children=[self.args[1].kernel(), TSSm(self.args[0]).kernel()],
        )


class TSWm(TsMeta):
    __slots__ = ()
    kind = "TSW"

    def _make_kernel(self) -> Any:
        scalar, size, least = self.args
        is_time = size.TIME is not None
        return _k.ts_type(
            "TSW",
            scalar_type=_kernel_scalar(scalar),
            window=_k.to_ns(size.TIME) if is_time else (size.SIZE or 0),
            window_min=(_k.to_ns(least.TIME) if is_time else least.SIZE) if _is_size(least) else 0,
            window_is_time=is_time,
        )


class REFm(TsMeta):
    __slots__ = ()
    kind = "REF"

    def children(self) -> tuple[Any, ...]:
        return (self.args[0],)

    def dereference(self) -> TsMeta:
        inner: TsMeta = _dereference(self.args[0])
        return inner

    def _make_kernel(self) -> Any:
        inner = self.args[0]
        return _k.ts_type("REF", children=[inner.kernel()] if inner.is_resolved() else [])


class SIGNALm(TsMeta):
    __slots__ = ()
    kind = "SIGNAL"

    def __repr__(self) -> str:
        return "SIGNAL"

    def _make_kernel(self) -> Any:
        return _k.ts_type("SIGNAL")


class TSBm(TsMeta):
    """A bundle: its argument is a schema class, or a variable for one."""

    __slots__ = ()
    kind = "TSB"

    @property
    def schema(self) -> Any:
        return self.args[0]

    @property
    def fields(self) -> dict[str, Any]:
        return schema_fields(self.args[0])

    def children(self) -> tuple[Any, ...]:
        schema = self.args[0]
        return () if isinstance(schema, TypeVar) else tuple(schema_fields(schema).values())

    def rebuild(self, change: Callable[[Any], Any]) -> TsMeta:
        schema = self.args[0]
        if isinstance(schema, TypeVar):
            changed = change(schema)
            return self if changed is schema else _bundle(changed)
        before = schema_fields(schema)
        after = {name: change(tp) for name, tp in before.items()}
        if after == before:
            return self
        return TSBm(make_schema(after, schema.__name__, getattr(schema, "__scalar_type__", None)))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not TSBm:
            return False
        if self.args == other.args:
            return True
        if isinstance(self.args[0], TypeVar) or isinstance(other.args[0], TypeVar):
            return False
        return list(self.fields.items()) == list(other.fields.items())

    __hash__ = TsMeta.__hash__

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if not isinstance(args[0], TypeVar):
            self._hash = hash((TSBm, tuple(schema_fields(args[0]))))

    def from_ts(self, *args: Any, **kwargs: Any) -> Any:
        """A bundle of this type from the ports of its fields."""
        from mainspring.graph._wiring import tsb_from_ts

        return tsb_from_ts(self, *args, **kwargs)

    def _make_kernel(self) -> Any:
        items = self.fields
        return _k.ts_type(
            "TSB",
            children=[tp.kernel() for tp in items.values()],
            names=list(items),
            value_class=getattr(self.args[0], "__scalar_type__", None),
        )


def variables(tp: Any) -> Iterable[TypeVar]:
    """The type variables in a type, in the order they are written."""
    if isinstance(tp, TypeVar):
        yield tp
    elif isinstance(tp, TSBm):
        if isinstance(tp.args[0], TypeVar):
            yield tp.args[0]
        else:
            for child in tp.children():
                yield from variables(child)
    elif isinstance(tp, TsMeta):
        for arg in tp.args:
            yield from variables(arg)
    elif isinstance(tp, (tuple, list)):
        for arg in tp:
            yield from variables(arg)
    else:
        for arg in get_args(tp):
            yield from variables(arg)


def type_name(tp: Any) -> str:
    """A type as people write it."""
    if isinstance(tp, TsMeta):
        return repr(tp)
    if isinstance(tp, TypeVar):
        return tp.__name__
    if isinstance(tp, type) and not get_args(tp):
        return tp.__qualname__.rpartition("<locals>.")[2]
    if tp is Ellipsis:
        return "..."
    if get_args(tp):
        origin = get_origin(tp)
        inner = ", ".join(type_name(arg) for arg in get_args(tp))
        return f"{getattr(origin, '__name__', origin)}[{inner}]"
    return str(tp)


# --- sizes -------------------------------------------------------------------------------------


class _SizeMeta(type):
    SIZE: int | None
    TIME: _dt.timedelta | None

    def __eq__(cls, other: object) -> bool:
        return isinstance(other, _SizeMeta) and cls._same() == other._same()

    def __hash__(cls) -> int:
        return hash(cls._same())

    def _same(cls) -> tuple[Any, ...]:
        return (cls.__name__.split("[")[0], cls.SIZE, cls.TIME)

    def __repr__(cls) -> str:
        return cls.__name__

    def __getitem__(cls, item: Any) -> Any:
        if isinstance(item, TypeVar):
            return item
        made = Size._made.get((cls, item))
        if made is None:
            time = item if isinstance(item, _dt.timedelta) else None
            made = _SizeMeta(
                f"{cls.__name__}[{item}]",
                (cls,),
                {"SIZE": int(item) if time is None else None, "TIME": time, "FIXED_SIZE": True},
            )
            Size._made[(cls, item)] = made
        return made


class Size(metaclass=_SizeMeta):
    """`Size[2]`: how long a TSL, or a window in ticks, is. Bare `Size` leaves it open."""

    SIZE: int | None = None
    TIME: _dt.timedelta | None = None
    FIXED_SIZE = False
    _made: dict[Any, type] = {}


class WindowSize(Size):
    """`WindowSize[10]` or `WindowSize[timedelta(seconds=5)]`."""


class Array(np.ndarray):
    """`TS[Array[float, Size[3]]]`: NumPy arrays of a fixed shape. An annotation: values are plain arrays."""

    def __class_getitem__(cls, item: Any) -> Any:
        return _pytypes.GenericAlias(cls, item if isinstance(item, tuple) else (item,))


def _is_size(tp: Any) -> bool:
    return isinstance(tp, _SizeMeta) and (tp.SIZE is not None or tp.TIME is not None)


# --- schemas -----------------------------------------------------------------------------------


class CompoundScalar:
    """Base of scalars with fields: write subclasses as dataclasses.

    One that is not declared as a dataclass is made into one where a time series is made of it.

    Words of hgraph's in the class line (`namespace=`, `abstract=`, `discriminator=`) are taken; types are told
    apart by their classes here, so nothing needs them.
    """

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__()

    def to_dict(self) -> dict[str, Any]:
        """The fields that have a value, compound ones as dictionaries themselves."""
        found = {}
        for name in scalar_fields(type(self)):
            value = getattr(self, name, None)
            if value is not None:
                found[name] = value.to_dict() if isinstance(value, CompoundScalar) else value
        return found

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Any:
        """The instance with these fields, compound ones from dictionaries themselves."""
        hints = scalar_fields(cls)
        given = {}
        for name, value in source.items():
            kind = hints.get(name)
            if (
                isinstance(value, Mapping)
                and isinstance(kind, type)
                and issubclass(kind, CompoundScalar)
            ):
                value = kind.from_dict(value)
            given[name] = value
        return cls(**given)


class TimeSeriesSchema:
    """Base of bundle schemas: each annotated field is a time series."""

    __scalar_type__: Any = None

    def __init_subclass__(cls, scalar_type: Any = False, **words: Any) -> None:
        super().__init_subclass__()
        if scalar_type is True:
            cls.__scalar_type__ = cls.to_scalar_schema()
        elif scalar_type:
            cls.__scalar_type__ = scalar_type

    def __class_getitem__(cls, item: Any) -> Any:
        return _parametrised(cls, item)

    @classmethod
    def scalar_type(cls) -> Any:
        """The scalar class whose instances are this bundle's values, or None."""
        return cls.__scalar_type__

    @classmethod
    def to_scalar_schema(cls) -> Any:
        """A compound scalar with the same fields."""
        import dataclasses

        items = [
            (name, tp.args[0] if isinstance(tp, TSm) else object, None)
            for name, tp in schema_fields(cls).items()
        ]
        return dataclasses.make_dataclass(
            f"{cls.__name__}Scalar",
            [(name, tp, dataclasses.field(default=default)) for name, tp, default in items],
            bases=(CompoundScalar,),
        )

    @classmethod
    def from_scalar_schema(cls, schema: Any) -> Any:
        """The bundle schema of a compound scalar: each field as `TS[...]`."""
        return schema_of_scalar(schema)


_parametrised_cache: dict[Any, Any] = {}


def _parametrised(cls: Any, item: Any) -> Any:
    """A generic schema (or compound scalar) with its variables filled in."""
    items = item if isinstance(item, tuple) else (item,)
    key = (cls, items)
    made = _parametrised_cache.get(key)
    if made is None:
        params = getattr(cls, "__parameters__", ()) or tuple(
            dict.fromkeys(v for tp in schema_fields(cls).values() for v in variables(tp))
        )
        bindings = dict(zip(params, items, strict=False))
        filled = {name: substitute(tp, bindings) for name, tp in schema_fields(cls).items()}
        title = f"{cls.__name__}[{', '.join(type_name(i) for i in items)}]"
        made = _parametrised_cache[key] = make_schema(filled, title, cls.__scalar_type__)
    return made


_schema_cache: dict[Any, dict[str, Any]] = {}


def schema_fields(schema: Any) -> dict[str, Any]:
    """The fields of a bundle schema with their time-series types."""
    found = _schema_cache.get(schema)
    if found is None:
        if not (isinstance(schema, type) and issubclass(schema, TimeSeriesSchema)):
            raise ParseError(f"{type_name(schema)} is no schema of a bundle")
        made = schema.__dict__.get("__made_fields__")
        if made is None:
            made = {}
            for base in reversed(schema.__mro__):
                names = base.__dict__.get("__annotations__")
                own = base.__dict__.get("__made_fields__")
                if own is not None:
                    made.update(own)
                elif names and base is not TimeSeriesSchema and issubclass(base, TimeSeriesSchema):
                    hints = resolve_hints(base)
                    made.update({n: parse_ts(hints[n], f"{schema.__name__}.{n}") for n in names})
        found = _schema_cache[schema] = dict(made)
    return found


def unaliased(tp: Any) -> Any:
    """What `type Price = float` names, through any number of names."""
    while True:
        origin = get_origin(tp)
        if type(origin).__name__ == "TypeAliasType":  # Pair[int], of `type Pair[T] = tuple[T, T]`
            bound = dict(zip(origin.__type_params__, get_args(tp), strict=True))
            tp = substitute(origin.__value__, bound)
        elif type(tp).__name__ == "TypeAliasType":
            tp = tp.__value__
        else:
            return tp


def resolve_hints(
    target: Any, local: dict[str, Any] | None = None, own: bool = False
) -> dict[str, Any]:
    """The annotations of a function or class (`own`: not those it inherits), strings evaluated."""
    hints = _evaluated(target, local, own)
    return {name: unaliased(value) for name, value in hints.items()}


def _evaluated(target: Any, local: dict[str, Any] | None, own: bool) -> dict[str, Any]:
    source: Mapping[str, Any] = (
        target.__dict__ if own else {"__annotations__": getattr(target, "__annotations__", 0)}
    )
    raw: dict[str, Any] = dict(source.get("__annotations__") or {})
    if not any(isinstance(v, str) or _is_quoted_within(v) for v in raw.values()):
        return raw
    import sys

    scope = dict(vars(sys.modules.get(target.__module__, typing)))
    scope.update(getattr(target, "__globals__", {}) or {})
    closure = getattr(target, "__closure__", None)
    if closure:
        for name, cell in zip(target.__code__.co_freevars, closure, strict=True):
            try:
                scope[name] = cell.cell_contents
            except ValueError:
                continue
    scope.update(local or {})
    frame: _pytypes.FrameType | None = sys._getframe(2)
    while frame is not None:  # names of an enclosing function that are only used in annotations
        for name, value in frame.f_locals.items():
            scope.setdefault(name, value)
        frame = frame.f_back
    result = {}
    for name, value in raw.items():
        try:
            result[name] = _unquoted(value, scope)
        except Exception as problem:
            raise ParseError(
                f"the annotation {value!r} of {name!r} cannot be read: {problem}"
            ) from problem
    return result


def _is_quoted_within(tp: Any) -> bool:
    """Is a name in quotes part of an annotation, as in `Optional["Node"]`?"""
    if isinstance(tp, TsMeta) or get_origin(tp) in _NOT_TYPES:
        return False
    return any(
        isinstance(arg, (str, typing.ForwardRef)) or _is_quoted_within(arg) for arg in get_args(tp)
    )


def _unquoted(tp: Any, scope: dict[str, Any]) -> Any:
    """An annotation with the names in quotes, in it or around it, looked up."""
    while isinstance(tp, (str, typing.ForwardRef)):  # twice, where quotes meet postponed evaluation
        tp = eval(tp if isinstance(tp, str) else tp.__forward_arg__, scope)
    if not _is_quoted_within(tp):
        return tp
    args = tuple(_unquoted(arg, scope) for arg in get_args(tp))
    origin = get_origin(tp)
    return typing.Union[args] if origin in _UNIONS else origin[args]  # made here


_UNIONS = (typing.Union, _pytypes.UnionType)
_NOT_TYPES = (typing.Literal, typing.Annotated)  # what stands in their brackets are values


def make_schema(items: Mapping[str, Any], name: str = "Schema", scalar_type: Any = None) -> Any:
    """A bundle schema from fields."""
    made: Any = type(name, (TimeSeriesSchema,), {"__made_fields__": dict(items)})
    made.__scalar_type__ = scalar_type
    return made


def ts_schema(**items: Any) -> Any:
    """A bundle schema without a name: `ts_schema(a=TS[int], b=TS[str])`."""
    return make_schema({n: parse_ts(tp, n) for n, tp in items.items()}, "ts_schema")


def compound_scalar(**items: Any) -> Any:
    """A compound scalar without a name: `compound_scalar(a=int, b=str)`."""
    import dataclasses

    return dataclasses.make_dataclass(
        "compound_scalar",
        [(n, tp, dataclasses.field(default=None)) for n, tp in items.items()],
        bases=(CompoundScalar,),
        frozen=True,
    )


_scalar_fields: dict[Any, dict[str, Any]] = {}


def scalar_fields(scalar: Any) -> dict[str, Any]:
    """The fields of a compound scalar or other dataclass with their types; none for the rest.

    A generic class may come with its arguments, and a field may be of its own class or of one
    that is declared later.
    """
    origin = get_origin(scalar)
    if isinstance(origin, type):
        bindings = dict(zip(getattr(origin, "__parameters__", ()), get_args(scalar), strict=False))
        return {
            name: scalar if tp is origin else substitute(tp, bindings)
            for name, tp in scalar_fields(origin).items()
        }
    if not isinstance(scalar, type):
        return {}
    if not (is_dataclass(scalar) or issubclass(scalar, CompoundScalar)):
        return {}
    found = _scalar_fields.get(scalar)
    if found is None:
        hints: dict[str, Any] = {}
        for base in reversed(scalar.__mro__):
            if base.__module__ not in ("builtins", "typing") and base is not CompoundScalar:
                hints.update(resolve_hints(base, own=True))
        if is_dataclass(scalar):
            hints = {field.name: hints.get(field.name, object) for field in fields(scalar)}
        found = _scalar_fields[scalar] = {
            name: tp for name, tp in hints.items() if get_origin(tp) is not typing.ClassVar
        }
    return found


_scalar_schemas: dict[Any, Any] = {}


def schema_of_scalar(scalar: Any) -> Any:
    """The bundle schema that has the fields of a compound scalar (or any dataclass)."""
    made = _scalar_schemas.get(scalar)
    if made is None:
        items = {name: TSm(_scalar(tp)) for name, tp in scalar_fields(scalar).items()}
        made = make_schema(items, type_name(scalar), _BundleValue(scalar))
        made.__compound__ = scalar
        _scalar_schemas[scalar] = made
    return made


class _BundleValue:
    """Builds the value of a bundle over a compound scalar; what is not there yet is None."""

    def __init__(self, scalar: Any) -> None:
        self.scalar = get_origin(scalar) or scalar

    def __call__(self, **values: Any) -> Any:
        try:
            return self.scalar(**values)
        except TypeError:
            made = self.scalar.__new__(self.scalar)
            for name, value in values.items():
                object.__setattr__(made, name, value)
            return made


# --- what users subscript ----------------------------------------------------------------------


class TS:
    """`TS[int]`: one value over time."""

    def __class_getitem__(cls, item: Any) -> Any:
        return _intern(TSm, (_scalar(item),))


class TSS:
    """`TSS[str]`: a set over time."""

    def __class_getitem__(cls, item: Any) -> Any:
        return _intern(TSSm, (_scalar(item),))

    @staticmethod
    def from_ts(*args: Any, **kwargs: Any) -> Any:
        from mainspring.graph._wiring import tss_from_ts

        return tss_from_ts(*args, **kwargs)


class _Structure:
    """What TSL, TSB and TSD subscripts can do besides being types: `TSL.from_ts(a, b)`."""


class TSL(_Structure):
    """`TSL[TS[int], Size[3]]`: time series side by side."""

    def __class_getitem__(cls, item: Any) -> Any:
        element, size = item if isinstance(item, tuple) else (item, Size)
        if isinstance(size, int):
            size = Size[size]
        return _intern(TSLm, (parse_ts(element, "TSL"), size))

    @staticmethod
    def from_ts(*args: Any, tp: Any = None, element_type: Any = None) -> Any:
        from mainspring.graph._wiring import tsl_from_ts

        return tsl_from_ts(*args, tp=tp, element_type=element_type)


class TSB(_Structure):
    """`TSB[Schema]`: named time series side by side."""

    def __class_getitem__(cls, item: Any) -> Any:
        return _bundle(item)

    @staticmethod
    def from_ts(*args: Any, **kwargs: Any) -> Any:
        from mainspring.graph._wiring import tsb_from_ts

        return tsb_from_ts(None, *args, **kwargs)


def _bundle(item: Any) -> TSBm:
    """The bundle of a schema, a dataclass, a variable for one, or fields that are given."""
    if isinstance(item, tuple) and all(isinstance(i, slice) for i in item):
        item = make_schema({s.start: parse_ts(s.stop, s.start) for s in item}, "un_named")
    elif isinstance(item, slice):
        item = make_schema({item.start: parse_ts(item.stop, item.start)}, "un_named")
    elif isinstance(item, Mapping):
        item = make_schema({n: parse_ts(t, n) for n, t in item.items()}, "un_named")
    elif isinstance(item, type) and issubclass(item, CompoundScalar):
        item = schema_of_scalar(item)
    elif isinstance(item, TypeVar) or (
        isinstance(item, type) and issubclass(item, TimeSeriesSchema)
    ):
        pass
    elif isinstance(item, type) and is_dataclass(item):
        item = schema_of_scalar(item)
    else:
        origin = get_origin(item)
        if isinstance(origin, type) and issubclass(origin, TimeSeriesSchema):
            item = _parametrised(origin, get_args(item))
        elif isinstance(origin, type) and (
            issubclass(origin, CompoundScalar) or is_dataclass(origin)
        ):
            item = schema_of_scalar(item)
        else:
            raise ParseError(
                f"TSB[{type_name(item)}] is no bundle",
                hint="give a subclass of TimeSeriesSchema, or fields: TSB['a': TS[int]]",
            )
    return TSBm(item)


class TSD(_Structure):
    """`TSD[str, TS[float]]`: a time series for each key."""

    def __class_getitem__(cls, item: Any) -> Any:
        if not isinstance(item, tuple) or len(item) != 2:
            raise ParseError("TSD takes a type of key and a time series: TSD[str, TS[int]]")
        return _intern(TSDm, (_scalar(item[0]), parse_ts(item[1], "TSD")))

    @staticmethod
    def from_ts(*args: Any, **kwargs: Any) -> Any:
        from mainspring.graph._wiring import tsd_from_ts

        return tsd_from_ts(None, args[0] if args else kwargs)


class TSW:
    """`TSW[float, WindowSize[10], WindowSize[5]]`: the last values."""

    def __class_getitem__(cls, item: Any) -> Any:
        items = item if isinstance(item, tuple) else (item, WINDOW_SIZE, WINDOW_SIZE_MIN)
        scalar, size, *rest = items
        if isinstance(size, (int, _dt.timedelta)):
            size = WindowSize[size]
        if rest:
            least = rest[0]
            if isinstance(least, (int, _dt.timedelta)):
                least = WindowSize[least]
        elif isinstance(size, TypeVar):
            least = WINDOW_SIZE_MIN
        else:
            least = size  # valid as a whole once it is full
        return _intern(TSWm, (_scalar(scalar), size, least))


class REF:
    """`REF[TS[int]]`: a way to a time series, as a value."""

    def __class_getitem__(cls, item: Any) -> Any:
        return _intern(REFm, (parse_ts(item, "REF"),))


SIGNAL = SIGNALm()


class CONTEXT:
    """`CONTEXT[TS[int]]`: an input taken from the enclosing `with` of a port.

    `CONTEXT[Settings]`, with a scalar class, takes a `TS` of it or the bundle of its fields.
    """

    def __class_getitem__(cls, item: Any) -> Any:
        if isinstance(item, type) and not issubclass(item, (TimeSeries, TS, TSS, TSD, TSL, TSB)):
            item = TSm(item)
        return ContextMark(parse_ts(item, "CONTEXT"))


@dataclass(frozen=True)
class ContextMark:
    """A CONTEXT annotation."""

    type: Any


class DEFAULT:
    """`DEFAULT[OUT]` marks what a bare `[...]` resolves; bare it is the last case of `switch_`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return DefaultMark(item)


@dataclass(frozen=True)
class DefaultMark:
    """A DEFAULT annotation."""

    type: Any


class _AutoResolve:
    def __repr__(self) -> str:
        return "AUTO_RESOLVE"


#: The default of a `type[...]` parameter: wiring fills in the resolved type.
AUTO_RESOLVE: Any = _AutoResolve()

_interned: dict[Any, TsMeta] = {}


def _intern(cls: Any, args: tuple[Any, ...]) -> TsMeta:
    try:
        found = _interned.get((cls, args))
        if found is None:
            found = _interned[(cls, args)] = cls(*args)
        return found
    except TypeError:
        made: TsMeta = cls(*args)
        return made


# --- type variables ----------------------------------------------------------------------------

K = TypeVar("K", bound=Hashable)
K_1 = TypeVar("K_1", bound=Hashable)
K_2 = TypeVar("K_2", bound=Hashable)
V = TypeVar("V", bound=TimeSeries)
V_1 = TypeVar("V_1", bound=TimeSeries)
V_2 = TypeVar("V_2", bound=TimeSeries)
SCALAR = TypeVar("SCALAR")
SCALAR_1 = TypeVar("SCALAR_1")
SCALAR_2 = TypeVar("SCALAR_2")
KEYABLE_SCALAR = TypeVar("KEYABLE_SCALAR", bound=Hashable)
NUMBER = TypeVar("NUMBER", int, float, Decimal)
NUMBER_2 = TypeVar("NUMBER_2", int, float, Decimal)
ENUM = TypeVar("ENUM", bound=enum.Enum)
COMPOUND_SCALAR = TypeVar("COMPOUND_SCALAR", bound=CompoundScalar)
COMPOUND_SCALAR_1 = TypeVar("COMPOUND_SCALAR_1", bound=CompoundScalar)
TIME_SERIES_TYPE = TypeVar("TIME_SERIES_TYPE", bound=TimeSeries)
TIME_SERIES_TYPE_1 = TypeVar("TIME_SERIES_TYPE_1", bound=TimeSeries)
TIME_SERIES_TYPE_2 = TypeVar("TIME_SERIES_TYPE_2", bound=TimeSeries)
OUT = TypeVar("OUT", bound=TimeSeries)
OUT_1 = TypeVar("OUT_1", bound=TimeSeries)
SIZE = TypeVar("SIZE", bound=Size)
SIZE_1 = TypeVar("SIZE_1", bound=Size)
WINDOW_SIZE = TypeVar("WINDOW_SIZE", bound=WindowSize)
WINDOW_SIZE_MIN = TypeVar("WINDOW_SIZE_MIN", bound=WindowSize)
TS_SCHEMA = TypeVar("TS_SCHEMA", bound=TimeSeriesSchema)
TS_SCHEMA_1 = TypeVar("TS_SCHEMA_1", bound=TimeSeriesSchema)
SCHEMA = TypeVar("SCHEMA", bound=CompoundScalar)
DATA_FRAME = "mainspring.frame"


# `TS[V]` is the value of a dictionary as often as `V` is.
_EITHER = frozenset({V, V_1, V_2})


def is_ts_variable(tp: Any) -> bool:
    """Does a type variable stand for a whole time series?"""
    if not isinstance(tp, TypeVar):
        return False
    bound = tp.__bound__
    if bound is not None:
        return (
            bound is TimeSeries
            or isinstance(bound, TsMeta)
            or (
                isinstance(bound, type)
                and issubclass(bound, (TimeSeries, TS, TSS, TSD, TSL, TSB, REF))
            )
        )
    return bool(tp.__constraints__) and all(isinstance(c, TsMeta) for c in tp.__constraints__)


def is_ts(tp: Any) -> bool:
    """Is this a time-series type (or a variable for one)?"""
    return isinstance(tp, TsMeta) or is_ts_variable(tp)


def parse_ts(tp: Any, where: str) -> Any:
    """A time-series type from an annotation, or an error that says where."""
    tp = unaliased(tp)
    if is_ts(tp):
        return tp
    if tp is TimeSeries:
        return TIME_SERIES_TYPE
    bare = {TS: "TS[int]", TSS: "TSS[int]", TSD: "TSD[str, TS[int]]", TSL: "TSL[TS[int], Size[2]]"}
    try:
        example = bare.get(tp)
    except TypeError:
        example = None
    if example:
        raise ParseError(f"{where}: {tp.__name__} needs its types", hint=f"for example {example}")
    raise ParseError(
        f"{where}: {type_name(tp)} is no time series", hint=f"did you mean TS[{type_name(tp)}]?"
    )


def _scalar(tp: Any) -> Any:
    """A scalar type from an annotation, in the one form types are compared in."""
    tp = _some(unaliased(tp))
    if isinstance(tp, type) and issubclass(tp, CompoundScalar):
        _complete(tp)
    if isinstance(tp, TsMeta):
        raise ParseError(f"{tp!r} is a time series, a scalar type is needed here")
    if isinstance(tp, TypeVar):
        if is_ts_variable(tp) and tp not in _EITHER:
            raise ParseError(f"{tp.__name__} stands for a time series, a scalar is needed here")
        return tp
    if tp is typing.Any:
        return object
    origin = get_origin(tp)
    kind = (
        Mapping if _is_mapping(origin)
        else frozenset if origin in _SETS
        else origin if origin in (tuple, list)
        else None
    )  # fmt: skip
    inner = get_args(tp)
    if not inner:
        return origin or tp  # `typing.Callable` is `collections.abc.Callable`
    if kind is None:
        return tp
    return kind[tuple(a if a is Ellipsis or _some(a) is not a else _scalar(a) for a in inner)]


def _some(tp: Any) -> Any:
    """`int | None` as `int`: a time series that has nothing to say does not tick."""
    if get_origin(tp) not in _UNIONS:
        return tp
    rest = [option for option in get_args(tp) if option is not type(None)]
    return rest[0] if len(rest) == 1 else tp


def _complete(tp: type[CompoundScalar]) -> None:
    """Make a compound scalar that only annotates its fields the dataclass it stands for."""
    own = tp.__dict__
    if tp is CompoundScalar or "__dataclass_fields__" in own or not own.get("__annotations__"):
        return
    for base in tp.__bases__:
        if issubclass(base, CompoundScalar):
            _complete(base)
    inherited = getattr(tp, "__dataclass_params__", None)
    dataclass(frozen=inherited is not None and inherited.frozen)(tp)


_SETS = (set, frozenset, collections.abc.Set)


def _is_mapping(tp: Any) -> bool:
    """Is this one of the ways to write a mapping? `frozendict` is the package's, where it is there."""
    return tp in (dict, Mapping) or getattr(tp, "__name__", "") == "frozendict"


# --- putting in what variables stand for -------------------------------------------------------

Bindings = dict[TypeVar, Any]


def substitute(tp: Any, bindings: Mapping[TypeVar, Any]) -> Any:
    """`tp` with the variables that are bound put in."""
    if isinstance(tp, TypeVar):
        return bindings.get(tp, tp)
    if isinstance(tp, TsMeta):
        return tp if tp.is_resolved() else tp.rebuild(lambda arg: substitute(arg, bindings))
    args = get_args(tp)
    if args and get_origin(tp) is not None:
        changed = tuple(substitute(arg, bindings) for arg in args)
        if changed == args:
            return tp
        origin = get_origin(tp)
        if origin is type:
            return type[changed[0]]
        try:
            return origin[changed]
        except TypeError:
            return tp
    return tp


def resolve_type_alias(tp: Any) -> Any:
    """A type alias as the type it stands for."""
    return getattr(tp, "__value__", tp)


__all__ = [name for name in dir() if not name.startswith("_")]
