"""One worker thread behind a bounded queue: the way from the simulation to the disk.

The promise: items are handled one after another in the order they were put; at most
`limit_bytes` wait; nothing is ever dropped. When the queue is full, `put` either waits for
the worker (`"wait"`: the run gets slower, which a deterministic mode allows) or refuses
(`"error"`). After the worker failed, every `put` and `close` raises what it failed with.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from mainspring.capture._errors import RecordingError

__all__ = ["Pipe", "WhenFull"]

WhenFull = Literal["wait", "error"]


class Pipe:
    """Hands items to `handle` on a thread of its own, which calls `failed` if it dies of one."""

    def __init__(
        self,
        handle: Callable[[Any], None],
        *,
        name: str,
        limit_bytes: int,
        when_full: WhenFull = "wait",
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._handle = handle
        self._name = name
        self._limit = limit_bytes
        self._when_full = when_full
        self._failed = failed
        self._items: deque[tuple[Any, int]] = deque()
        self._waiting_bytes = 0
        self._busy = False
        self._closing = False
        self._changed = threading.Condition()
        self.failure: BaseException | None = None
        """What the worker died of; read without the lock, it is written once."""
        self.peak_bytes = 0
        self.waits = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Any, size: int) -> None:
        """Queue `item`, which keeps `size` bytes alive."""
        with self._changed:
            self._raise_failure()
            if self._closing:
                raise RecordingError(f"{self._name} is closed")
            if self._waiting_bytes and self._waiting_bytes + size > self._limit:
                if self._when_full == "error":
                    raise RecordingError(
                        f"{self._name} has {self._waiting_bytes} bytes waiting to be written, and "
                        f"its limit is {self._limit}",
                        hint="record less, allow more queue_bytes, or let the run wait: "
                        'when_full="wait"',
                    )
                self.waits += 1
                while self._waiting_bytes and self._waiting_bytes + size > self._limit:
                    self._changed.wait()
                    self._raise_failure()
            self._items.append((item, size))
            self._waiting_bytes += size
            self.peak_bytes = max(self.peak_bytes, self._waiting_bytes)
            self._changed.notify_all()

    def drain(self) -> None:
        """Wait until everything that was put is handled."""
        with self._changed:
            while (self._items or self._busy) and self.failure is None:
                self._changed.wait()
            self._raise_failure()

    def close(self) -> None:
        """Handle what waits, end the thread, and raise what it failed with."""
        self.end()
        self._raise_failure()

    def end(self) -> None:
        """Handle what waits and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _raise_failure(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._items and not self._closing:
                    self._changed.wait()
                if not self._items:
                    return
                item, size = self._items.popleft()
                self._busy = True
            try:
                self._handle(item)
            except BaseException as error:  # it is raised again in the run
                with self._changed:
                    self.failure = error
                    self._items.clear()
                    self._waiting_bytes = 0
                    self._busy = False
                    self._changed.notify_all()
                self._failed()
                return
            with self._changed:
                self._busy = False
                self._waiting_bytes -= size
                self._changed.notify_all()
