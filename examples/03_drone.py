"""A drone with a 500 Hz inertial unit and a slow camera.

The flight controller runs at 500 Hz on gyro and thrust; guidance at 10 Hz moves the goal; the
camera takes a frame every half second, and each arrives 80 ms after it was taken, as from a
real one. Where there is no OpenGL the drone flies without the camera.

    python examples/03_drone.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from drawing import BLUE, GREEN, GREY, RED, panels, save

from mainspring import Phase, Scene, StepContext
from mainspring.physics import Camera, Imu, MuJoCo, Noise
from mainspring.threads import offscreen_missing

MODEL = """
<mujoco model="drone">
  <option timestep="0.002" integrator="implicitfast"/>
  <visual><headlight ambient=".35 .35 .35" diffuse=".3 .3 .3"/></visual>
  <asset><texture name="sky" type="skybox" builtin="gradient" width="64" height="64"
    rgb1=".45 .65 .85" rgb2=".93 .95 .97"/><texture name="tiles" type="2d" builtin="checker" width="256" height="256"
    rgb1=".82 .84 .8" rgb2=".35 .42 .4"/><material name="tiles" texture="tiles" texrepeat="12 12"/></asset>
  <worldbody>
    <light directional="true" dir="-.4 .3 -1" diffuse=".6 .6 .6"/>
    <geom type="plane" size="8 8 .1" material="tiles"/>
    <geom type="box" size=".4 .4 .8" pos="2.5 0 .8" rgba=".8 .3 .25 1"/>
    <body name="drone" pos="0 0 1">
      <freejoint/>
      <camera name="nose" pos=".1 0 0" xyaxes="0 -1 0 .26 0 .97" fovy="80"/>
      <geom type="box" size=".08 .08 .03" mass=".7" rgba=".15 .15 .18 1"/>
      <geom type="cylinder" size=".07 .008" pos=".16 .16 .02" mass=".05"/>
      <geom type="cylinder" size=".07 .008" pos="-.16 .16 .02" mass=".05"/>
      <geom type="cylinder" size=".07 .008" pos="-.16 -.16 .02" mass=".05"/>
      <geom type="cylinder" size=".07 .008" pos=".16 -.16 .02" mass=".05"/>
    </body>
  </worldbody>
