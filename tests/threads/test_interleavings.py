"""Thousands of interleavings of dispatch, shutdown, cancellation and failure, by seed.

A failure names its seed; `explore(seed)` alone repeats it.
"""

from __future__ import annotations

import inspect
import textwrap
import threading
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from mainspring.threads import (
    Application,
    DispatcherClosedError,
    DispatchError,
    FileWatcher,
    Job,
    JobCancelledError,
    MainThreadDispatcher,
    Progress,
    ProgressState,
    Renderer,
    RenderError,
    StopSource,
    StopToken,
    WatcherError,
    _render,
    _sync,
    active_jobs,
    cancel_all_jobs,
)

from .controlled import Scheduler, controlled

BATCHES = 8
SEEDS_A_BATCH = 100


def seeds(batch: int) -> range:
    return range(batch * SEEDS_A_BATCH, (batch + 1) * SEEDS_A_BATCH)


class Boom(Exception):
    pass


def explore_dispatch(scheduler: Scheduler) -> None:
    """Workers hand work over while the main thread serves, pauses and shuts down."""
    ran: list[tuple[int, int]] = []
    told: dict[tuple[int, int], str] = {}
    lost: list[BaseException] = []
    made: list[MainThreadDispatcher] = []
    rolls = scheduler.random

    def operation(worker: int, number: int) -> tuple[int, int]:
        ran.append((worker, number))
        if number % 3 == 2:
            raise Boom(worker, number)
        return (worker, number)

    def work(worker: int) -> None:
        dispatcher = made[0]
        for number in range(4):
            key = (worker, number)
            kind = rolls.choice(("execute", "timed", "async"))
            try:
                if kind == "async":
                    dispatcher.execute_async(operation, worker, number)
                    told[key] = "handed over"
                    continue
                timeout_s = 1.0 if kind == "timed" else None
                result = dispatcher.execute(operation, worker, number, timeout_s=timeout_s)
                assert result == key
                told[key] = "result"
            except Boom as error:
                told[key] = "error" if error.args == key else "somebody else's error"
            except DispatcherClosedError:
                told[key] = "closed"
            except DispatchError:
                told[key] = "timeout"

    def main() -> None:
        dispatcher = MainThreadDispatcher(on_error=lambda error, place: lost.append(error))
        made.append(dispatcher)
        for worker in range(3):
            scheduler.spawn(lambda worker=worker: work(worker), name=f"worker {worker}")
        for _ in range(rolls.randrange(12)):
            if rolls.random() < 0.4:
                dispatcher.wait(0.01)
            dispatcher.process_pending(rolls.choice((0, 3000, None)))
        dispatcher.close()

    scheduler.spawn(main, name="main")
    scheduler.run()

    assert len(ran) == len(set(ran)), "an operation ran twice"
    for worker in range(3):
        mine = [number for w, number in ran if w == worker]
        assert mine == sorted(mine), "operations of one worker ran out of order"
    assert len(told) == 12, "a worker was left waiting"
    for key, answer in told.items():
        assert answer != "somebody else's error"
        if answer in ("result", "error"):
            assert key in ran
        elif answer in ("closed", "timeout"):
            assert key not in ran, "work was refused and done"
    assert len(lost) == sum(
        1 for key, answer in told.items() if answer == "handed over" and key in ran and key[1] == 2
    )


def explore_sleep(scheduler: Scheduler) -> None:
    """The main thread sleeps until somebody hands work over, wakes it or closes its dispatcher."""
    rolls = scheduler.random
    scheduler.timeouts = rolls.random() < 0.3
    made: list[MainThreadDispatcher] = []
    ran: list[tuple[int, int]] = []
    ended: list[int] = []

    def work(worker: int) -> None:
        dispatcher = made[0]
        for number in range(3):
            call = rolls.choice((dispatcher.execute, dispatcher.execute_async))
            call(ran.append, (worker, number))
        ended.append(worker)  # as `Application.stop` does: first say it, then wake
        dispatcher.wake()

    def main() -> None:
        dispatcher = MainThreadDispatcher()
        made.append(dispatcher)
        for worker in range(2):
            scheduler.spawn(lambda worker=worker: work(worker), name=f"worker {worker}")
        while len(ended) < 2 or dispatcher.pending:
            dispatcher.wait(rolls.choice((0.01, None)) if scheduler.timeouts else None)
            dispatcher.process_pending(rolls.choice((0, None)))
        scheduler.spawn(dispatcher.close, name="closer")
        while not dispatcher.closed:
            dispatcher.wait()

    scheduler.spawn(main, name="main")
    scheduler.run()
    assert len(ran) == 6


