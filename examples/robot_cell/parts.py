"""What is this cell's own: its arm, the script that follows the target, the visitor."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from mainspring import Script
from mainspring.physics import InverseKinematics, MuJoCo, PdController

HERE = Path(__file__).parent


class Arm(MuJoCo):
    """The cell's model as a solver."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(HERE / "arm.xml", **settings)
        self._tool = self.site("tool")

    def tool(self) -> Any:
        """Where the tip of the tool is."""
        return self.site_position(self._tool)


def target_at(seconds: float) -> tuple[float, float, float]:
    """The point to follow: a slow figure over the table."""
    return (
        0.50 + 0.08 * math.sin(1.3 * seconds),
        0.28 * math.sin(0.8 * seconds),
        0.75 + 0.10 * math.sin(2.1 * seconds),
    )


class Tracker(Script):
    """Fifty times a second: where the target is, the joints that reach it, how they have to move."""

    # The tool keeps pointing this way (w, x, y, z): down and forward.
    DOWN = (0.7317, 0.0, 0.6816, 0.0)

    def __init__(self, arm: str = "arm", servo: str = "servo") -> None:
        self._names = (arm, servo)
        self.joints: Any = None
        self.speeds: Any = None
        self.error = 0.0
        """How far the tool is from the target, in metres."""
        self.unsolved = 0
        """How often inverse kinematics did not converge."""

    def on_start(self) -> None:
        """Meets the arm and its servo."""
        arm = self.scene.subsystems[self._names[0]]
        servo = self.scene.subsystems[self._names[1]]
        assert isinstance(arm, Arm)
        assert isinstance(servo, PdController)
        self._arm, self._servo = arm, servo
        self._ik = InverseKinematics(arm, "tool")
        self.joints = self._ik.solve(target_at(self.scene.time.now / 1e9), self.DOWN).positions
        self.speeds = 0.0 * self.joints

    def on_update(self, ts: float) -> None:
        """One step of control."""
        now = self.context.time / 1e9
        target = target_at(now)
        self.error = math.dist(self._arm.tool().tolist(), target)
        self._arm.write_poses("target", target)
        found = self._ik.solve(target, self.DOWN, start=self.joints)
        self.unsolved += not found.converged
        # A difference is the speed of half a step ago; the speed of now is half a change further.
        speeds = (found.positions - self.joints) / ts
        change = (speeds - self.speeds) / ts
        self._servo.set_target(found.positions, speeds + change * (ts / 2), change)
        self.joints, self.speeds = found.positions, speeds

    def save(self) -> Any:
        """Where the joints were sent and how fast, and how it went."""
        return [self.joints, self.speeds, self.error, self.unsolved]

    def restore(self, state: Any) -> None:
        """Leaves it as it was."""
        self.joints, self.speeds, self.error, self.unsolved = state


class Visitor(Script):
    """Somebody who walks round the cell, now nearer, now farther."""

    def __init__(self, arm: str = "arm") -> None:
        self._name = arm

    def on_start(self) -> None:
        """Enters the cell."""
        arm = self.scene.subsystems[self._name]
        assert isinstance(arm, Arm)
        self._arm = arm

    def on_update(self, ts: float) -> None:
        """One step."""
        now = self.context.time / 1e9
        angle = -2.4 + 0.35 * now
        away = 1.9 + 0.9 * math.cos(0.9 * now)
        where = (away * math.cos(angle), away * math.sin(angle), 0.85)
        self._arm.write_poses("visitor", where)

    def save(self) -> Any:
        """Nothing: the time says where it is."""
        return None

    def restore(self, state: Any) -> None:
        """Nothing to bring back."""
