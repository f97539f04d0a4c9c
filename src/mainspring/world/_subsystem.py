"""A world as a subsystem, so that a scene file can bring one along."""

from __future__ import annotations

from typing import ClassVar

from mainspring.scene import Scene, Subsystem
from mainspring.world._table import ENTITIES_MAX
from mainspring.world._world import World

__all__ = ["WorldSubsystem"]


class WorldSubsystem(Subsystem):
    """Attaches a `World` to its scene as `scene.world`, and sets it up in `build`.

    Derive from it, declare components and skills and spawn the first entities in `build`, and
    name the class in the scene file:

        [[subsystem]]
        type = "yard:Yard"
    """

    # The world is a part of the scene by itself; the subsystem adds nothing to the state.
    watching: ClassVar[bool] = True

    def __init__(self, *, entities_max: int = ENTITIES_MAX) -> None:
        self.entities_max = entities_max
        self.world: World | None = None

    def attach(self, scene: Scene) -> None:
        self.world = World(scene, entities_max=self.entities_max)
        self.build(self.world)

    def build(self, world: World) -> None:
        """Sets the world up; it is empty and joined to the scene."""
