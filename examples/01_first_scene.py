"""A first scene: a ball falls and bounces; a script counts its bounces.

python examples/01_first_scene.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from mainspring import Scene, Script
from mainspring.physics import Body, Model, Rapier

YARD = Model(
    [
        Body(name="ground", kind="fixed", size=(5.0, 5.0, 0.5), position=(0.0, 0.0, -0.5),
             restitution=0.8),
        Body(name="ball", shape="sphere", size=(0.1,), position=(0.0, 0.0, 2.0),
             velocity=(0.5, 0.0, 0.0), restitution=0.8),
    ]
)  # fmt: skip


class Bounces(Script):
    """Looks at the ball fifty times a second, after physics."""

    def __init__(self) -> None:
        self.count = 0
        self.heights: list[float] = []

    def on_late_update(self, ts: float) -> None:
        """Count the touches that began."""
        yard = self.scene.subsystems["rapier"]
        assert isinstance(yard, Rapier)
        self.count += sum(event.began for event in yard.events())
        self.heights.append(float(yard.poses()[0][yard.row("ball"), 2]))


def main(out: Path = Path("out")) -> Path:
    """Five seconds, and the ball's height as a picture."""
    scene = Scene("first")
    scene.add(Rapier(YARD, substeps=8))
    bounces = scene.add(Bounces())
    report = scene.advance(seconds=5)
    print(f"{report.steps['Robot']} steps, {bounces.count} bounces, hash {scene.hash().hex()}")

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
    axes.plot([0.02 * k for k in range(len(bounces.heights))], bounces.heights, color="#1f6f8b")
    axes.set(xlabel="time (s)", ylabel="height (m)", title=f"{bounces.count} bounces")
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "01_first_scene.png"
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return picture


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
