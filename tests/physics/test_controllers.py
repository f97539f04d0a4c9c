"""Controllers, motions and inverse kinematics: they arrive, keep their limits and their claims."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from physics_worlds import ARM, build, needs

from mainspring import Scene
from mainspring.clock import CallbackError
from mainspring.physics import (
    InverseKinematics,
    JerkLimited,
    JointClaimError,
    JointGroup,
    MuJoCo,
    PdController,
    PhysicsError,
    TrajectoryController,
    UnknownNameError,
)


def cell(controllers: list[PdController]) -> tuple[Scene, MuJoCo]:
    """Two links in a scene, physics at 500 Hz and control at 50."""
    needs("mujoco")
    scene = Scene("cell", runners=[("Physics", 500), ("Control", 50)])
    solver = scene.add(MuJoCo(ARM, name="arm"), runner="Physics")
    for controller in controllers:
        scene.add(controller, runner="Control")
    return scene, solver


def test_gravity_compensation_holds_still() -> None:
    """With what carries its weight and no error, the arm does not move."""
    controller = PdController(kp=0.0, kd=0.0, compensate="gravity")
    scene, solver = cell([controller])
    scene.advance(seconds=0.5)
    np.testing.assert_allclose(solver.joint_positions(), 0.0, atol=1e-3)


def test_pd_reaches_its_target_under_gravity() -> None:
    """Both ways of compensation arrive, at 50 Hz, without a standing error."""
    for controller in (
        PdController(kp=[30.0, 4.0], kd=[9.0, 1.0], compensate="gravity"),
        PdController(kp=60.0, kd=14.0, compensate="dynamics"),
    ):
        scene, solver = cell([controller])
        controller.set_target([-0.6, 0.9])
        scene.advance(seconds=4)
        np.testing.assert_allclose(solver.joint_positions(), (-0.6, 0.9), atol=0.01)


def test_without_compensation_the_arm_sags() -> None:
    """What compensation is for."""
    controller = PdController(kp=[30.0, 4.0], kd=[9.0, 1.0], compensate="none")
    scene, solver = cell([controller])
    scene.advance(seconds=4)
    assert np.abs(solver.joint_positions()).max() > 0.1


def test_forces_are_limited() -> None:
    """No more than `max_force` is commanded."""
    controller = PdController(kp=1e4, kd=0.0, max_force=[3.0, 2.0])
    scene, _ = cell([controller])
    controller.set_target([1.0, 1.0])
    scene.advance(seconds=0.1)
    assert (np.abs(controller.forces) <= (3.0, 2.0)).all()
    assert np.abs(controller.forces).max() == 3.0


def test_two_controllers_cannot_have_the_same_joint() -> None:
    """The conflict names the joint and both controllers, and nothing was half claimed."""
    scene, solver = cell(
        [
            PdController(joints=["elbow"], name="elbow servo"),
            PdController(joints=["shoulder", "elbow"], name="arm servo"),
        ]
    )
    with pytest.raises(JointClaimError) as caught:
        scene.start()
    message = str(caught.value)
    assert "'elbow'" in message
    assert "'elbow servo'" in message
    assert "'arm servo'" in message
    assert solver.claims == {}  # what had started was stopped again


def test_claims_end_with_the_scene() -> None:
    """What one controller gave back, another may take."""
    first = PdController(joints=["elbow"], name="first")
    scene, solver = cell([first])
    scene.start()
    assert solver.claims == {"elbow": "first"}
    scene.stop()
    assert solver.claims == {}
    scene.remove(first)
    scene.add(PdController(name="second"), runner="Control")
    scene.start()
    assert solver.claims == {"shoulder": "second", "elbow": "second"}


def test_wrong_names_and_numbers() -> None:
    """A joint that does not exist, a target of the wrong size, one that is not finite."""
    with pytest.raises(UnknownNameError, match="did you mean 'elbow'"):
        cell([PdController(joints=["elbo"])])
    controller = PdController()
    cell([controller])
    with pytest.raises(PhysicsError, match="for 2 joints"):
        controller.set_target([1.0])
    with pytest.raises(PhysicsError, match="finite number"):
        controller.set_target([1.0, np.nan])
    with pytest.raises(PhysicsError, match="'gravity' or 'dynamics'"):
        PdController(compensate="magic")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "setting", [{"kp": [1.0, 2.0, 3.0]}, {"kd": float("nan")}, {"max_force": -1.0}]
)
def test_settings_that_fit_no_joints_are_refused(setting: dict[str, object]) -> None:
    """One number, or one for each joint; the error names the setting and the controller."""
    with pytest.raises(PhysicsError, match=f"'servo': {next(iter(setting))}="):
        cell([PdController(name="servo", **setting)])


def test_joints_of_a_model_loaded_later_are_driven() -> None:
    """A group of joints goes by name: after another model is loaded it reads and drives that."""
    needs("mujoco")
    solver = MuJoCo(ARM)
    first, last = solver.joints[0], solver.joints[-1]
    group = JointGroup(solver, [last, first])
    solver.write_joints([0.1 * (n + 1) for n in range(len(solver.joints))])
    places = solver.joint_positions()
    assert group.state().tolist() == [places[-1], places[0], 0.0, 0.0]
    solver.load(ARM)
    assert group.state().tolist() == [0.0, 0.0, 0.0, 0.0]
    held = group.inverse_dynamics(np.zeros(2))
    np.testing.assert_allclose(held, group.holding_forces(), atol=1e-12)
    group.drive(held)
    with pytest.raises(PhysicsError, match="one finite number a joint"):
        group.drive(np.array([np.nan, 0.0]))
    with pytest.raises(PhysicsError, match="one finite number a joint"):
        group.drive(np.zeros(3))


def test_a_trajectory_arrives_within_its_limits() -> None:
    """The target's speed, acceleration and jerk stay within bounds, and the arm follows."""
    controller = TrajectoryController(
        kp=400.0, kd=40.0, compensate="dynamics",
        max_velocity=1.0, max_acceleration=3.0, max_jerk=20.0,
    )  # fmt: skip
    scene, solver = cell([controller])
    scene.start()
    controller.move_to([0.8, -0.5])
    positions, speeds, pulls = [], [], []
    for _ in range(120):
        scene.advance(steps=1, runner="Control")
        positions.append(controller.target)
        speeds.append(controller.target_velocity)
        pulls.append(controller.target_acceleration)
    assert controller.arrived
    assert np.abs(speeds).max() <= 1.0 + 1e-6
    assert np.abs(pulls).max() <= 3.0 + 1e-9
    assert np.abs(np.diff(pulls, axis=0)).max() <= 20.0 * 0.02 + 1e-9
    # What is said to be the velocity is the positions' own.
    np.testing.assert_allclose(
        np.diff(positions, axis=0), (np.array(speeds)[1:] + np.array(speeds)[:-1]) / 2 * 0.02,
        atol=2e-4,
    )  # fmt: skip
    np.testing.assert_allclose(solver.joint_positions(), (0.8, -0.5), atol=0.02)


