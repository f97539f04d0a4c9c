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

from mainspring import Phase, Scene, StepContext
from mainspring.physics import Camera, Imu, MuJoCo, Noise
from mainspring.threads import offscreen_missing

MODEL = """
<mujoco model="drone">
  <option timestep="0.002" integrator="implicitfast"/>
  <visual><global offwidth="320" offheight="240"/></visual>
  <asset><texture name="tiles" type="2d" builtin="checker" width="256" height="256"
    rgb1=".82 .84 .8" rgb2=".35 .42 .4"/><material name="tiles" texture="tiles" texrepeat="12 12"/></asset>
  <worldbody>
    <light pos="0 0 8"/>
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
        self.shake: list[float] = []

    def fly(self, context: StepContext) -> None:
        """500 times a second: tilt from the error of place, torque from tilt and gyro."""
        if not self.imu.valid:
            return
        row = self.drone.row("drone")
        position, rotation = (part[row] for part in self.drone.poses())
        velocity = self.drone.velocities()[0][row]
        w, x, y, z = rotation
        up = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
        wanted = 2.5 * (self.goal - position) - 2.6 * velocity + (0.0, 0.0, GRAVITY)
        wanted[:2] = np.clip(wanted[:2], -3.0, 3.0)
        thrust = float(np.clip(MASS_KG * wanted @ up, 0.0, 20.0))
        lean = np.cross(up, wanted / np.linalg.norm(wanted))
        turn = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        torque = 1.2 * lean - 0.12 * (turn @ self.imu.angular_rate)
        self.drone.apply_force("drone", thrust * up, torque)
        self.path.append([context.time / 1e9, *position])
        self.shake.append(float(np.linalg.norm(self.imu.specific_force)))

    def guide(self, context: StepContext) -> None:
        """Ten times a second: the next point of a climbing circle."""
        t = context.time / 1e9
        self.goal = np.array([1.2 * np.sin(0.9 * t), 1.2 * (1 - np.cos(0.9 * t)), 1.0 + 0.15 * t])


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
            Camera(camera="nose", width=320, height=240, latency_s=0.08), runner="Camera"
        )
    else:
        print(f"no camera: {missing}")
    scene.advance(seconds=seconds)
    frame = camera.value if camera is not None and camera.valid else None
    age_ms = camera.age_ns / 1e6 if camera is not None and camera.age_ns is not None else np.nan
    scene.stop()

    path = np.array(pilot.path)
    print(f"flew to {np.round(path[-1, 1:], 2)}; the last frame was taken {age_ms:.0f} ms ago")
    return draw(out, path, np.array(pilot.shake), frame)


def draw(out: Path, path: Any, shake: Any, frame: Any) -> Path:
    """Three panels."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    panels[0].plot(path[:, 1], path[:, 2], color="#1f6f8b")
    panels[0].set(xlabel="x (m)", ylabel="y (m)", title="Path from above", aspect="equal")
    panels[1].plot(path[:, 0], shake, color="#444444", linewidth=0.6)
    panels[1].set(xlabel="time (s)", ylabel="m/s²", title="Specific force, 500 Hz")
    if frame is not None:
        panels[2].imshow(frame)
    panels[2].set(title="Camera, 2 Hz", xticks=[], yticks=[])
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "03_drone.png"
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return picture


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
