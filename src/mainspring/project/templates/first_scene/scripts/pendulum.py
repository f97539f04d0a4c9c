"""A pendulum that swings at 50 Hz. Change it while the scene runs: it reloads."""

import math

import mainspring


class Pendulum(mainspring.Script):
    """A mass on a metre of rod, stepped once a boundary of Robot."""

    def __init__(self, angle: float = 0.5) -> None:
        self.angle = angle
        self.speed = 0.0

    def on_update(self, ts: float) -> None:
        self.speed -= 9.81 * math.sin(self.angle) * ts
        self.angle += self.speed * ts