class Writing(Job[int]):
    """A job of the usual shape: parts, a visit to the main thread, a wait that only a request to
    stop ends, a point of no return."""

    def __init__(
        self, dispatcher: MainThreadDispatcher, disk: set[str], number: int, rolls: Random
    ) -> None:
        super().__init__(f"writing {number}")
        self.dispatcher = dispatcher
        self.disk = disk
        self.number = number
        self.parts = rolls.randrange(6)
        self.fails = rolls.random() < 0.25
        self.asks = rolls.random() < 0.5
        self.commits = rolls.random() < 0.5
        self.waits = rolls.random() < 0.3

    def run(self, stop: StopToken, progress: Progress) -> int:
        self.disk.add(f"{self.number} partial")
        for part in range(self.parts):
            stop.checkpoint()
            progress.set(f"part {part}", part / 6)
        if self.fails:
            raise Boom(self.number)
        if self.asks:
            self.dispatcher.execute(lambda: None)
        if self.waits:
            stopped = _sync.Latch()
            with stop.on_stop(stopped.set):
                stopped.wait()
        if self.commits:
            stop.commit()
        self.disk.discard(f"{self.number} partial")
        self.disk.add(f"{self.number} whole")
        return self.number

    def clean_up(self) -> None:
        self.disk -= {f"{self.number} partial", f"{self.number} whole"}


def explore_jobs(scheduler: Scheduler) -> None:
    """Jobs run, fail, are cancelled and wait for a main thread that may be ending, while others
    wait for them."""
    rolls = scheduler.random
    disk: set[str] = set()
    checked: list[int] = []
    seen: list[int] = []

    def look(job: Writing) -> None:
        if job.is_done():
            assert job not in active_jobs(), "done, and yet counted as running"
            if job.failure is not None:
                assert f"{job.number} partial" not in disk, "failed before it was cleaned up"

    def wait_too(job: Writing) -> None:
        assert job.join()
        look(job)
        seen.append(job.number)

    def main() -> None:
        dispatcher = MainThreadDispatcher()
        jobs = [Writing.start(dispatcher, disk, n, rolls) for n in range(3)]
        scheduler.spawn(lambda first=jobs[0]: wait_too(first), name="a second waiter")
        heard: set[int] = set()
        for _ in range(rolls.randrange(6)):
            dispatcher.process_pending(None)
            job = rolls.choice(jobs)
            if rolls.random() < 0.3 and job.cancel():
                heard.add(job.number)
            for job in jobs:
                look(job)
        if rolls.random() < 0.5:
            dispatcher.close()  # otherwise the joins below let go whoever waits for this thread
        rolls.shuffle(jobs)
        if rolls.random() < 0.5:
            cancel_all_jobs(jobs)
        for job in jobs:
            if job.waits and job.cancel():  # it would wait for ever
                heard.add(job.number)
            assert job.join()
            look(job)
            assert not job.cancel(), "heard when it was over"
            whole = f"{job.number} whole"
            try:
                assert job.take_result() == job.number
                assert whole in disk
                assert job.number not in heard, "cancel was heard, and yet there is a result"
            except (JobCancelledError, DispatchError, Boom):
                assert whole not in disk
            assert f"{job.number} partial" not in disk
            checked.append(job.number)

    scheduler.spawn(main, name="main")
    scheduler.run()
    assert sorted(checked) == [0, 1, 2]
    assert seen == [0]


def explore_render(scheduler: Scheduler) -> None:
    """Frames are handed over, waited for, fail and are closed: all in the order of the model."""
    rolls = scheduler.random
    in_flight = rolls.choice((1, 2))
    drawn: list[Any] = []
    surfaced: list[int] = []
    expected: list[Any] = []
    waiting: list[Any] = []
    given_up: list[list[Any]] = [[]]

    def begin_frame() -> None:
        expected.extend(waiting)
        waiting.clear()
        if len(given_up) > in_flight:
            expected.extend(given_up.pop(0))
        given_up.append([])

    def draw(number: int) -> None:
        drawn.append(number)
        if number % 5 == 3:
            raise Boom(number)

    def note(call: Any) -> None:
        try:
            call()
        except RenderError as error:
            surfaced.extend(failure.args[0] for _, failure in error.failures)

    def main() -> None:
        renderer = Renderer("multi_threaded", frames_in_flight=in_flight)
        number = 0
        for _ in range(rolls.randrange(6)):
            for _ in range(rolls.randrange(4)):
                renderer.submit(draw, number)
                waiting.append(number)
                if rolls.random() < 0.3:
                    renderer.submit_resource_free(drawn.append, ("freed", number))
                    given_up[-1].append(("freed", number))
                number += 1
            name = rolls.choice(("end_frame", "kick", "pump", "block_until_complete"))
            note(getattr(renderer, name))
            if name != "block_until_complete":
                begin_frame()
        if rolls.random() < 0.2:
            _render._end_threads()  # the end of a program that did not close it
            note(renderer.block_until_complete)
        else:
            note(renderer.close)
            while waiting or any(given_up):
                begin_frame()

    scheduler.spawn(main, name="main")
    scheduler.run()
    assert drawn == expected
    assert surfaced == [n for n in drawn if isinstance(n, int) and n % 5 == 3]


