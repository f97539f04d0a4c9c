"""Scenes: scripts and their bindings, subsystems, random streams, state."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

from mainspring import Phase, Scene, SceneError, SceneWarning, Script, StateError, Subsystem
from mainspring.clock import CallbackError, RegistrationError
from mainspring.scene import LIFECYCLE, LifeCycleError


class Every(Script):
    """Overrides every callback and writes down who ran."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

    def on_start(self) -> None:
        self.ran = ["start"]

    def on_stop(self) -> None:
        self.ran.append("stop")

    def on_pre_update(self, ts: float) -> None:
        self.ran.append("pre")

    def on_update(self, ts: float) -> None:
        self.ran.append(("update", ts))

    def on_physics_update(self, ts: float) -> None:
        self.ran.append("physics")

    def on_late_update(self, ts: float) -> None:
        self.ran.append("late")

    def on_post_update(self, ts: float) -> None:
        self.ran.append("post")

    def on_free_pre_update(self, ts: float) -> None:
        self.ran.append(("free pre", ts))

    def on_free_post_update(self, ts: float) -> None:
        self.ran.append(("free post", ts))


class Walker(Script):
    """A random walk."""

    def __init__(self) -> None:
        self.place = 0.0
        self.path: list[float] = []

    def on_update(self, ts: float) -> None:
        self.place += float(self.random("steps").normal()) * ts
        self.path.append(self.place)


class Solver(Subsystem):
    """A subsystem with state."""

    def __init__(self) -> None:
        self.steps = 0
        self.life: list[str] = []

    def start(self) -> None:
        self.life.append("start")

    def stop(self) -> None:
        self.life.append("stop")

    def step(self, context: Any) -> None:
        self.steps += 1

    def save(self) -> Any:
        return self.steps

    def restore(self, state: Any) -> None:
        self.steps = state


def every_callback() -> tuple[Scene, Every]:
    scene = Scene()
    for binding in scene.bindings:
        binding.enabled = True
    return scene, scene.add(Every())


class TestScripts:
    def test_default_bindings(self) -> None:
        """on_update (at -200) and on_late_update are on; the others wait to be switched on."""
        on = {name for name, default in LIFECYCLE.items() if default.enabled}
        assert on == {"on_update", "on_late_update"}
        assert LIFECYCLE["on_update"].priority == -200
        scene = Scene()
        assert all(b.runner.name == "Robot" for b in scene.bindings if not b.free)
        phases = {b.name: b.phase for b in scene.bindings if not b.free}
        assert phases == {
            "on_pre_update": Phase.ACQUISITION,
            "on_update": Phase.CONTROL,
            "on_physics_update": Phase.PHYSICS,
            "on_late_update": Phase.VALIDATION,
            "on_post_update": Phase.EXPORT,
        }

    def test_run_in_the_order_of_phases(self) -> None:
        """A step runs a script's callbacks phase by phase, a frame puts the free ones around."""
        scene, script = every_callback()
        scene.frame(10_000_000)
        scene.stop()
        assert script.ran == [
            "start",
            ("free pre", 0.01),
            "pre",
            ("update", 0.02),
            "physics",
            "late",
            "post",
            ("free post", 0.01),
            "stop",
        ]

    def test_overriding_one_that_is_off_warns(self) -> None:
        """The warning says how to switch it on; switching it on later lets it run."""
        scene = Scene()

        class Late(Script):
            def on_physics_update(self, ts: float) -> None:
                self.ran = True

        with pytest.warns(SceneWarning, match=r"bindings\['on_physics_update'\].enabled = True"):
            script = scene.add(Late())
        scene.advance(instants=1)
        assert not hasattr(script, "ran")
        scene.bindings.on_physics_update.enabled = True
        scene.advance(steps=1)
        assert script.ran

    def test_a_binding_moves_every_script(self) -> None:
        """Binding a callback to another runner changes how often it runs and the ts it gets."""
        scene = Scene()
        told: list[tuple[str, float, str]] = []

        class Tell(Script):
            def on_update(self, ts: float) -> None:
                told.append((self.name, ts, self.context.runner.name))

        scene.add(Tell(), name="a")
        scene.add(Tell(), name="b")
        scene.bindings["on_update"].runner = "Capture"
        scene.advance(instants=1)
        assert told == [("a", 1 / 30, "Capture"), ("b", 1 / 30, "Capture")]

    def test_the_context_is_the_callbacks_own(self) -> None:
        """On a shared step each callback finds its own runner's context."""
        scene = Scene()
        scene.bindings.on_late_update.runner = "Capture"
        told: list[str] = []

        class Tell(Script):
            def on_update(self, ts: float) -> None:
                told.append(self.context.runner.name)

            def on_late_update(self, ts: float) -> None:
                told.append(self.context.runner.name)

        script = scene.add(Tell())
        scene.advance(instants=1)
        assert told == ["Robot", "Capture"]
        with pytest.raises(SceneError, match="outside a step"):
            _ = script.context

    def test_an_error_names_the_script(self) -> None:
        """An exception names script and callback."""
        scene = Scene("cell")

        class Bad(Script):
            def on_update(self, ts: float) -> None:
                raise RuntimeError("no torque")

        scene.add(Bad(), name="arm")
        with pytest.raises(CallbackError, match=r"callback 'arm.on_update' raised RuntimeError"):
            scene.advance(seconds=1)

    def test_removing_one_stops_it(self) -> None:
        """A removed script runs no more and is no part of the state."""
        scene, script = every_callback()
        scene.advance(instants=1)
        scene.remove(script)
        ran = len(script.ran)
        scene.advance(seconds=1)
        assert script.ran[-1] == "stop"
        assert len(script.ran) == ran
        assert "scripts/Every" not in scene.parts

    def test_a_wrong_priority_changes_nothing(self) -> None:
        """A binding refuses what is no priority, with scripts and without."""
        scene = Scene()
        for _ in range(2):
            with pytest.raises(RegistrationError, match="whole number"):
                scene.bindings.on_update.priority = "first"  # type: ignore[assignment]
            assert scene.bindings.on_update.priority == -200
            scene.add(Walker())

    def test_free_callbacks_have_no_runner(self) -> None:
        """Binding a free callback to a runner is an error."""
        with pytest.raises(SceneError, match="once a frame"):
            Scene().bindings.on_free_pre_update.runner = "Capture"


