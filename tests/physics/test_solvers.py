"""What every solver promises, for every engine: each promise has a test of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from physics_worlds import ENGINES, KINDS, MJCF, PLANE, SPACE, build, installed, needs, stir

from mainspring import Scene
from mainspring.clock import CallbackError
from mainspring.physics import (
    CONTACT,
    Body,
    DivergenceError,
    Joint,
    Jolt,
    Model,
    MuJoCo,
    PhysicsError,
    Rapier,
    Restore,
    RestoreError,
    Solver,
    StepError,
    UnknownNameError,
)
from mainspring.state import decode, encode

Make = Callable[[], Solver]
STEPS = 40


def drive(solver: Solver, first: int, last: int) -> list[bytes]:
    """Steps, stirring as it goes; the hash after each."""
    hashes = []
    for step in range(first, last):
        stir(solver, step)
        solver.advance(solver._substeps)
        hashes.append(solver.hash())
    return hashes


def test_twins_agree_at_every_step(make: Make) -> None:
    """The same model, driven in the same way, has the same bits at every step."""
    assert make().guarantee.bit_identical
    assert drive(make(), 0, STEPS) == drive(make(), 0, STEPS)


def test_something_happens(make: Make) -> None:
    """The twins agree about a world that moves."""
    solver = make()
    before, _ = solver.poses()
    hashes = drive(solver, 0, STEPS)
    after, rotation = solver.poses()
    assert len(set(hashes)) == STEPS
    assert np.abs(after - before).max() > 0.3
    np.testing.assert_allclose(np.linalg.norm(rotation, axis=1), 1.0, atol=1e-5)


def test_every_snapshot_continues_to_the_same_bits(make: Make) -> None:
    """A snapshot of any step, restored into a new solver, goes on exactly as the run did."""
    solver = make()
    saved = [encode(solver.save())]
    hashes = []
    for step in range(24):
        hashes += drive(solver, step, step + 1)
        saved.append(encode(solver.save()))
    for step in range(24):
        other = make()
        other.restore(decode(saved[step]))
        assert drive(other, step, min(step + 3, 24)) == hashes[step : step + 3], step


def test_a_snapshot_restored_in_place_rewinds(make: Make) -> None:
    """Going back within one solver is the same as never having gone on."""
    solver = make()
    drive(solver, 0, 10)
    saved, hashed = solver.save(), solver.hash()
    ahead = drive(solver, 10, 20)
    solver.restore(saved)
    assert solver.hash() == hashed
    assert drive(solver, 10, 20) == ahead


def test_forces_that_wait_are_state(make: Make) -> None:
    """A force that was asked for but not yet applied is in the snapshot."""
    solver, other = make(), make()
    solver.apply_force("ball", (3.0, 0.0, 0.0))
    other.restore(solver.save())
    solver.advance(), other.advance()
    assert solver.hash() == other.hash()
    plain = make()
    plain.advance()
    assert plain.hash() != solver.hash()


def test_a_force_lasts_one_step(make: Make) -> None:
    """A force pushes through the whole of the next step, and then no more."""
    solver = make()
    row = solver.row("ball")
    start = solver.velocities()[0][row, 0]
    solver.apply_force("ball", (6.0, 0.0, 0.0))
    solver.advance(solver._substeps)
    pushed = solver.velocities()[0][row, 0]
    solver.advance(solver._substeps)
    after = solver.velocities()[0][row, 0]
    assert pushed - start > 0.05
    # Jolt damps free motion by 5 % a second.
    assert after == pytest.approx(pushed, abs=2e-3)


def test_reset_is_the_start(make: Make) -> None:
    """After a reset the run is the first run again, in a new epoch."""
    solver = make()
    first = [solver.poses()[0].tobytes() for _ in range(10) if drive(solver, 20, 21) is not None]
    solver.reset()
    assert solver.epoch == 1
    assert solver.steps == 0
    again = [solver.poses()[0].tobytes() for _ in range(10) if drive(solver, 20, 21) is not None]
    assert first == again


def test_a_snapshot_of_another_model_is_refused(engine: str, make: Make) -> None:
    """A snapshot says which engine and model it is of."""
    saved = make().save()
    with pytest.raises(RestoreError, match="another model"):
        make().restore({**saved, "model": b"0" * 16})
    with pytest.raises(RestoreError, match="the snapshot is of unity"):
        make().restore({**saved, "engine": "unity"})


def test_a_tampered_replay_is_noticed(make: Make) -> None:
    """Where a restore is a replay, it is compared with the bodies of the snapshot."""
    solver = make()
    if solver.guarantee.restore is not Restore.REPLAY:
        pytest.skip("the snapshot is exact")
    drive(solver, 0, 10)
    saved = solver.save()
    saved["state"][1][solver.row("ball")] += 1e-9
    with pytest.raises(RestoreError, match="'ball' elsewhere"):
        make().restore(saved)


def test_poses_are_read_in_bulk_into_given_arrays(make: Make) -> None:
    """`read_poses` fills what it is given, also a view with strides."""
    solver = make()
    drive(solver, 0, 5)
    count = len(solver.bodies)
    whole = np.zeros((count, 9))
    solver.read_poses(whole[:, 1:4], whole[:, 5:9])
    position, rotation = solver.poses()
    np.testing.assert_array_equal(whole[:, 1:4], position)
    np.testing.assert_array_equal(whole[:, 5:9], rotation)


def test_what_is_written_is_read_back(make: Make) -> None:
    """Poses and velocities that were written are there before the next step."""
    solver = make()
    flat = solver.engine == "box2d"
    where = np.array([[3.0, 4.0, 0.0 if flat else 5.0]])
    turn = np.array([[np.cos(0.3), 0.0, 0.0, np.sin(0.3)]])
    solver.write_poses("ball", where, turn)
    solver.write_velocities("ball", [(0.5, 0.25, 0.0)], [(0.0, 0.0, 2.0)])
    row = solver.row("ball")
    position, rotation = solver.poses()
    linear, angular = solver.velocities()
    np.testing.assert_allclose(position[row], where[0], atol=1e-6)
    np.testing.assert_allclose(rotation[row], turn[0], atol=1e-6)
    np.testing.assert_allclose(linear[row], (0.5, 0.25, 0.0), atol=1e-6)
    np.testing.assert_allclose(angular[row], (0.0, 0.0, 2.0), atol=1e-6)


def test_contacts_and_events(make: Make) -> None:
    """Bodies that come to lie on something touch it; events say when that began."""
    solver = make()
    began = {}
    for step in range(60):
        solver.advance(solver._substeps)
        for event in solver.events():
            began.setdefault((event.a, event.b, event.began), step)
    floor = "world" if solver.engine == "mujoco" else "floor"
    assert any(key[0] == floor and key[1].startswith("crate") for key in began)
    solver.write_velocities("crate_0", [(0.01, 0.0, 0.0)])
    solver.advance(solver._substeps)
    contacts = solver.contacts()
    assert contacts.dtype == CONTACT
    assert len(contacts) > 0
    assert (contacts["a"] <= contacts["b"]).all()
    assert (np.diff(contacts["a"]) >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(contacts["normal"], axis=1), 1.0, atol=1e-4)


def test_rays_meet_the_ground(make: Make) -> None:
    """A ray straight down from high up meets what is there; one sideways meets nothing."""
    solver = make()
    solver.advance()
    flat = solver.engine == "box2d"
    down = (0.0, -1.0, 0.0) if flat else (0.0, 0.0, -1.0)
    origin = (-15.0, 10.0, 0.0) if flat else (-15.0, 9.0, 10.0)
    hits = solver.cast_rays(origin, [down, (-1.0, 0.0, 0.0)], max_distance=50.0)
    assert hits.distances[0] == pytest.approx(10.0, abs=1e-3)
    assert np.isinf(hits.distances[1])
    assert solver._named(int(hits.rows[0])) in ("floor", "world")
    assert hits.rows[1] == -1


def test_rays_pass_the_body_that_is_ignored(make: Make) -> None:
    """A sensor does not see its own housing."""
    solver = make()
    solver.advance()
    position, _ = solver.poses()
    start = position[solver.row("ball")]
    down = (0.0, -1.0, 0.0) if solver.engine == "box2d" else (0.0, 0.0, -1.0)
    hits = solver.cast_rays(start, [down], ignore="ball")
    assert hits.distances[0] > 0.3
    assert hits.rows[0] != solver.row("ball")


@pytest.mark.parametrize("engine", ["rapier", "jolt", "box2d"])
def test_sensors_are_felt_and_do_not_touch(engine: str) -> None:
    """What falls through a sensor is told by events; forces and rays know nothing of it."""
    needs(engine)
    flat = engine == "box2d"

    def up(height: float) -> tuple[float, float, float]:
        return (0.0, height, 0.0) if flat else (0.0, 0.0, height)

    thin = (1.0, 0.2, 1.0) if flat else (1.0, 1.0, 0.2)
    bodies = [
        Body(name="ground", kind="fixed", size=(5.0, 0.5, 5.0) if flat else (5.0, 5.0, 0.5),
             position=up(-0.5)),
        Body(name="gate", kind="fixed", sensor=True, size=thin, position=up(2.0)),
        Body(name="field", kind="fixed", sensor=True, size=thin, position=up(2.1)),
        Body(name="ball", shape="sphere", size=(0.1,), position=up(3.0)),
    ]  # fmt: skip
    solver = KINDS[engine](Model(bodies, gravity=up(-9.81)), step="1/60")
    seen = []
    for _ in range(60):
        solver.advance()
        seen += [event for event in solver.events() if "gate" in event]
        assert not set(solver.contacts()["a"].tolist()) & {1, 2}
    assert seen == [("gate", "ball", True), ("gate", "ball", False)]
    down = solver.cast_rays(up(4.0), [up(-1.0)], ignore="ball")
    assert (down.rows[0], down.distances[0]) == (0, pytest.approx(4.0, abs=1e-3))
    inside = solver.cast_rays(up(2.05), [up(-1.0)])
    assert (inside.rows[0], inside.distances[0]) == (3, pytest.approx(1.85, abs=0.02))


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_the_bits_do_not_depend_on_threads(threads: int | None) -> None:
    """Rapier's own pool, one worker or three: as the guarantee says, the same states."""
    needs("rapier")
    model = Model.parse(SPACE)
    one, other = Rapier(model, step="1/60"), Rapier(model, step="1/60", threads=threads)
    for _ in range(20):
        one.advance(6)
        other.advance(6)
        assert one.hash() == other.hash()


