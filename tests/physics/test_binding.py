"""Bodies as entities: the world's columns hold what the engine says, after every step."""

from __future__ import annotations

import numpy as np
import pytest
from physics_worlds import build

from mainspring import Scene
from mainspring.physics import BodyOf, PhysicsError, PoseBinding, Solver
from mainspring.world import World


def cell(engine: str) -> tuple[Scene, Solver, PoseBinding]:
    """A solver whose bodies are entities."""
    scene = Scene("cell", runners=[("Physics", 60)])
    solver = scene.add(build(engine, step="1/240"), runner="Physics")
    return scene, solver, scene.add(PoseBinding())


def agree(binding: PoseBinding) -> None:
    """The columns and the engine say the same about every body that still has an entity."""
    solver, world = binding.solver, binding.world
    position, rotation = solver.poses()
    linear, _ = solver.velocities()
    for row, body in enumerate(solver.bodies):
        entity = world.get(f"ent_{binding._numbers[row]}")
        if entity is None:
            continue
        assert entity.get(BodyOf) == BodyOf(solver.name, body)
        np.testing.assert_array_equal(entity.position, position[row])
        np.testing.assert_array_equal(entity.rotation, rotation[row])
        np.testing.assert_array_equal(entity.velocity, linear[row])


def test_columns_follow_the_bodies(engine: str) -> None:
    """Straight into the columns; also when entities before and between them come and go."""
    scene, solver, binding = cell(engine)
    agree(binding)
    scene.advance(seconds=0.2)
    assert binding._rows is not None
    agree(binding)
    world: World = scene.world
    other = world.spawn(position=(1, 2, 3))
    scene.advance(seconds=0.1)
    agree(binding)
    world.destroy(binding.entity("crate_3"))
    scene.advance(seconds=0.1)
    assert binding._rows is None
    agree(binding)
    np.testing.assert_array_equal(other.position, (1, 2, 3))
    assert len(world.query("body", solver.name)) == len(solver.bodies) - 1


def test_a_world_that_is_there_is_used() -> None:
    """Two solvers show their bodies in one world, side by side."""
    scene = Scene("cell", runners=[("Physics", 60)])
    world = World(scene)
    first = world.spawn(tags=["lamp"])
    scene.add(build("rapier", name="one"), runner="Physics")
    scene.add(build("box2d", name="two"), runner="Physics")
    one = scene.add(PoseBinding("one"))
    two = scene.add(PoseBinding("two", tags=("flat",)))
    scene.advance(seconds=0.3)
    agree(one)
    agree(two)
    assert one.world is two.world is world
    assert len(world.query("flat")) == len(two.solver.bodies)
    np.testing.assert_array_equal(first.position, 0)
    with pytest.raises(PhysicsError, match="already"):
        scene.add(PoseBinding("one"))


def test_bindings_are_restored(engine: str) -> None:
    """A restored scene has the same columns and goes on with them."""
    scene, _, _ = cell(engine)
    scene.advance(seconds=0.2)
    other, _, binding = cell(engine)
    other.restore(scene.save())
    agree(binding)
    scene.advance(seconds=0.1)
    other.advance(seconds=0.1)
    assert scene.hash() == other.hash()
    agree(binding)
