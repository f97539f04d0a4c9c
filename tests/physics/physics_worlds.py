"""Models and builders that the physics tests share. An engine that is not installed is skipped,
by name; CI installs all of them."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from mainspring.physics import Box2D, Jolt, Model, MuJoCo, Rapier, Solver

ENGINES = {"mujoco": "mujoco", "rapier": "rapier3d", "jolt": "culverin", "box2d": "Box2D"}

SPACE = """
gravity = [0, 0, -9.81]
[[body]]
name = "floor"
kind = "fixed"
size = [20, 20, 1]
position = [0, 0, -1]
[[body]]
name = "crate"
count = [2, 2, 3]
position = [0, 0, 1]
[[body]]
name = "ball"
shape = "sphere"
size = [0.3]
position = [-4, 0, 3]
velocity = [1, 0, 0]
restitution = 0.6
[[body]]
name = "post"
kind = "fixed"
size = [0.1, 0.1, 0.1]
position = [-8, 0, 3]
[[body]]
name = "arm"
size = [0.5, 0.1, 0.1]
position = [-7.4, 0, 3]
[[joint]]
name = "elbow"
kind = "hinge"
a = "post"
b = "arm"
anchor = [-8, 0, 3]
axis = [0, 1, 0]
motor_force = 50.0
"""

PLANE = """
gravity = [0, -9.81, 0]
[[body]]
name = "floor"
kind = "fixed"
size = [20, 1, 1]
position = [0, -1, 0]
[[body]]
name = "crate"
count = [4, 3, 1]
position = [0, 1, 0]
[[body]]
name = "ball"
shape = "sphere"
size = [0.3]
position = [-4, 3, 0]
velocity = [1, 0, 0]
restitution = 0.6
[[body]]
name = "post"
kind = "fixed"
size = [0.1, 0.1, 0.1]
position = [-8, 3, 0]
[[body]]
name = "arm"
size = [0.5, 0.1, 0.1]
position = [-7.4, 3, 0]
[[joint]]
name = "elbow"
kind = "hinge"
a = "post"
b = "arm"
anchor = [-8, 3, 0]
axis = [0, 0, 1]
motor_force = 50.0
"""

_CRATES = "".join(
    f"""<body name="crate_{i}" pos="{0.45 * (i % 2)} {0.45 * (i // 2 % 2)} {0.3 + 0.5 * (i // 4)}">
    <freejoint/><geom type="box" size=".2 .2 .2" mass="1"/></body>"""
    for i in range(12)
)
MJCF = f"""
<mujoco model="yard">
  <compiler angle="radian"/>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <geom name="floor" type="plane" size="20 20 .1"/>
    {_CRATES}
    <body name="ball" pos="-4 0 3"><freejoint/><geom type="sphere" size=".3" mass="1"/>
      <site name="chip"/></body>
    <body name="arm" pos="-8 0 3">
      <joint name="elbow" axis="0 1 0" damping="0.2" range="-3 3"/>
      <geom type="box" size=".5 .1 .1" pos=".5 0 0" mass="2"/>
      <body name="hand" pos="1 0 0">
        <joint name="wrist" axis="0 1 0" damping="0.1"/>
        <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0" mass="0.5"/>
        <site name="tool" pos=".4 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="elbow" joint="elbow" gear="50"/>
    <motor name="wrist" joint="wrist" gear="10"/>
  </actuator>
  <sensor>
    <accelerometer name="shake" site="chip"/>
    <gyro name="spin" site="chip"/>
  </sensor>
</mujoco>
"""

ARM = """
<mujoco model="two links">
  <compiler angle="radian"/>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping="0.5" range="-2.5 2.5"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0" mass="2"/>
      <body name="lower" pos=".5 0 0">
        <joint name="elbow" axis="0 1 0" damping="0.3" range="-2.5 2.5"/>
        <geom type="capsule" size=".04" fromto="0 0 0 .4 0 0" mass="1"/>
        <site name="tool" pos=".4 0 0"/>
      </body>
    </body>
    <geom name="wall" type="box" size=".05 2 2" pos="3 0 0"/>
  </worldbody>
  <actuator>
    <motor joint="shoulder" gear="1"/>
  </actuator>
</mujoco>
"""


KINDS: dict[str, Any] = {"rapier": Rapier, "jolt": Jolt, "box2d": Box2D}
"""The engines that are built from a `Model`."""


def installed(engine: str) -> bool:
    """Whether the engine's package can be imported here."""
    return importlib.util.find_spec(ENGINES[engine]) is not None


def needs(engine: str) -> None:
    """Skip the test where the engine is missing, and say why."""
    if not installed(engine):
        reason = f"{ENGINES[engine]} is not installed"
        if engine == "jolt" and sys.version_info < (3, 12):
            reason += " (it needs Python 3.12)"
        pytest.skip(reason)


def build(engine: str, **settings: Any) -> Solver:
    """One of each engine, with about fifteen bodies that fall, roll, swing and collide."""
    needs(engine)
    if engine == "mujoco":
        return MuJoCo(MJCF, **settings)
    return KINDS[engine](Model.parse(PLANE if engine == "box2d" else SPACE), **settings)


def stir(solver: Solver, step: int) -> None:
    """What a user might do to a solver, at fixed steps."""
    up = (0.0, 40.0, 0.0) if solver.engine == "box2d" else (0.0, 0.0, 40.0)
    if step == 5:
        solver.set_controls([0.5], ["elbow"])
    if step in (8, 9):
        solver.apply_force("crate_3", up, (0.0, 0.0, 0.5))
    if step == 12:
        solver.write_velocities("ball", [(-2.0, 0.0, 0.0)], [(0.0, 0.0, 1.0)])
    if step == 15:
        solver.write_poses("crate_0", [(4.0, 2.0, 0.0 if solver.engine == "box2d" else 2.0)])
