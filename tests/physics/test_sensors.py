"""Sensors: the right value, at the right time, with the noise of the seed, and never a stale one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from physics_worlds import ARM, MJCF, build, needs

from mainspring import Scene
from mainspring.physics import (
    Camera,
    ContactSensor,
    Imu,
    JointState,
    ModelSensors,
    MuJoCo,
    Noise,
    RangeScan,
    SensorError,
)
from mainspring.threads import offscreen_missing

FALL = """<mujoco><option timestep="0.002"/><worldbody>
<geom type="plane" size="5 5 .1"/>
<body name="chip" pos="0 0 20"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
<body name="rest" pos="3 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>
<geom name="wall" type="box" size=".1 3 3" pos="-4 0 0"/>
</worldbody></mujoco>"""


def cell(model: str = FALL, *, seed: int = 0) -> tuple[Scene, MuJoCo]:
    """A scene with physics at 500 Hz and slower runners for sensors."""
    needs("mujoco")
    scene = Scene("cell", seed=seed, runners=[("Physics", 500), ("Sensing", 100), ("Slow", 10)])
    return scene, scene.add(MuJoCo(model, name="world"), runner="Physics")


def test_an_imu_in_free_fall_feels_nothing_and_at_rest_gravity() -> None:
    """The specific force is zero while falling and gravity, upwards, on the ground."""
    scene, _ = cell()
    falling = scene.add(Imu(body="chip", name="falling"), runner="Sensing")
    resting = scene.add(Imu(body="rest", name="resting"), runner="Sensing")
    scene.advance(instants=1)
    assert not falling.valid  # a difference of velocities needs two
    scene.advance(seconds=1)
    np.testing.assert_allclose(falling.specific_force, 0.0, atol=1e-6)
    np.testing.assert_allclose(resting.specific_force, (0, 0, 9.81), atol=1e-2)
    np.testing.assert_allclose(resting.angular_rate, 0.0, atol=1e-3)


def test_an_imu_turns_with_its_body() -> None:
    """Axes are the body's: a spin about the body's x is read on x however the body lies."""
    scene, solver = cell(FALL.replace("option", 'option gravity="0 0 0"', 1))
    solver.write_poses("chip", [(0, 0, 20)], [(np.sqrt(0.5), 0, 0, np.sqrt(0.5))])
    solver.write_velocities("chip", [(0, 0, 0)], [(0, 2.0, 0)])  # world y is now body x
    imu = scene.add(Imu(body="chip", offset=(0, 0.5, 0)), runner="Sensing")
    scene.advance(seconds=0.5)
    np.testing.assert_allclose(imu.angular_rate, (2, 0, 0), atol=1e-6)
    # Half a metre from the axis, a turn of 2 rad/s pulls with 2 m/s² towards it.
    np.testing.assert_allclose(np.linalg.norm(imu.specific_force), 2.0, rtol=1e-3)
    assert imu.specific_force[1] == pytest.approx(-2.0, rel=1e-3)


def test_an_imu_on_a_fast_wheel_feels_what_the_formula_says() -> None:
    """Off the axis of a steady spin: a centripetal force and nothing along the rim, and gravity
    turning round it, though the axes turn ten degrees between two samples."""
    model = FALL.replace("<worldbody>", "<worldbody><body name='wheel' pos='0 0 9'><joint "
                         "axis='0 1 0'/><geom size='.2' mass='1'/></body>")  # fmt: skip
    scene, solver = cell(model)
    spin, radius, step = 18.0, 0.3, 0.01
    rates = np.zeros(len(solver.joints))
    rates[solver.joints.index("joint_0")] = spin
    solver.write_joints(np.zeros(len(solver.joints)), rates)
    imu = scene.add(Imu(body="wheel", offset=(radius, 0, 0)), runner="Sensing")
    for sample in range(1, 40):
        scene.advance(seconds=step)
        if sample == 1:
            continue
        # The sample at t tells of the way from t - 10 ms to t; the chord of it is shorter than
        # the arc by sinc. The axes are those half way, where gravity points this way.
        half = spin * (imu.reading.time_ns / 1e9 - step / 2)
        centripetal = spin**2 * radius * np.sinc(spin * step / 2 / np.pi)
        force = (-centripetal - 9.81 * np.sin(half), 0.0, 9.81 * np.cos(half))
        np.testing.assert_allclose(imu.specific_force, force, rtol=0, atol=2e-6 * centripetal)
        np.testing.assert_allclose(imu.angular_rate, (0, spin, 0), atol=1e-6)


@pytest.mark.parametrize("engine", ["rapier", "jolt", "box2d"])
def test_imu_and_scan_work_with_every_engine(engine: str) -> None:
    """Sensors that only need bodies and rays are not MuJoCo's alone."""
    scene = Scene("cell", runners=[("Physics", 240), ("Sensing", 60)])
    scene.add(build(engine), name="world", runner="Physics")
    imu = scene.add(Imu(body="ball"), runner="Sensing")
    scan = scene.add(
        RangeScan(body="ball", count=16, field_deg=360.0, max_distance=30.0), runner="Sensing"
    )
    scene.advance(seconds=0.25)  # the ball is in the air
    np.testing.assert_allclose(imu.specific_force, 0.0, atol=0.2)
    assert scan.value.shape == (16,)
    assert np.isfinite(scan.value).any()  # the crates