def test_trajectories_are_state() -> None:
    """A run restored in the middle of a motion ends with the same bits."""

    def build() -> tuple[Scene, TrajectoryController]:
        controller = TrajectoryController(kp=400.0, kd=40.0, compensate="dynamics")
        scene, _ = cell([controller])
        scene.start()
        return scene, controller

    scene, controller = build()
    controller.move_to([0.8, -0.5])
    scene.advance(seconds=0.2)
    controller.move_to([-0.4, 0.3])  # bends away in mid-motion
    scene.advance(seconds=0.11)
    other, _ = build()
    other.restore(scene.save())
    for _ in range(20):
        scene.advance(seconds=0.02)
        other.advance(seconds=0.02)
        assert scene.hash() == other.hash()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-3, 3), st.integers(0, 900_000_000)), min_size=1, max_size=6))
def test_motions_never_jump(path: list[tuple[float, int]]) -> None:
    """However often the target changes, position, speed and acceleration are continuous."""
    motion = JerkLimited(1, velocity=1.0, acceleration=4.0, jerk=40.0)
    motion.begin([0.0])
    last = motion.advance(0)
    for target, wait_ns in path:
        motion.go_to([target])
        np.testing.assert_allclose(motion.advance(0), last, atol=1e-9)
        last = motion.advance(wait_ns)
        assert abs(last[1][0]) <= 1.0 + 1e-6
        assert abs(last[2][0]) <= 4.0 + 1e-6
    motion.advance(60_000_000_000)
    position, speed, _ = motion.advance(0)
    assert motion.arrived
    assert position[0] == pytest.approx(path[-1][0], abs=1e-6)
    assert speed[0] == pytest.approx(0.0, abs=1e-6)


def test_a_motion_without_end_is_refused() -> None:
    """Targets and limits are finite."""
    motion = JerkLimited(1)
    with pytest.raises(PhysicsError, match="no motion"):
        motion.go_to([float("nan")])
    with pytest.raises(PhysicsError, match="not positive"):
        JerkLimited(1, jerk=0.0)


SIX = """<mujoco><compiler angle="radian"/><worldbody>
<body pos="0 0 .3"><joint name="j1" axis="0 0 1" range="-2.9 2.9"/><geom size=".05"/>
<body pos="0 0 .1"><joint name="j2" axis="0 1 0" range="-2 2"/><geom size=".05"/>
<body pos="0 0 .4"><joint name="j3" axis="0 1 0" range="-2.6 2.6"/><geom size=".05"/>
<body pos="0 0 .35"><joint name="j4" axis="0 0 1" range="-2.9 2.9"/><geom size=".05"/>
<body pos="0 0 .08"><joint name="j5" axis="0 1 0" range="-2 2"/><geom size=".05"/>
<body pos="0 0 .08"><joint name="j6" axis="0 0 1" range="-3 3"/><geom size=".05"/>
<site name="tool" pos="0 0 .08"/></body></body></body></body></body></body></worldbody></mujoco>"""


