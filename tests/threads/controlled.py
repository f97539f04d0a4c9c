"""A scheduler for tests: real threads, one at a time, and a seed decides who goes on.

Every lock operation and every line of `mainspring.threads` is a place where another thread may
go on; how often one does is the seed's choice too. Time does not pass: a wait with a timeout ends
when the seed says so, or never where the scenario says that a timeout would hide what it looks
for. The same seed gives the same interleaving; threads that can never go on are a `Deadlock`.
"""

from __future__ import annotations

import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from mainspring import threads
from mainspring.threads import _dispatcher, _job, _render, _sync

LAYER = str(Path(threads.__file__).parent)


class Deadlock(BaseException):
    """Nobody can go on. Raised in every thread, so it must pass through every `except`."""


class Task:
    """One thread under control. Has what the layer wants of a `threading.Thread`."""

    def __init__(self, scheduler: Scheduler, run: Callable[[], Any], name: str) -> None:
        self.name = name
        self.scheduler = scheduler
        self.baton = threading.Semaphore(0)
        self.waits_for: Callable[[], bool] | None = None
        self.may_time_out = False
        self.done = False
        self.error: BaseException | None = None
        self._run = run
        self._thread = threading.Thread(target=self._body, name=name, daemon=True)

    def _body(self) -> None:
        self.baton.acquire()
        sys.settrace(self._trace)
        try:
            if not self.scheduler.stuck:
                self._run()
        except Deadlock:
            pass
        except BaseException as error:
            self.error = error
        finally:
            sys.settrace(None)
            self.done = True
            self.scheduler.leave()

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self._trace_line if frame.f_code.co_filename.startswith(LAYER) else None

    def _trace_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.scheduler.maybe_switch()
        return self._trace_line

    def join(self, timeout: float | None = None) -> None:
        self.scheduler.block(lambda: self.done, timeout is not None)

    def is_alive(self) -> bool:
        return not self.done


class Scheduler:
    """Tasks, and whose turn it is."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.restlessness = self.random.choice((0.05, 0.3, 0.7))
        self.timeouts = True
        self.tasks: list[Task] = []
        self.current: Task | None = None
        self.stuck = False
        self.waiting: list[str] = []
        self.finished = threading.Semaphore(0)
        self.time_ns = 0

    def spawn(self, run: Callable[[], Any], *, name: str) -> Task:
        task = Task(self, run, name)
        self.tasks.append(task)
        task._thread.start()
        if self.current is not None:
            self.switch()
        return task

    def run(self) -> None:
        """Until every task has ended; raises the first error, or `Deadlock`."""
        self.pick().baton.release()
        self.finished.acquire()
        for task in self.tasks:
            task._thread.join()
        if self.stuck:
            raise AssertionError(f"deadlock: {self.waiting} wait for ever")
        for task in self.tasks:
            if task.error is not None:
                raise task.error

    def can_go_on(self, task: Task) -> bool:
        return not task.done and (task.waits_for is None or task.waits_for() or self.stuck)

    def pick(self) -> Task:
        ready = [task for task in self.tasks if self.can_go_on(task)]
        late = [t for t in self.tasks if not t.done and t not in ready and t.may_time_out]
        if late and self.timeouts and (not ready or self.random.random() < 0.05):
            ready = late
        if not ready:
            self.stuck = True
            self.waiting = [task.name for task in self.tasks if not task.done]
            ready = [task for task in self.tasks if not task.done]
        self.current = self.random.choice(ready)
        return self.current

    def switch(self) -> None:
        me = self.current
        assert me is not None
        other = self.pick()
        if other is not me:
            other.baton.release()
            me.baton.acquire()
        if self.stuck:
            raise Deadlock

    def maybe_switch(self) -> None:
        if not self.stuck and self.random.random() < self.restlessness:
            self.switch()

    def block(self, until: Callable[[], bool], may_time_out: bool) -> bool:
        me = self.current
        assert me is not None
        me.waits_for, me.may_time_out = until, may_time_out
        try:
            self.switch()
        finally:
            me.waits_for, me.may_time_out = None, False
        return until()

    def leave(self) -> None:
        if all(task.done for task in self.tasks):
            self.current = None  # locks that outlive the scenario are plain from here on
            self.finished.release()
        else:
            self.pick().baton.release()

    def monotonic_ns(self) -> int:
        self.time_ns += 1000
        return self.time_ns

    def lock(self) -> ControlledLock:
        return ControlledLock(self)


class ControlledLock:
    """A `threading.Lock` whose waiting the scheduler decides."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.locked = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        scheduler = self.scheduler
        if scheduler.current is not None and not scheduler.stuck:
            scheduler.switch()
            while self.locked:
                if not blocking:
                    return False
                free = scheduler.block(lambda: not self.locked, timeout >= 0)
                if not free and timeout >= 0:
                    return False
        self.locked = True
        return True

    def release(self) -> None:
        if not self.locked:
            raise RuntimeError("release unlocked lock")
        self.locked = False
        if self.scheduler.current is not None and not self.scheduler.stuck:
            self.scheduler.switch()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.locked = False
        if self.scheduler.current is not None and not self.scheduler.stuck:
            self.scheduler.switch()


@contextmanager
def controlled(seed: int) -> Iterator[Scheduler]:
    """The layer's primitives are the scheduler's while the block runs."""
    scheduler = Scheduler(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sync, "Lock", scheduler.lock)
        patch.setattr(_sync, "start_thread", scheduler.spawn)
        patch.setattr(_sync, "monotonic_ns", scheduler.monotonic_ns)
        patch.setattr(_job, "_active_lock", scheduler.lock())
        # What a scenario leaves open is its own.
        patch.setattr(_job, "_active", {})
        patch.setattr(_dispatcher, "_open", weakref.WeakValueDictionary())
        patch.setattr(_render, "_open", weakref.WeakSet())
        yield scheduler
