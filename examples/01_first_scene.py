"""A first scene: a ball falls and bounces; a script counts its bounces.

Both go at 200 Hz: a touch may be as short as a step of the engine, so who wants to see every
touch looks after every step.

python examples/01_first_scene.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from drawing import BLUE, RED, panels, save

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
    """Looks at the ball after every step of physics."""

    def __init__(self) -> None:
        self.heights: list[float] = []
        self.touches: list[int] = []
        """The steps at which the ball touched the ground."""

    def on_late_update(self, ts: float) -> None:
        """Count the touches that began."""
        yard = self.scene.subsystems["rapier"]
        assert isinstance(yard, Rapier)
        if any(event.began for event in yard.events()):
            self.touches.append(len(self.heights))
        self.heights.append(float(yard.pose("ball")[0][2]))


def main(out: Path = Path("out")) -> Path:
    """Five seconds, and the ball's height as a picture."""
    scene = Scene("first", runners=[("Robot", 200)])
    scene.add(Rapier(YARD))
    bounces = scene.add(Bounces())
    report = scene.advance(seconds=5)
    count, heights = len(bounces.touches), bounces.heights
    print(f"{report.steps['Robot']} steps, {count} bounces, hash {scene.hash().hex()}")

    times = [(k + 1) / 200 for k in range(len(heights))]
    figure, panel = panels(1, 1, (9, 3.6))
    panel.plot(times, heights, color=BLUE)
    panel.plot(
        [times[k] for k in bounces.touches], [heights[k] for k in bounces.touches], "o",
        color=RED, markersize=5, label="touches the ground",
    )  # fmt: skip
    panel.set(xlabel="time (s)", ylabel="height of the ball (m)", ylim=(0, 2.1), xlim=(0, 5))
    panel.set_title(f"Dropped from two metres: {count} bounces in five seconds")
    panel.legend(loc="upper right")
    return save(figure, out, "01_first_scene.png")


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
