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
from drawing import BLUE, GREY, RED, panels, save

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
        self.path: list[list[float]] = []
        self.goals: list[Any] = []
        self.shake: list[float] = []

    def fly(self, context: StepContext) -> None:
        """500 times a second: tilt from the error of place, torque from tilt and gyro."""
        if not self.imu.valid:
            return
        position, turn = self.drone.frame("drone")
        velocity, _ = self.drone.velocity("drone")
        up = turn[:, 2]
        wanted = 2.5 * (self.goal - position) - 2.6 * velocity + (0.0, 0.0, GRAVITY)
        wanted[:2] = np.clip(wanted[:2], -3.0, 3.0)
        thrust = float(np.clip(MASS_KG * wanted @ up, 0.0, 20.0))
        lean = np.cross(up, wanted / np.linalg.norm(wanted))
        torque = 1.2 * lean - 0.12 * (turn @ self.imu.angular_rate)
        self.drone.apply_force("drone", thrust * up, torque)
        self.path.append([context.time / 1e9, *position])
        self.shake.append(float(np.linalg.norm(self.imu.specific_force)))

    def guide(self, context: StepContext) -> None:
        """Ten times a second: the next point of a climbing circle."""
        t = context.time / 1e9
        self.goal = np.array([1.2 * np.sin(0.9 * t), 1.2 * (1 - np.cos(0.9 * t)), 1.0 + 0.15 * t])
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


def draw(out: Path, path: Any, goals: Any, shake: Any, frame: Any) -> Path:
    """Three panels."""
    figure, (left, middle, right) = panels(1, 3, (13, 3.9), width_ratios=(1, 1.25, 1.35))
    left.plot(goals[:, 0], goals[:, 1], ".", color=RED, label="goals, 10 Hz")
    left.plot(path[:, 1], path[:, 2], color=BLUE, label="flown")
    left.set(xlabel="x (m)", ylabel="y (m)", title="From above", aspect="equal", ylim=(-0.9, 2.6))
    left.legend(loc="lower center", ncols=2, fontsize=8.5, columnspacing=1.0)
    middle.plot(path[1:, 0], shake[1:], color=GREY, linewidth=0.6)
    middle.set(xlabel="time (s)", ylabel="specific force (m/s²)", ylim=(9.5, 10.3))
    middle.set_title("Inertial unit, 500 Hz, with noise")
    if frame is not None:
        right.imshow(frame)
    right.set(title="Nose camera, 2 Hz, 80 ms late", xticks=[], yticks=[])
    right.grid(False)
    return save(figure, out, "03_drone.png")


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
