"""Long work off the main thread: start it, look at it once a frame, take its result.

The promise: `start` refuses bad inputs at once, on the thread that calls it; the rest runs on a
worker thread that the job owns. When `is_done()` answers True the work is over and, if it
failed or was cancelled, what it had half written is already gone. `take_result` then answers
once, on the main thread, with the result or the failure.

    class CountLines(Job[int]):
        def __init__(self, path):
            super().__init__(f"count {path}")
            self.path = Path(path)
            if not self.path.is_file():
                raise FileNotFoundError(path)
        def run(self, stop, progress):
            with open(self.path) as lines:
                count = 0
                for line in lines:
                    stop.checkpoint()
                    count += 1
            return count

    job = CountLines.start("run.log")

Ctrl-C and the end of the program cancel every job and wait for it (see `cancel_all_jobs`).
"""

from __future__ import annotations

import abc
import atexit
import itertools
import threading
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from mainspring._kernel import threads as _kernel
from mainspring.threads import _dispatcher, _sync
from mainspring.threads._contexts import (
    ThreadContext,
    assert_owner,
    current_context,
    declare_context,
    require_main_thread,
)
from mainspring.threads._errors import (
    DispatchError,
    JobCancelledError,
    JobError,
    WrongThreadError,
)
from mainspring.threads._progress import Progress
from mainspring.threads._stop import StopSource, StopToken

__all__ = ["Job", "active_jobs", "cancel_all_jobs"]

T = TypeVar("T")
J = TypeVar("J", bound="Job[Any]")

_numbers = itertools.count(1)
_active: dict[int, Job[Any]] = {}
_active_lock = threading.Lock()


