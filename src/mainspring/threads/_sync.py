"""The few synchronisation primitives the layer is built on, under names a test can replace.

A test that explores interleavings puts a scheduler of its own behind `Lock` and `start_thread`
and decides, by seed, which thread goes on; nothing else in the layer blocks or starts a thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Latch", "Lock", "monotonic_ns", "start_thread"]

Lock = threading.Lock
monotonic_ns = time.monotonic_ns


def start_thread(run: Callable[[], Any], *, name: str) -> threading.Thread:
    """A running daemon thread; whoever starts it joins it (see `_job` on interpreter exit)."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


class Latch:
    """Set once, waited for by anybody. A bare lock: a third of the price of an `Event`."""

    __slots__ = ("_gate", "is_set")

    def __init__(self) -> None:
        self._gate = Lock()
        self._gate.acquire()
        self.is_set = False

    def set(self) -> None:
        """Let everybody through. Only its one owner sets a latch, and once."""
        self.is_set = True
        self._gate.release()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is set; False when the time was up first."""
        if self.is_set:
            return True
        if not self._gate.acquire(timeout=-1 if timeout_s is None else max(timeout_s, 0.0)):
            return False
        self._gate.release()  # the next waiter's turn
        return True