def test_joint_state_is_what_the_joints_are() -> None:
    """Positions, then rates, in the order asked for."""
    scene, solver = cell(ARM)
    sensor = scene.add(JointState(joints=["elbow", "shoulder"]), runner="Physics")
    scene.advance(seconds=0.1)
    position, velocity = solver.joint_positions(), solver.joint_velocities()
    scene.advance(instants=1)  # measures in Acquisition, before the step of this instant
    np.testing.assert_array_equal(sensor.positions, position[::-1])
    np.testing.assert_array_equal(sensor.velocities, velocity[::-1])


def test_latency_is_kept_to_the_nanosecond() -> None:
    """A value is there from its time plus the latency on, and not a nanosecond earlier."""
    scene, _ = cell(ARM)
    sensor = scene.add(JointState(latency_s=0.013), runner="Sensing")
    seen: list[tuple[int, int]] = []

    def look(context: Any) -> None:
        if sensor.reading is not None:
            seen.append((context.time, sensor.reading.time_ns))

    scene.time.register(look, runner="Physics", phase="Control", name="look")
    scene.advance(ns=50_000_000)
    # Measured at 0, 10, 20 ms ...; physics runs every 2 ms, so each arrives at the next of those.
    expected = [
        (t * 1_000_000, max(m for m in range(0, 50, 10) if m + 13 <= t) * 1_000_000)
        for t in range(0, 50, 2)
        if t >= 13
    ]
    assert seen == expected
    assert sensor.age_ns == 20_000_000
    scene.advance(ns=1_999_999)
    assert sensor.reading is not None
    assert sensor.reading.time_ns == 30_000_000
    assert len(sensor._readings) <= 3


def test_noise_is_the_seeds() -> None:
    """The same seed gives the same noise, another seed another, and it has its size."""

    def values(seed: int) -> np.ndarray[Any, Any]:
        scene, _ = cell(ARM.replace("<option", '<option gravity="0 0 0"'), seed=seed)
        sensor = scene.add(
            JointState(noise=Noise(std=0.01, bias=0.5, walk=0.001)), runner="Physics"
        )
        taken = []
        scene.time.register(
            lambda c: taken.append(sensor.value.copy()),
            phase="Control",
            runner="Physics",
            name="take",
        )
        scene.advance(seconds=1)
        return np.array(taken)

    one, same, other = values(1), values(1), values(2)
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    np.testing.assert_allclose(one[:, 0].mean(), 0.5, atol=0.01)
    np.testing.assert_allclose(one[:, 0].std(), 0.01, rtol=0.3)


def test_a_converter_has_steps() -> None:
    """Values lie on the quantum's grid."""
    scene, _ = cell(ARM)
    sensor = scene.add(JointState(noise={"quantum": 0.25}), runner="Sensing")
    scene.advance(seconds=0.4)
    np.testing.assert_allclose(sensor.value / 0.25 % 1, 0, atol=1e-12)


