"""Inverse kinematics beside mink: the same targets, the same tolerances."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.physics._compare import compare, line
from mainspring.physics import InverseKinematics, MuJoCo

MODEL = Path(__file__).parent.parent.parent / "examples" / "robot_cell" / "arm.xml"
HOME = np.array([0.0, 0.1, 1.5, 0.0, -0.1, 0.0])
COUNT = 60


def targets(solver: MuJoCo, spread: float) -> list[tuple[Any, Any]]:
    """Poses that joints near home can reach."""
    import mujoco

    random = np.random.default_rng(8)
    data, limits = mujoco.MjData(solver.model), solver.joint_limits()
    found = []
    for _ in range(COUNT):
        data.qpos[:6] = np.clip(HOME + random.normal(0, spread, 6), limits[:, 0], limits[:, 1])
        mujoco.mj_kinematics(solver.model, data)
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, data.site_xmat[0])
        found.append((data.site_xpos[0].copy(), quaternion))
    return found


def run() -> bool:
    """Tracking (targets near by) and reaching (targets far away)."""
    if not all(map(importlib.util.find_spec, ("mujoco", "mink"))):
        print("ik: mujoco or mink is not installed")
        return True
    import mink

    solver = MuJoCo(MODEL)
    ik = InverseKinematics(solver, "tool")
    model = solver.model
    configuration = mink.Configuration(model)
    task = mink.FrameTask("tool", "site", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)
    limits = [mink.ConfigurationLimit(model)]
    start = solver.data.qpos.copy()
    good = True
    for name, spread in (("tracking", 0.03), ("reaching", 0.5)):
        goals = targets(solver, spread)
        solved = {"ours": 0, "mink": 0}

        def ours(goals: Any = goals, solved: Any = solved) -> None:
            solved["ours"] = sum(
                ik.solve(where, turn, start=HOME).converged for where, turn in goals
            )

        def theirs(goals: Any = goals, solved: Any = solved) -> None:
            solved["mink"] = 0
            for where, turn in goals:
                configuration.update(start)
                task.set_target(mink.SE3.from_rotation_and_translation(mink.SO3(turn), where))
                for _ in range(60):
                    velocity = mink.solve_ik(
                        configuration, [task], 0.1, "daqp", damping=1e-6, limits=limits
                    )
                    configuration.integrate_inplace(velocity, 0.1)
                    error = task.compute_error(configuration)
                    if np.linalg.norm(error[:3]) < 1e-4 and np.linalg.norm(error[3:]) < 1e-3:
                        solved["mink"] += 1
                        break

        mink_s, ours_s, _ = compare(theirs, ours, rounds=5)
        text = (
            f"mink {mink_s / COUNT * 1e6:6.0f} µs ({solved['mink']}/{COUNT} solved)  "
            f"ours {ours_s / COUNT * 1e6:6.0f} µs ({solved['ours']}/{COUNT})  "
            f"{mink_s / ours_s:.1f} times as fast"
        )
        good &= line(f"ik, {name}", text, ours_s <= mink_s)
    return good
