"""The robot cell beside a hand-written loop that does the same: at least 0.85 of its speed.

The loop has the same model, the same inverse kinematics, control law, scan and noise, at the
same times; it has no world, no state that can be saved, and its own arithmetic for who is due.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.physics._compare import compare, line

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "robot_cell"
SECONDS = 1.0


def by_hand() -> Callable[[], object]:
    """The loop somebody writes who has one robot and no time."""
    import mujoco
    from robot_cell.parts import Arm, Tracker, target_at

    from mainspring.physics import InverseKinematics

    arm = Arm()
    model, data = arm.model, arm.data
    model.opt.timestep = 0.002
    ik = InverseKinematics(arm, "tool")
    columns = np.arange(6)
    dofs, positions = arm._dof_at, arm._qpos_at
    random = np.random.default_rng(0)
    angles = np.radians(np.linspace(-135, 135, 181))
    fan = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(181)])
    geoms, reach = np.empty(181, np.int32), np.empty(181)
    scanner = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "scanner")
    visitor = int(model.body_mocapid[arm.row("visitor") + 1])
    marker = int(model.body_mocapid[arm.row("target") + 1])
    limits = np.array([150, 150, 100, 30, 30, 15.0])
    wanted, needed = np.zeros(model.nv), np.zeros(model.nv)
    state = {"step": 0, "joints": arm.joint_positions()}
    del columns

    def loop() -> None:
        for _ in range(int(500 * SECONDS)):
            step = state["step"]
            now = step * 0.002
            if step % 50 == 0:  # the scan at 10 Hz
                turn = data.xmat[scanner].reshape(3, 3)
                mujoco.mj_multiRay(
                    model, data, data.xpos[scanner], (fan @ turn.T).reshape(-1), None, True,
                    scanner, geoms, reach, None, 181, 6.0,
                )  # fmt: skip
                scan = np.where(geoms >= 0, reach, np.inf) + random.normal(0, 0.01, 181)
                scan.min()
            if step % 10 == 0:  # control at 50 Hz
                q = data.qpos[positions] + random.normal(0, 0.0002, 6)
                v = data.qvel[dofs] + random.normal(0, 0.0002, 6)
                data.mocap_pos[marker] = target_at(now)
                angle, away = -2.4 + 0.55 * now, 1.9 + 0.9 * math.cos(0.9 * now)
                data.mocap_pos[visitor] = (away * math.cos(angle), away * math.sin(angle), 0.85)
                found = ik.solve(target_at(now + 0.02), Tracker.DOWN, start=state["joints"])
                speed = (found.positions - state["joints"]) / 0.02
                state["joints"] = found.positions
                wanted[dofs] = 144.0 * (found.positions - q) + 24.0 * (speed - v)
                mujoco.mj_mulM(model, data, needed, wanted)
                forces = needed[dofs] + data.qfrc_bias[dofs] - data.qfrc_passive[dofs]
                data.ctrl[:] = np.clip(forces, -limits, limits)
            mujoco.mj_step(model, data)
            state["step"] = step + 1

    return loop


def run() -> bool:
    """Both, a simulated second at a time."""
    sys.path.insert(0, str(EXAMPLE.parent))
    from mainspring.scene import load_scene

    scene = load_scene(EXAMPLE / "scene.toml")
    hand_s, scene_s, spread = compare(
        by_hand(), lambda: scene.advance(seconds=SECONDS), rounds=15, clock=time.process_time
    )
    share = hand_s / scene_s
    text = (
        f"by hand {SECONDS / hand_s:5.1f} x real time  scene {SECONDS / scene_s:5.1f} x  "
        f"share {share:.2f} (at least 0.85; spread {spread:.2f})"
    )
    return line("robot cell", text, share >= 0.85)
