"""A two-dimensional game in game mode: knock the tower over with a ball.

Game mode follows the wall clock. When a frame comes late the simulation skips time rather than
slow down, and says how much. Here the frames are scripted, so the run repeats: every tenth one
takes 400 ms, of which 250 are simulated and the rest is skipped. The player's throws are
inputs through the inbox, as from a keyboard.

    python examples/05_game.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from drawing import BLUE, GREY, RED, SAND, panels, save

from mainspring import Input, Scene, Script
from mainspring.physics import Body, Box2D, Model

BLOCKS = [
    Body(
        name=f"block_{row}_{column}", size=(0.45, 0.25, 0.25), friction=0.7,
        position=(6.0 + column - 0.5 * (row % 2), 0.25 + 0.5 * row, 0.0),
    )
    for row in range(8)
    for column in range(3 + row % 2)
]  # fmt: skip
FIELD = Model(
    [
        Body(name="ground", kind="fixed", size=(40.0, 0.5, 1.0), position=(0.0, -0.5, 0.0)),
        Body(name="ball", shape="sphere", size=(0.3,), density=3.0, position=(-2.0, 0.3, 0.0)),
        *BLOCKS,
    ],
    gravity=(0.0, -9.81, 0.0),
)
FRAME_NS = 16_666_667


class Game(Script):
    """Throws the ball when told to, and keeps the score."""

    def __init__(self) -> None:
        self.throws = 0
        self.down = 0

    def on_start(self) -> None:
        """Listen to the player."""
        if self.throws == 0:
            self.scene.inbox.route("throw", self.throw)

    def throw(self, given: Input) -> None:
        """Back to the start, and off."""
        field = self.scene.subsystems["box2d"]
        assert isinstance(field, Box2D)
        field.write_poses("ball", (-2.0, 1.0, 0.0))
        field.write_velocities("ball", given.payload)
        self.throws += 1

    def on_late_update(self, ts: float) -> None:
        """A block is down when it has left its row."""
        field = self.scene.subsystems["box2d"]
        assert isinstance(field, Box2D)
        heights = field.poses()[0][2:, 1]
        self.down = sum(
            bool(abs(now - body.position[1]) > 0.3)
            for now, body in zip(heights.tolist(), BLOCKS, strict=True)
        )


def main(out: Path = Path("out"), frames: int = 240) -> Path:
    """Play the frames and draw the field."""
    scene = Scene("game", runners=[("Game", 60)], mode="GAME_REALTIME")
    scene.time.frame_budget_ns = 10**12  # on a slow machine, too, only late frames skip
    field = scene.add(Box2D(FIELD), runner="Game")
    game = scene.add(Game())
    scene.start()
    skipped_ns, trails = 0, [[]]
    for frame in range(frames):
        if frame in (20, 100, 170):
            scene.inbox.put("throw", [[14.0, 3.0 + frame / 60, 0.0]], source="player")
            trails.append([])
        late = frame % 10 == 9
        report = scene.frame(400_000_000 if late else FRAME_NS)
        skipped_ns += report.skipped_ns
        trails[-1].append([*field.pose("ball")[0][:2].tolist(), late])
    print(
        f"{game.throws} throws, {game.down} of {len(BLOCKS)} blocks down; "
        f"simulated {scene.time.now / 1e9:.2f} s, skipped {skipped_ns / 1e9:.2f} s"
    )
    return draw(out, field, trails[1:])


def draw(out: Path, field: Box2D, trails: list[Any]) -> Path:
    """The field as it lies, and where the ball was frame by frame."""
    from matplotlib.patches import Circle, Rectangle

    figure, panel = panels(1, 1, (11, 4.2))
    position, angles = field.poses()[0], field.angles()
    for row, body in enumerate(FIELD.bodies):
        x, y = position[row, :2]
        if body.shape == "sphere":
            panel.add_patch(Circle((x, y), body.size[0], color=RED, zorder=3))
            continue
        half = body.size
        panel.add_patch(
            Rectangle(
                (x - half[0], y - half[1]), 2 * half[0], 2 * half[1],
                angle=float(angles[row]) * 57.2958, rotation_point="center", linewidth=0.8,
                facecolor=SAND if body.name == "ground" else BLUE, edgecolor="white", zorder=2,
            )
        )  # fmt: skip
    for number, trail in enumerate(trails, 1):
        x, y, late = zip(*trail[:40], strict=True)
        label = {"label": "the ball, frame by frame"} if number == 1 else {}
        panel.plot(x, y, "o", markersize=3, color=RED, alpha=0.5, zorder=1, **label)
        jumps = [k for k in range(1, len(x)) if late[k]]
        label = {"label": "a late frame: 250 ms at once, the rest skipped"} if number == 1 else {}
        for k in jumps[:1]:
            panel.plot(x[k - 1 : k + 1], y[k - 1 : k + 1], ":", color=GREY, zorder=1, **label)
    panel.set(xlim=(-4, 14), ylim=(-0.5, 5.5), aspect="equal", xlabel="metres", ylabel="metres")
    panel.set_title(f"A tower after {len(trails)} throws")
    panel.grid(False)
    panel.legend(loc="upper left")
    return save(figure, out, "05_game.png")


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
