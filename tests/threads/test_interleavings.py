"""Thousands of interleavings of dispatch, shutdown, cancellation and failure, by seed.

A failure names its seed; `explore(seed)` alone repeats it.
"""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.threads import (
    DispatcherClosedError,
    DispatchError,
    Job,
    JobCancelledError,
    MainThreadDispatcher,
    Progress,
    Renderer,
    RenderError,
    StopToken,
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


class Writing(Job[int]):
    """A job of the usual shape: parts, a visit to the main thread, a point of no return."""

    def __init__(
        self, dispatcher: MainThreadDispatcher, disk: set[str], number: int, fails: bool
    ) -> None:
        super().__init__(f"writing {number}")
        self.dispatcher = dispatcher
        self.disk = disk
        self.number = number
        self.fails = fails

    def run(self, stop: StopToken, progress: Progress) -> int:
        self.disk.add(f"{self.number} partial")
        for part in range(2):
            stop.checkpoint()
            progress.set(f"part {part}", part / 2)
        if self.fails:
            raise Boom(self.number)
        if self.number % 2:
            self.dispatcher.execute(lambda: None)
        stop.commit()
        self.disk.discard(f"{self.number} partial")
        self.disk.add(f"{self.number} whole")
        return self.number

    def clean_up(self) -> None:
        self.disk.discard(f"{self.number} partial")


def explore_jobs(scheduler: Scheduler) -> None:
    """Jobs run, fail, are cancelled and wait for a main thread that may be ending."""
    rolls = scheduler.random
    disk: set[str] = set()
    checked: list[int] = []

    def main() -> None:
        dispatcher = MainThreadDispatcher()
        jobs = [Writing.start(dispatcher, disk, n, rolls.random() < 0.25) for n in range(3)]
        heard: dict[int, bool] = {}
        for _ in range(rolls.randrange(8)):
            dispatcher.process_pending(None)
            job = rolls.choice(jobs)
            if rolls.random() < 0.3 and job.cancel():
                heard[job.number] = True
            for job in jobs:
                if job.is_done() and job.failure is not None:
                    assert f"{job.number} partial" not in disk, "failed before it was cleaned up"
        if rolls.random() < 0.5:
            dispatcher.close()  # otherwise the joins below let go whoever waits for this thread
        if rolls.random() < 0.5:
            cancel_all_jobs(jobs)
        for job in jobs:
            assert job.join()
            assert job.is_done()
            try:
                assert job.take_result() == job.number
                assert f"{job.number} whole" in disk
                assert job.number not in heard, "cancel was heard, and yet there is a result"
            except (JobCancelledError, DispatchError, Boom):
                assert f"{job.number} whole" not in disk
            assert f"{job.number} partial" not in disk
            checked.append(job.number)

    scheduler.spawn(main, name="main")
    scheduler.run()
    assert checked == [0, 1, 2]


def explore_render(scheduler: Scheduler) -> None:
    """Frames are handed over, waited for, fail and are closed."""
    rolls = scheduler.random
    drawn: list[Any] = []
    submitted: list[int] = []
    surfaced: list[int] = []

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
        renderer = Renderer("multi_threaded", frames_in_flight=rolls.choice((1, 2)))
        number = 0
        for _ in range(rolls.randrange(6)):
            for _ in range(rolls.randrange(4)):
                renderer.submit(draw, number)
                submitted.append(number)
                if rolls.random() < 0.3:
                    renderer.submit_resource_free(drawn.append, ("freed", number))
                number += 1
            step = rolls.choice(
                (
                    renderer.end_frame,
                    renderer.kick,
                    renderer.pump,
                    renderer.block_until_complete,
                )
            )
            note(step)
        note(renderer.close)

    scheduler.spawn(main, name="main")
    scheduler.run()

    assert [item for item in drawn if isinstance(item, int)] == submitted
    assert surfaced == [number for number in submitted if number % 5 == 3]
    freed = [item for item in drawn if not isinstance(item, int)]
    for item in freed:
        assert drawn.index(item) > drawn.index(item[1]), "freed before its frame was drawn"


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("explore", [explore_dispatch, explore_jobs, explore_render])
def test_no_interleaving_breaks_it(explore: Any, batch: int) -> None:
    """Nothing is lost, doubled, reordered or left waiting, whatever the order of the threads."""
    for seed in seeds(batch):
        with controlled(seed) as scheduler:
            try:
                explore(scheduler)
            except AssertionError as error:
                error.add_note(f"seed {seed} of {explore.__name__}")
                raise


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
