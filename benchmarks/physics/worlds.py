"""The worlds that are timed."""

from __future__ import annotations

from typing import Any

from mainspring.physics import Body, Box2D, Jolt, Model, MuJoCo, Rapier, Solver

ARM = """<mujoco><option timestep="0.002" integrator="implicitfast"/><worldbody>
<body><joint axis="0 1 0" damping=".1"/><geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/>
<body pos=".4 0 0"><joint axis="0 1 0" damping=".1"/><geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/>
<body pos=".3 0 0"><joint axis="0 0 1" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/>
</body></body></body></worldbody></mujoco>"""


def few(engine: str) -> Solver:
    """A handful of bodies: the scene's own cost stands out."""
    if engine == "mujoco":
        return MuJoCo(ARM)
    return _grid(engine, 5)


def many(engine: str, count: int = 1000) -> Solver:
    """A thousand bodies, apart from each other."""
    if engine == "mujoco":
        bodies = "".join(
            f'<body pos="{i % 40} {i // 40} 1"><freejoint/><geom size=".2"/></body>'
            for i in range(count)
        )
        return MuJoCo(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    return _grid(engine, count)


def _grid(engine: str, count: int) -> Solver:
    kinds: dict[str, Any] = {"rapier": Rapier, "jolt": Jolt, "box2d": Box2D}
    flat = engine == "box2d"
    boxes = Body(
        name="box",
        count=(count, 1, 1),
        spacing=(1.2, 1.2, 1.2),
        size=(0.5, 0.5, 0.5),
        position=(0.0, 0.5, 0.0) if flat else (0.0, 0.0, 0.5),
    )
    floor = Body(
        name="floor",
        kind="fixed",
        size=(4000.0, 1.0, 20.0) if flat else (4000.0, 20.0, 1.0),
        position=(0.0, -1.0, 0.0) if flat else (0.0, 0.0, -1.0),
    )
    gravity = (0.0, -9.81, 0.0) if flat else (0.0, 0.0, -9.81)
    return kinds[engine](Model([floor, boxes], gravity=gravity))
