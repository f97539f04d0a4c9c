"""Reading the poses of a thousand bodies: at most twice the engine's own bulk read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.physics._compare import compare, engines, line
from benchmarks.physics.worlds import many
from mainspring import Scene
from mainspring.physics import PoseBinding, Solver

READS = 20


def own(engine: str, solver: Solver) -> Callable[[], object]:
    """The engine's own way to all poses, into arrays of positions and quaternions."""
    position = np.empty((len(solver.bodies), 3))
    rotation = np.empty((len(solver.bodies), 4))
    if engine == "mujoco":
        data = solver.data  # type: ignore[attr-defined]

        def read() -> None:
            position[...] = data.xpos[1:]
            rotation[...] = data.xquat[1:]

    elif engine == "rapier":
        views = solver._views  # type: ignore[attr-defined]

        def read() -> None:  # no bulk read: the loop that everybody writes
            position[...] = [view.translation.to_tuple() for view in views]
            rotation[...] = [view.rotation.quaternion for view in views]

    elif engine == "jolt":
        world = solver.world  # type: ignore[attr-defined]

        def read() -> None:
            position[...] = np.frombuffer(world.positions).reshape(-1, 4)[:, :3]
            rotation[...] = np.frombuffer(world.rotations, np.float32).reshape(-1, 4)

    else:
        objects = solver._objects  # type: ignore[attr-defined]

        def read() -> None:  # no bulk read either
            position[:, :2] = [tuple(body.position) for body in objects]
            angle = np.array([body.angle for body in objects]) / 2
            rotation[:, 0], rotation[:, 3] = np.cos(angle), np.sin(angle)

    def loop() -> None:
        for _ in range(READS):
            read()

    return loop


def run() -> bool:
    """Reading into arrays, and writing the world's columns."""
    good = True
    for engine in engines():
        solver = many(engine)
        solver.advance(1)
        position = np.empty((len(solver.bodies), 3))
        rotation = np.empty((len(solver.bodies), 4))

        def ours(
            solver: Solver = solver, position: object = position, rotation: object = rotation
        ) -> None:
            for _ in range(READS):
                solver.read_poses(position, rotation)  # type: ignore[arg-type]

        own_s, ours_s, spread = compare(own(engine, solver), ours)
        scene = Scene("bench")
        scene.add(solver)
        binding = scene.add(PoseBinding(velocity=False))

        def written(binding: PoseBinding = binding) -> None:
            for _ in range(READS):
                binding.write()

        _, written_s, _ = compare(ours, written)
        ratio = ours_s / own_s
        text = (
            f"own {own_s / READS * 1e6:7.1f} µs  ours {ours_s / READS * 1e6:7.1f} µs  "
            f"ratio {ratio:.2f} (at most 2; spread {spread:.2f})  "
            f"into the world {written_s / READS * 1e6:.1f} µs"
        )
        good &= line(f"poses of {len(solver.bodies)}, {engine}", text, ratio <= 2.0)
    return good
