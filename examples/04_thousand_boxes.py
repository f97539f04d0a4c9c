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
from drawing import boxes, panels, save

from mainspring import Scene
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
            position=(0.11 * layer - 2.5, -2.5, 0.5 + 0.6 * layer),
        )
        for layer in range(side)
    ]  # fmt: skip
    floor = Body(name="floor", kind="fixed", size=(30.0, 30.0, 1.0), position=(0.0, 0.0, -1.0))
    return Model([floor, *layers])


def drop(engine: str, side: int, seconds: float) -> tuple[Solver, float, bytes]:
    """One engine's run: the solver, milliseconds a step, and the hash of its end."""
    scene = Scene(engine, runners=[("Physics", 60)])
    solver = scene.add(ENGINES[engine][0](heap(side), substeps=2), runner="Physics")
    began = time.perf_counter()
    report = scene.advance(seconds=seconds)
    cost = (time.perf_counter() - began) * 1e3 / report.steps["Physics"]
    return solver, cost, solver.hash()


def main(out: Path = Path("out"), side: int = 10, seconds: float = 4.0) -> Path:
    """Run both, compare them, draw where the boxes lie."""
    ends: dict[str, Any] = {}
    for engine, (_, module) in ENGINES.items():
        if importlib.util.find_spec(module) is None:
            print(f"{engine}: {module} is not installed here")
            continue
        solver, cost, hashed = drop(engine, side, seconds)
        _, _, again = drop(engine, side, seconds)
        ends[engine] = (solver.poses(), cost)
        same = "the same bits twice" if hashed == again else "DIFFERENT the second time"
        print(f"{engine}: {len(solver.bodies)} bodies, {cost:.2f} ms a step, {same}")

    figure, row = panels(
        1, len(ends), (6 * len(ends), 4.6), squeeze=False, sharex=True, sharey=True
    )
    for panel, (engine, ((position, rotation), cost)) in zip(row[0], ends.items(), strict=True):
        layer = np.arange(len(position) - 1) // (side * side) / max(side - 1, 1)
        first, last = np.array([0.12, 0.44, 0.55]), np.array([0.96, 0.72, 0.32])
        colours = first + layer[:, None] * (last - first)
        boxes(panel, position[1:], rotation[1:], 0.25, colours)
        panel.set_title(f"{engine}: {side**3} boxes, {cost:.1f} ms a step of 1/60 s")
    return save(figure, out, "04_thousand_boxes.png")


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
