"""What a scene adds to a step: at most 2 µs and 3 percent of the bare engine's own call."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.physics._compare import compare, engines, line
from benchmarks.physics.worlds import few
from mainspring import Scene
from mainspring.physics import Solver

RATE = 500
STEPS = 4000


def bare(engine: str, solver: Solver) -> Callable[[], object]:
    """The loop that a user of the engine alone would write."""
    dt = 1 / RATE
    if engine == "mujoco":
        import mujoco

        model, data = solver.model, solver.data  # type: ignore[attr-defined]
        model.opt.timestep = dt

        def loop() -> None:
            for _ in range(STEPS):
                mujoco.mj_step(model, data)

    elif engine == "rapier":
        world = solver.world  # type: ignore[attr-defined]
        world.integration_parameters.dt = dt

        def loop() -> None:
            for _ in range(STEPS):
                world.step()

    elif engine == "jolt":
        world = solver.world  # type: ignore[attr-defined]

        def loop() -> None:
            for _ in range(STEPS):
                world.step(dt)

    else:
        world = solver.world  # type: ignore[attr-defined]

        def loop() -> None:
            for _ in range(STEPS):
                world.Step(dt, 8, 3)

    return loop


def run() -> bool:
    """Every engine that is installed."""
    good = True
    for engine in engines():
        alone = bare(engine, few(engine))
        scene = Scene("bench", runners=[("Physics", RATE)])
        scene.add(few(engine), runner="Physics")

        def stepped(scene: Scene = scene) -> None:
            scene.advance(steps=STEPS, runner="Physics")

        bare_s, scene_s, spread = compare(alone, stepped, clock=time.thread_time)
        bare_us, scene_us = bare_s / STEPS * 1e6, scene_s / STEPS * 1e6
        added, allowed = scene_us - bare_us, 2.0 + 0.03 * bare_us
        text = (
            f"bare {bare_us:7.2f} µs  scene {scene_us:7.2f} µs  added {added:5.2f} µs "
            f"(at most {allowed:.2f}; spread of the ratio {spread:.2f})"
        )
        good &= line(f"step, {engine}", text, added <= allowed)
    return good
