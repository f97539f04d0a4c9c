"""Asking work to stop, and the work saying that it no longer can.

The promise: of `request_stop` and `commit`, called at the same moment from two threads,
exactly one wins. So work that passed its point of no return is never reported as cancelled,
and work that was cancelled never passes it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator

from mainspring.threads import _sync
from mainspring.threads._errors import JobCancelledError

__all__ = ["StopSource", "StopToken"]

_log = logging.getLogger("mainspring.threads")


class StopSource:
    """The side that asks. `token` is the side that listens."""

    __slots__ = ("_callbacks", "_committed", "_latch", "_lock", "token")

    def __init__(self) -> None:
        self._lock = _sync.Lock()
        self._latch = _sync.Latch()
        self._callbacks: list[Callable[[], object]] = []
        self._committed = False
        self.token = StopToken(self)

    def request_stop(self) -> bool:
        """Ask; False when it is too late, True also when it was asked before."""
        with self._lock:
            if self._committed:
                return False
            calls, self._callbacks = self._callbacks, []
            if not self._latch.is_set:
                self._latch.set()
        for call in calls:
            try:
                call()
            except Exception:
                _log.exception("what should have woken work that stops failed")
        return True

    @property
    def stoppable(self) -> bool:
        """Whether asking still helps."""
        return not self._committed


class StopToken:
    """What long work looks at between two pieces of itself."""

    __slots__ = ("_source",)

    def __init__(self, source: StopSource) -> None:
        self._source = source

    def stop_requested(self) -> bool:
        """Whether the work was asked to stop."""
        return self._source._latch.is_set

    def checkpoint(self) -> None:
        """A place where the work may end early: raises `JobCancelledError` if it was asked to."""
        if self._source._latch.is_set:
            raise JobCancelledError("cancelled")

    def wait(self, seconds: float) -> None:
        """A pause that a request to stop ends at once, as a checkpoint."""
        if self._source._latch.wait(seconds):
            raise JobCancelledError("cancelled")

    @contextlib.contextmanager
    def on_stop(self, call: Callable[[], object]) -> Iterator[None]:
        """While the block runs, a request to stop calls `call()`, on the thread that asks: for
        work that waits where it cannot look, such as for a socket. Before the block if it was
        asked to already."""
        source = self._source
        with source._lock:
            asked = source._latch.is_set
            if not asked:
                source._callbacks.append(call)
        if asked:
            call()
        try:
            yield
        finally:
            with source._lock, contextlib.suppress(ValueError):
                source._callbacks.remove(call)

    def commit(self) -> None:
        """The point of no return: from here on nobody can stop the work. The last checkpoint."""
        with self._source._lock:
            if self._source._latch.is_set and not self._source._committed:
                raise JobCancelledError("cancelled")
            self._source._committed = True
