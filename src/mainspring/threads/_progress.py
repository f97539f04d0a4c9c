"""How far long work has come: a text and a fraction, written by the worker, read by anybody."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import NamedTuple

from mainspring.threads import _sync

__all__ = ["Progress", "ProgressState"]

_log = logging.getLogger("mainspring.threads")


class ProgressState(NamedTuple):
    """One moment of a `Progress`, text and fraction from the same call."""

    text: str
    fraction: float


class Progress:
    """A text and a fraction in [0, 1], never one of them from before and one from after a change."""

    def __init__(self, text: str = "", fraction: float = 0.0) -> None:
        self._lock = _sync.Lock()
        self._state = ProgressState(text, fraction)
        self._subscribers: dict[int, Callable[[ProgressState], object]] = {}
        self._next = 0

    def set(self, text: str | None = None, fraction: float | None = None) -> None:
        """Change one or both; the fraction is clamped to [0, 1].

        Subscribers are called here, on the thread that sets, outside the lock.
        """
        with self._lock:
            before = self._state
            if fraction is None or math.isnan(fraction):
                fraction = before.fraction
            text = before.text if text is None else text
            state = self._state = ProgressState(text, min(max(fraction, 0.0), 1.0))
            subscribers = tuple(self._subscribers.items())
        for key, call in subscribers:
            try:
                call(state)
            except Exception:
                # A display must not stop the work it displays.
                _log.exception("a subscriber of a job's progress failed and was removed")
                self._remove(key)

    def read(self) -> ProgressState:
        """Text and fraction of the same moment."""
        return self._state

    @property
    def text(self) -> str:
        """What is being done."""
        return self._state.text

    @property
    def fraction(self) -> float:
        """How much of it is done, 0 to 1."""
        return self._state.fraction

    def subscribe(self, call: Callable[[ProgressState], object]) -> Callable[[], None]:
        """Call `call(state)` at every change; the answer ends that."""
        with self._lock:
            key = self._next
            self._next += 1
            self._subscribers[key] = call
        return lambda: self._remove(key)

    def part(self, start: float, end: float) -> Progress:
        """A progress of its own that fills this one from `start` to `end`."""
        part = Progress(self.text)
        part.subscribe(lambda s: self.set(s.text, start + (end - start) * s.fraction))
        return part

    def _remove(self, key: int) -> None:
        with self._lock:
            self._subscribers.pop(key, None)
