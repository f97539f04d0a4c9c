"""The inbox: the one way in for everything that comes from outside.

Any thread puts; the timeline drains at the start of an instant. An input gets its sequence
number when it is put, and inputs are applied in that order. The inbox is bounded: when it is
full, `put` raises and nothing is added or dropped.

    >>> inbox = Inbox()
    >>> inbox.route("greeting", lambda given: print(given.seq, given.payload))
    >>> inbox.put("greeting", "hello")
    1
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from mainspring._kernel.inbox import Inbox as _Queue
from mainspring.clock._times import whole
from mainspring.clock.errors import InboxFullError, InboxRouteError
from mainspring.errors import nearest

__all__ = ["Handler", "Inbox", "Input"]

DEFAULT_CAPACITY = 65_536


class Input(msgspec.Struct, frozen=True):
    """One thing from outside: an intent, a pushed message, a decision, a remote call."""

    seq: int
    """Its place in the total order of inputs, from 1."""
    kind: str
    """Which handler it is for."""
    payload: Any
    """What it says: plain data that `mainspring.state` can encode."""
    source: str = ""
    """Who sent it."""


Handler = Callable[[Input], object]


def _checked(capacity: int) -> int:
    return whole(capacity, "the capacity of an inbox", least=1)


class Inbox:
    """A bounded queue of inputs: many threads put, the timeline drains."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._queue = _Queue(_checked(capacity))
        self._lock = threading.Lock()
        self._routes: dict[str, Handler] = {}
        self._next_seq = 1
        self.on_put: Callable[[Input], None] | None = None
        """Called with each input as it is accepted, in sequence order, in the thread that put it.
        If it raises, the input is not accepted."""
        self.stand_in: Callable[[str, Any, str], int] | None = None
        """While a run is replayed its inputs come from the log, through `feed`. What is put
        meanwhile goes here instead of into the queue: kind, payload, source; the result is the
        sequence number that `put` returns."""

    def route(self, kind: str, handler: Handler) -> None:
        """Sends inputs of `kind` to `handler`, which runs at the start of an instant."""
        self._routes[kind] = handler

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that have a handler, in the order they were routed."""
        return tuple(self._routes)

    def put(self, kind: str, payload: Any, *, source: str = "") -> int:
        """Adds an input and returns its sequence number; may be called from any thread."""
        self._check_route(kind)
        if self.stand_in is not None:
            return self.stand_in(kind, payload, source)
        with self._lock:
            given = Input(self._next_seq, kind, payload, source)
            if self._queue.pending >= self._queue.capacity:
                raise InboxFullError(
                    f"the inbox is full: {self._queue.capacity} inputs wait",
                    hint="advance the scene, send less, or raise scene.inbox.capacity",
                )
            if self.on_put is not None:
                self.on_put(given)
            self._queue.put(given)
            self._next_seq += 1
        return given.seq

    def feed(self, inputs: Iterable[Input]) -> None:
        """Adds inputs that have their sequence numbers already, as a replay does."""
        with self._lock:
            for given in inputs:
                self._check_route(given.kind)
                if not self._queue.put(given):
                    raise InboxFullError(
                        f"the inbox is full: {self._queue.capacity} inputs wait",
                        hint="replay with the capacity of the recorded run",
                    )
                self._next_seq = max(self._next_seq, given.seq + 1)

    def _check_route(self, kind: str) -> None:
        if kind not in self._routes:
            raise InboxRouteError(
                f"no handler takes inputs of kind {kind!r}", hint=nearest(kind, self._routes)
            )

    def drain(self) -> list[Input]:
        """Takes everything that waits, in sequence order. The timeline calls this (I3)."""
        return cast("list[Input]", self._queue.drain())

    def apply(self, given: Input) -> None:
        """Hands an input to the handler of its kind."""
        self._routes[given.kind](given)

    @property
    def waiting(self) -> tuple[Input, ...]:
        """The inputs that wait for the next instant, in sequence order."""
        return tuple(cast("list[Input]", self._queue.peek()))

    @property
    def pending(self) -> int:
        """How many inputs wait."""
        return self._queue.pending

    @property
    def capacity(self) -> int:
        """How many inputs may wait."""
        return self._queue.capacity

    @capacity.setter
    def capacity(self, value: int) -> None:
        self._queue.capacity = _checked(value)

    def wait_until(self, deadline_ns: int) -> bool:
        """Waits, without the GIL, for an input, a `wake` or the monotonic deadline."""
        return self._queue.wait_until(deadline_ns)

    def wake(self) -> None:
        """Ends a `wait_until` that is under way in another thread."""
        self._queue.wake()

    def save(self) -> dict[str, Any]:
        """The counter and the inputs that wait."""
        return {
            "next_seq": self._next_seq,
            "waiting": [[i.seq, i.kind, i.payload, i.source] for i in self.waiting],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Leaves the inbox as it was when `state` was saved."""
        with self._lock:
            self._queue.drain()
            self._next_seq = state["next_seq"]
            for row in state["waiting"]:
                self._queue.put(Input(*row))

    @property
    def queue(self) -> _Queue:
        """The kernel's queue, for those who wait or drain inside the kernel."""
        return self._queue