def test_inverse_kinematics_finds_what_forward_kinematics_made() -> None:
    """Poses made by random joints near the start are found again, within limits."""
    needs("mujoco")
    solver = MuJoCo(SIX)
    ik = InverseKinematics(solver, "tool")
    limits = solver.joint_limits()
    start = np.array([0.2, 0.5, 0.9, 0.1, 0.6, 0.0])
    random = np.random.default_rng(4)
    import mujoco

    data, quaternion = mujoco.MjData(solver.model), np.empty(4)
    for _ in range(40):
        data.qpos[:] = np.clip(start + random.normal(0, 0.3, 6), limits[:, 0], limits[:, 1])
        mujoco.mj_kinematics(solver.model, data)
        mujoco.mju_mat2Quat(quaternion, data.site_xmat[0])
        found = ik.solve(data.site_xpos[0], quaternion, start=start)
        assert found.converged, found
        assert (found.positions >= limits[:, 0]).all()
        assert (found.positions <= limits[:, 1]).all()
        check = mujoco.MjData(solver.model)
        check.qpos[:] = found.positions
        mujoco.mj_kinematics(solver.model, check)
        np.testing.assert_allclose(check.site_xpos[0], data.site_xpos[0], atol=1e-4)
        off = check.site_xmat[0].reshape(3, 3).T @ data.site_xmat[0].reshape(3, 3)
        assert np.arccos(np.clip((np.trace(off) - 1) / 2, -1, 1)) < 2e-3


def test_out_of_reach_ends_nearest() -> None:
    """A target too far away ends with the arm stretched towards it, and says so."""
    needs("mujoco")
    solver = MuJoCo(SIX)
    found = InverseKinematics(solver, "tool", max_iterations=200).solve(
        (3.0, 0.0, 0.4), start=[0, 0.5, 0.9, 0, 0.6, 0]
    )
    assert not found.converged
    reach = 0.4 + 0.35 + 0.08 * 4
    assert found.position_error == pytest.approx(3.0 - reach, abs=0.15)


def test_solving_touches_nothing() -> None:
    """Inverse kinematics only looks."""
    needs("mujoco")
    solver = MuJoCo(SIX)
    before = solver.hash()
    InverseKinematics(solver, "tool").solve((0.4, 0.1, 0.5))
    assert solver.hash() == before
    with pytest.raises(UnknownNameError, match="did you mean 'tool'"):
        InverseKinematics(solver, "tol")


def test_controllers_may_take_turns() -> None:
    """Whoever is disabled wants no joint: two may be there for one, and drive it in turn."""
    servo, jig = PdController(name="servo"), PdController(name="jig", joints=["elbow"])
    scene, solver = cell([servo, jig])
    places = {place.name: place for place in scene.time.registrations}
    places["jig"].disable()
    scene.advance(seconds=0.1)
    assert solver.claims == {"shoulder": "servo", "elbow": "servo"}
    places["servo"].disable()
    places["jig"].enable()
    scene.advance(seconds=0.1)
    assert solver.claims["elbow"] == "jig"
    saved = scene.save()
    other, again = cell([PdController(name="servo"), PdController(name="jig", joints=["elbow"])])
    next(place for place in other.time.registrations if place.name == "jig").disable()
    other.restore(saved)
    for both in (scene, other):
        both.advance(seconds=0.1)
    assert scene.hash() == other.hash()
    assert again.claims["elbow"] == "jig"
    places["servo"].enable()
    with pytest.raises(CallbackError, match="'elbow'") as caught:
        scene.advance(seconds=0.1)
    assert isinstance(caught.value.__cause__, JointClaimError)


def test_inverse_kinematics_is_told_what_it_can_use() -> None:
    """Places that are none, joints that do not fit, an engine without joints: said at the call."""
    needs("mujoco")
    ik = InverseKinematics(MuJoCo(ARM), "tool")
    for wrong in (
        {"position": (np.nan, 0.0, 0.0)},
        {"position": (0.5, 0.0)},
        {"position": (0.5, 0.0, 0.0), "rotation": (1.0, 0.0, 0.0)},
        {"position": (0.5, 0.0, 0.0), "start": [0.0]},
        {"position": "there"},
    ):
        with pytest.raises(
            PhysicsError, match=r"inverse kinematics of a (position|rotation|start)"
        ):
            ik.solve(**wrong)  # type: ignore[arg-type]
    needs("rapier")
    with pytest.raises(PhysicsError, match="use a MuJoCo solver"):
        InverseKinematics(build("rapier"), "tool")  # type: ignore[arg-type]