def test_unknown_names_are_named(make: Make) -> None:
    """A wrong body or control is refused with the nearest one; a row that is none, too."""
    solver = make()
    with pytest.raises(UnknownNameError, match="did you mean 'ball'"):
        solver.row("bal")
    with pytest.raises(UnknownNameError, match="did you mean 'elbow'"):
        solver.set_controls([1.0], ["elbo"])
    for row in (10_000, -1):
        for look in (solver.pose, solver.frame, solver.velocity, solver.apply_force):
            with pytest.raises(PhysicsError, match="rows 0 to"):
                look(row)
    with pytest.raises(PhysicsError, match="rows 0 to"):
        solver.write_velocities(10_000, [(0.0, 0.0, 0.0)])
    with pytest.raises(PhysicsError, match="are no rows"):
        solver.rows(np.array([0.5]))


def test_bodies_may_be_chosen_by_truth_values(make: Make) -> None:
    """As everywhere in NumPy: a mask over all bodies means those that are true."""
    solver = make()
    chosen = solver.poses()[0][:, 0] < -5.0
    assert solver.rows(chosen).tolist() == np.flatnonzero(chosen).tolist()
    with pytest.raises(PhysicsError, match="truth values"):
        solver.rows(chosen[:-1])


def test_what_is_no_ray_and_no_number_is_refused(make: Make) -> None:
    """Origins that do not match, a reach of nothing, texts: said, not found out by NumPy."""
    solver = make()
    ways = [(1.0, 0.0, 0.0)] * 3
    with pytest.raises(PhysicsError, match="2 origins for 3 rays"):
        solver.cast_rays([(0.0, 0.0, 0.0)] * 2, ways)
    with pytest.raises(PhysicsError, match="every number finite"):
        solver.cast_rays((np.nan, 0.0, 0.0), ways)
    for reach in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(PhysicsError, match="rays of"):
            solver.cast_rays((0.0, 0.0, 0.0), ways, max_distance=reach)
    with pytest.raises(PhysicsError, match="no array of numbers"):
        solver.write_poses("ball", "somewhere")


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e11])
def test_numbers_that_are_not_finite_never_reach_the_engine(make: Make, bad: float) -> None:
    """What a controller computed wrongly is refused where it is given, and changes nothing."""
    solver = make()
    before = solver.hash()
    for call in (
        lambda: solver.apply_force("ball", (bad, 0.0, 0.0)),
        lambda: solver.write_poses("ball", [(bad, 0.0, 0.0)]),
        lambda: solver.write_velocities("ball", [(0.0, bad, 0.0)]),
        lambda: solver.set_controls([bad], ["elbow"]),
        lambda: solver.cast_rays((0.0, 0.0, 0.0), [(bad, 0.0, 0.0)]),
    ):
        with pytest.raises(PhysicsError, match=r"finite|beyond 1e10"):
            call()
    assert solver.hash() == before


