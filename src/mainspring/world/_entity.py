"""Handles: one entity, as an object.

A handle holds a number, not a row. It finds the row again after others have moved, and once
its entity is gone every use of it is an error, for ever: ids are not given again.

    >>> from mainspring.world import World
    >>> world = World()
    >>> crate = world.spawn(tags=["crate"], position=(1, 2, 3))
    >>> crate.position[2] += 0.5
    >>> crate
    <ent_1 crate at (1, 2, 3.5)>
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mainspring.errors import nearest
from mainspring.world._components import Column
from mainspring.world._errors import ComponentError, EntityError, MissingComponentError
from mainspring.world._table import entity_id

if TYPE_CHECKING:
    from mainspring.world._world import World

__all__ = ["Entity"]

_S = TypeVar("_S", bound=msgspec.Struct)


class Entity:
    """A living entity, until it is destroyed."""

    __slots__ = ("_layout", "_number", "_row", "_world")

    _layout: int
    _number: int
    _row: int
    _world: World

    def __init__(self, world: World, number: int, row: int, layout: int) -> None:
        put = object.__setattr__
        put(self, "_world", world)
        put(self, "_number", number)
        put(self, "_row", row)
        put(self, "_layout", layout)

    # ---- identity ----------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """`ent_1`, `ent_2`, ...: never given to another entity."""
        return entity_id(self._number)

    @property
    def world(self) -> World:
        return self._world

    @property
    def alive(self) -> bool:
        return self._world.table.row_of(self._number) is not None

    @property
    def row(self) -> int:
        """Where it stands in the columns; it moves up when an older entity is destroyed."""
        self._world.table.close_up()
        return self._find()

    def _find(self) -> int:
        """The row, holes before it included."""
        table = self._world.table
        if table.layout == self._layout and table.lives_at(self._row):
            return self._row
        row = table.row_of(self._number)
        if row is None:
            raise EntityError(
                f"{self.id} does not live any more",
                hint="ask entity.alive first, or look it up: world.get(id) is None when it is gone",
            )
        object.__setattr__(self, "_row", row)
        object.__setattr__(self, "_layout", table.layout)
        return row

    def destroy(self) -> bool:
        """Ends the entity; False when it was gone already."""
        return self._world.destroy(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entity):
            return NotImplemented
        return self._world is other._world and self._number == other._number

    def __hash__(self) -> int:
        return hash(self._number)

    def __lt__(self, other: Entity) -> bool:
        """Older entities come first."""
        return self._number < other._number

    def __repr__(self) -> str:
        row = self._world.table.row_of(self._number)
        if row is None:
            return f"<{self.id} gone>"
        tags = "".join(f" {tag}" for tag in self.tags)
        place = ", ".join(f"{value:.6g}" for value in self.position)
        return f"<{self.id}{tags} at ({place})>"

    # ---- tags --------------------------------------------------------------------------------

    @property
    def tags(self) -> tuple[str, ...]:
        """Sorted."""
        return self._world.table.tags_at(self._find())

    @tags.setter
    def tags(self, tags: Iterable[str]) -> None:
        self._world.check_writer("entity.tags")
        self._world.table.set_tags_at(self._find(), tags)

    def tag(self, *tags: str) -> None:
        """Adds tags."""
        self.tags = (*self.tags, *tags)

    def untag(self, *tags: str) -> None:
        """Takes tags away; those it does not have are no error."""
        self.tags = tuple(tag for tag in self.tags if tag not in tags)

    # ---- components --------------------------------------------------------------------------

    @property
    def position(self) -> NDArray[np.float64]:
        """Metres. The array is the entity's row itself: writing to it moves the entity."""
        return self._world.base[0].at(self._find())  # type: ignore[no-any-return]

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._world.base[0].set_at(self._find(), value)

    @property
    def rotation(self) -> NDArray[np.float64]:
        """A unit quaternion, the real part first; writing to the array turns the entity."""
        return self._world.base[1].at(self._find())  # type: ignore[no-any-return]

    @rotation.setter
    def rotation(self, value: ArrayLike) -> None:
        self._world.base[1].set_at(self._find(), value)

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Metres a second."""
        return self._world.base[2].at(self._find())  # type: ignore[no-any-return]

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._world.base[2].set_at(self._find(), value)

    @property
    def scale(self) -> NDArray[np.float64]:
        """Factors along the three axes."""
        return self._world.base[3].at(self._find())  # type: ignore[no-any-return]

    @scale.setter
    def scale(self, value: ArrayLike) -> None:
        self._world.base[3].set_at(self._find(), value)

    @property
    def components(self) -> tuple[str, ...]:
        """The names of the components it has, in the order of their declaration."""
        row = self._find()
        return tuple(c.name for c in self._world.components.values() if c.has(row))

    def has(self, key: str | type) -> bool:
        return self._world.components[key].has(self._find())

    __contains__ = has

    @overload
    def get(self, key: type[_S]) -> _S | None: ...
    @overload
    def get(self, key: str, default: Any = None) -> Any: ...
    def get(self, key: str | type, default: Any = None) -> Any:
        """The component, by name or struct type; the default when it has none."""
        component = self._world.components[key]
        row = self._find()
        if not component.has(row):
            return default
        return component.at(row) if isinstance(component, Column) else component.get(self._number)

    def __getitem__(self, key: str | type) -> Any:
        component = self._world.components[key]
        row = self._find()
        if not component.has(row):
            raise MissingComponentError(
                f"{self.id} has no {component.name}", hint=f"it has {', '.join(self.components)}"
            )
        return component.at(row) if isinstance(component, Column) else component.get(self._number)

    def __setitem__(self, key: str | type, value: Any) -> None:
        self._world.check_writer("setting a component")
        self._world.components[key].set_at(self._find(), value)

    def __delitem__(self, key: str | type) -> None:
        self.remove(key)

    def set(self, *structs: msgspec.Struct, **values: Any) -> None:
        """Gives it components: structs by their type, others by name."""
        for struct in structs:
            self[type(struct)] = struct
        for name, value in values.items():
            self[name] = value

    def remove(self, key: str | type) -> None:
        """Takes a component away; one it does not have is no error."""
        self._world.check_writer("removing a component")
        component, row = self._world.components[key], self._find()
        if component.has(row):
            component.remove_at(row)

    def __getattr__(self, name: str) -> Any:
        # Only for names the class does not have: the components that were declared.
        if name.startswith("_") or self._world.components.find(name) is None:
            raise AttributeError(
                f"an entity has no {name!r}; {nearest(name, self._world.components)}"
            )
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            object.__setattr__(self, name, value)
        elif self._world.components.find(name) is not None:
            self[name] = value
        else:
            raise ComponentError(
                f"there is no component {name!r}",
                hint=f"declare it first: world.component({name!r}, ...); "
                + nearest(name, self._world.components),
            )

    def __dir__(self) -> Iterator[str]:
        yield from object.__dir__(self)
        yield from self._world.components
