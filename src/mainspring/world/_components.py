"""Components: what entities have.

A **numeric** component is a NumPy column with a row for each entity; a **structured** one is a
`msgspec.Struct` for each entity that has it. `position`, `rotation`, `velocity` and `scale`
are there from the start and every entity has them. Others are declared, before or while the
world is in use, and an entity has one when it was given it: `presence` is a column of
booleans, and a row of an entity without the component holds the default.

| from the start | shape | default | meaning |
| --- | --- | --- | --- |
| position | 3 | 0, 0, 0 | metres |
| rotation | 4 | 1, 0, 0, 0 | unit quaternion, the real part first |
| velocity | 3 | 0, 0, 0 | metres a second |
| scale | 3 | 1, 1, 1 | factors |
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from keyword import iskeyword
from operator import index
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mainspring.errors import StateError, nearest
from mainspring.world._errors import ComponentError, WorldError
from mainspring.world._memory import Rows
from mainspring.world._structs import StructCodec
from mainspring.world._table import EntityTable, entity_id

__all__ = ["Column", "Components", "Structs", "component_name", "saved_values"]

BASE = {
    "position": ((3,), (0.0, 0.0, 0.0)),
    "rotation": ((4,), (1.0, 0.0, 0.0, 0.0)),
    "velocity": ((3,), (0.0, 0.0, 0.0)),
    "scale": ((3,), (1.0, 1.0, 1.0)),
}


def component_name(kind: type) -> str:
    """The name of a structured component unless it is given one: `ToolBelt` is `tool_belt`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


class _Component:
    """What both kinds share: a name and who has it."""

    def __init__(self, table: EntityTable, name: str, *, everyone: bool) -> None:
        self.name = name
        self.everyone = everyone
        self._table = table
        self._presence: Rows | None = None
        if not everyone:
            self._presence = Rows(np.dtype(np.bool_), (), table.entities_max, False)
            table.attach(self._presence)

    def has(self, row: int) -> bool:
        return self._presence is None or bool(self._presence.full[row])

    def presence(self) -> NDArray[np.bool_]:
        """For each row, whether its entity has the component; not to be written."""
        self._table.close_up()
        if self._presence is None:
            return np.ones(len(self._table), dtype=np.bool_)
        present: NDArray[np.bool_] = self._presence.view(len(self._table))
        present.flags.writeable = False
        return present

    def _set_presence(self, rows: Any, present: Any) -> None:
        if self._presence is None:
            return
        full = self._presence.full
        journal = self._table.journal
        if journal is not None:
            old, presence = full[rows].copy(), self._presence
            journal.record(lambda: presence.full.__setitem__(rows, old))
        full[rows] = present

    def _save_presence(self) -> NDArray[np.bool_] | None:
        if self._presence is None:
            return None
        return self._presence.view(len(self._table)).copy()