def explore_watch(scheduler: Scheduler) -> None:
    """Files change while the main thread looks: every change is seen, once and in its order."""
    rolls = scheduler.random
    told = [{(2, f"/{n % 3}.{n}")} for n in range(8)]
    seen: list[int] = []
    died: list[str] = []

    def source(paths: Any, stop: Any) -> Iterator[set[tuple[int, str]]]:
        yield set()
        yield from told
        raise OSError("no more")

    def main() -> None:
        watcher = FileWatcher("/", source=source, wait=rolls.random() < 0.5)
        while not died:
            scheduler.switch()
            try:
                if watcher.changed:
                    changes = watcher.take_changes()
                    seen.extend(sorted(int(change.path.suffix[1:]) for change in changes))
            except WatcherError as error:
                died.append(str(error))
        watcher.close()

    scheduler.spawn(main, name="main")
    scheduler.run()
    assert seen == list(range(8))
    assert "no more" in died[0]


def explore_progress(scheduler: Scheduler) -> None:
    """Two threads set one half each: neither takes back what the other has set."""
    progress = Progress("begin")
    last: list[ProgressState] = []

    def main() -> None:
        texts = scheduler.spawn(lambda: [progress.set(text) for text in "abc"], name="texts")
        for part in range(3):
            progress.set(fraction=part / 2)
        texts.join()
        last.append(progress.read())

    scheduler.spawn(main, name="main")
    scheduler.run()
    assert last == [("c", 1.0)]


def explore_application(scheduler: Scheduler) -> None:
    """A loop that sleeps for hours between two frames hears at once of work and of its end."""
    scheduler.timeouts = False
    answers: list[int] = []
    reasons: list[str] = []

    def main() -> None:
        app = Application(frame_rate=1e-4, clock=scheduler.monotonic_ns)
        app.add_job(Echo.start(app, answers))
        reasons.append(app.run().reason)

    scheduler.spawn(main, name="main")
    scheduler.run()
    assert answers == [1, 2]
    assert reasons == ["stopped: heard"]


class Echo(Job[None]):
    def __init__(self, app: Application, answers: list[int]) -> None:
        super().__init__("echo")
        self.app = app
        self.answers = answers

    def run(self, stop: StopToken, progress: Progress) -> None:
        for number in (1, 2):
            self.answers.append(self.app.dispatcher.execute(lambda n=number: n))
        self.app.stop("heard")


SCENARIOS = [
    explore_dispatch,
    explore_sleep,
    explore_jobs,
    explore_render,
    explore_watch,
    explore_progress,
    explore_application,
]


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("explore", SCENARIOS)
def test_no_interleaving_breaks_it(explore: Any, batch: int) -> None:
    """Nothing is lost, doubled, reordered or left waiting, whatever the order of the threads."""
    for seed in seeds(batch):
        with controlled(seed) as scheduler:
            try:
                explore(scheduler)
            except AssertionError as error:
                error.add_note(f"seed {seed} of {explore.__name__}")
                raise


