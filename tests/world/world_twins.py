"""A busy world as a program, run by the twin tests in processes of their own.

    python world_twins.py SECONDS

prints the hash of the scene after each of ten slices of the run.
"""

from __future__ import annotations

import sys

import numpy as np

from mainspring import Scene, Script
from mainspring.world import Entity, SkillContext, World


class Wander(Script):
    """Everybody wanders, shies away from crowds, is born and dies."""

    def on_update(self, ts: float) -> None:
        world = self.scene.world
        dice = world.random("wander")
        position = world.column("position")
        velocity = world.column("velocity")
        crowd = world.space.radius(world.query(), 1.5)
        velocity += dice.normal(0, 1, velocity.shape) - 0.1 * crowd.counts[:, None] * velocity
        position += velocity * ts
        if dice.random() < 0.3:
            world.spawn(
                tags=sorted({"a", "b", f"k{dice.integers(3)}"}), position=dice.normal(0, 2, 3)
            )
        if dice.random() < 0.2 and len(world):
            world.destroy(world.ids[int(dice.integers(len(world)))])


def build() -> Scene:
    scene = Scene("twins", seed=11)
    world = World(scene)
    world.component("health", np.int32, default=100)
    world.spawn_many(30, tags="first", health=50)
    world.grant("*", "play")

    @world.skill(permission="play")
    def push(entity: Entity, by: tuple[float, float, float]) -> None:
        entity.velocity += by

    @world.skill(permission="play")
    def heal(context: SkillContext, tag: str, amount: int) -> int:
        found = world.query(tag, has="health")
        found.write("health", found.read("health") + amount)
        if context.random("luck").random() < 0.2:
            raise RuntimeError("bad luck")
        return len(found)

    @world.skill(permission="play", approval="judge")
    def duel(one: Entity, two: Entity) -> str:
        loser = one if world.random("coin").random() < 0.5 else two
        loser.destroy()
        return loser.id

    scene.add(Wander())
    return scene


def main() -> None:
    scene = build()
    world: World = scene.world
    for turn in range(10):
        ids = world.ids
        world.submit("ann", "push", {"entity": ids[turn % len(ids)], "by": [1, 0, 0]})
        world.submit("bob", "heal", {"tag": "first", "amount": turn})
        world.submit("cid", "duel", {"one": ids[0], "two": ids[-1]})
        if turn % 3 == 2:
            world.submit("eve", "approval.grant", {"request": f"req_{turn}"}, permissions=["judge"])
        world.submit("mal", "nothing of the kind", {"turn": turn})
        scene.advance(seconds=float(sys.argv[1]) / 10)
        print(scene.hash().hex(), len(world), world.version)


if __name__ == "__main__":
    main()