def test_nothing_stale_after_resets() -> None:
    """After the bodies are put back, or the scene is reset, there is no value until the next."""
    scene, solver = cell(ARM)
    sensor = scene.add(JointState(latency_s=0.005), runner="Sensing")
    scene.advance(seconds=0.5)
    assert sensor.valid
    solver.reset()
    assert not sensor.valid
    assert np.isnan(sensor.value).all()
    scene.advance(ns=10_000_000)  # measured at 500 ms, there at 505
    assert sensor.valid
    assert sensor.reading is not None
    assert sensor.reading.time_ns == 500_000_000
    scene.reset()
    assert not sensor.valid
    assert np.isnan(sensor.value).all()


def test_sensors_are_restored_with_what_is_under_way() -> None:
    """A snapshot between a measurement and its arrival keeps both, and the noise to come."""

    def build_cell() -> tuple[Scene, JointState, Imu]:
        scene, _ = cell(MJCF, seed=5)
        joints = scene.add(
            JointState(latency_s=0.025, noise=Noise(std=0.1, walk=0.1)), runner="Sensing"
        )
        imu = scene.add(Imu(body="ball", noise=Noise(std=0.1)), runner="Sensing")
        return scene, joints, imu

    scene, joints, imu = build_cell()
    scene.advance(seconds=0.123)
    saved = scene.save()
    other, joints2, imu2 = build_cell()
    other.restore(saved)
    for _ in range(30):
        np.testing.assert_array_equal(joints.value, joints2.value)
        np.testing.assert_array_equal(imu.value, imu2.value)
        assert scene.hash() == other.hash()
        scene.advance(instants=1)
        other.advance(instants=1)


def test_contact_sensor_feels_weight() -> None:
    """What lies on the ground presses on it with its weight; what falls touches nothing."""
    scene, _ = cell()
    skin = scene.add(ContactSensor(bodies=["rest", "chip"]), runner="Slow")
    scene.advance(seconds=1)
    assert skin.touching == ("rest",)
    assert skin.value[0, 1] == pytest.approx(2 * 9.81, rel=0.02)
    assert skin.value[1].tolist() == [0.0, 0.0]


def test_range_scan_measures_the_wall() -> None:
    """Rays end at the wall, at the distance geometry says; past it, there is nothing."""
    scene, solver = cell(FALL.replace("option", 'option gravity="0 0 0"', 1))
    solver.write_poses("chip", [(0, 0, 1)])
    scan = scene.add(RangeScan(body="chip", count=9, field_deg=360, max_distance=8), runner="Slow")
    scene.advance(seconds=0.2)
    hits = np.isfinite(scan.value)
    assert hits.any()
    assert not hits.all()
    for angle, distance in zip(scan.angles[hits], scan.value[hits], strict=True):
        assert distance * -np.cos(angle) == pytest.approx(3.9, abs=1e-6)


def test_model_sensors_and_unknown_names() -> None:
    """The model's own sensors are read by name; a wrong name is refused with the nearest."""
    scene, _ = cell(MJCF)
    own = scene.add(ModelSensors(sensors=["spin", "shake"]), runner="Sensing")
    scene.advance(seconds=0.2)
    assert own.value.shape == (6,)
    np.testing.assert_allclose(own.value[3:], 0, atol=1e-6)  # the ball is in free fall
    with pytest.raises(Exception, match="did you mean 'shake'"):
        scene.add(ModelSensors(sensors=["shak"], name="wrong"))
    with pytest.raises(Exception, match="did you mean 'ball'"):
        scene.add(Imu(body="bal", name="wrong2"))


def test_a_sensor_names_its_solver() -> None:
    """With no solver, or with two and no name, the error says what there is."""
    with pytest.raises(SensorError, match="none"):
        Scene("empty").add(Imu(body="x"))
    scene, _ = cell()
    scene.add(MuJoCo(ARM, name="arm"), runner="Physics")
    with pytest.raises(SensorError, match="world, arm"):
        scene.add(Imu(body="chip"))
    scene.add(Imu("world", body="chip"))
    with pytest.raises(SensorError, match="did you mean 'arm'"):
        scene.add(JointState("arn", name="other"))
    with pytest.raises(SensorError, match="makes no sense"):
        JointState(latency_s=-1.0)


def test_joints_need_an_engine_that_shows_them() -> None:
    """Asking Box2D for encoders is refused with what to use."""
    scene = Scene("flat")
    scene.add(build("box2d"))
    with pytest.raises(SensorError, match="use a MuJoCo solver"):
        scene.add(JointState())