</mujoco>
"""
MASS_KG, GRAVITY = 0.9, 9.81


class Pilot:
    """Tilts the drone towards where it should be, and holds it up."""

    def __init__(self, drone: MuJoCo, imu: Imu) -> None:
        self.drone, self.imu = drone, imu
        self.goal = np.array([0.0, 0.0, 1.0])
        self.speed, self.bend = np.zeros(3), np.zeros(3)
        """Where it should be, how fast it should go there, and how that changes."""
        self.path: list[list[float]] = []
        self.goals: list[Any] = []
        self.shake: list[Any] = []
        self.guided = 0.0

    def fly(self, context: StepContext) -> None:
        """500 times a second: tilt from place and speed, torque from tilt and gyro."""
        if not self.imu.valid:
            return
        position, turn = self.drone.frame("drone")
        velocity, _ = self.drone.velocity("drone")
        up = turn[:, 2]
        late = context.time / 1e9 - self.guided  # the goal has gone on since
        away = self.goal + late * self.speed - position
        slow = self.speed + late * self.bend - velocity
        wanted = 6.0 * away + 4.0 * slow + self.bend + (0.0, 0.0, GRAVITY)
        wanted[:2] = np.clip(wanted[:2], -5.0, 5.0)
        thrust = float(np.clip(MASS_KG * wanted @ up, 0.0, 20.0))
        lean = np.cross(up, wanted / np.linalg.norm(wanted))
        torque = 1.2 * lean - 0.12 * (turn @ self.imu.angular_rate)
        self.drone.apply_force("drone", thrust * up, torque)
        self.path.append([context.time / 1e9, *position])
        self.shake.append(self.imu.value)

    def guide(self, context: StepContext) -> None:
        """Ten times a second: the next point of a climbing circle."""
        t = self.guided = context.time / 1e9
        sin, cos = 1.2 * np.sin(0.9 * t), 1.2 * np.cos(0.9 * t)
        self.goal = np.array([sin, 1.2 - cos, 1.0 + 0.15 * t])
        self.speed = np.array([0.9 * cos, 0.9 * sin, 0.15])
        self.bend = np.array([-0.81 * sin, 0.81 * cos, 0.0])
        self.goals.append(self.goal)


def main(out: Path = Path("out"), seconds: float = 6.0) -> Path:
    """Fly, and draw the path, what the unit felt, and what the camera saw."""
    scene = Scene("drone", seed=11, runners=[("Flight", 500), ("Guidance", 10), ("Camera", 2)])
    drone = scene.add(MuJoCo(MODEL, name="world"), runner="Flight")
    imu = scene.add(Imu(body="drone", noise=Noise(std=0.02, walk=0.002)), runner="Flight")
    pilot = Pilot(drone, imu)
    scene.time.register(pilot.fly, runner="Flight", phase=Phase.CONTROL, name="pilot")
    scene.time.register(pilot.guide, runner="Guidance", phase=Phase.CONTROL, name="guidance")
    camera = None
    missing = offscreen_missing()
    if missing is None:
        camera = scene.add(
            Camera(camera="nose", width=480, height=360, latency_s=0.08), runner="Camera"
        )
    else:
        print(f"no camera: {missing}")
    scene.advance(seconds=seconds)
    frame = camera.value if camera is not None and camera.valid else None
    age_ms = camera.age_ns / 1e6 if camera is not None and camera.age_ns is not None else np.nan
    scene.stop()

    path = np.array(pilot.path)
    print(f"flew to {np.round(path[-1, 1:], 2)}; the last frame was taken {age_ms:.0f} ms ago")
    return draw(out, path, np.array(pilot.goals), np.array(pilot.shake), frame)


def draw(out: Path, path: Any, goals: Any, felt: Any, frame: Any) -> Path:
    """Where it flew, what it felt, what it saw."""
    figure = panels(1, 1, (13, 4.2))[0]
    figure.clear()
    grid = figure.add_gridspec(2, 3, width_ratios=(1, 1.25, 1.35))
    left, right = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[:, 2])
    upper, lower = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    left.plot(goals[:, 0], goals[:, 1], "o", color=RED, markersize=3.5, label="goals, 10 Hz")
    left.plot(path[:, 1], path[:, 2], color=BLUE, label="flown")
    left.set(xlabel="x (m)", ylabel="y (m)", aspect="equal", xlim=(-1.5, 1.5), ylim=(-0.4, 2.9))
    off = np.linalg.norm(
        path[49::50][: len(goals) - 1, 1:] - goals[1 : len(path[49::50]) + 1], axis=1
    )
    left.set_title(f"From above: within {100 * off[10:].max():.0f} cm")
    left.legend(loc="upper center", ncols=2, fontsize=8.5, columnspacing=1.0)
    upper.plot(path[:, 0], felt[:, 2], color=GREY, linewidth=0.5)
    up = felt[5:, 2]  # it falls until the motors turn
    upper.set(ylabel="up (m/s²)", xticklabels=[], ylim=(up.min() - 0.3, up.max() + 0.3))
    upper.set_title("Inertial unit, 500 Hz, with noise")
    for axis, colour in zip(range(3), (RED, GREEN, BLUE), strict=True):
        lower.plot(path[:, 0], felt[:, 3 + axis], color=colour, linewidth=0.5, label="xyz"[axis])
    lower.set(xlabel="time (s)", ylabel="turn (rad/s)")
    lower.legend(loc="upper right", ncols=3, fontsize=8.5, handlelength=1.0, columnspacing=1.0)
    for panel in (upper, lower):
        panel.set_xlim(0, path[-1, 0])
    if frame is not None:
        right.imshow(frame)
    right.set(title="Nose camera, 2 Hz, 80 ms late", xticks=[], yticks=[])
    right.grid(False)
    return save(figure, out, "03_drone.png")


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