class Column(_Component):
    """A numeric component."""

    def __init__(
        self,
        table: EntityTable,
        name: str,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        default: Any,
        *,
        everyone: bool,
    ) -> None:
        self.rows = Rows(dtype, shape, table.entities_max, default)
        self.default = default
        table.attach(self.rows)
        super().__init__(table, name, everyone=everyone)

    def array(self) -> NDArray[Any]:
        """The column itself: a row for each living entity, in creation order, open to writing."""
        table = self._table
        table.close_up()
        if table.journal is not None:
            self.record_all()
        return self.rows.full[: len(table)]

    def at(self, row: int) -> Any:
        """One row: an array that writes through, or for a plain number its value."""
        self._touch(row)
        return self.rows.full[row]

    def set_at(self, row: int, value: ArrayLike) -> None:
        self._touch(row)
        try:
            self.rows.full[row] = _exact(value, self.rows.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise ComponentError(
                f"{self._table.id_at(row)}.{self.name} cannot be set to {value!r}: {error}",
                hint=f"it takes {self.describe()}",
            ) from error
        self._set_presence(row, True)

    def write(self, rows: Any, values: ArrayLike) -> None:
        """Sets many rows at once; `values` is one for each, or one for all."""
        table = self._table
        if table.journal is not None:
            self.record_all()
        try:
            self.rows.full[rows] = _exact(values, self.rows.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise ComponentError(
                f"{self.name} of {len(self.rows.full[rows])} entities cannot be set: {error}",
                hint=f"it takes {self.describe()} for each, or one for all",
            ) from error
        self._set_presence(rows, True)

    def remove_at(self, row: int) -> None:
        if self.everyone:
            raise ComponentError(f"every entity has a {self.name}; it cannot be removed")
        self._touch(row)
        self.rows.full[row] = self.default
        self._set_presence(row, False)

    def describe(self) -> str:
        shape = "x".join(map(str, self.rows.shape))
        return f"{shape} {self.rows.dtype}" if shape else f"a {self.rows.dtype}"

    def record_all(self) -> None:
        """The whole column is written down, unless it is already."""
        journal = self._table.journal
        if journal is not None and journal.first_touch(self.name):
            rows = self.rows
            old = rows.full[: self._table.rows].copy()
            journal.record(lambda: rows.full.__setitem__(slice(len(old)), old))

    def _touch(self, row: int) -> None:
        journal = self._table.journal
        if (
            journal is not None
            and self.name not in journal.touched
            and journal.first_touch((self.name, row))
        ):
            rows, old = self.rows, self.rows.full[row].copy()
            journal.record(lambda: rows.full.__setitem__(row, old))

    def save(self) -> dict[str, Any]:
        # As bytes, not as an array: of all that is saved a column is the largest, and bytes are
        # copied into the encoded state once where an array is copied three times.
        dtype = self.rows.dtype
        return {
            "kind": "column",
            "present": self._save_presence(),
            "dtype": dtype.str if dtype.names is None else dtype.descr,
            "shape": list(self.rows.shape),
            "data": self.rows.full[: len(self._table)].tobytes(),
        }

    def check(self, state: dict[str, Any], count: int) -> None:
        try:
            values = saved_values(state)
        except (TypeError, ValueError) as error:
            raise ComponentError(f"the saved {self.name} cannot be read: {error}") from error
        expected = (count, *self.rows.shape)
        if values.shape != expected or values.dtype != self.rows.dtype:
            raise ComponentError(
                f"the saved {self.name} is {values.dtype}{values.shape}, "
                f"the world's is {self.rows.dtype}{expected}",
                hint="the component was declared otherwise when the state was saved",
            )

    def apply(self, state: dict[str, Any] | None, count: int, *, same_rows: bool) -> None:
        if state is None:
            self.rows.replace(self.rows.full[:0], same_rows=same_rows)
            self.rows.clear(0, count)
        else:
            self.rows.replace(saved_values(state), same_rows=same_rows)
        _apply_presence(self._presence, state, count, same_rows=same_rows)


class Structs(_Component):
    """A structured component."""

    def __init__(self, table: EntityTable, name: str, kind: type[msgspec.Struct]) -> None:
        super().__init__(table, name, everyone=False)
        self.kind = kind
        self.codec = StructCodec(kind, f"component {name!r}")
        self._values: dict[int, msgspec.Struct] = {}
        table.on_destroy(self._forget)

    def get(self, number: int) -> msgspec.Struct | None:
        value = self._values.get(number)
        if value is not None:
            self._touch(number, value)
        return value

    def set_at(self, row: int, value: Any) -> None:
        number = self._table.number_at(row)
        if type(value) is not self.kind:
            raise ComponentError(
                f"{entity_id(number)}.{self.name} cannot be set to {value!r}",
                hint=f"it takes a {self.kind.__name__}",
            )
        self._record_entry(number)
        self._values[number] = value
        self._set_presence(row, True)

    def remove_at(self, row: int) -> None:
        number = self._table.number_at(row)
        self._record_entry(number)
        self._values.pop(number, None)
        self._set_presence(row, False)

    def _forget(self, number: int) -> None:
        if number in self._values:
            self._record_entry(number)
            del self._values[number]

    def _record_entry(self, number: int) -> None:
        journal = self._table.journal
        if journal is None:
            return
        values, old = self._values, self._values.get(number)
        if old is None:
            journal.record(lambda: values.__delitem__(number))
        else:
            self._touch(number, old)
            journal.record(lambda: values.__setitem__(number, old))

    def _touch(self, number: int, value: msgspec.Struct) -> None:
        """Before a struct is handed out during a call, its fields are written down."""
        journal = self._table.journal
        if journal is None or not journal.first_touch((self.name, "struct", id(value))):
            return
        before = copy.deepcopy(value)
        values = self._values

        def undo() -> None:
            if type(value).__struct_config__.frozen:
                values[number] = before
                return
            for field in type(value).__struct_fields__:
                setattr(value, field, getattr(before, field))

        journal.record(undo)

    def items(self) -> Iterator[tuple[int, msgspec.Struct]]:
        """Numbers and values, in creation order."""
        for number in self._table.numbers[self.presence()].tolist():
            value = self.get(number)
            assert value is not None
            yield number, value

    def save(self) -> dict[str, Any]:
        present = self.presence()
        values = [self._values[number] for number in self._table.numbers[present].tolist()]
        return {
            "kind": "struct",
            "type": f"{self.kind.__module__}:{self.kind.__qualname__}",
            "present": present.copy(),
            "quick": self.codec.quick,
            "data": self.codec.encode(values),
        }

    def check(self, state: dict[str, Any], count: int) -> list[msgspec.Struct]:
        values = self.codec.decode(state["data"], quick=state["quick"])
        if len(state["present"]) != count or len(values) != int(state["present"].sum()):
            raise ComponentError(f"the saved {self.name} does not fit the saved entities")
        return values

    def apply(
        self,
        state: dict[str, Any] | None,
        count: int,
        *,
        values: list[msgspec.Struct],
        same_rows: bool,
    ) -> None:
        _apply_presence(self._presence, state, count, same_rows=same_rows)
        numbers = [] if state is None else self._table.numbers[state["present"]].tolist()
        self._values.clear()
        self._values.update(zip(numbers, values, strict=True))


def _exact(value: ArrayLike, dtype: np.dtype[Any]) -> ArrayLike:
    """`value`, unless NumPy would cut it to fit among integers or booleans."""
    if dtype.kind in "iub":
        values = np.asarray(value)
        given = values.dtype.kind if values.size else dtype.kind
        if given not in "iub" or (dtype.kind == "b" and given != "b"):
            raise TypeError(f"it holds {dtype} values")
    return value


def _padded(dtype: np.dtype[Any]) -> bool:
    """Whether values of this type leave some of their bytes unused."""
    if dtype.subdtype is not None:
        return _padded(dtype.subdtype[0])
    if dtype.fields is None:
        return dtype.char in "gG"  # 80 bits in 128, on most machines
    parts = [field[0] for field in dtype.fields.values()]
    return sum(p.itemsize for p in parts) != dtype.itemsize or any(map(_padded, parts))


def saved_values(state: dict[str, Any]) -> NDArray[Any]:
    """The values of a saved column, a row each; not to be written."""
    values: NDArray[Any] = np.frombuffer(state["data"], dtype=np.dtype(state["dtype"]))
    return values.reshape(-1, *state["shape"])


def _apply_presence(
    presence: Rows | None, state: dict[str, Any] | None, count: int, *, same_rows: bool
) -> None:
    if presence is None:
        return
    if state is None or state["present"] is None:
        presence.replace(presence.full[:0], same_rows=same_rows)
        presence.full[:count] = state is not None
    else:
        presence.replace(state["present"], same_rows=same_rows)


class Components:
    """The components of a world by name, in the order of their declaration."""

    def __init__(self, table: EntityTable, reserved: frozenset[str]) -> None:
        self._table = table
        self._reserved = reserved
        self._by_name: dict[str, Column | Structs] = {}
        self._by_kind: dict[type, Structs] = {}
        self._columns: list[Column] = []
        for name, (shape, default) in BASE.items():
            self._add(Column(table, name, np.dtype(np.float64), shape, default, everyone=True))

    def _add(self, column: Column) -> Column:
        self._by_name[column.name] = column
        self._columns.append(column)
        return column

    def declare_column(
        self, name: str, dtype: Any, shape: int | tuple[int, ...], default: Any, *, everyone: bool
    ) -> Column:
        try:
            kind = np.dtype(dtype)
            sides = tuple(map(index, (shape,) if np.ndim(shape) == 0 else shape))  # type: ignore[arg-type]
        except TypeError as error:
            raise ComponentError(
                f"component {name!r} cannot be {dtype!r} of shape {shape!r}: {error}",
                hint="give a dtype such as np.float64, and a shape such as () or 3 or (2, 3)",
            ) from error
        if _padded(kind):
            # What lies in the padding is nobody's value: it would be hashed, and never come again.
            raise ComponentError(
                f"component {name!r} cannot be {kind}: it has bytes that hold no value",
                hint="use float64, or a structured dtype without align=True",
            )
        if kind.hasobject or kind.itemsize == 0 or any(side < 1 for side in sides):
            raise ComponentError(
                f"component {name!r} cannot be {kind} of shape {sides}",
                hint="a numeric component has a dtype of fixed size and sides from 1 up; "
                "use a msgspec.Struct for anything else",
            )
        known = self._by_name.get(name)
        if (
            isinstance(known, Column)
            and known.rows.dtype == kind
            and known.rows.shape == sides
            and known.everyone == everyone
            and np.array_equal(known.default, default)
        ):
            return known  # the same declaration twice is one declaration
        self._check_name(name)
        try:
            # Zero is the default of booleans too.
            np.zeros(sides, kind)[...] = default if kind.kind == "b" else _exact(default, kind)
        except (TypeError, ValueError, OverflowError) as error:
            raise ComponentError(
                f"component {name!r} cannot have the default {default!r}: {error}"
            ) from error
        return self._add(Column(self._table, name, kind, sides, default, everyone=everyone))

    def declare_struct(self, kind: type[msgspec.Struct], name: str | None = None) -> Structs:
        given: Any = kind
        if not (isinstance(given, type) and issubclass(given, msgspec.Struct)):
            raise ComponentError(
                f"{kind!r} cannot be a component",
                hint="declare a name with a dtype, or a msgspec.Struct class",
            )
        known = self._by_kind.get(kind)
        if known is not None and name in (None, known.name):
            return known
        name = component_name(kind) if name is None else name
        if known is not None:
            raise ComponentError(f"{kind.__name__} is declared already, as {known.name!r}")
        self._check_name(name)
        structs = Structs(self._table, name, kind)
        self._by_name[name] = self._by_kind[kind] = structs
        return structs

    def _check_name(self, name: str) -> None:
        if self._table.journal is not None:
            raise ComponentError(
                f"component {name!r} cannot be declared by a skill",
                hint="declare it where the world is set up",
            )
        usable = name.isidentifier() and not name.startswith("_") and not iskeyword(name)
        if not usable or name in self._reserved:
            raise ComponentError(
                f"{name!r} cannot name a component",
                hint="use an identifier that no attribute of an entity has",
            )
        if name in self._by_name:
            raise ComponentError(f"there is a component {name!r} already, declared otherwise")

    def __getitem__(self, key: str | type) -> Column | Structs:
        found = self._by_name.get(key) if isinstance(key, str) else self._by_kind.get(key)
        if found is None:
            name = key if isinstance(key, str) else key.__name__
            raise ComponentError(
                f"there is no component {name!r}", hint=nearest(name, self._by_name)
            )
        return found

    def column(self, name: str) -> Column:
        found = self[name]
        if isinstance(found, Column):
            return found
        raise ComponentError(
            f"component {name!r} is a struct, it has no column",
            hint="read it entity by entity: entity.get(...)",
        )

    def find(self, name: str) -> Column | Structs | None:
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def values(self) -> Iterator[Column | Structs]:
        return iter(self._by_name.values())

    def record_held(self) -> None:
        """What arrays held from before a call could change in it is written down."""
        for column in self._columns:
            if column.rows.held():
                column.record_all()

    # ---- state -------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        return {name: component.save() for name, component in self._by_name.items()}

    def check(self, state: Any, count: int) -> dict[str, list[msgspec.Struct]]:
        """Raises unless `state` can be taken over; the decoded structs by component."""
        if not isinstance(state, dict):
            raise WorldError("the saved components are not what a world saves")
        decoded: dict[str, list[msgspec.Struct]] = {}
        for name, saved in state.items():
            component = self._by_name.get(name)
            if component is None:
                raise StateError(
                    f"the saved world has a component {name!r}, this one does not",
                    hint="declare it before restoring; " + nearest(name, self._by_name),
                )
            if saved.get("kind") != ("column" if isinstance(component, Column) else "struct"):
                raise StateError(f"the saved component {name!r} is of another kind")
            present = saved["present"]
            if present is not None and len(present) != count:
                raise StateError(f"the saved component {name!r} does not fit the saved entities")
            if isinstance(component, Structs):
                decoded[name] = component.check(saved, count)
            else:
                component.check(saved, count)
        return decoded

    def apply(
        self,
        state: dict[str, Any],
        decoded: dict[str, list[msgspec.Struct]],
        count: int,
        *,
        same_rows: bool,
    ) -> None:
        for name, component in self._by_name.items():
            saved = state.get(name)
            if isinstance(component, Structs):
                component.apply(saved, count, values=decoded.get(name, []), same_rows=same_rows)
            else:
                component.apply(saved, count, same_rows=same_rows)
