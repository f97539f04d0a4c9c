"""What happens when something goes wrong: the error says where, and nothing is half done."""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref

import pytest

from mainspring.clock import (
    CallbackError,
    ClockError,
    FixedLoop,
    Inbox,
    InboxFullError,
    InboxRouteError,
    IncompleteError,
    NestedAdvanceError,
    OwnerThreadError,
    Phase,
    RunEnd,
    RunnerError,
    TimeManager,
)


class Broken(Exception):
    pass


def fails_at(time_ns: int):  # type: ignore[no-untyped-def]
    def callback(context) -> None:  # type: ignore[no-untyped-def]
        if context.time == time_ns:
            raise Broken("the motor is on fire")

    return callback


class TestACallbackThatRaises:
    def test_ends_the_run_and_says_where(self) -> None:
        """The error names scene, runner, phase, callback, step and time, and keeps the traceback."""
        time = TimeManager(name="cell")
        time.register(fails_at(60_000_000), phase=Phase.PHYSICS, name="motor")
        with pytest.raises(CallbackError) as caught:
            time.advance(seconds=1)
        error = caught.value
        assert (error.scene, error.runner, error.phase) == ("cell", "Robot", "Physics")
        assert (error.callback, error.step, error.time_ns) == ("motor", 3, 60_000_000)
        assert isinstance(error.__cause__, Broken)
        assert error.__cause__.__traceback__ is not None
        for word in ("motor", "cell", "Robot", "Physics", "step 3", "0.060000000 s", "on fire"):
            assert word in str(error)

    def test_an_error_of_ours_says_once_what_to_do_instead(self) -> None:
        """What the clock itself refused inside a callback keeps its message and its hint apart."""
        time = TimeManager()
        time.register(lambda _: time.advance(seconds=1))
        with pytest.raises(CallbackError) as caught:
            time.advance(seconds=1)
        assert caught.value.hint is not None
        assert "hint" not in caught.value.message
        assert str(caught.value).count("hint:") == 1
        assert caught.value.hint.startswith("let the callback return")

    def test_what_follows_in_the_instant_does_not_run(self) -> None:
        """The instant is broken off where the callback raised."""
        ran: list[str] = []
        time = TimeManager()
        time.register(lambda _: ran.append("before"), priority=-1)
        time.register(fails_at(0))
        time.register(lambda _: ran.append("after"), priority=1)
        with pytest.raises(CallbackError):
            time.advance(instants=1)
        assert ran == ["before"]
        assert time.instants == 0

    def test_the_clock_refuses_until_it_is_reset(self) -> None:
        """After an incomplete instant nothing advances until reset, which begins anew."""
        time = TimeManager()
        registration = time.register(fails_at(0))
        with pytest.raises(CallbackError):
            time.advance(seconds=1)
        for advance in (
            lambda: time.advance(seconds=1),
            lambda: time.frame(1),
            lambda: time.run(seconds=1),
        ):
            with pytest.raises(IncompleteError, match=r"call scene\.reset"):
                advance()
        registration.remove()
        time.reset()
        assert time.advance(seconds=1).steps == {"Robot": 50, "Capture": 30}

    def test_it_may_be_disabled_instead(self) -> None:
        """With on_error="disable" it is switched off, its error is kept, and the instant goes on."""
        ran: list[int] = []
        time = TimeManager()
        registration = time.register(fails_at(20_000_000), on_error="disable")
        time.register(lambda c: ran.append(c.time), priority=1)
        report = time.advance(ns=60_000_000)
        assert report.reason is RunEnd.FINISHED
        assert ran == [0, 20_000_000, 40_000_000]
        assert not registration.enabled
        assert isinstance(registration.error, Broken)

    def test_a_free_update_is_named_too(self) -> None:
        """An exception in a free update says which one; the simulation is whole and may go on."""
        time = TimeManager()
        overlay = time.register_free(lambda _: 1 / 0, name="overlay")
        with pytest.raises(CallbackError, match=r"free update 'overlay' raised Zero.*\n.*frame 0"):
            time.frame(1)
        assert time.failure is None
        overlay.remove()
        assert time.frame(1).instants == 1

    def test_a_free_update_may_be_disabled_instead(self) -> None:
        """With on_error="disable" it is switched off, its error is kept, and the frame goes on."""
        time = TimeManager()
        overlay = time.register_free(lambda _: 1 / 0, on_error="disable")
        assert time.frame(1).instants == 1
        assert not overlay.enabled
        assert isinstance(overlay.error, ZeroDivisionError)
        time.frame(1)

    def test_one_that_removed_itself_is_named_all_the_same(self) -> None:
        """What a callback did before it raised hides nothing of who it was."""
        time = TimeManager()

        def leave(context) -> None:  # type: ignore[no-untyped-def]
            place.remove()
            raise Broken("gone")

        place = time.register(leave, name="leaver")
        with pytest.raises(CallbackError, match="callback 'leaver' raised Broken") as caught:
            time.advance(instants=1)
        assert caught.value.runner == "Robot"

    def test_what_it_asked_for_before_holds_after_a_reset(self) -> None:
        """Registrations and runners asked for in a broken instant are neither lost nor half there."""
        ran: list[str] = []
        time = TimeManager()

        def ask(context) -> None:  # type: ignore[no-untyped-def]
            place.remove()
            time.runners.add("IMU", 500)
            time.register(lambda _: ran.append("new"), runner="IMU", name="new")
            old.priority = -5
            raise Broken("after asking")

        place = time.register(ask)
        old = time.register(lambda _: ran.append("old"), priority=1, name="old")
        with pytest.raises(CallbackError):
            time.advance(instants=1)
        assert [r.name for r in time.registrations] == ["old", "new"]
        time.reset()
        time.advance(instants=1)
        assert ran == ["old", "new"]
        assert [row.name for row in time.execution_order()] == ["old", "new"]

    def test_an_input_and_an_observer_are_named(self) -> None:
        """When no callback raised, the error names the input, or the observer's method."""
        time = TimeManager(name="cell")
        time.inbox.route("intent", lambda given: 1 / 0)
        time.inbox.put("intent", {}, source="client 7")
        with pytest.raises(CallbackError, match="input 1 of kind 'intent' from 'client 7'"):
            time.advance(instants=1)

        class Watcher:
            def end_instant(self, time_ns: int) -> None:
                raise Broken("no disk")

        time = TimeManager()
        time.observers.add(Watcher())
        with pytest.raises(CallbackError, match=r"observer .*Watcher\.end_instant raised Broken"):
            time.advance(instants=1)


