"""A thousand boxes, the same model in Rapier and in Jolt.

Both drop the same heap on the same floor at 60 Hz and are timed and compared: where the boxes
end up, and that each engine repeats its own run to the bit. Jolt needs Python 3.12.

    python examples/04_thousand_boxes.py
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from drawing import BLUE, RED, boxes, panels, save

from mainspring import Phase, Scene, StepContext
from mainspring.physics import Body, Jolt, Model, Rapier, Solver

ENGINES: dict[str, tuple[type[Solver], str]] = {
    "rapier": (Rapier, "rapier3d"),
    "jolt": (Jolt, "culverin"),
}


def heap(side: int) -> Model:
    """A leaning cube of boxes, `side` by `side` by `side`, over a floor."""
    layers = [
        Body(
            name=f"layer{layer}", count=(side, side, 1), size=(0.25, 0.25, 0.25),
            spacing=(0.55, 0.55, 0.55), angle=0.05 * layer,
            position=(0.3 * layer - 3.5, -2.5, 0.5 + 0.6 * layer),
        )
        for layer in range(side)
    ]  # fmt: skip
    floor = Body(name="floor", kind="fixed", size=(30.0, 30.0, 1.0), position=(0.0, 0.0, -1.0))
    return Model([floor, *layers])


def drop(
    engine: str, side: int, seconds: float, speeds: list[float] | None = None
) -> tuple[Solver, float, bytes]:
    """One engine's run: the solver, milliseconds a step, and the hash of its end. The boxes' mean
    speed at every step goes into `speeds`, if there is such a list: looking changes nothing."""
    scene = Scene(engine, runners=[("Physics", 60)])
    solver = scene.add(ENGINES[engine][0](heap(side), substeps=2), runner="Physics")
    if speeds is not None:

        def look(context: StepContext) -> None:
            speeds.append(float(np.linalg.norm(solver.velocities()[0][1:], axis=1).mean()))

        scene.time.register(look, runner="Physics", phase=Phase.EXPORT, watching=True)
    began = time.perf_counter()
    report = scene.advance(seconds=seconds)
    cost = (time.perf_counter() - began) * 1e3 / report.steps["Physics"]
    return solver, cost, solver.hash()


def main(out: Path = Path("out"), side: int = 10, seconds: float = 6.0) -> Path:
    """Run both, compare them, draw where the boxes lie."""
    ends: dict[str, Any] = {}
    for engine, (_, module) in ENGINES.items():
        if importlib.util.find_spec(module) is None:
            print(f"{engine}: {module} is not installed here")
            continue
        solver, cost, hashed = drop(engine, side, seconds)
        speeds: list[float] = []
        _, _, again = drop(engine, side, seconds, speeds)
        ends[engine] = (solver.poses(), cost, speeds)
        same = "the same bits twice" if hashed == again else "DIFFERENT the second time"
        print(f"{engine}: {len(solver.bodies)} bodies, {cost:.2f} ms a step, {same}")

    figure = panels(1, 1, (5.6 * len(ends), 5.6))[0]
    figure.clear()
    grid = figure.add_gridspec(2, len(ends), height_ratios=(2.4, 1))
    below = figure.add_subplot(grid[1, :])
    shared = None
    layer = np.arange(side**3) // (side * side) / max(side - 1, 1)
    first, last = np.array([0.12, 0.44, 0.55]), np.array([0.96, 0.72, 0.32])
    colours = first + layer[:, None] * (last - first)
    for place, (engine, ((position, rotation), cost, speeds)) in enumerate(ends.items()):
        panel = shared = figure.add_subplot(grid[0, place], sharex=shared, sharey=shared)
        boxes(panel, position[1:], rotation[1:], 0.25, colours, floor=5.6)
        panel.set_title(f"{engine}: {side**3} boxes, {cost:.1f} ms a step of 1/60 s")
        times = np.arange(1, len(speeds) + 1) / 60
        below.plot(times, speeds, color=(BLUE, RED)[place], label=engine)
    below.set(xlabel="time (s)", ylabel="mean speed (m/s)", xlim=(0, seconds), ylim=(0, None))
    below.legend(loc="upper right")
    return save(figure, out, "04_thousand_boxes.png")


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