def test_in_a_scene_each_runner_step_is_whole(engine: str) -> None:
    """At 30 Hz, whose steps are 33 333 333 or ..34 ns, the engine takes the exact fraction."""
    scene = Scene("cell", runners=[("Physics", 30)])
    solver = scene.add(build(engine, step="1/240"), runner="Physics")
    scene.advance(seconds=1)
    assert solver.steps == 240
    assert scene.time.now == 1_000_000_000


def test_a_step_that_does_not_divide_is_refused(engine: str) -> None:
    """When it is added, or when the rate changes; the error names the nearest steps that do."""
    scene = Scene("cell", runners=[("Physics", 30)])
    with pytest.raises(StepError, match="does not divide") as caught:
        scene.add(build(engine, step=0.004, name="yard"), runner="Physics")
    assert "1/240 s" in str(caught.value)
    assert "1/270 s" in str(caught.value)
    # It never joined: another may have its name, and nothing of it is stepped.
    assert scene.add(build(engine, step="1/240", name="yard"), runner="Physics").name == "yard"
    scene.advance(seconds=0.1)
    scene.time.runners["Physics"].rate = 50
    with pytest.raises(CallbackError, match="does not divide") as later:
        scene.advance(seconds=0.1)
    assert isinstance(later.value.__cause__, StepError)