class Job(abc.ABC, Generic[T]):
    """One piece of long work, its thread, its progress and its outcome.

    A subclass checks its inputs in `__init__`, works in `run`, and removes what it had half
    written in `clean_up`. Users call `start`, never the class.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.progress = Progress(title)
        self._source = StopSource()
        self._done = _sync.Latch()
        self._owner = threading.get_ident()
        self._result: T | None = None
        self._failure: BaseException | None = None
        self._taken = False
        self._thread: threading.Thread | None = None
        self._worker = 0  # its ident, once it runs
        self._launched = self._began = self._given_up = False

    @classmethod
    def start(cls: type[J], *args: Any, **kwargs: Any) -> J:
        """Check the inputs, start the worker, and return the job, which the caller owns."""
        job = cls(*args, **kwargs)
        job._launch()
        return job

    @abc.abstractmethod
    def run(self, stop: StopToken, progress: Progress) -> T:
        """The work, on the worker. Call `stop.checkpoint()` between two pieces of it, and
        `stop.commit()` before the step that cannot be undone."""

    def clean_up(self) -> None:
        """Remove what a failed or cancelled run left half written. On the worker, before
        `is_done()` answers True."""

    # looking at it, from any thread

    def is_done(self) -> bool:
        """Whether the work is over, one way or another."""
        return self._done.is_set

    @property
    def cancellable(self) -> bool:
        """Whether `cancel` would still be heard: False past the point of no return."""
        return self._source.stoppable and not self._done.is_set

    @property
    def failure(self) -> BaseException | None:
        """Why it failed, once it is done; `take_result` raises it."""
        return self._failure if self._done.is_set else None

    def cancel(self) -> bool:
        """Ask it to stop; False when it is too late, and the work will be finished."""
        return not self._done.is_set and self._source.request_stop()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until it is done; for tools and the end of programs, not for a frame. A job that
        needs the main thread meanwhile gets a `DispatchError`, unless there is a `timeout_s`."""
        if current_context() is ThreadContext.CALLBACK:
            row = ThreadContext.CALLBACK.row
            raise WrongThreadError(
                f"Job.join was called from a callback, which would wait for {self.title!r}\n"
                f"the row: {row}",
                call="Job.join",
                thread=threading.current_thread().name,
                row=str(row),
                hint=row.instead,
            )
        if not self._launched:
            raise JobError(
                f"{self.title!r} was made and not started, so it will never be done",
                hint=f"make it with {type(self).__name__}.start(...)",
            )
        if self._worker == threading.get_ident() and not self._done.is_set:
            raise JobError(
                f"{self.title!r} would wait for itself",
                hint="whoever started it joins it; the work itself returns",
            )
        if timeout_s is not None:
            return self._done.wait(timeout_s)
        with _dispatcher.refusing_waiters(f"waits for the job {self.title!r}"):
            self._done.wait()
            if self._thread is not None:
                self._thread.join()
        return True

    # taking it, on the main thread

    def take_result(self) -> T:
        """The result, or the failure raised; once, on the main thread, when `is_done()`."""
        if _kernel.main_ident():
            require_main_thread("Job.take_result")
        else:
            assert_owner(self._owner, "Job.take_result", what="job")
        if not self._done.is_set:
            raise JobError(
                f"{self.title!r} is not done, {self.progress.fraction:.0%} of it",
                hint="look at is_done() once a frame, and take the result then",
            )
        if self._taken:
            raise JobError(
                f"the result of {self.title!r} was taken before",
                hint="keep what the first take_result() returned",
            )
        self._taken = True
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        result, self._result = self._result, None
        return result  # type: ignore[return-value]  # None is a T where run returns None

    def __enter__(self: J) -> J:
        return self

    def __exit__(self, *error: object) -> None:
        """Leaving the block early leaves nothing running."""
        self.cancel()
        self.join()

    def __repr__(self) -> str:
        state = "done" if self.is_done() else f"{self.progress.fraction:.0%}"
        return f"<{type(self).__name__} {self.title!r}: {state}>"

    # inside

    def _launch(self) -> None:
        self._launched = True
        number = next(_numbers)
        try:
            with _active_lock:
                _active[number] = self
            self._thread = _sync.start_thread(
                lambda: self._work(number), name=f"job-{number}:{type(self).__name__}"
            )
        except BaseException:
            # No thread; or Ctrl-C while it started, and then its work must not begin, for nobody
            # has the job. If it began already it is told to stop, and stays among the active.
            with _active_lock:
                self._given_up = True
                if not self._began:
                    _active.pop(number, None)
            self._source.request_stop()
            raise

    def _work(self, number: int) -> None:
        with _active_lock:
            self._began = not self._given_up
        if self._given_up:
            return
        self._worker = threading.get_ident()
        try:
            with declare_context(ThreadContext.JOB):
                self._run_and_keep()
        finally:
            with _active_lock:
                _active.pop(number, None)
            self._done.set()  # last: everything above is visible to whoever sees it set

    def _run_and_keep(self) -> None:
        try:
            self._source.token.checkpoint()
            result = self.run(self._source.token, self.progress)
            # Who was told by `cancel` that it was heard must not be given a result.
            self._source.token.commit()
            self._result = result
            self.progress.set(fraction=1.0)
            return
        except JobCancelledError:
            failure: BaseException = JobCancelledError(f"{self.title!r} was cancelled")
        except BaseException as error:
            if isinstance(error, DispatchError) and self._source.token.stop_requested():
                # Whoever cancels does not serve the dispatcher any more: that is how it ended.
                failure = JobCancelledError(f"{self.title!r} was cancelled")
            elif isinstance(error, Exception):
                failure = error
            else:  # a `sys.exit` in here must not end the thread that takes the result
                failure = JobError(f"{self.title!r} ended with {type(error).__name__}: {error}")
                failure.__cause__ = error
            if not isinstance(failure, JobCancelledError):
                at = self.progress.text
                failure.add_note(
                    f"in the job {self.title!r}" + (f", at: {at}" if at != self.title else "")
                )
        try:
            self.clean_up()
        except BaseException as error:
            failure.add_note(f"and its partial output could not be removed: {error}")
        self._failure = failure


def active_jobs() -> tuple[Job[Any], ...]:
    """The jobs that are running, oldest first."""
    with _active_lock:
        return tuple(_active.values())


def cancel_all_jobs(jobs: Iterable[Job[Any]] | None = None) -> None:
    """Ask all of them (or `jobs`) to stop, then wait for each; those past their point of no
    return finish. Called at the end of an application, on Ctrl-C and at interpreter exit."""
    stopping = active_jobs() if jobs is None else tuple(jobs)
    for job in stopping:
        job.cancel()
    for job in stopping:
        job.join()


def _at_the_end_of_main() -> None:
    # Before the interpreter waits for the threads that a program made itself: one of them may wait
    # for the main thread, or for a job, and would wait for ever.
    ident = threading.get_ident()
    _dispatcher.close_all(ident)
    cancel_all_jobs(job for job in active_jobs() if job._owner == ident)


@atexit.register
def _at_exit() -> None:
    # First the dispatchers: a worker that waits for the main thread must be let go.
    _dispatcher.close_all()
    cancel_all_jobs()


# What `concurrent.futures` uses for the same; where it is gone, the end comes a little later.
getattr(threading, "_register_atexit", atexit.register)(_at_the_end_of_main)