class TestMisuse:
    def test_advancing_from_inside_a_callback(self) -> None:
        """Advancing inside an instant is an error that says what to do instead."""
        time = TimeManager()
        time.register(lambda _: time.advance(seconds=1))
        with pytest.raises(CallbackError) as caught:
            time.advance(instants=1)
        assert isinstance(caught.value.__cause__, NestedAdvanceError)
        assert "request_wakeup" in str(caught.value.__cause__)

    @pytest.mark.parametrize(
        "touch",
        [
            lambda time: time.advance(seconds=1),
            lambda time: time.register(lambda _: None),
            lambda time: time.runners.add("x", 1),
            lambda time: time.request_wakeup(5),
            lambda time: time.frame(1),
            lambda time: time.reset(),
        ],
    )
    def test_touching_it_from_another_thread(self, touch) -> None:  # type: ignore[no-untyped-def]
        """Another thread gets an error that names it and offers the inbox."""
        time = TimeManager()
        caught: list[BaseException] = []

        def other() -> None:
            try:
                touch(time)
            except BaseException as error:
                caught.append(error)

        thread = threading.Thread(target=other, name="intruder")
        thread.start()
        thread.join()
        assert isinstance(caught[0], OwnerThreadError)
        assert "intruder" in str(caught[0])
        assert "inbox.put" in str(caught[0])

    @pytest.mark.parametrize("touch", ["advance", "run", "frame", "skip_to"])
    def test_advancing_from_inside_a_free_update(self, touch: str) -> None:
        """A free update looks: advancing from it is an error, and not a frame inside a frame."""
        time = TimeManager()
        time.register_free(lambda _: getattr(time, touch)(1))
        with pytest.raises(CallbackError) as caught:
            time.frame(1)
        assert isinstance(caught.value.__cause__, NestedAdvanceError)
        assert "look, never touch" in str(caught.value.__cause__)

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda time: time.advance(ns=1.5),
            lambda time: time.advance(instants=True),
            lambda time: time.advance(instants=2**70),
            lambda time: time.advance(steps=2.0),
            lambda time: time.advance("1e999999999s"),
            lambda time: time.advance("_"),
            lambda time: time.run(1e12),
            lambda time: time.frame(1.5),
            lambda time: time.frame(2**80),
            lambda time: time.request_wakeup(2**63),
            lambda time: time.request_wakeup(1e9),
            lambda time: time.boundaries(1.5),
            lambda time: time.skip_to(2**80),
            lambda time: setattr(time, "frame_budget_ns", 0),
            lambda time: setattr(time, "max_frame_delta_ns", 0.5),
            lambda time: setattr(time, "frame_rate", "often"),
            lambda time: time.runners.add(5, 50),
            lambda time: time.runners["Robot", 1],
            lambda time: time.runners[True],
            lambda time: time.register(lambda _: None, name=7),
            lambda time: setattr(time.register_free(lambda _: None), "priority", "first"),
            lambda time: setattr(time.inbox, "capacity", 0),
            lambda time: time.observers.add(3),
            lambda time: TimeManager(runners=()),
            lambda time: FixedLoop(lambda ts: None, max_steps_per_frame=0),
            lambda time: FixedLoop(lambda ts: None, max_frame_delta=-1.0),
            lambda time: FixedLoop(lambda ts: None).frame(float("nan")),
        ],
    )
    def test_a_wrong_value_is_refused_at_the_door(self, wrong) -> None:  # type: ignore[no-untyped-def]
        """Every one is one of our errors, in our words, and leaves the clock as it was."""
        time = TimeManager()
        before = time.save()
        with pytest.raises(ClockError) as caught:
            wrong(time)
        assert "incompatible function arguments" not in str(caught.value)
        assert time.save() == before

    def test_a_ninth_runner(self) -> None:
        """Eight runners are the most."""
        time = TimeManager()
        for i in range(6):
            time.runners.add(f"r{i}", 10)
        with pytest.raises(RunnerError, match="at most 8"):
            time.runners.add("ninth", 10)

    def test_removing_the_last_runner_or_one_in_use(self) -> None:
        """One runner stays, and one that is used is not taken away."""
        time = TimeManager()
        time.runners.remove("Capture")
        with pytest.raises(RunnerError, match="the last one"):
            time.runners.remove("Robot")
        time.runners.add("IMU", 500)
        time.register(lambda _: None, runner="IMU", name="read")
        with pytest.raises(RunnerError, match="still runs read"):
            time.runners.remove("IMU")

    def test_a_name_twice(self) -> None:
        """Names are unique, also after renaming."""
        time = TimeManager()
        with pytest.raises(RunnerError, match="already"):
            time.runners.add("Robot", 10)
        with pytest.raises(RunnerError, match="already"):
            time.runners["Robot"].name = "Capture"
        time.runners["Robot"].name = "Arm"
        assert time.runners["Arm"].id == 0

    @pytest.mark.parametrize(
        "arguments",
        [{}, {"seconds": 1, "ns": 1}, {"ns": -1}, {"ns": 1, "runner": "Robot"}, {"ns": 2**63}],
    )
    def test_advance_without_a_clear_amount(self, arguments: dict[str, object]) -> None:
        """advance takes one amount, forward, that fits time."""
        with pytest.raises(ClockError):
            TimeManager().advance(**arguments)  # type: ignore[arg-type]

    def test_a_wakeup_in_the_past(self) -> None:
        """A wake-up must lie ahead of every instant that has run."""
        time = TimeManager()
        time.advance(instants=1)
        with pytest.raises(ClockError, match="earliest instant still to come is 1 ns"):
            time.request_wakeup(0)