@pytest.mark.parametrize("substeps", [0, -1, 2.5, "2"])
def test_substeps_are_counted_in_whole_numbers(engine: str, substeps: Any) -> None:
    """What is no count is refused where it is given."""
    with pytest.raises(StepError, match="make no step"):
        build(engine, substeps=substeps)


def test_a_compiled_model_that_two_solvers_are_given_is_neither_s() -> None:
    """Each steps a copy, so the step of one is not that of the other, nor of who made the model."""
    needs("mujoco")
    import mujoco

    model = mujoco.MjModel.from_xml_string(MJCF)

    def run(*substeps: int) -> bytes:
        scene = Scene("cell", runners=[("Physics", 500)])
        solvers = [scene.add(MuJoCo(model, substeps=count), runner="Physics") for count in substeps]
        scene.advance(seconds=0.3)
        return solvers[0].poses()[0].tobytes()

    assert run(1) == run(1, 4)
    assert model.opt.timestep == 0.002
    assert model.opt.disableflags == 0


def test_changing_the_runners_rate_fits_the_step_again(engine: str) -> None:
    """A runner that is made faster asks for fewer engine steps at each of its own."""
    scene = Scene("cell", runners=[("Physics", 30)])
    solver = scene.add(build(engine, step="1/240"), runner="Physics")
    scene.advance(seconds=1)
    scene.time.runners["Physics"].rate = 60
    scene.advance(seconds=1)
    assert solver.steps == 480


def test_restored_scenes_continue(engine: str) -> None:
    """A whole scene with a solver, restored into another scene, goes on to the same hashes."""

    def cell() -> Scene:
        scene = Scene("cell", seed=3, runners=[("Physics", 60), ("Control", 20)])
        solver = scene.add(build(engine, step="1/240"), runner="Physics")

        def push(context: object) -> None:
            solver.apply_force("ball", (0.5, 0.0, 0.0))

        scene.time.register(push, runner="Control", name="push")
        return scene

    scene = cell()
    scene.advance(seconds=0.4)
    saved = scene.save()
    wanted = []
    for _ in range(6):
        scene.advance(instants=1)
        wanted.append(scene.hash())
    other = cell()
    other.restore(saved)
    for hashed in wanted:
        other.advance(instants=1)
        assert other.hash() == hashed


