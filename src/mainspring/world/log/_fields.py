"""Two states compared field by field.

What comes out reads like the code that made it: `scripts/Arm.pose[2]`, or `ent_7.position[0]`
for a part that explains its state by entity (a world does).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from mainspring import state
from mainspring.world.log._states import Captured

__all__ = ["FieldDifference", "compare_states"]

_ABSENT = "<absent>"


class FieldDifference(msgspec.Struct, frozen=True):
    """One field, and what it holds on either side."""

    part: str
    """The part of the state, such as `scripts/Arm` or `world`."""
    entity: str | None
    """The entity it belongs to, where there is one."""
    field: str
    """Where in the part or entity, such as `pose[2]`."""
    a: Any
    b: Any

    @property
    def path(self) -> str:
        """The whole path."""
        if self.entity is not None:
            return f"{self.part}.{self.entity}.{self.field}"
        return f"{self.part}{'' if self.field.startswith('[') else '.'}{self.field}"

    def __str__(self) -> str:
        return f"{self.path}: {_shown(self.a)} / {_shown(self.b)}"


def compare_states(
    scene: Any, a: Captured, b: Captured, limit: int = 100
) -> tuple[FieldDifference, ...]:
    """The fields that differ, in the order of the state; at most `limit`."""
    found: list[FieldDifference] = []
    names = [*a.parts, *(name for name in b.parts if name not in a.parts)]
    for name in names:
        left, right = a.parts.get(name), b.parts.get(name)
        if left == right:
            continue
        for difference in _part(scene, name, left, right):
            if len(found) == limit:
                return tuple(found)
            found.append(difference)
    return tuple(found)


def _part(
    scene: Any, name: str, left: bytes | None, right: bytes | None
) -> Iterator[FieldDifference]:
    a = _ABSENT if left is None else state.decode(left)
    b = _ABSENT if right is None else state.decode(right)
    explain = getattr(type(scene.parts.get(name)), "explain", None)
    if explain is not None and left is not None and right is not None:
        a, b = explain(a), explain(b)
        entities_a, entities_b = a.pop("entities", {}), b.pop("entities", {})
        for id in [*entities_a, *(e for e in entities_b if e not in entities_a)]:
            one, other = entities_a.get(id, _ABSENT), entities_b.get(id, _ABSENT)
            for path, x, y in _walk("", one, other):
                yield FieldDifference(name, id, path.lstrip(".") or "exists", x, y)
    for path, x, y in _walk("", a, b):
        yield FieldDifference(name, None, path.lstrip("."), x, y)


def _walk(path: str, a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    """Every leaf in which `a` and `b` differ, by its path."""
    if type(a) is not type(b):
        yield path, a, b
    elif isinstance(a, dict):
        yield from _walk_dict(path, a, b)
    elif isinstance(a, np.ndarray):
        yield from _walk_array(path, a, b)
    elif isinstance(a, (list, tuple)) and not hasattr(a, "_fields"):
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            yield from _walk(f"{path}[{i}]", x, y)
        for i in range(len(b), len(a)):
            yield f"{path}[{i}]", a[i], _ABSENT
        for i in range(len(a), len(b)):
            yield f"{path}[{i}]", _ABSENT, b[i]
    elif fields := _field_names(a):
        for name in fields:
            yield from _walk(f"{path}.{name}", getattr(a, name), getattr(b, name))
    elif not _same(a, b):
        yield path, a, b


def _walk_dict(path: str, a: dict[Any, Any], b: dict[Any, Any]) -> Iterator[tuple[str, Any, Any]]:
    for key in [*a, *(k for k in b if k not in a)]:
        step = f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"
        yield from _walk(path + step, a.get(key, _ABSENT), b.get(key, _ABSENT))
    if list(a) != list(b) and set(a) == set(b):
        # The order of a mapping is state, too: it is what an iteration over it sees.
        yield f"{path}.<order>" if path else "<order>", list(a), list(b)


def _walk_array(
    path: str, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]
) -> Iterator[tuple[str, Any, Any]]:
    if a.dtype != b.dtype or a.shape != b.shape:
        yield path, a, b
        return
    # By bytes and not by value: NaN equals itself here, and -0.0 is not 0.0.
    width = a.dtype.itemsize
    left = np.frombuffer(a.tobytes(), dtype=np.uint8).reshape(-1, width)
    right = np.frombuffer(b.tobytes(), dtype=np.uint8).reshape(-1, width)
    for flat in np.flatnonzero((left != right).any(axis=1)).tolist():
        index = np.unravel_index(flat, a.shape)
        where = ", ".join(str(int(i)) for i in index)
        yield f"{path}[{where}]" if where else path, a[index].item(), b[index].item()


def _field_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, msgspec.Struct):
        return type(value).__struct_fields__
    return tuple(getattr(value, "__dataclass_fields__", ()))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    try:
        return bool(a == b)
    except (ValueError, TypeError):
        return state.encode(a) == state.encode(b)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) and value == _ABSENT else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
