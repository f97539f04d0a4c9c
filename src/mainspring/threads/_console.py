"""Jobs in a terminal: a bar each, Ctrl-C cancels and waits.

For command lines and scripts without an `Application`. It blocks until the jobs are done, which
is what a command line is for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from mainspring.threads._job import Job, cancel_all_jobs
from mainspring.threads._signals import ending_signals

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["run_in_terminal", "terminable"]

T = TypeVar("T")

_LOOK_S = 0.1


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
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bars

    console = console or Console(stderr=True)
    jobs = (job, *others)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with (
        terminable(),
        contextlib.ExitStack() as at_end,
        Bars(
            *columns, console=console, disable=not console.is_terminal, auto_refresh=False
        ) as bars,
    ):
        at_end.callback(cancel_all_jobs, jobs)
        tasks = [bars.add_task(j.progress.text or j.title, total=1.0) for j in jobs]
        waiting = True
        while waiting:
            waiting = False
            for each, task in zip(jobs, tasks, strict=True):
                if not each.join(_LOOK_S):
                    waiting = True
                text, fraction = each.progress.read()
                bars.update(task, completed=fraction, description=text or each.title)
            bars.refresh()
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