def test_scene_reset_starts_the_same_run_again(engine: str) -> None:
    """After `scene.reset()` everything happens as it did the first time."""
    scene = Scene("cell", runners=[("Physics", 60)])
    solver = scene.add(build(engine, step="1/240"), runner="Physics")
    scene.advance(seconds=0.5)
    first = solver.hash()
    scene.reset()
    scene.advance(seconds=0.5)
    assert solver.hash() == first


def test_the_gil_is_released_where_the_engine_allows(make: Make) -> None:
    """Another thread gets to run within a call, or the guarantee says that it does not."""
    solver = make()
    go, ran = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        ran.set()

    thread = threading.Thread(target=work)
    interval = sys.getswitchinterval()
    # Nobody is made to let go of the GIL: the other thread runs when a call releases it, or never.
    sys.setswitchinterval(1000)
    try:
        thread.start()
        go.set()
        for _ in range(20_000 if solver.guarantee.releases_gil else 200):
            solver.advance(8)
            if ran.is_set():
                break
        assert ran.is_set() == solver.guarantee.releases_gil
    finally:
        sys.setswitchinterval(interval)
        go.set()
        thread.join()


def test_a_wrong_substep_count_is_refused(engine: str) -> None:
    """Half a step, none, or two wishes at once."""
    with pytest.raises(StepError, match="make no step"):
        build(engine, substeps=0)
    with pytest.raises(StepError, match="both"):
        build(engine, substeps=2, step=0.01)
    with pytest.raises(StepError, match="positive"):
        build(engine, step=-0.01)


def test_exact_fractions() -> None:
    """30000/1001 Hz is no rounding matter: its step divides into six of 1001/180000 s."""
    solver = build("mujoco", step=Fraction(1001, 180000))
    assert solver.fit(Fraction(1001, 30000)) == 6


def test_a_rate_no_float_can_name_is_taken_exactly() -> None:
    """1000.0000001 Hz is not 1000 Hz: a millisecond does not divide its step."""
    solver = build("box2d", step="1/1000")
    scene = Scene("odd", runners=[("Physics", "1000.0000001")])
    with pytest.raises(StepError, match="does not divide"):
        scene.add(solver, runner="Physics")


def test_divergence_ends_the_run_with_the_last_good_snapshot() -> None:
    """A MuJoCo state that explodes stops the scene, says when and which body, and can go back."""
    solver = build("mujoco")
    scene = Scene("cell", runners=[("Physics", 500)])
    scene.add(solver, runner="Physics")
    scene.advance(seconds=1.5)

    def spoil(context: object) -> None:
        solver.data.qvel[-2] = 1e12

    scene.time.request_wakeup(scene.time.now)
    scene.time.register(spoil, runner="Physics", name="spoil")
    with pytest.raises(Exception, match="diverged") as caught:
        scene.advance(seconds=1)
    error = caught.value if isinstance(caught.value, DivergenceError) else caught.value.__cause__
    assert isinstance(error, DivergenceError)
    assert error.body in solver.bodies
    assert error.time_ns >= 1_500_000_000
    assert error.snapshot_time_ns <= 1_500_000_000
    solver.restore(error.snapshot)
    assert np.isfinite(solver.poses()[0]).all()
    solver.advance(10)


def test_the_last_good_snapshot_is_never_of_another_timeline() -> None:
    """After going back, what was good later is forgotten: the snapshot restored is the last good."""
    solver = build("mujoco")
    scene = Scene("cell", runners=[("Physics", 500)])
    scene.add(solver, runner="Physics")
    scene.advance(seconds=0.25)
    early = scene.save()
    scene.advance(seconds=3)
    scene.restore(early)
    scene.time.register(lambda _: solver.data.qvel.__setitem__(-2, 1e12), runner="Physics")
    with pytest.raises(Exception, match="diverged") as caught:
        scene.advance(seconds=1)
    error = caught.value if isinstance(caught.value, DivergenceError) else caught.value.__cause__
    assert isinstance(error, DivergenceError)
    assert error.snapshot_time_ns == 250_000_000
    solver.restore(error.snapshot)
    assert solver.steps == 125