PLANTED: dict[str, tuple[Any, str, str, str, Any]] = {
    "a waiter is withdrawn while it runs": (
        MainThreadDispatcher, "execute", "withdrawn = operation.state == _PENDING", "withdrawn = True",
        explore_dispatch),
    "closing leaves a waiter": (
        MainThreadDispatcher, "close", "operation.done.set()", "pass", explore_dispatch),
    "work is taken after the end": (
        MainThreadDispatcher, "_hand_over", "if self._closed:", "if False:", explore_dispatch),
    "the last look comes before the bed": (
        MainThreadDispatcher, "_may_sleep", "            self._waker = waker\n            return True",
        "            pass\n        self._waker = waker\n        return True", explore_sleep),
    "a wake-up is not kept": (
        MainThreadDispatcher, "wake", "self._woken = waker is None", "pass", explore_sleep),
    "the gate is shut behind who opens it": (
        MainThreadDispatcher, "wait", "        if not self._may_sleep(self._open_gate):\n            return bool(self._pending)\n",
        "        if not self._may_sleep(self._open_gate):\n            return bool(self._pending)\n        self._gate.acquire(blocking=False)\n",
        explore_sleep),
    "the loop is told to end after it was woken": (
        Application, "stop", "self.dispatcher.wake()", "pass", explore_application),
    "who joins is asked": (
        MainThreadDispatcher, "_hand_over", "if self._refusing is not None and operation.done is not None:",
        "if False:", explore_jobs),
    "a failure is told before it is cleaned up": (
        Job, "_run_and_keep", "            self.clean_up()",
        "            self._done.set()\n            self.clean_up()", explore_jobs),
    "nobody asks once more at the end": (
        Job, "_run_and_keep", "self._source.token.commit()", "pass", explore_jobs),
    "done, and still counted": (
        Job, "_work", "            with _active_lock:\n                _active.pop(number, None)\n",
        "            self._done.set()\n            with _active_lock:\n                _active.pop(number, None)\n            return\n",
        explore_jobs),
    "a commit that does not lock": (
        StopToken, "commit", "with self._source._lock:", "if True:", explore_jobs),
    "stopping wakes nobody": (
        StopSource, "request_stop", "calls, self._callbacks = self._callbacks, []", "calls = []",
        explore_jobs),
    "a latch lets one through": (
        _sync.Latch, "wait", "self._gate.release()  # the next waiter's turn", "pass", explore_jobs),
    "two frames at once": (
        Renderer, "kick", "            batch.done.wait()", "            pass", explore_render),
    "freed a frame early": (
        Renderer, "_next_batch", "> self.frames_in_flight", ">= self.frames_in_flight",
        explore_render),
    "failures are dropped": (
        Renderer, "kick", "            batch.raise_failures()", "            pass", explore_render),
    "changes fall between two looks": (
        FileWatcher, "take_changes",
        "with self._lock:\n            changes, self._changes = self._changes, {}",
        "if True:\n            changes = dict(self._changes)\n            self._changes.clear()",
        explore_watch),
    "half a progress": (Progress, "set", "with self._lock:", "if True:", explore_progress),
}  # fmt: skip


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instrument again: each of these mistakes, in the code itself, shows within the seeds."""
    owner, name, right, wrong, explore = PLANTED[bug]
    monkeypatch.setattr(owner, name, planted(getattr(owner, name), right, wrong))
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    for seed in range(BATCHES * SEEDS_A_BATCH):
        with controlled(seed) as scheduler:
            try:
                explore(scheduler)
            except (AssertionError, RuntimeError):
                return
    pytest.fail(f"{bug}: nobody noticed")


def planted(function: Any, right: str, wrong: str) -> Any:
    """The function with `wrong` where it says `right`, in the same file and namespace."""
    source = inspect.getsource(function)
    assert source.count(right) == 1, f"{function.__qualname__} has changed: plant it anew"
    lines = textwrap.dedent(source.replace(right, wrong))
    made: dict[str, Any] = {}
    flags = annotations.compiler_flag
    code = compile(lines, function.__code__.co_filename, "exec", flags, dont_inherit=True)
    exec(code, function.__globals__, made)
    return made[function.__name__]


def test_the_same_seed_is_the_same_interleaving() -> None:
    """A failure can be repeated: the scheduler's choices are a function of the seed."""
    states = []
    for _ in range(2):
        with controlled(7) as scheduler:
            explore_jobs(scheduler)
            states.append(scheduler.random.getstate())
    assert states[0] == states[1]


def test_the_scheduler_sees_a_deadlock() -> None:
    """The instrument itself: two locks taken in two orders are found within a few seeds."""

    def explore(seed: int) -> None:
        scheduler = Scheduler(seed)
        first, second = scheduler.lock(), scheduler.lock()

        def one() -> None:
            with first, second:
                pass

        def other() -> None:
            with second, first:
                pass

        scheduler.spawn(one, name="one")
        scheduler.spawn(other, name="other")
        scheduler.run()

    def explore_all() -> None:
        for seed in range(50):
            explore(seed)

    with pytest.raises(AssertionError, match="deadlock"):
        explore_all()