SEEN = """<mujoco><option timestep="0.002"/><visual><global offwidth="320" offheight="240"/></visual>
<worldbody><light pos="0 0 5"/><geom type="plane" size="5 5 .1" rgba=".2 .2 .2 1"/>
<camera name="side" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
<body name="drop" pos="0 0 1.6"><freejoint/><geom type="sphere" size=".2" rgba="1 0 0 1"/></body>
</worldbody></mujoco>"""


def film(policy: str, latency_s: float = 0.05) -> list[bytes]:
    """The frames that a reader sees, under one policy."""
    reason = offscreen_missing()
    if reason is not None:
        pytest.skip(reason)
    scene, _ = cell(SEEN)
    camera = scene.add(
        Camera(camera="side", width=96, height=64, policy=policy, latency_s=latency_s),
        runner="Slow",
    )
    frames = []
    for _ in range(4):
        scene.advance(seconds=0.1)
        assert camera.valid
        frames.append(camera.value.tobytes())
    scene.stop()
    return frames


def test_a_camera_sees_what_falls() -> None:
    """The ball is red, in the middle column, and lower from frame to frame."""
    rows = []
    for frame in film("single_threaded", latency_s=0.0):
        pixels = np.frombuffer(frame, np.uint8).reshape(64, 96, 3).astype(int)
        red = (pixels[..., 0] > 100) & (pixels[..., 1] < 80)
        assert red.any()
        assert red.any(axis=0).nonzero()[0].mean() == pytest.approx(47.5, abs=2)
        rows.append(red.any(axis=1).nonzero()[0].mean())
    assert rows == sorted(rows)
    assert rows[-1] - rows[0] > 3


def test_renders_are_the_same_under_both_policies() -> None:
    """Whoever draws, the pixels are the same."""
    assert film("single_threaded") == film("multi_threaded")


def test_a_snapshot_put_back_makes_what_was_measured_stale() -> None:
    """`solver.restore` moves the bodies as a reset does: there is no value until the next
    measurement, in the run itself and in one that is restored at that moment."""

    def build_cell() -> tuple[Scene, MuJoCo, JointState]:
        scene, solver = cell(ARM)
        return scene, solver, scene.add(JointState(latency_s=0.015), runner="Sensing")

    scene, solver, sensor = build_cell()
    scene.advance(seconds=0.1)
    good = solver.save()
    scene.advance(seconds=0.1)
    assert sensor.valid
    solver.restore(good)
    assert not sensor.valid
    assert np.isnan(sensor.value).all()
    other, _, twin = build_cell()
    other.restore(scene.save())
    assert not twin.valid
    for both in (scene, other):
        both.advance(seconds=0.014)
    assert not sensor.valid  # what was under way is forgotten too
    assert scene.hash() == other.hash()
    for both in (scene, other):
        both.advance(seconds=0.002)
    assert sensor.valid
    assert twin.valid
    assert scene.hash() == other.hash()


@pytest.mark.parametrize(
    "noise",
    [{"std": -1.0}, {"walk": float("nan")}, {"quantum": float("inf")}, {"sdt": 0.1}, {"std": "a"}],
)
def test_noise_that_is_none_is_refused(noise: Any) -> None:
    """Where it is given, not at the first measurement."""
    with pytest.raises(SensorError, match="noise"):
        Imu(body="ball", noise=noise)
    assert Imu(body="ball", noise={"bias": -0.1}).noise == Noise(bias=-0.1)


@pytest.mark.parametrize(
    "wrong", [{"max_distance": -1.0}, {"max_distance": np.nan}, {"field_deg": np.nan}, {"count": 0}]
)
def test_a_scan_that_is_none_is_refused(wrong: Any) -> None:
    """No rays, no reach, no field."""
    with pytest.raises(SensorError, match="RangeScan"):
        RangeScan(body="ball", **wrong)


def test_the_solver_of_a_sensor_is_in_the_scene() -> None:
    """One that nobody steps is a mistake; and the sensor that was refused leaves nothing behind."""
    scene, _ = cell(ARM)
    with pytest.raises(SensorError, match="not in scene 'cell'"):
        scene.add(JointState(MuJoCo(ARM), name="encoders"), runner="Sensing")
    assert scene.add(JointState(name="encoders"), runner="Sensing").name == "encoders"
    scene.advance(seconds=0.1)
