"""The outer loop: its order, its ends, and what it leaves behind."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mainspring import threads
from mainspring.threads import (
    Application,
    Change,
    ChangeKind,
    DispatcherClosedError,
    DispatchError,
    FileWatcher,
    Job,
    JobCancelledError,
    LongWork,
    MainThreadMonitor,
    Progress,
    RenderError,
    StopToken,
    ThreadContext,
    ThreadError,
    WrongThreadError,
    current_context,
    is_main_thread,
    require_main_thread,
)


class Scene:
    """What the loop wants of a scene, and a note of what it was told."""

    def __init__(self, told: list[Any] | None = None) -> None:
        self.told: list[Any] = [] if told is None else told
        self.context: ThreadContext | None = None

    def start(self) -> None:
        self.told.append("start")

    def frame(self, elapsed_ns: int) -> int:
        require_main_thread()
        self.context = current_context()
        self.told.append(elapsed_ns)
        return elapsed_ns

    def stop(self) -> None:
        self.told.append("stop")


class Ticks:
    """A clock that moves a fixed way at every look."""

    def __init__(self, step_ns: int = 1_000_000) -> None:
        self.now_ns = 0
        self.step_ns = step_ns

    def __call__(self) -> int:
        self.now_ns += self.step_ns
        return self.now_ns


class Answer(Job[int]):
    def __init__(self, value: int | None) -> None:
        super().__init__("answer")
        self.value = value

    def run(self, stop: StopToken, progress: Progress) -> int:
        while self.value is None:
            stop.wait(60)
        if self.value < 0:
            raise ValueError("negative")
        return self.value


def test_a_run_starts_frames_stops_and_says_why() -> None:
    scene = Scene()
    report = Application(scene, frame_rate=None, clock=Ticks()).run(frames=3)
    assert scene.told[0] == "start"
    assert scene.told[-1] == "stop"
    assert len(scene.told) == 5
    assert (report.reason, report.frames) == ("frames", 3)
    assert scene.context is ThreadContext.CALLBACK
    assert not threads.is_main_thread(), "the application that recorded it is over"


def test_a_run_ends_when_its_time_is_up() -> None:
    report = Application(Scene(), frame_rate=None, clock=Ticks(100_000_000)).run(seconds=1.0)
    assert report.reason == "time"
    assert report.elapsed_ns >= 1_000_000_000


def test_the_order_of_a_frame() -> None:
    """Pump, watchers, jobs, polls, scene, render."""
    seen: list[Any] = []

    class Ordered(Scene):
        def frame(self, elapsed_ns: int) -> int:
            seen.append("scene")
            return 0

    class Told:
        changed = True

        def take_changes(self) -> tuple[Change, ...]:
            return (Change(Path("a"), ChangeKind.MODIFIED),)

        def close(self) -> None:
            seen.append("watcher closed")

    with Application(Ordered()) as app:
        app.add_poll(lambda: seen.append("poll"))
        job = Answer.start(7)
        job.join()
        app.add_job(job, lambda done: seen.append(("job", done.take_result())))
        app.add_watcher(Told(), lambda changes: seen.append(("watcher", len(changes))))  # type: ignore[arg-type]
        app.renderer.submit(seen.append, "render")
        app.dispatcher.execute_async(seen.append, "pump")
        app.frame()
    assert seen == ["pump", ("watcher", 1), ("job", 7), "poll", "scene", "render", "watcher closed"]


def test_failures_of_what_reports_are_reported_and_the_loop_goes_on() -> None:
    heard: list[tuple[str, str]] = []
    app = Application(on_error=lambda error, place: heard.append((type(error).__name__, place)))
    job = Answer.start(-1)
    job.join()
    app.add_job(job)
    app.add_poll(lambda: [][1])
    app.dispatcher.execute_async(lambda: 1 // 0)
    with app:
        app.frame()
        app.frame()
    kinds = [kind for kind, _ in heard]
    assert kinds == ["ZeroDivisionError", "ValueError", "IndexError", "IndexError"]
    assert "Answer.run" in heard[1][1]


def test_an_error_in_submitted_work_ends_the_run_with_its_place() -> None:
    scene = Scene()
    app = Application(scene, policy="multi_threaded", frame_rate=None)
    app.renderer.submit(lambda: 1 // 0)
    with pytest.raises(RenderError, match="test_application"):
        app.run(frames=5)
    assert scene.told[-1] == "stop"


def test_an_error_of_the_scene_leaves_nothing_running(tmp_path: Path) -> None:
    class Failing(Scene):
        def frame(self, elapsed_ns: int) -> int:
            raise ValueError("robot fell over")

    app = Application(Failing(), policy="multi_threaded")
    job = Answer.start(None)
    app.add_job(job)
    app.add_watcher(FileWatcher(tmp_path), print)
    with pytest.raises(ValueError, match="robot fell over"):
        app.run()
    assert job.is_done()
    with pytest.raises(JobCancelledError):
        job.take_result()
    with pytest.raises(DispatcherClosedError):
        app.dispatcher.execute_async(print)
    with pytest.raises(ThreadError, match="after its loop ended"):
        app.run()


def test_stop_from_another_thread_ends_a_sleeping_loop() -> None:
    app = Application(frame_rate=0.001)  # the first frame, then a sleep of a quarter of an hour
    stopper = threading.Thread(target=lambda: app.dispatcher.execute(app.stop, "enough"))
    stopper.start()
    report = app.run()
    stopper.join()
    assert report.reason == "stopped: enough"


def test_dispatched_work_is_served_while_the_loop_sleeps() -> None:
    """A worker does not wait for the next frame."""
    app = Application(frame_rate=0.001)
    answers: list[int] = []

    def work() -> None:
        answers.extend(app.dispatcher.execute(lambda n=n: n * n) for n in range(5))
        app.stop()

    worker = threading.Thread(target=work)
    worker.start()
    report = app.run()
    worker.join()
    assert answers == [0, 1, 4, 9, 16]
    assert report.dispatched == 5
    assert report.frames == 1


def test_nobody_else_pumps_the_loops_dispatcher() -> None:
    heard: list[BaseException] = []
    app = Application(frame_rate=None, on_error=lambda error, place: heard.append(error))
    app.add_poll(app.dispatcher.process_pending)
    app.run(frames=1)
    assert isinstance(heard[0], DispatchError)
    assert "second caller" in str(heard[0])


def test_ctrl_c_ends_the_run_between_two_frames() -> None:
    scene = Scene()
    app = Application(scene, frame_rate=None)
    app.add_poll(lambda: os.kill(os.getpid(), signal.SIGINT))
    report = app.run()
    assert report.reason == "interrupted"
    assert scene.told[-1] == "stop"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_ends_a_long_sleep() -> None:
    """The next frame is a quarter of an hour away."""
    app = Application(frame_rate=0.001)
    sender = threading.Thread(
        target=lambda: app.dispatcher.execute(os.kill, os.getpid(), signal.SIGINT)
    )
    sender.start()
    assert app.run().reason == "interrupted"
    sender.join()


def test_a_second_ctrl_c_ends_the_frame_and_a_third_does_not_break_the_end() -> None:
    """What is under way then is the removal of what a job had half written."""
    heard: list[str] = []

    class Untidy(Answer):
        def clean_up(self) -> None:
            cleaning.set()
            told.wait()
            heard.append("cleaned")

    cleaning, told = threading.Event(), threading.Event()

    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    def press_again() -> None:
        cleaning.wait()
        os.kill(os.getpid(), signal.SIGINT)
        told.set()

    third = threading.Thread(target=press_again)
    third.start()
    app = Application(frame_rate=None)
    app.add_job(Untidy.start(None))
    app.add_poll(press)
    with pytest.raises(KeyboardInterrupt):
        app.run()
    third.join()
    assert heard == ["cleaned"]
    assert app.dispatcher.closed


def test_jobs_show_bars_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar comes with its job and goes with it."""
    import io

    from rich.console import Console

    from mainspring.threads import _application, _console

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    monkeypatch.setattr(_application, "JobBars", lambda: _console.JobBars(console))
    app = Application(frame_rate=None, clock=Ticks(60_000_000))
    app.add_job(Answer.start(None))
    app.run(frames=6, progress=True)
    assert "answer" in out.getvalue()
    assert "0%" in out.getvalue()


