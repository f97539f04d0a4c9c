"""Who is near whom.

The promise: a query never sees an old position. Positions are written through NumPy arrays,
which tell nobody, so each query compares the column with the points of the last build, byte
by byte, and builds again if one differs. That costs a few microseconds for thousands of
entities (some two milliseconds for a million), so ask for many agents at once.

Order: `radius` lists the entities around each centre in creation order, `nearest` by distance
and, at equal distance, creation order. A distance is compared as
`dx*dx + dy*dy + dz*dz <= r*r` in doubles. An entity whose position is not finite is nowhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mainspring._kernel.space import Grid
from mainspring.world._entity import Entity
from mainspring.world._errors import SpaceError
from mainspring.world._query import Entities
from mainspring.world._table import entity_id

if TYPE_CHECKING:
    from mainspring.world._world import World

__all__ = ["Neighbors", "SpatialIndex"]

_NOBODY: NDArray[np.int32] = np.empty(0, dtype=np.int32)


class Neighbors(Sequence[Entities]):
    """What a batch of queries found: item `i` are the entities around centre `i`.

    All of it at once: `rows[offsets[i]:offsets[i + 1]]`. The rows are those of the moment of
    the query; `distances` is there for `nearest`, else None.
    """

    __slots__ = ("_numbers", "_world", "distances", "offsets", "rows")

    def __init__(
        self,
        world: World,
        numbers: NDArray[np.int64],
        offsets: NDArray[np.int64],
        rows: NDArray[np.int32],
        distances: NDArray[np.float64] | None,
    ) -> None:
        self._world = world
        self._numbers = numbers
        self.offsets = offsets
        self.rows = rows
        self.distances = distances

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many were found around each centre."""
        return np.diff(self.offsets)

    def rows_of(self, index: int) -> NDArray[np.int32]:
        return self.rows[self.offsets[index] : self.offsets[index + 1]]

    def ids(self, index: int) -> list[str]:
        return [entity_id(number) for number in self._numbers[self.rows_of(index)].tolist()]

    def distances_of(self, index: int) -> NDArray[np.float64]:
        if self.distances is None:
            raise SpaceError("a radius query gives no distances", hint="use nearest(..., within=r)")
        return self.distances[self.offsets[index] : self.offsets[index + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there were {len(self)} centres")
        return Entities(self._world, self._numbers[self.rows_of(index % len(self))])

    def __iter__(self) -> Iterator[Entities]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"Neighbors({len(self)} centres, {len(self.rows)} found)"


class SpatialIndex:
    """Radius and nearest queries over the positions of a world's entities.

    Centres are points, or entities: then each stands at its own position and does not find
    itself, unless `include_self`.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._grid = Grid()
        # Other threads may look too, and a query runs without the interpreter's lock: nobody
        # may build while another asks.
        self._lock = threading.Lock()

    @property
    def builds(self) -> int:
        """How often the grid was built."""
        builds: int = self._grid.builds
        return builds

    def radius(
        self,
        around: ArrayLike | Entity | Entities,
        radius: float | NDArray[np.float64] | Sequence[float],
        *,
        include_self: bool = False,
        among: Entities | None = None,
    ) -> Neighbors:
        """Everybody within `radius` of each centre, in creation order.

        `radius` is one number or one for each centre; `among` limits who can be found.
        """
        radii = self._radii(radius)
        with self._lock:
            grid, rows, numbers = self._grid_of(among)
            centers, skip = self._centers(around, rows, include_self)
            try:
                offsets, found = grid.radius(centers, radii, skip)
            except ValueError as error:
                raise SpaceError(str(error)) from None
        return Neighbors(
            self._world, numbers, offsets, found if rows is None else rows[found], None
        )

    def nearest(
        self,
        around: ArrayLike | Entity | Entities,
        k: int = 1,
        *,
        within: float = np.inf,
        include_self: bool = False,
        among: Entities | None = None,
    ) -> Neighbors:
        """The `k` nearest to each centre, nearest first, none farther than `within`."""
        given: Any = k
        if not isinstance(given, int | np.integer) or k < 0:
            raise SpaceError(f"k is {k!r}; it counts neighbours, from 0 up")
        farthest = self._radii(within)
        if len(farthest) != 1:
            raise SpaceError(f"within is {within!r}; it is one radius for all centres")
        with self._lock:
            grid, rows, numbers = self._grid_of(among)
            centers, skip = self._centers(around, rows, include_self)
            try:
                offsets, found, distances = grid.nearest(
                    centers, min(k, len(numbers)), float(farthest[0]), skip
                )
            except ValueError as error:
                raise SpaceError(str(error)) from None
        return Neighbors(
            self._world, numbers, offsets, found if rows is None else rows[found], distances
        )

    def _grid_of(
        self, among: Entities | None
    ) -> tuple[Grid, NDArray[np.int32] | None, NDArray[np.int64]]:
        """The grid to ask, the rows its points stand for (None: the same), and who is where."""
        world = self._world
        numbers = world.table.numbers
        points = world.base[0].rows.full[: len(numbers)]
        if among is None:
            self._grid.update(points)
            return self._grid, None, numbers
        if not isinstance(among, Entities):
            raise SpaceError(
                f"only entities can be found, not {among!r}", hint='among=world.query("crate")'
            )
        self._check_own(among)
        rows = np.unique(among.rows).astype(np.int32)
        grid = Grid()
        grid.update(np.ascontiguousarray(points[rows]))
        return grid, rows, numbers

    def _centers(
        self,
        around: ArrayLike | Entity | Entities,
        rows: NDArray[np.int32] | None,
        include_self: bool,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        if isinstance(around, Entity | Entities):
            self._check_own(around)
        if isinstance(around, Entity):
            own = np.array([around.row], dtype=np.int32)
        elif isinstance(around, Entities):
            own = around.rows.astype(np.int32)
        else:
            return self._points(around), _NOBODY
        centers = np.ascontiguousarray(self._world.base[0].rows.full[own])
        if include_self:
            return centers, _NOBODY
        if rows is None:
            return centers, own
        # In a grid over some of the entities a point's row is its place among them.
        place = np.searchsorted(rows, own)
        inside = rows[np.minimum(place, len(rows) - 1)] == own if len(rows) else own < 0
        return centers, np.where(inside, place, -1).astype(np.int32)

    def _check_own(self, entities: Entity | Entities) -> None:
        if entities.world is not self._world:
            raise SpaceError(
                f"{entities!r} live in another world", hint="ask that world's own space"
            )

    @staticmethod
    def _radii(radius: Any) -> NDArray[np.float64]:
        try:
            radii = np.ascontiguousarray(np.atleast_1d(np.asarray(radius, dtype=np.float64)))
        except (TypeError, ValueError) as error:
            raise SpaceError(f"{radius!r} is no radius: {error}") from error
        if radii.ndim != 1:
            raise SpaceError(
                f"the radii have shape {radii.shape}", hint="give one, or one for each centre"
            )
        return radii

    @staticmethod
    def _points(around: ArrayLike) -> NDArray[np.float64]:
        try:
            points = np.asarray(around, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise SpaceError(
                f"the centres are no points: {error}",
                hint="give points (x, y, z), one or many, or entities",
            ) from error
        if points.ndim == 1 and points.shape == (3,):
            points = points.reshape(1, 3)
        if points.size == 0:
            points = points.reshape(0, 3)
        if points.ndim != 2 or points.shape[1] != 3:
            raise SpaceError(
                f"the centres have shape {points.shape}",
                hint="give one point (3,) or many (n, 3)",
            )
        return np.ascontiguousarray(points)
