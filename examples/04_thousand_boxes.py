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
        ends[engine] = (solver.poses()[0][1:], cost)
        same = "the same bits twice" if hashed == again else "DIFFERENT the second time"
        print(f"{engine}: {len(solver.bodies)} bodies, {cost:.2f} ms a step, {same}")

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, len(ends), figsize=(5 * len(ends), 4.4), sharex=True, sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for panel, (engine, (position, cost)) in zip(axes[0], ends.items(), strict=True):
        order = np.argsort(position[:, 2])
        dots = panel.scatter(
            position[order, 0], position[order, 1], c=position[order, 2], s=12, cmap="viridis"
        )
        panel.set(title=f"{engine}: {cost:.2f} ms a step", xlabel="x (m)", aspect="equal")
    axes[0][0].set(ylabel="y (m)")
    figure.colorbar(dots, ax=axes[0].tolist(), label="height (m)")
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "04_thousand_boxes.png"
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return picture


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