class TestTheInbox:
    def test_is_bounded_and_refuses(self) -> None:
        """A full inbox raises, and what was in it stays."""
        inbox = Inbox(capacity=2)
        inbox.route("x", lambda _: None)
        assert [inbox.put("x", 0), inbox.put("x", 1)] == [1, 2]
        with pytest.raises(InboxFullError, match="2 inputs wait"):
            inbox.put("x", 2)
        assert [i.payload for i in inbox.waiting] == [0, 1]
        inbox.drain()
        assert inbox.put("x", 3) == 3

    def test_refuses_a_kind_that_nobody_takes(self) -> None:
        """A misspelt kind is refused where it is put, with the nearest one."""
        inbox = Inbox()
        inbox.route("intent", lambda _: None)
        with pytest.raises(InboxRouteError, match="did you mean 'intent'"):
            inbox.put("intend", 0)

    def test_numbers_follow_the_order_of_many_threads(self) -> None:
        """Sequence numbers have no gap and no double, and each thread's inputs keep their order."""
        time = TimeManager()
        seen: list[tuple[int, int, int]] = []
        time.inbox.route("n", lambda given: seen.append((given.seq, *given.payload)))

        def put(thread: int) -> None:
            for i in range(500):
                time.inbox.put("n", (thread, i))

        threads = [threading.Thread(target=put, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.advance(instants=1)
        time.advance(instants=1)
        assert [seq for seq, _, _ in seen] == list(range(1, 2001))
        for n in range(4):
            assert [i for _, thread, i in seen if thread == n] == list(range(500))

    def test_waiting_inputs_are_state(self) -> None:
        """What waits is saved, restored and applied."""
        inbox = Inbox()
        inbox.route("x", lambda _: None)
        inbox.put("x", [1, "a"], source="me")
        other = Inbox()
        other.route("x", lambda _: None)
        other.restore(inbox.save())
        assert other.waiting == inbox.waiting
        assert other.put("x", 0) == 2


class TestCtrlC:
    def test_ends_a_run_between_two_instants(self) -> None:
        """Ctrl-C inside a callback lets the instant finish; the report says interrupted."""
        ran: list[str] = []
        time = TimeManager()

        def press(context) -> None:  # type: ignore[no-untyped-def]
            if context.step == 2:
                os.kill(os.getpid(), signal.SIGINT)
            ran.append("first")

        time.register(press)
        time.register(lambda _: ran.append("second"), priority=1)
        report = time.run(seconds=10, mode="sim_high_performance")
        assert report.reason is RunEnd.INTERRUPTED
        assert ran == ["first", "second"] * 3
        assert time.failure is None
        assert time.advance(steps=1, runner="Robot").steps["Robot"] == 1

    def test_ends_an_advance_between_two_instants(self) -> None:
        """An interrupted advance raises KeyboardInterrupt after the instant, and can go on."""
        time = TimeManager()
        ran: list[int] = []

        def press(context) -> None:  # type: ignore[no-untyped-def]
            if context.step == 2:
                os.kill(os.getpid(), signal.SIGINT)
            ran.append(context.step)

        time.register(press)
        with pytest.raises(KeyboardInterrupt):
            time.advance(seconds=1)
        assert ran == [0, 1, 2]
        assert time.advance(steps=1, runner="Robot").steps["Robot"] == 1
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    @pytest.mark.parametrize(
        "advance",
        [
            lambda time: time.advance(instants=1),
            lambda time: time.advance(ns=1),
            lambda time: time.advance(steps=1, runner="Robot"),
            lambda time: time.frame(1),
        ],
    )
    def test_is_heard_in_the_last_instant_there_is_time_for(self, advance) -> None:  # type: ignore[no-untyped-def]
        """A loop of small advances ends as well: the instant is whole, then it is raised."""
        ran: list[str] = []
        time = TimeManager()
        time.register(lambda _: os.kill(os.getpid(), signal.SIGINT))
        time.register(lambda _: ran.append("after"), priority=1)
        time.register_free(lambda _: ran.append("free"), "PostExport")
        with pytest.raises(KeyboardInterrupt):
            advance(time)
        assert ran[0] == "after"
        assert time.instants == 1
        assert time.failure is None
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_ends_a_run_whose_every_frame_has_one_instant(self) -> None:
        """A callback that takes longer than a frame leaves no later instant to hear it in."""
        time = TimeManager(runners=(("Slow", 50),))
        wall = [0]
        time.use_wall(lambda: wall[0], lambda until: wall.__setitem__(0, max(wall[0], until)))
        steps: list[int] = []

        def press(context) -> None:  # type: ignore[no-untyped-def]
            wall[0] += 1_000_000_000
            steps.append(context.step)
            if context.step == 2:
                os.kill(os.getpid(), signal.SIGINT)

        time.register(press, runner="Slow")
        assert time.run(seconds=10).reason is RunEnd.INTERRUPTED
        assert steps == [0, 1, 2]

    def test_is_not_lost_when_a_callback_advances_another_clock(self) -> None:
        """A press before the inner advance is heard there, and not wiped away by it."""
        inner, outer = TimeManager(), TimeManager()

        def press(context) -> None:  # type: ignore[no-untyped-def]
            os.kill(os.getpid(), signal.SIGINT)
            inner.advance(seconds=1)

        outer.register(press)
        with pytest.raises(KeyboardInterrupt):
            outer.advance(seconds=1)
        assert inner.instants == 0
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_a_handler_of_the_users_that_raises_in_a_sleep_breaks_no_instant(self) -> None:
        """What another signal's handler raises comes out between two instants."""
        time = TimeManager()

        def alarm(number: int, frame: object) -> None:
            raise Broken("time is up")

        def sleep(until: int) -> None:
            if time.instants == 3:
                alarm(0, None)

        time.use_wall(lambda: 0, sleep)
        with pytest.raises(Broken, match="time is up"):
            time.run(seconds=1)
        assert time.failure is None
        assert time.instants == 3


class TestLifetimes:
    def test_callbacks_are_collectable(self) -> None:
        """A clock and the callbacks that refer to it go away together."""
        time = TimeManager()

        class Owner:
            def __init__(self, time: TimeManager) -> None:
                self.time = time
                self.place = time.register(self.update)

            def update(self, context) -> None:  # type: ignore[no-untyped-def]
                self.kept = context

        owner = weakref.ref(Owner(time))
        clock = weakref.ref(time)
        time.advance(instants=3)
        del time
        gc.collect()
        assert owner() is None
        assert clock() is None

    def test_a_removed_callback_is_let_go(self) -> None:
        """Removing a registration drops the last reference to its callback."""
        time = TimeManager()

        class Callback:
            def __call__(self, context) -> None:  # type: ignore[no-untyped-def]
                pass

        callback = Callback()
        gone = weakref.ref(callback)
        place = time.register(callback)
        time.advance(instants=1)
        place.remove()
        del callback
        gc.collect()
        assert gone() is None

    @pytest.mark.slow
    def test_a_million_instants_leak_nothing(self) -> None:
        """References and blocks stay where they are over a million instants."""
        import sys

        time = TimeManager()
        time.register(lambda c: (c.dt, c.get_alpha("Capture"), c.runner.name))
        time.advance(instants=10_000)
        gc.collect()
        before = sys.getallocatedblocks()
        time.advance(instants=1_000_000)
        gc.collect()
        assert sys.getallocatedblocks() - before < 100


def test_a_broken_scene_is_not_saved() -> None:
    """Half an instant is no state to go on from: saving it is refused, restoring a whole one heals."""
    from mainspring import Scene

    scene = Scene()
    scene.time.register(fails_at(20_000_000))
    scene.advance(instants=1)
    whole = scene.save()
    with pytest.raises(CallbackError):
        scene.advance(instants=1 + 1)
    with pytest.raises(IncompleteError, match="save: scene 'scene' stopped inside the instant"):
        scene.save()
    scene.restore(whole)
    assert scene.save() == whole


def test_the_nearest_name_is_found_in_any_case() -> None:
    """A phase or a runner written in other letters is still recognised."""
    time = TimeManager()
    with pytest.raises(ClockError, match="did you mean 'CONTROL'"):
        time.register(print, phase="controll")
    with pytest.raises(RunnerError, match="did you mean 'Capture'"):
        time.register(print, runner="capture")


def test_a_runner_that_is_not_here_is_told_apart() -> None:
    """A runner of another scene is no misspelt name, and a number is looked for among the ids."""
    time, other = TimeManager(), TimeManager()
    with pytest.raises(RunnerError, match="'Robot' belongs to another scene"):
        time.register(print, runner=other.runners["Robot"])
    with pytest.raises(RunnerError, match=r"no runner 5\nhint: known: 0 \(Robot\), 1 \(Capture\)"):
        time.register(print, runner=5)


def test_a_fixed_loop_begins_again_after_a_step_that_raised() -> None:
    """Reset gives the loop it was before its first frame."""
    ran: list[float] = []

    def step(ts: float) -> None:
        ran.append(ts)
        if len(ran) == 2:
            raise Broken("once")

    loop = FixedLoop(step)
    with pytest.raises(CallbackError):
        loop.frame(0.1)
    loop.reset()
    assert (loop.steps, loop.accumulator, loop.alpha) == (0, 0, 0.0)
    assert loop.frame(0.05).steps == 3


@pytest.mark.parametrize("name", ["frame_budget_ns", "max_frame_delta_ns", "frame_rate", "mode"])
def test_settings_of_time_are_the_owners_to_change(name: str) -> None:
    """Another thread may read how frames are cut, not change it."""
    time = TimeManager()
    found: list[BaseException] = []

    def change() -> None:
        try:
            setattr(time, name, getattr(time, name))
        except OwnerThreadError as error:
            found.append(error)

    other = threading.Thread(target=change)
    other.start()
    other.join()
    assert len(found) == 1
