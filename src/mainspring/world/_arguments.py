"""What goes into a skill and comes out of it: plain data at the border, types inside.

Arguments arrive from programs, sockets and language models alike. `plain` turns what a Python
caller may hand over (handles, NumPy values, structs) into data that the log can keep; a
`Signature` checks data against a function's annotations and gives the JSON Schema of them.
"""

from __future__ import annotations

import copy
import inspect
import typing
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from mainspring import state
from mainspring._kernel.log import copy_plain
from mainspring.errors import StateError
from mainspring.world._entity import Entity
from mainspring.world._errors import SkillError

__all__ = ["Signature", "plain"]

_SIMPLE = (str, int, float, bool, bytes, type(None))


def plain(value: Any, owner: str) -> Any:
    """`value` as data that `mainspring.state` encodes, a copy; an entity becomes its id."""
    copied = copy_plain(value)
    return _plain(value, owner) if copied is NotImplemented else copied


def _plain(value: Any, owner: str) -> Any:
    """The same for what holds more than numbers and text, and with the path for an error."""
    kind = type(value)
    if kind in _SIMPLE:
        return value
    if kind is dict:
        return {key: _plain(item, f"{owner}[{key!r}]") for key, item in value.items()}
    if kind is list or kind is tuple:
        return kind(_plain(item, f"{owner}[{i}]") for i, item in enumerate(value))
    if kind is Entity:
        return value.id
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise StateError(f"{owner} is an array of Python objects, which cannot be kept")
        return value.tolist()
    if isinstance(value, msgspec.Struct):
        return _plain(msgspec.structs.asdict(value), owner)
    state.encode(value, owner)  # raises, with the path, what cannot be kept
    return value


class Signature:
    """The parameters of a skill, checked by `msgspec` as their annotations say."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        given: tuple[type, ...],
        scope: dict[str, Any],
    ) -> None:
        self._name = name
        self.given: dict[str, type] = {}
        """The parameters that are given rather than asked for, and the type of each."""
        hints = self._hints(function, given, scope)
        fields: list[Any] = []
        for parameter in inspect.signature(function).parameters.values():
            field = self._field(parameter, hints, given)
            if field is not None:
                fields.append(field)
        try:
            self._kind = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
            self.schema = self._schema()
        except TypeError as error:
            raise SkillError(
                f"skill {name!r} has a parameter that cannot be checked: {error}",
                hint="annotate with types that msgspec knows, Entity, or numpy arrays",
            ) from error

    def _hints(
        self, function: Callable[..., Any], given: tuple[type, ...], scope: dict[str, Any]
    ) -> dict[str, Any]:
        known = {**{kind.__name__: kind for kind in (Entity, *given)}, **scope}
        try:
            return typing.get_type_hints(function, localns=known, include_extras=True)
        except NameError as error:
            raise SkillError(
                f"skill {self._name!r} has an annotation that cannot be found: {error}",
                hint="import the type, or define it before the skill",
            ) from error

    def _field(
        self, parameter: inspect.Parameter, hints: dict[str, Any], given: tuple[type, ...]
    ) -> Any | None:
        where = f"parameter {parameter.name!r} of skill {self._name!r}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise SkillError(f"{where} takes anything", hint="name and annotate each argument")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise SkillError(f"{where} is positional only; arguments come by name")
        if parameter.name not in hints and parameter.name in ("context", "ctx"):
            hints[parameter.name] = given[0]  # needs no annotation: it is no argument
        if parameter.name not in hints:
            raise SkillError(
                f"{where} has no annotation",
                hint=f"write {parameter.name}: float, or whatever it takes",
            )
        hint = hints[parameter.name]
        if hint in given:
            self.given[parameter.name] = hint
            return None
        if parameter.default is parameter.empty:
            return (parameter.name, hint)
        default = parameter.default
        if default is None or isinstance(default, _SIMPLE):
            return (parameter.name, hint, default)
        return (
            parameter.name,
            hint,
            msgspec.field(default_factory=lambda: copy.deepcopy(default)),
        )

    def _schema(self) -> dict[str, Any]:
        (_,), components = msgspec.json.schema_components(
            (self._kind,), schema_hook=_schema_of, ref_template="#/$defs/{name}"
        )
        schema = dict(components.pop(self._name))
        if components:
            schema["$defs"] = dict(components)
        return schema

    def check(self, arguments: Any, resolve: Callable[[str], Entity | None]) -> dict[str, Any]:
        """The arguments as the function takes them; `msgspec.ValidationError` if they do not fit."""

        def hook(kind: type, value: Any) -> Any:
            return _value_of(kind, value, resolve)

        given = msgspec.convert(arguments, self._kind, dec_hook=hook)
        return msgspec.structs.asdict(given)


def _is_array(kind: Any) -> bool:
    return (typing.get_origin(kind) or kind) is np.ndarray


def _schema_of(kind: type) -> dict[str, Any]:
    if kind is Entity:
        return {
            "type": "string",
            "pattern": "^ent_[1-9][0-9]*$",
            "description": "The id of a living entity.",
        }
    if _is_array(kind):
        return {"type": "array"}
    raise NotImplementedError


def _value_of(kind: type, value: Any, resolve: Callable[[str], Entity | None]) -> Any:
    if kind is Entity:
        entity = resolve(value) if isinstance(value, str) else None
        if entity is None:
            raise ValueError(f"{value!r} is not the id of a living entity")
        return entity
    if _is_array(kind):
        return np.array(value, dtype=_dtype_of(kind))
    raise TypeError(f"Expected `{kind}`, got `{type(value).__name__}`")


def _dtype_of(kind: Any) -> Any:
    """The dtype in `NDArray[np.float32]`; doubles for a bare `np.ndarray`."""
    arguments = typing.get_args(kind)
    if len(arguments) == 2:
        for scalar in typing.get_args(arguments[1]):
            if isinstance(scalar, type) and issubclass(scalar, np.generic):
                return np.dtype(scalar)
    return np.dtype(np.float64)