def test_beside_an_asyncio_loop() -> None:
    """The other tasks of the loop run while the application sleeps."""
    others: list[int] = []

    async def main() -> Any:
        app = Application(Scene(), frame_rate=1e6)
        task = asyncio.create_task(app.run_async())
        while len(others) < 5:
            others.append(app.frames)
            await asyncio.sleep(0)
        app.stop()
        return await task

    report = asyncio.run(main())
    assert report.reason == "stopped"
    assert report.frames >= 1


def test_beside_an_asyncio_loop_a_worker_does_not_wait_for_the_next_frame() -> None:
    """Dispatched work, and the end, are heard at once; a quarter of an hour before the next frame."""
    answers: list[int] = []

    async def main() -> Any:
        app = Application(frame_rate=0.001)

        def work() -> None:
            answers.extend(app.dispatcher.execute(lambda n=n: n * n) for n in range(5))
            app.stop("done")

        worker = threading.Thread(target=work)
        worker.start()
        report = await app.run_async()
        worker.join()
        return report

    report = asyncio.run(main())
    assert answers == [0, 1, 4, 9, 16]
    assert (report.reason, report.frames, report.dispatched) == ("stopped: done", 1, 5)


def test_a_flood_leaves_the_asyncio_loop_its_turns() -> None:
    """Work that hands over more work, for ever: the other tasks still run."""

    async def main() -> int:
        app = Application(frame_rate=0.001, dispatch_budget_ns=0)

        def flood() -> None:
            app.dispatcher.execute_async(flood)

        flood()
        task = asyncio.create_task(app.run_async())
        turns = 0
        while turns < 10:
            await asyncio.sleep(0)
            turns += 1
        app.stop()
        await task
        return turns

    assert asyncio.run(main()) == 10