class TestSubsystems:
    def test_live_and_step(self) -> None:
        """A subsystem starts before the first instant, steps at its place, and stops."""
        scene = Scene()
        solver = scene.add(Solver(), runner="Capture", phase="physics", priority=3)
        scene.advance(seconds=1)
        scene.stop()
        assert solver.steps == 30
        assert solver.life == ["start", "stop"]
        row = scene.time.execution_order()[0]
        assert (row.name, row.runner, row.phase, row.priority) == (
            "Solver", "Capture", Phase.PHYSICS, 3,
        )  # fmt: skip

    def test_a_failing_start_stops_what_had_started(self) -> None:
        """When one part cannot start, those before it are stopped, and the scene has not begun."""
        scene = Scene()
        first = scene.add(Solver(), name="first")

        class Bad(Solver):
            def start(self) -> None:
                raise OSError("no device")

        scene.add(Bad())
        with pytest.raises(LifeCycleError, match="subsystem 'Bad' raised OSError in start") as told:
            scene.advance(seconds=1)
        assert isinstance(told.value.__cause__, OSError)
        assert first.life == ["start", "stop"]
        assert not scene.started

    def test_a_failing_stop_stops_the_others_all_the_same(self) -> None:
        """Every part is stopped, in the reverse order; the first error is raised, the rest noted."""
        scene = Scene("cell")
        stopped: list[str] = []

        class Bad(Script):
            def on_stop(self) -> None:
                stopped.append(self.name)
                raise OSError(f"{self.name} cannot close")

        class Good(Script):
            def on_stop(self) -> None:
                stopped.append(self.name)

        solver = scene.add(Solver())
        for name, script in (("a", Good()), ("b", Bad()), ("c", Good()), ("d", Bad())):
            scene.add(script, name=name)
        scene.start()
        with pytest.raises(LifeCycleError, match="script 'd' raised OSError in on_stop") as told:
            scene.stop()
        assert stopped == ["d", "c", "b", "a"]
        assert solver.life == ["start", "stop"]
        assert "b cannot close" in told.value.__notes__[0]
        assert not scene.started
        scene.stop()

    def test_one_that_fails_to_stop_is_removed_all_the_same(self) -> None:
        """Removing a part leaves nothing of it, whatever its end raises."""
        scene = Scene()

        class Bad(Script):
            def on_update(self, ts: float) -> None:
                raise AssertionError("still there")

            def on_stop(self) -> None:
                raise OSError("cannot close")

        script = scene.add(Bad())
        scene.start()
        with pytest.raises(LifeCycleError):
            scene.remove(script)
        assert "scripts/Bad" not in scene.parts
        assert scene.advance(seconds=0.1).instants == 7

    def test_attached_parts_are_reachable_and_state(self) -> None:
        """What is attached is an attribute, and part of the state when it can be saved."""
        scene = Scene()
        solver = Solver()
        scene.attach("world", solver)
        assert scene.world is solver
        assert scene.parts["world"] is solver
        with pytest.raises(SceneError, match="already"):
            scene.attach("world", solver)
        with pytest.raises(AttributeError, match="did you mean 'world'"):
            _ = scene.wrld


