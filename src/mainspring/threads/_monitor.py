"""Who kept the main thread longer than a frame? A debug mode that answers with a stack.

The promise: work that is announced with `section` and takes longer than the limit is reported
once, by name, with the stack of the main thread at the moment the limit was passed, and again
with its full length when it ends. Off by default; `MAINSPRING_DEBUG_THREADS=1` turns it on in
every `Application`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mainspring.threads import _sync
from mainspring.threads._contexts import ThreadContext

__all__ = ["LongWork", "MainThreadMonitor", "debug_threads"]

_log = logging.getLogger("mainspring.threads")


def debug_threads() -> bool:
    """Whether the debug mode is asked for by the environment."""
    return os.environ.get("MAINSPRING_DEBUG_THREADS", "") not in ("", "0")


@dataclass(frozen=True, slots=True)
class LongWork:
    """One piece of work that kept the main thread longer than it may."""

    name: str
    elapsed_ns: int
    limit_ns: int
    stack: str
    """Where the main thread was when the limit passed; empty if it ended before anyone looked."""
    ended: bool

    def __str__(self) -> str:
        row = ThreadContext.MAIN.row
        verb = "kept" if self.ended else "has kept"
        text = (
            f"{self.name} {verb} the main thread for {self.elapsed_ns / 1e6:.1f} ms, "
            f"longer than a frame ({self.limit_ns / 1e6:.1f} ms)\nthe row: {row}\n"
            f"hint: {row.instead}"
        )
        return f"{text}\n{self.stack}" if self.stack else text


class MainThreadMonitor:
    """Watches one thread's sections. `report(work)` is called on the monitor's own thread while
    the work goes on, and on the watched thread when it has ended."""

    def __init__(
        self,
        limit_ns: int = 16_666_667,
        report: Callable[[LongWork], object] | None = None,
        *,
        clock: Callable[[], int] = _sync.monotonic_ns,
    ) -> None:
        self.limit_ns = limit_ns
        self._report = report or (lambda work: _log.warning("%s", work))
        self._clock = clock
        self._ident = threading.get_ident()
        self._lock = threading.Lock()
        self._section: tuple[int, str, int] | None = None  # number, name, begin
        self._number = 0
        self._sampled: tuple[int, str] = (0, "")  # number, stack
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look four times a limit, from a thread of its own."""
        if self._thread is None:
            self._stop.clear()
            self._thread = _sync.start_thread(self._look, name="main-thread monitor")

    def close(self) -> None:
        """End that thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    @contextlib.contextmanager
    def section(self, name: str) -> Iterator[None]:
        """The block is one piece of main-thread work."""
        with self._lock:
            self._number += 1
            number, begin_ns = self._number, self._clock()
            outer, self._section = self._section, (number, name, begin_ns)
        try:
            yield
        finally:
            with self._lock:
                self._section = outer
                sampled, stack = self._sampled
            elapsed_ns = self._clock() - begin_ns
            if elapsed_ns > self.limit_ns:
                stack = stack if sampled == number else ""
                self._report(LongWork(name, elapsed_ns, self.limit_ns, stack, True))

    def check(self) -> LongWork | None:
        """Look once: the work that is over the limit now and was not seen before."""
        with self._lock:
            if self._section is None:
                return None
            number, name, begin_ns = self._section
            elapsed_ns = self._clock() - begin_ns
            if elapsed_ns <= self.limit_ns or self._sampled[0] == number:
                return None
            frame = sys._current_frames().get(self._ident)
            stack = "".join(traceback.format_stack(frame)) if frame is not None else ""
            self._sampled = (number, stack)
        work = LongWork(name, elapsed_ns, self.limit_ns, stack, False)
        self._report(work)
        return work

    def __enter__(self) -> MainThreadMonitor:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _look(self) -> None:
        while not self._stop.wait(self.limit_ns / 4e9):
            self.check()