def test_several_solvers_share_a_scene() -> None:
    """All engines that are here, in one scene, replayed to the same hash."""

    def cell() -> Scene:
        scene = Scene("all", runners=[("Physics", 60), ("Fine", 240)])
        for engine in ENGINES:
            if installed(engine):
                runner = "Fine" if engine == "mujoco" else "Physics"
                scene.add(build(engine, substeps=2), name=engine, runner=runner)
        scene.advance(seconds=0.5)
        return scene

    one, other = cell(), cell()
    assert len(one.subsystems) >= 3
    assert one.part_hashes() == other.part_hashes()


@pytest.mark.parametrize("held", [False, True], ids=["looked_at", "held"])
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_looking_changes_nothing_and_sees_what_is_now(held: bool, integrator: str) -> None:
    """Looked at often, seldom or never, held by its raw data or not: the bits are `mj_step`'s,
    and what is seen is derived from the positions of now."""
    needs("mujoco")
    import mujoco

    model = MJCF.replace("implicitfast", integrator)
    plain = mujoco.MjModel.from_xml_string(model)
    data, now = mujoco.MjData(plain), mujoco.MjData(plain)
    mujoco.mj_forward(plain, data)  # as loading does: the warm start is the engine's memory
    solver = MuJoCo(model)
    raw = solver.data.xpos if held else None
    positions = solver._data.qpos
    for step in range(200):
        solver.advance(1 + step % 2)
        mujoco.mj_step(plain, data, 1 + step % 2)
        assert positions.tobytes() == data.qpos.tobytes(), step
        if held or step % 3 == 0:
            now.qpos[:] = data.qpos
            mujoco.mj_kinematics(plain, now)
            seen = raw[1:] if raw is not None else solver.poses()[0]
            assert seen.tobytes() == now.xpos[1:].tobytes(), step
        if step % 50 == 49:
            solver.restore(decode(encode(solver.save())))


@pytest.mark.parametrize("solid", [False, True])
def test_moving_mocap_bodies_steps_as_the_engine_does(solid: bool) -> None:
    """With a ghost or a solid obstacle moved at every step, the bits are those of `mj_step`."""
    needs("mujoco")
    import mujoco

    flags = "" if solid else 'contype="0" conaffinity="0"'
    model = f"""<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1"/>
    <body name="paddle" mocap="true" pos="-1 0 .2"><geom type="box" size=".1 .5 .2" {flags}/></body>
    <body name="ball" pos="0 0 .2"><freejoint/><geom size=".2"/></body></worldbody></mujoco>"""
    solver = MuJoCo(model)
    plain = mujoco.MjModel.from_xml_string(model)
    data = mujoco.MjData(plain)
    for step in range(600):
        where = np.array([-1.0 + 0.002 * step, 0.0, 0.2])
        solver.write_poses("paddle", where)
        assert solver.poses()[0][0].tolist() == where.tolist() if step % 7 == 0 else True
        solver.advance()
        data.mocap_pos[0] = where
        mujoco.mj_step(plain, data)
        assert solver._data.qpos.tobytes() == data.qpos.tobytes(), step
    assert (solver.poses()[0][1, 0] > 0.3) == solid


def test_load_begins_anew(engine: str, make: Make) -> None:
    """Another model in the same solver is as a new solver with it; sensors are told."""
    solver, fresh = make(), make()
    drive(solver, 0, 10)
    model = MJCF if engine == "mujoco" else Model.parse(PLANE if engine == "box2d" else SPACE)
    solver.load(model)
    solver.fit(Fraction(1, 60))
    assert solver.epoch == 1
    assert solver.steps == 0
    for step in range(5):
        drive(solver, step, step + 1), drive(fresh, step, step + 1)
        assert solver.poses()[0].tobytes() == fresh.poses()[0].tobytes()


SHAPES = [
    Body(name="floor", kind="fixed", shape="plane"),
    Body(name="box", size=(0.3, 0.4, 0.5), position=(0, 0, 1)),
    Body(name="sphere", shape="sphere", size=(0.4,), position=(3, 0, 1)),
    Body(name="capsule", shape="capsule", size=(0.2, 0.3), position=(6, 0, 0.8)),
    Body(name="cylinder", shape="cylinder", size=(0.4, 0.3), position=(9, 0, 1)),
]