def test_a_cancelled_task_ends_everything() -> None:
    """As Ctrl-C does under `asyncio.run`."""
    scene = Scene()

    async def main() -> Application:
        app = Application(scene, frame_rate=0.001)
        app.add_job(Answer.start(None))
        task = asyncio.create_task(app.run_async())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return app

    app = asyncio.run(main())
    assert scene.told[-1] == "stop"
    assert all(job.is_done() for job in app.jobs)
    assert app.dispatcher.closed


def test_in_a_notebooks_cell() -> None:
    """A cell runs inside a running asyncio loop; a blocking run works there too."""

    async def cell() -> Any:
        return Application(Scene(), frame_rate=None).run(frames=2)

    assert asyncio.run(cell()).frames == 2


def test_the_loop_belongs_to_its_thread(on_thread: Callable[..., Any]) -> None:
    with Application() as app:
        with pytest.raises(WrongThreadError, match=r"Application\.frame"):
            on_thread(app.frame, "job")
        with pytest.raises(WrongThreadError, match=r"Application\.add_poll"):
            on_thread(lambda: app.add_poll(print), "network")
    with pytest.raises(ThreadError, match="frame_rate is 0"):
        Application(frame_rate=0)


def test_long_work_is_noticed_while_it_lasts_with_its_stack() -> None:
    """The monitor's look from another thread finds the function that keeps main."""
    reports: list[LongWork] = []
    clock = Ticks(0)
    monitor = MainThreadMonitor(16_000_000, reports.append, clock=clock)

    def load_everything() -> None:
        clock.now_ns += 10_000_000
        assert monitor.check() is None
        clock.now_ns += 10_000_000
        looker = threading.Thread(target=monitor.check)
        looker.start()
        looker.join()
        assert monitor.check() is None, "told once"

    with monitor.section("import of arm.xml"):
        load_everything()
    assert monitor.check() is None
    during, after = reports
    assert (during.ended, after.ended) == (False, True)
    assert "load_everything" in during.stack
    assert after.stack == during.stack
    assert after.elapsed_ns == 20_000_000
    text = str(after)
    assert "import of arm.xml kept the main thread for 20.0 ms" in text
    assert "anything longer than a frame" in text


def test_short_work_is_not_noticed() -> None:
    reports: list[LongWork] = []
    monitor = MainThreadMonitor(16_000_000, reports.append, clock=Ticks(1000))
    with monitor.section("outer"), monitor.section("inner"):
        pass
    assert reports == []


def test_the_debug_mode_names_what_was_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MAINSPRING_DEBUG_THREADS", "1")
    clock = Ticks(0)
    app = Application(clock=clock, frame_rate=60)

    def slow_poll() -> None:
        clock.now_ns += 50_000_000

    app.add_poll(slow_poll)
    report = app.run(frames=1)
    (work,) = report.long_work
    assert work.name.endswith("slow_poll")
    assert work.elapsed_ns == 50_000_000
    assert "kept the main thread" in caplog.text


def test_the_debug_mode_names_dispatched_work_and_where_it_came_from() -> None:
    """Each operation is work of its own: a flood of short ones is nobody's fault."""
    clock = Ticks(0)
    app = Application(clock=clock, frame_rate=60, debug=True)

    def step(ns: int) -> None:
        clock.now_ns += ns

    for _ in range(5):
        app.dispatcher.execute_async(step, 5_000_000)
    app.dispatcher.execute_async(lambda: step(20_000_000))
    (work,) = app.run(frames=1).long_work
    line = inspect.currentframe().f_lineno - 2  # type: ignore[union-attr]
    assert f"<lambda> at {__file__}:{line}, handed over at {__file__}:{line} in test" in work.name


def test_the_main_thread_stays_known_until_the_last_application_ends() -> None:
    first, second = Application(frame_rate=None), Application(frame_rate=None)
    first.run(frames=1)
    seen: list[bool] = []
    second.add_poll(lambda: seen.append(is_main_thread()))
    second.run(frames=1)
    assert seen == [True]
    assert not is_main_thread()
