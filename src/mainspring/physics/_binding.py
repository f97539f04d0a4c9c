"""Bodies as entities: poses and velocities go into the world's columns.

Each body of a solver is an entity with the tags `body` and the solver's name, and a `body_of`
component that says which one. The columns are written by the solver itself, straight into the
world's memory while the entities lie side by side, which they do until others between them are
destroyed. An entity that is destroyed is written no more; its body goes on in the engine.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from mainspring.clock import Phase, StepContext
from mainspring.physics._errors import PhysicsError
from mainspring.physics._sensor import find_solver
from mainspring.physics._solver import Solver
from mainspring.scene import Scene, Subsystem
from mainspring.world import Entity, World

__all__ = ["BodyOf", "PoseBinding"]


class BodyOf(msgspec.Struct, frozen=True):
    """Which body of which solver an entity shows."""

    solver: str
    body: str


class PoseBinding(Subsystem):
    """Makes an entity of each body of a solver and keeps its columns up to date.

    It writes at the end of the Physics phase of its runner: the solver's own for every step, a
    slower one where nobody looks that often. The scene's world is used, or made when there is
    none yet.
    """

    default_phase = Phase.PHYSICS
    default_priority = 1000  # after the solvers of the same instant

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        tags: tuple[str, ...] = (),
        velocity: bool = True,
        name: str | None = None,
    ) -> None:
        self.name = name or "bodies"
        self._wanted = solver
        self._tags = tuple(tags)
        self._with_velocity = velocity
        self._seen: tuple[int, int] = (-1, -1)
        self._rows: slice | None = None
        self._scattered: tuple[Any, Any] | None = None

    def attach(self, scene: Scene) -> None:
        """Finds the solver and the world, and makes the entities."""
        self.solver = solver = find_solver(scene, self._wanted, self.name)
        for other in scene.subsystems.values():
            if isinstance(other, PoseBinding) and other is not self and other.solver is solver:
                raise PhysicsError(f"solver {solver.name!r} shows its bodies in a world already")
        world = scene.parts.get("world")
        self.world = world if isinstance(world, World) else World(scene)
        if self.world.components.find("body_of") is None:
            self.world.component(BodyOf)
        count = len(solver.bodies)
        columns = self.world.components
        self._position = columns.column("position")
        self._rotation = columns.column("rotation")
        self._velocity = columns.column("velocity") if self._with_velocity else None
        self._numbers = np.zeros(count, dtype=np.int64)
        self._spin = np.empty((count, 3))
        made = self.world.spawn_many(count, tags=("body", solver.name, *self._tags))
        for row, (entity, body) in enumerate(zip(made, solver.bodies, strict=True)):
            entity.set(BodyOf(solver.name, body))
            self._numbers[row] = int(entity.id.removeprefix("ent_"))
        self.write()

    def entity(self, body: str) -> Entity:
        """The entity of a body."""
        return self.world.entity(f"ent_{self._numbers[self.solver.row(body)]}")

    def step(self, context: StepContext) -> None:
        """One step of its runner."""
        self.write()

    def write(self) -> None:
        """Write the columns now."""
        table, solver = self.world.table, self.solver
        seen = (table.version, table.layout)
        if seen != self._seen:
            self._find_rows()
            self._seen = (table.version, table.layout)
        velocity = self._velocity
        if self._rows is not None:
            at = self._rows
            solver._read_poses(self._position.array()[at], self._rotation.array()[at])
            if velocity is not None:
                solver._read_velocities(velocity.array()[at], self._spin)
        elif self._scattered is not None:
            rows, alive = self._scattered
            found, turned = solver.poses()
            self._position.array()[rows] = found[alive]
            self._rotation.array()[rows] = turned[alive]
            if velocity is not None:
                velocity.array()[rows] = solver.velocities()[0][alive]

    def _find_rows(self) -> None:
        """Where the entities stand now: side by side, or here and there."""
        numbers = self.world.table.numbers
        rows = np.searchsorted(numbers, self._numbers)
        alive = rows < len(numbers)
        alive[alive] = numbers[rows[alive]] == self._numbers[alive]
        self._rows = self._scattered = None
        if alive.all() and len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            self._rows = slice(int(rows[0]), int(rows[-1]) + 1)
        elif alive.any():
            self._scattered = (rows[alive], alive)

    def save(self) -> Any:
        """Which entities are whose; the columns are the world's."""
        return self._numbers.copy()

    def restore(self, saved: Any) -> None:
        """Leaves it as it was."""
        self._numbers = np.array(saved)
        self._seen = (-1, -1)