@pytest.mark.parametrize("engine", ["rapier", "jolt"])
def test_every_shape_comes_to_rest_at_its_height(engine: str) -> None:
    """Sizes and axes mean the same in every engine: each shape stands as tall as it is."""
    needs(engine)
    solver = (Rapier if engine == "rapier" else Jolt)(Model(SHAPES))
    solver.fit(Fraction(1, 240))
    solver.advance(240)
    heights = dict(zip(solver.bodies, solver.poses()[0][:, 2].tolist(), strict=True))
    for name, height in {"box": 0.5, "sphere": 0.4, "capsule": 0.5, "cylinder": 0.3}.items():
        assert heights[name] == pytest.approx(height, abs=0.03), name


@pytest.mark.parametrize("kind", ["hinge", "slider", "ball", "fixed"])
def test_joints_hold(engine: str, kind: str) -> None:
    """What a joint allows happens, and the distance it keeps is kept."""
    if engine == "mujoco":
        pytest.skip("MuJoCo has joints of its own")
    flat = engine == "box2d"
    across = (0.0, 0.0, 1.0) if flat else (0.0, 1.0, 0.0)
    model = Model(
        [
            Body(name="post", kind="fixed", size=(0.1, 0.1, 0.1), position=(0, 0, 0)),
            Body(name="arm", size=(0.5, 0.1, 0.1), position=(1.0, 0, 0)),
        ],
        [
            Joint(
                name="j", kind=kind, a="post", b="arm",  # type: ignore[arg-type]
                axis=(1.0, 0.0, 0.0) if kind == "slider" else across,
            )
        ],
        gravity=(0.0, -9.81, 0.0) if flat else (0.0, 0.0, -9.81),
    )  # fmt: skip
    solver = KINDS[engine](model)
    solver.fit(Fraction(1, 240))
    if kind == "slider":
        solver.write_velocities("arm", (1.0, 0.0, 0.0))
    solver.advance(60)
    x, *rest = solver.poses()[0][solver.row("arm")].tolist()
    down = rest[0] if flat else rest[1]
    if kind in ("hinge", "ball"):
        assert down < -0.15
        assert np.hypot(x, down) == pytest.approx(1.0, abs=0.03)
    elif kind == "slider":
        assert x > 1.1
        assert down == pytest.approx(0.0, abs=0.03)
    else:
        assert (x, down) == pytest.approx((1.0, 0.0), abs=0.03)


@pytest.mark.slow
def test_everything_is_the_same_in_another_process() -> None:
    """A scene with all solvers and many sensors, run in processes with other hash seeds."""
    script = Path(__file__).parent / "everything.py"
    ends = [
        subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert ends[0] == ends[1]
    assert ends[0].count("\n") >= 8


@pytest.mark.parametrize("kind", ["hinge", "slider"])
def test_motors_drive_to_their_target_and_limits_hold(engine: str, kind: str) -> None:
    """A control is an angle or a way: the motor goes there, and no farther than the limits."""
    if engine == "mujoco":
        pytest.skip("MuJoCo has actuators of its own")
    flat = engine == "box2d"
    across = (0.0, 0.0, 1.0) if flat else (0.0, -1.0, 0.0)
    model = Model(
        [
            Body(name="post", kind="fixed", size=(0.1, 0.1, 0.1), position=(0, 0, 0)),
            Body(name="arm", size=(0.5, 0.1, 0.1), mass=1.0, position=(1.0, 0, 0)),
        ],
        [
            Joint(
                name="j", kind=kind, a="post", b="arm",  # type: ignore[arg-type]
                axis=(1.0, 0.0, 0.0) if kind == "slider" else across,
                limits=(-0.5, 0.5), motor_force=1000.0,
            )
        ],
        gravity=(0.0, 0.0, 0.0),
    )  # fmt: skip
    solver = KINDS[engine](model)
    solver.fit(Fraction(1, 240))

    def reached() -> float:
        solver.advance(720)
        x, y, z = solver.poses()[0][solver.row("arm")].tolist()
        return x - 1.0 if kind == "slider" else float(np.arctan2(y if flat else z, x))

    for target, end in ((0.3, 0.3), (-0.2, -0.2), (2.0, 0.5)):
        solver.set_controls([target])
        assert reached() == pytest.approx(end, abs=0.04), target
        assert solver.control_values().tolist() == [target]
