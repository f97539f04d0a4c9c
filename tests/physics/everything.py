"""A scene with every solver that is here and their sensors; prints the hash of each part at its end.

Run by test_solvers.py in several processes.
"""

from __future__ import annotations

from physics_worlds import ENGINES, build, installed, stir

from mainspring import Scene
from mainspring.capture import SyncPoint
from mainspring.physics import ContactSensor, Imu, JointState, Noise, PoseBinding, RangeScan, Solver


def main() -> None:
    """One second of everything."""
    scene = Scene("everything", seed=9, runners=[("Physics", 240), ("Control", 60), ("Slow", 20)])
    solvers: list[Solver] = []
    for engine in filter(installed, ENGINES):
        fine = {"substeps": 4} if engine == "mujoco" else {"step": "1/480"}
        solvers.append(scene.add(build(engine, name=engine, **fine), runner="Physics"))
        noise = Noise(std=0.01, walk=0.01)
        scene.add(Imu(engine, body="ball", name=f"imu {engine}", noise=noise), runner="Control")
        scene.add(
            RangeScan(engine, body="ball", count=32, field_deg=360, name=f"scan {engine}"),
            runner="Slow",
        )
        scene.add(
            ContactSensor(
                engine, bodies=["crate_0", "ball"], name=f"skin {engine}", latency_s=0.03
            ),
            runner="Slow",
        )
        scene.add(PoseBinding(engine, name=f"bodies {engine}"), runner="Control")
    if installed("mujoco"):
        scene.add(JointState("mujoco", name="joints", latency_s=0.004), runner="Control")
    balls = {engine: f"imu {engine}.value" for engine in filter(installed, ENGINES)}
    scene.add(SyncPoint(balls, runners=["Control", "Slow"]), runner="Slow")

    def push(context: object) -> None:
        step = scene.time.runners["Control"].step
        for solver in solvers:
            stir(solver, step)

    scene.time.register(push, runner="Control", name="push")
    scene.advance(seconds=1)
    for name, hashed in scene.part_hashes().items():
        print(name, hashed.hex())


main()
