"""Jobs in a terminal: a bar each, Ctrl-C cancels and waits.

For command lines and scripts without an `Application`. It blocks until the jobs are done, which
is what a command line is for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from mainspring.threads._job import Job, cancel_all_jobs
from mainspring.threads._signals import ending_signals

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["JobBars", "run_in_terminal", "terminable"]

T = TypeVar("T")

_LOOK_S = 0.1


class JobBars:
    """A bar for every job that is under way, on stderr and only where that is a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.progress import Progress as Bars

        console = console or Console(stderr=True)
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            auto_refresh=False,
        )
        self._tasks: dict[Job[Any], Any] = {}

    def show(self, jobs: Iterable[Job[Any]]) -> None:
        """How far these jobs are; the bars of others go."""
        jobs = tuple(jobs)
        for job in [job for job in self._tasks if job not in jobs]:
            self._bars.remove_task(self._tasks.pop(job))
        for job in jobs:
            if job not in self._tasks:
                self._tasks[job] = self._bars.add_task(job.title, total=1.0)
            text, fraction = job.progress.read()
            self._bars.update(self._tasks[job], completed=fraction, description=text or job.title)
        self._bars.refresh()

    def __enter__(self) -> JobBars:
        self._bars.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.__exit__(kind, error, trace)


def run_in_terminal(
    job: Job[T],
    *others: Job[Any],
    console: Console | None = None,
    poll: Callable[[], object] | None = None,
) -> T:
    """Show the jobs' progress until they are done, then take the first one's result.

    Ctrl-C, or the SIGTERM that a service manager sends, cancels all of them and waits until
    their partial output is gone; then `KeyboardInterrupt` goes on its way. `poll()` is called
    ten times a second, for instance to pump a dispatcher. Bars are drawn on stderr, and only
    where that is a terminal.
    """
    jobs = (job, *others)
    with terminable(), contextlib.ExitStack() as at_end, JobBars(console) as bars:
        at_end.callback(cancel_all_jobs, jobs)
        done = [False]
        while not all(done):
            done = [each.join(_LOOK_S / len(jobs)) for each in jobs]
            bars.show(jobs)
            if poll is not None:
                poll()
    return job.take_result()


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """While the block runs, the first Ctrl-C (or SIGTERM, or SIGHUP) is a `KeyboardInterrupt`,
    and every job is cancelled and joined before it goes on its way. Those after it are not heard:
    what is under way then is the removal of what was half written."""
    told = False

    def interrupt() -> None:
        nonlocal told
        if not told:
            told = True
            raise KeyboardInterrupt

    with ending_signals(interrupt):
        try:
            yield
        except KeyboardInterrupt:
            cancel_all_jobs()
            raise
