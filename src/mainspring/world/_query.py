"""Many entities at once, in the order of their creation unless a query says otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mainspring.world._entity import Entity
from mainspring.world._errors import EntityError
from mainspring.world._table import entity_id

if TYPE_CHECKING:
    from mainspring.world._world import World

__all__ = ["Entities"]


class Entities(Sequence[Entity]):
    """The entities that a query found, or that were spawned together.

    It is a picture of that moment: entities that come to match later are not in it, and one
    that is destroyed later stays in it, as a handle that is not alive.
    """

    __slots__ = ("_layout", "_numbers", "_rows", "_world")

    def __init__(
        self, world: World, numbers: NDArray[np.int64], rows: NDArray[np.intp] | None = None
    ) -> None:
        self._world = world
        self._numbers = numbers
        self._rows = rows
        self._layout = world.table.layout if rows is not None else -1

    @property
    def world(self) -> World:
        """The world they live in."""
        return self._world

    @property
    def ids(self) -> list[str]:
        return [entity_id(number) for number in self._numbers.tolist()]

    @property
    def rows(self) -> NDArray[np.intp]:
        """Where they stand in the columns, now. An error when one of them is gone."""
        table = self._world.table
        numbers = table.numbers
        if self._rows is None or self._layout != table.layout:
            rows = np.searchsorted(numbers, self._numbers)
            self._rows, self._layout = rows, table.layout
        rows = self._rows
        found = numbers[np.minimum(rows, len(numbers) - 1)] if len(numbers) else numbers
        if len(found) != len(rows) or not np.array_equal(found, self._numbers):
            self._rows = None
            gone = next(e for e in self if not e.alive)
            raise EntityError(
                f"{gone.id} does not live any more", hint="query again, or use .alive()"
            )
        return rows

    def alive(self) -> Entities:
        """Those that still live."""
        return Entities(
            self._world, self._numbers[np.isin(self._numbers, self._world.table.numbers)]
        )

    def read(self, component: str) -> NDArray[Any]:
        """A copy of their part of a column. For all entities without a copy: `world.column`."""
        values: NDArray[Any] = self._world.components.column(component).rows.full[self.rows]
        return values

    def write(self, component: str, values: ArrayLike) -> None:
        """Sets a component of each: `values` has one for each, or one for all."""
        self._world.check_writer("writing a column")
        self._world.components.column(component).write(self.rows, values)

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Entity]:
        world = self._world
        # A handle with no layout finds its row at its first use.
        for number in self._numbers.tolist():
            yield Entity(world, number, 0, -1)

    @overload
    def __getitem__(self, index: int) -> Entity: ...
    @overload
    def __getitem__(self, index: slice) -> Entities: ...
    def __getitem__(self, index: int | slice) -> Entity | Entities:
        if isinstance(index, slice):
            return Entities(self._world, self._numbers[index])
        return Entity(self._world, int(self._numbers[index]), 0, -1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entities):
            return NotImplemented
        return self._world is other._world and np.array_equal(self._numbers, other._numbers)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:4]))
        more = f", ... {len(self) - 4} more" if len(self) > 4 else ""
        return f"Entities([{shown}{more}])"
