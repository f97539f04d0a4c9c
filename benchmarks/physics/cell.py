"""The robot cell beside a hand-written loop that does the same: at least 0.85 of its speed.

The loop is what a careful user writes who has this one robot: MuJoCo's own split of a step at
the instants of control, whole steps between them, slices of arrays that are looked up once. It
has no world, no graph, no state that can be saved, and its own arithmetic for who is due. It
does the same control and stepping, neither more nor less: after the run both arms are at the
same place to the last bit, or the benchmark fails.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.physics._compare import compare, line
from mainspring.scene import Scene, load_scene

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "robot_cell"
SECONDS = 1.0
PAIRS = 9


class ByHand:
    """The loop; `advance` goes on for a simulated second."""

    def __init__(self) -> None:
        import mujoco
        from robot_cell.parts import Arm, Tracker, target_at

        from mainspring.physics import InverseKinematics

        arm = Arm()
        model, data = arm.model, arm.data
        model.opt.timestep = 0.002
        ik = InverseKinematics(arm, "tool")
        # The scene's own noise, so that the results can be compared.
        streams = load_scene(EXAMPLE / "scene.toml")
        encoder_noise = streams.random("sensor/encoders").normal
        scan_noise = streams.random("sensor/scan").normal
        angles = np.radians(np.linspace(-135, 135, 181))
        fan = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(181)])
        geoms, reach = np.empty(181, np.int32), np.empty(181)
        scanner = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "scanner")
        at, turn = data.xpos[scanner], data.xmat[scanner].reshape(3, 3)
        target = data.mocap_pos[int(model.body("target").mocapid[0])]
        visitor = data.mocap_pos[int(model.body("visitor").mocapid[0])]
        most = np.array([150, 150, 100, 30, 30, 15.0])
        qpos, qvel, ctrl = data.qpos[:6], data.qvel[:6], data.ctrl
        bias, passive = data.qfrc_bias[:6], data.qfrc_passive[:6]
        wanted, needed = np.zeros(model.nv), np.zeros(model.nv)
        joints, speeds, step = ik.solve(target_at(0), Tracker.DOWN).positions, np.zeros(6), 0
        self.qpos = data.qpos

        def advance() -> None:
            nonlocal joints, speeds, step
            for step in range(step, step + int(500 * SECONDS)):  # noqa: B020
                if step % 10:
                    mujoco.mj_step(model, data)
                    continue
                mujoco.mj_step1(model, data)  # control at 50 Hz, with the forces of now
                now = step / 500
                q = qpos + encoder_noise(0, 0.0002, 6)
                v = qvel + encoder_noise(0, 0.0002, 6)
                if step % 50 == 0:  # the scan at 10 Hz
                    mujoco.mj_multiRay(
                        model, data, at, (fan @ turn.T).reshape(-1), None, True, scanner, geoms,
                        reach, None, 181, 6.0,
                    )  # fmt: skip
                    scan = np.where(reach >= 0, reach, np.inf) + scan_noise(0, 0.01, 181)
                    scan.min()
                target[:] = there = target_at(now)
                found = ik.solve(there, Tracker.DOWN, start=joints).positions
                speed = (found - joints) / 0.02
                change = (speed - speeds) / 0.02
                joints, speeds = found, speed
                angle, away = -2.4 + 0.35 * now, 1.9 + 0.9 * math.cos(0.9 * now)
                visitor[:] = away * math.cos(angle), away * math.sin(angle), 0.85
                wanted[:6] = 144.0 * (found - q) + 24.0 * (speed + change * 0.01 - v) + change
                mujoco.mj_mulM(model, data, needed, wanted)
                np.clip(needed[:6] + bias - passive, -most, most, out=ctrl)
                mujoco.mj_step2(model, data)
            step += 1

        self.advance = advance


def run() -> bool:
    """Both, a simulated second at a time; again and again from the start, for where things lie in
    memory decides about several percent."""
    sys.path.insert(0, str(EXAMPLE.parent))
    by_hand, in_scene, shares = [], [], []
    for _ in range(PAIRS):
        scene, hand = load_scene(EXAMPLE / "scene.toml"), ByHand()
        scene.remove("recorder")  # the loop records nothing either
        hand_s, scene_s, _ = compare(
            hand.advance,
            lambda scene=scene: scene.advance(seconds=SECONDS),  # type: ignore[misc]
            rounds=15,
            clock=time.thread_time,
        )
        if not same(scene, hand):
            return line("robot cell", "the loop and the scene do not move the arm alike", False)
        by_hand.append(hand_s)
        in_scene.append(scene_s)
        shares.append(hand_s / scene_s)
    share = statistics.median(shares)
    text = (
        f"by hand {SECONDS / statistics.median(by_hand):5.1f} x real time  "
        f"scene {SECONDS / statistics.median(in_scene):5.1f} x  "
        f"share {share:.2f} (at least 0.85; {min(shares):.2f} to {max(shares):.2f} in {PAIRS} pairs), "
        "with the same bits"
    )
    return line("robot cell", text, share >= 0.85)


def same(scene: Scene, hand: ByHand) -> bool:
    """Whether both are at the same place, arm and blocks, to the last bit."""
    (arm,) = (part for part in scene.subsystems.values() if part.name == "arm")
    positions: bytes = arm.save()["state"][0].tobytes()  # type: ignore[attr-defined]
    return hand.qpos.tobytes() in positions
