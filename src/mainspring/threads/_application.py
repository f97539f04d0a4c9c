"""The outer loop: what the main thread does, once a frame, for as long as the program runs.

One frame, in this order:

    A1  pump      what other threads handed to the dispatcher, within its budget
    A2  poll      watchers, then jobs, then whatever else was added
    A3  advance   the scene's frame, with the wall time since the last one
    A4  render    the renderer's frame boundary
    A5  sleep     until the next frame is due, serving the dispatcher meanwhile

The promise: however it ends (time, `stop`, Ctrl-C, an error), the scene is stopped, the
dispatcher is closed so that no worker waits, every job is cancelled and joined, watchers and
the render thread have ended, and the report says why.

`run` blocks: a terminal, or a notebook's cell. `run_async` shares the thread with an asyncio
loop: a server, or a notebook that stays responsive (`asyncio.create_task(app.run_async())`).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from mainspring.threads import _sync
from mainspring.threads._console import JobBars
from mainspring.threads._contexts import (
    ThreadContext,
    assert_owner,
    declare_context,
    forget_main_thread,
    is_main_thread,
    record_main_thread,
)
from mainspring.threads._dispatcher import FRAME_BUDGET_NS, MainThreadDispatcher
from mainspring.threads._errors import RenderError, ThreadError
from mainspring.threads._job import Job, cancel_all_jobs
from mainspring.threads._monitor import LongWork, MainThreadMonitor, debug_threads
from mainspring.threads._naming import name_of
from mainspring.threads._render import Renderer, ThreadingPolicy
from mainspring.threads._signals import ending_signals
from mainspring.threads._watcher import Change, FileWatcher

__all__ = ["Application", "ApplicationReport"]

_log = logging.getLogger("mainspring.threads")

_LOOK_NS = 100_000_000
"""How long a sleep goes on when a signal ends the loop, and how often progress is shown."""


_recording: weakref.WeakSet[Application] = weakref.WeakSet()
"""The applications on whose account there is a main thread: it is forgotten after the last one."""


class _Framed(Protocol):
    """What the loop wants of a scene."""

    def frame(self, elapsed_ns: int, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class ApplicationReport:
    """How a run of the loop went."""

    reason: str
    """"time", "frames", "stopped: ...", "interrupted"; an error is raised instead."""
    frames: int
    elapsed_ns: int
    dispatched: int
    long_work: tuple[LongWork, ...]
    """What kept the main thread longer than a frame; in the debug mode."""


class Application:
    """The main thread, and everything that reports to it. Making it is the start-up."""

    def __init__(
        self,
        scene: _Framed | None = None,
        *,
        name: str = "application",
        policy: ThreadingPolicy | str = ThreadingPolicy.SINGLE_THREADED,
        frame_rate: float | None = 60.0,
        dispatch_budget_ns: int = FRAME_BUDGET_NS,
        debug: bool | None = None,
        on_error: Callable[[BaseException, str], object] | None = None,
        clock: Callable[[], int] = _sync.monotonic_ns,
    ) -> None:
        if frame_rate is not None and not frame_rate > 0:
            raise ThreadError(
                f"frame_rate is {frame_rate}", hint="above 0, or None to run without pause"
            )
        policy = ThreadingPolicy.of(policy)
        if not is_main_thread() or _recording:  # else somebody else said it, and it stays so
            record_main_thread()
            _recording.add(self)
        self.scene = scene
        self.name = name
        self.dispatcher = MainThreadDispatcher(on_error=self._on_error)
        self.renderer = Renderer(policy)
        self.frames = 0
        self._frame_ns = None if frame_rate is None else round(1e9 / frame_rate)
        self._budget_ns = dispatch_budget_ns
        self._report_error = on_error or _log_error
        self._clock = clock
        self._owner = threading.get_ident()
        self._watchers: list[tuple[FileWatcher, Callable[[tuple[Change, ...]], object]]] = []
        self._jobs: list[tuple[Job[Any], Callable[[Job[Any]], object] | None]] = []
        self._polls: list[Callable[[], object]] = []
        self._stopping: str | None = None
        self._running = False
        self._closed = False
        self._dispatched = 0
        self._last_ns: int | None = None
        self._long_work: list[LongWork] = []
        debug = debug_threads() if debug is None else debug
        self.monitor = self._make_monitor(clock) if debug else None

    # what reports to the main thread

    def add_watcher(
        self, watcher: FileWatcher, on_change: Callable[[tuple[Change, ...]], object]
    ) -> None:
        """Look at the watcher's flag every frame; `on_change(changes)` runs between two frames."""
        self._check("add_watcher")
        self._watchers.append((watcher, on_change))

    def add_job(self, job: Job[Any], on_done: Callable[[Job[Any]], object] | None = None) -> None:
        """Look at the job every frame; `on_done(job)` runs once, and takes its result.

        Without `on_done` the result is dropped, and a failure goes to `on_error`.
        """
        self._check("add_job")
        self._jobs.append((job, on_done))

    def add_poll(self, poll: Callable[[], object]) -> None:
        """Call `poll()` every frame, before the scene advances."""
        self._check("add_poll")
        self._polls.append(poll)

    @property
    def jobs(self) -> tuple[Job[Any], ...]:
        """The jobs that have not been reported done."""
        return tuple(job for job, _ in self._jobs)

    # the loop

    def run(
        self,
        *,
        seconds: float | None = None,
        frames: int | None = None,
        progress: bool = False,
    ) -> ApplicationReport:
        """Frames until the time is up, `stop` is called or Ctrl-C; then everything is ended.

        `progress` shows a bar for each job, where stderr is a terminal."""
        with (
            _interruptible(self),
            JobBars() if progress else contextlib.nullcontext() as bars,
            self._running_loop() as started_ns,
        ):
            shown_ns = started_ns
            while self._goes_on(started_ns, seconds, frames):
                self._sleep_until(self._turn())
                if bars is not None and self._clock() - shown_ns >= _LOOK_NS:
                    shown_ns = self._clock()
                    bars.show(self.jobs)
            return self._report(started_ns)

    async def run_async(
        self, *, seconds: float | None = None, frames: int | None = None
    ) -> ApplicationReport:
        """The same beside an asyncio loop, which runs while this one sleeps."""
        with self._running_loop() as started_ns:
            while self._goes_on(started_ns, seconds, frames):
                await self._sleep_beside(self._turn())
            return self._report(started_ns)

    def frame(self) -> Any:
        """One turn without its sleep, for whoever has a loop already; the scene's frame report."""
        self._check("frame")
        self._serve(self._budget_ns)  # A1
        self._poll()  # A2
        now_ns = self._clock()
        elapsed_ns = 0 if self._last_ns is None else now_ns - self._last_ns
        self._last_ns = now_ns
        answer = None
        if self.scene is not None:  # A3
            with self._section("the scene's frame"), declare_context(ThreadContext.CALLBACK):
                answer = self.scene.frame(elapsed_ns)
        with self._section("the end of the rendered frame"):  # A4
            self.renderer.end_frame()
        self.frames += 1
        return answer

    def stop(self, why: str = "") -> None:
        """End the loop after this frame; from any thread."""
        self._stopping = f"stopped: {why}" if why else "stopped"
        self.dispatcher.wake()

    def close(self) -> None:
        """End everything that reports to the main thread. The loop does it when it ends."""
        if self._closed:
            return
        self._check("close")
        self._closed = True
        # First the dispatcher: a worker that waits for this thread must be let go before it
        # is waited for.
        self.dispatcher.close()
        cancel_all_jobs(job for job, _ in self._jobs)
        for watcher, _ in self._watchers:
            watcher.close()
        try:
            self.renderer.close()
        except RenderError as error:
            self._on_error(error, "the last frames")
        if self.monitor is not None:
            self.monitor.close()
        if self in _recording:
            _recording.discard(self)
            if not _recording:
                forget_main_thread()

    def __enter__(self) -> Application:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Application {self.name!r}: frame {self.frames}>"

    # inside

    @contextlib.contextmanager
    def _running_loop(self) -> Iterator[int]:
        self._check("run")
        if self._running:
            raise ThreadError(f"{self!r} is running already")
        self._running = True
        self._stopping = None
        if self.monitor is not None:
            self.monitor.start()
        try:
            with self.dispatcher.claimed_by(self):
                started_ns = self._last_ns = self._clock()
                _call(self.scene, "start")
                yield started_ns
        finally:
            self._running = False
            try:
                _call(self.scene, "stop")
            finally:
                self.close()

    def _turn(self) -> int | None:
        """One frame; when the next one is due, or None for at once."""
        begun_ns = self._clock()
        self.frame()
        return None if self._frame_ns is None else begun_ns + self._frame_ns

    def _goes_on(self, started_ns: int, seconds: float | None, frames: int | None) -> bool:
        if self._stopping is None:
            if frames is not None and self.frames >= frames:
                self._stopping = "frames"
            elif seconds is not None and self._clock() - started_ns >= seconds * 1e9:
                self._stopping = "time"
        return self._stopping is None

    def _sleep_until(self, next_ns: int | None) -> None:  # A5
        while (left_ns := self._left_ns(next_ns)) > 0:
            # A little at a time: Ctrl-C cannot end a sleep (see `_interruptible`).
            if self.dispatcher.wait(min(left_ns, _LOOK_NS) / 1e9):
                self._serve(left_ns)

    async def _sleep_beside(self, next_ns: int | None) -> None:  # A5
        await asyncio.sleep(0)  # the other tasks get their turn, however late this loop is
        while (left_ns := self._left_ns(next_ns)) > 0:
            if await self.dispatcher.wait_async(left_ns / 1e9):
                self._serve(left_ns)
                await asyncio.sleep(0)

    def _left_ns(self, next_ns: int | None) -> int:
        """How long to sleep: not at all when the loop is to end."""
        return 0 if next_ns is None or self._stopping is not None else next_ns - self._clock()

    def _serve(self, left_ns: int) -> None:
        self._dispatched += self.dispatcher.process_pending(
            min(self._budget_ns, left_ns),
            caller=self,
            around=None if self.monitor is None else self.monitor.section,
        )

    def _poll(self) -> None:
        # order: watchers, jobs, polls; each as they were added
        for watcher, on_change in self._watchers:
            if watcher.changed:
                self._guarded(functools.partial(_deliver, watcher, on_change), on_change)
        if any(job.is_done() for job, _ in self._jobs):
            done = [row for row in self._jobs if row[0].is_done()]
            self._jobs = [row for row in self._jobs if row not in done]
            for job, on_done in done:
                if on_done is None:
                    self._guarded(job.take_result, job.run)
                else:
                    self._guarded(functools.partial(on_done, job), on_done)
        for poll in self._polls:
            self._guarded(poll, poll)

    def _guarded(self, call: Callable[[], object], named: Callable[..., object]) -> None:
        """What reports to the loop may fail without ending it; the failure is reported."""
        place = name_of(named)
        with self._section(place):
            try:
                call()
            except Exception as error:
                self._on_error(error, place)

    def _section(self, name: str) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.monitor is None else self.monitor.section(name)

    def _make_monitor(self, clock: Callable[[], int]) -> MainThreadMonitor:
        def report(work: LongWork) -> None:
            if work.ended:
                self._long_work.append(work)
            _log.warning("%s", work)

        return MainThreadMonitor(self._frame_ns or 16_666_667, report, clock=clock)

    def _on_error(self, error: BaseException, place: str) -> None:
        self._report_error(error, place)

    def _check(self, call: str) -> None:
        assert_owner(self._owner, f"Application.{call}", what="application")
        if self._closed and call != "close":
            raise ThreadError(
                f"Application.{call} was called after its loop ended",
                hint="make a new Application; a scene can be given to the next one",
            )

    def _report(self, started_ns: int) -> ApplicationReport:
        assert self._stopping is not None
        return ApplicationReport(
            self._stopping,
            self.frames,
            self._clock() - started_ns,
            self._dispatched,
            tuple(self._long_work),
        )


def _deliver(watcher: FileWatcher, on_change: Callable[[tuple[Change, ...]], object]) -> None:
    on_change(watcher.take_changes())


def _call(scene: object, name: str) -> None:
    method = getattr(scene, name, None)
    if method is not None:
        method()


@contextlib.contextmanager
def _interruptible(app: Application) -> Iterator[None]:
    """Ctrl-C, or SIGTERM, ends the loop after this frame; a second one at once. Those that come
    while everything is being ended are not heard: jobs remove what they had half written."""

    def interrupt() -> None:
        if app._closed:
            return
        if app._stopping == "interrupted":
            raise KeyboardInterrupt
        app._stopping = "interrupted"
        # No wake here: the handler may have interrupted the very lock that it would take.

    with ending_signals(interrupt):
        yield


def _log_error(error: BaseException, place: str) -> None:
    _log.error("%s failed", place, exc_info=error)