class TestState:
    def scene(self) -> Scene:
        scene = Scene(seed=3)
        scene.add(Walker())
        scene.add(Solver(), runner="Capture")
        return scene

    def test_a_restored_scene_goes_on_alike(self) -> None:
        """Saved, advanced, restored and advanced again: the same hash; in a fresh scene too."""
        scene = self.scene()
        scene.advance(seconds=0.5)
        state = scene.save()
        scene.advance(seconds=0.5)
        wanted = scene.hash()
        scene.restore(state)
        scene.advance(seconds=0.5)
        assert scene.hash() == wanted
        fresh = self.scene()
        fresh.restore(state)
        fresh.advance(seconds=0.5)
        assert fresh.hash() == wanted

    def test_reset_begins_anew(self) -> None:
        """After reset a scene runs as it did the first time."""
        scene = self.scene()
        scene.advance(seconds=1)
        wanted = scene.hash()
        scene.reset()
        assert scene.time.now == 0
        scene.advance(seconds=1)
        assert scene.hash() == wanted

    def test_reset_gives_rates_and_places_back(self) -> None:
        """What a run changed of runners and registrations is as it was before the first instant."""
        scene = Scene()

        def change(context: Any) -> None:
            scene.time.runners["Robot"].rate = 100  # type: ignore[assignment]
            broken.disable()

        broken = scene.time.register(lambda _: None, runner="Capture", name="broken")
        scene.time.register(change)
        scene.advance(seconds=1)
        scene.time.runners.add("extra", 10)
        scene.reset()
        assert [(r.name, float(r.rate)) for r in scene.time.runners] == [
            ("Robot", 50.0),
            ("Capture", 30.0),
        ]
        assert broken.enabled

    def test_a_snapshot_at_every_instant(self) -> None:
        """Whatever instant it is saved at, the rest of the run is the same."""
        scene = self.scene()
        states = []
        for _ in range(15):
            scene.advance(instants=1)
            states.append(scene.save())
        end = 300_000_000
        scene.advance(ns=end - scene.time.now)
        wanted = scene.hash()
        for state in states:
            scene.restore(state)
            scene.advance(ns=end - scene.time.now)
            assert scene.hash() == wanted

    def test_what_cannot_be_saved_is_named(self) -> None:
        """A script that holds something without stable bytes is refused by name, not skipped."""
        scene = Scene()

        class Holder(Script):
            def __init__(self) -> None:
                self.function = print

        scene.add(Holder(), name="arm")
        with pytest.raises(StateError, match=r"scripts/arm\['function'\]"):
            scene.save()

    def test_the_state_of_another_scene_is_refused(self) -> None:
        """Restoring into a scene built differently says what is missing, and changes nothing."""
        state = self.scene().save()
        other = Scene()
        before = other.hash()
        with pytest.raises(SceneError, match="scripts/Walker is missing here"):
            other.restore(state)
        assert other.hash() == before

    def test_streams_do_not_move_each_other(self) -> None:
        """A stream's numbers depend on the seed and its name alone."""
        one, two = Scene(seed=5), Scene(seed=5)
        one.random("other").normal(size=100)
        assert one.random("wind").normal() == two.random("wind").normal()
        assert Scene(seed=6).random("wind").normal() != Scene(seed=5).random("wind").normal()

    def test_twins_in_other_processes(self) -> None:
        """Another process with another hash seed comes to the same hash."""
        code = (
            "import sys; sys.path.insert(0, 'tests/scene')\n"
            "from test_scene import TestState\n"
            "scene = TestState().scene(); scene.advance(seconds=2); print(scene.hash().hex())"
        )
        hashes = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={"PYTHONHASHSEED": seed, "PATH": ""},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("0", "1", "12345")
        }
        assert len(hashes) == 1

    def test_frame_rate_does_not_reach_state(self) -> None:
        """The same second of sim time, cut into frames differently, has the same hash."""
        hashes = set()
        for pieces in ([1_000_000_000], [1_000_000] * 1000, [333_333_333] * 3 + [1]):
            scene = self.scene()
            for ns in pieces:
                scene.advance(ns=ns)
            hashes.add(scene.hash())
        assert len(hashes) == 1


def test_a_script_and_its_place_do_not_mix() -> None:
    """A script's place is the scene's to say."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SceneError, match="bindings"):
            Scene().add(Walker(), runner="Capture")


def test_a_class_is_no_part() -> None:
    """Adding a class where one of it was meant says so."""
    for kind in (Script, Subsystem):
        with pytest.raises(SceneError, match=f"hint: scene.add\\({kind.__name__}"):
            Scene().add(kind)  # type: ignore[arg-type]
