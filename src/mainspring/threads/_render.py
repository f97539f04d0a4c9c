"""Work for the screen or the cameras: one command queue, one or two threads, the same results.

The promise: what is submitted runs once, in order, on the thread that plays the render thread,
and an error in it surfaces at the frame boundary with the place that submitted it. The policy
decides who plays it, and nothing else: a program gives the same results under both.

    SINGLE_THREADED   tick N    | drain N                 the main thread, at the end of the frame
    MULTI_THREADED    tick N    | tick N+1  | tick N+2    the main thread
                                | drain N   | drain N+1   the render thread
    NONE              tick N    | tick N+1                nothing is drawn; resources are freed

The main thread calls `end_frame()` once a frame. What submitted work submits itself belongs to
the next frame and comes first in it, under every policy.
"""

from __future__ import annotations

import atexit
import contextlib
import enum
import threading
import weakref
from collections import deque
from collections.abc import Callable
from types import CodeType
from typing import Any

from mainspring._kernel import threads as _kernel
from mainspring.errors import nearest
from mainspring.threads import _sync
from mainspring.threads._contexts import (
    ThreadContext,
    assert_owner,
    current_context,
    declare_context,
)
from mainspring.threads._errors import RenderError, ThreadError
from mainspring.threads._naming import name_of

__all__ = ["Renderer", "ThreadingPolicy"]

_Command = tuple[Callable[..., Any], tuple[Any, ...], CodeType | None, int]


class ThreadingPolicy(enum.Enum):
    """Who drains the renderer's queue."""

    NONE = "none"
    SINGLE_THREADED = "single_threaded"
    MULTI_THREADED = "multi_threaded"

    @classmethod
    def of(cls, policy: ThreadingPolicy | str) -> ThreadingPolicy:
        """The policy by itself, or by its name."""
        if isinstance(policy, ThreadingPolicy):
            return policy
        names = [known.value for known in cls]
        if str(policy).lower() not in names:
            raise ThreadError(
                f"there is no threading policy {policy!r}", hint=nearest(str(policy), names)
            )
        return cls(policy.lower())


class Renderer:
    """The command queue and, where the policy wants one, its thread.

    The thread that makes it plays the main thread of it. `frames_in_flight` is how many frames
    a freed resource outlives the frame that gave it up.
    """

    def __init__(
        self,
        policy: ThreadingPolicy | str = ThreadingPolicy.SINGLE_THREADED,
        *,
        frames_in_flight: int = 1,
    ) -> None:
        self.policy = ThreadingPolicy.of(policy)
        if frames_in_flight < 1:
            raise ThreadError(
                f"frames_in_flight is {frames_in_flight}",
                hint="1 or more: the frame that is being drawn while main makes the next one",
            )
        self.frames_in_flight = frames_in_flight
        self.frames = 0
        """How many batches were begun."""
        self._owner = threading.get_ident()
        self._commands = _kernel.CommandQueue()
        self._frees = _kernel.CommandQueue()
        self._in_flight: deque[list[_Command]] = deque()
        self._batch: _Batch | None = None  # kicked, and not yet waited for
        self._handed: _Batch | None = None  # for the render thread, which takes it
        self._gate = _sync.Lock()
        self._gate.acquire()
        self._closing = False
        self._closed = False
        self._render_ident = self._owner
        self._thread: threading.Thread | None = None
        self.submit: Callable[..., None] = self._commands.submit
        """`submit(call, *arguments)`: run it in this frame's drain. From any thread, until `close`."""
        self.submit_resource_free: Callable[..., None] = self._frees.submit
        """`submit_resource_free(call, *arguments)`: run it when no frame in flight can use the
        resource any more, and at the latest in `close`; after that, at once. From any thread."""
        if self.policy is ThreadingPolicy.MULTI_THREADED:
            self._start_thread()

    def is_render_thread(self) -> bool:
        """Whether the calling thread plays the render thread: the main one when single-threaded."""
        return threading.get_ident() == self._render_ident

    @property
    def pending(self) -> int:
        """How much was submitted and not yet begun."""
        return len(self._commands)

    # the main thread, once a frame

    def end_frame(self) -> None:
        """The frame boundary. Single-threaded: drain. Multi-threaded: wait for the frame that
        is being drawn, then hand over this one. Raises what failed in the frame that ended."""
        if self.policy is ThreadingPolicy.MULTI_THREADED:
            self.kick()
        else:
            self.block_until_complete()

    def kick(self) -> None:
        """Multi-threaded: hand what was submitted to the render thread, after the frame it is
        drawing. Single-threaded there is nobody to hand it to: it waits for the boundary."""
        self._check("kick")
        if self.policy is not ThreadingPolicy.MULTI_THREADED:
            return
        batch, self._batch = self._batch, None
        if batch is not None:
            batch.done.wait()
        # Handed over before the failures of the last frame are raised, or they would hold up
        # this one: under every policy a failure costs its own command and nothing else.
        self._batch = self._handed = self._next_batch()
        self._gate.release()
        if batch is not None:
            batch.raise_failures()

    def block_until_complete(self) -> None:
        """Wait until everything that was kicked has run; single-threaded, run it here and now."""
        self._check("block_until_complete")
        if self.policy is ThreadingPolicy.MULTI_THREADED:
            batch, self._batch = self._batch, None
            if batch is None:
                return
            batch.done.wait()
        else:
            batch = self._next_batch()
            self._run(batch)
        batch.raise_failures()

    def pump(self) -> None:
        """Everything submitted so far has run when this returns, under every policy."""
        self.kick()
        self.block_until_complete()

    def close(self) -> None:
        """Draw what was submitted, free what was given up, end the thread. Raises what failed."""
        if self._closed:
            return
        self._check("close")
        failures = self._drain()
        self._commands.divert(_refuse)
        self._frees.divert(_free_now)
        if self.pending or len(self._frees):  # somebody was faster than that, and is served too
            failures += self._drain()
        self._closed = True
        self._stop_thread()
        if failures:
            raise _render_error(failures)

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # inside

    def _check(self, call: str) -> None:
        assert_owner(self._owner, f"Renderer.{call}", what="renderer")
        if current_context() is ThreadContext.RENDER:
            raise ThreadError(
                f"Renderer.{call} was called from submitted work",
                hint="the main thread ends frames; submitted work may submit more, "
                "which runs in the next frame",
            )
        if self._closed:
            raise ThreadError(f"Renderer.{call} was called after close()")

    def _drain(self) -> list[tuple[str, BaseException]]:
        """Run everything that was submitted and given up; what failed."""
        failures: list[tuple[str, BaseException]] = []
        # One round for what was submitted, one more for each frame a resource outlives.
        for _ in range(self.frames_in_flight + 2):
            try:
                self.pump()
            except RenderError as error:
                failures += error.failures
        return failures

    def _next_batch(self) -> _Batch:
        # order: as submitted (see the kernel's queue), then the resources given up `frames_in_flight` frames ago
        commands: list[_Command] = self._commands.take()
        if self.policy is ThreadingPolicy.NONE:
            commands.clear()
        self._in_flight.append(self._frees.take())
        if len(self._in_flight) > self.frames_in_flight:
            commands += self._in_flight.popleft()
        self.frames += 1
        return _Batch(commands)

    def _run(self, batch: _Batch) -> None:
        with declare_context(ThreadContext.RENDER):
            batch.run(Exception)  # Ctrl-C belongs to the main thread

    def _start_thread(self) -> None:
        # The thread holds the renderer weakly: a forgotten renderer is collected and closed.
        started = _sync.Latch()
        state = weakref.ref(self)

        def run() -> None:
            renderer = state()
            assert renderer is not None
            renderer._render_ident = threading.get_ident()
            gate = renderer._gate
            del renderer
            started.set()
            with declare_context(ThreadContext.RENDER):
                while True:
                    gate.acquire()
                    renderer = state()
                    if renderer is None or renderer._closing:
                        return
                    batch, renderer._handed = renderer._handed, None
                    del renderer
                    if batch is not None:
                        batch.run(BaseException)  # an exit asked for here must not end the thread
                        batch.done.set()
                        del batch

        self._thread = _sync.start_thread(run, name="render")
        started.wait()
        self._finalizer = weakref.finalize(self, _release, self._gate)
        self._finalizer.atexit = False
        _open.add(self)

    def _stop_thread(self) -> None:
        if self._thread is None:
            return
        if self._batch is not None:
            self._batch.done.wait()
        self._closing = True
        self._finalizer.detach()
        self._gate.release()
        self._thread.join()
        self._thread = None


class _Batch:
    """One frame's commands, and how they went."""

    __slots__ = ("commands", "done", "failures")

    def __init__(self, commands: list[_Command]) -> None:
        self.commands = commands
        self.done = _sync.Latch()
        self.failures: list[tuple[str, BaseException]] = []

    def run(self, caught: type[BaseException]) -> None:
        commands, self.commands = self.commands, []
        for call, arguments, code, instruction in commands:
            try:
                call(*arguments)
            except caught as error:
                self.failures.append((_place(code, instruction), error))

    def raise_failures(self) -> None:
        if self.failures:
            failures, self.failures = self.failures, []
            raise _render_error(failures)


_open: weakref.WeakSet[Renderer] = weakref.WeakSet()


@atexit.register
def _end_threads() -> None:
    # What was not closed is not drawn any more, but its thread ends before the interpreter does.
    for renderer in list(_open):
        renderer._stop_thread()


def _refuse(call: Callable[..., Any], *arguments: Any) -> None:
    raise ThreadError(
        f"{name_of(call)} was submitted to a renderer that is closed, and would never run",
        hint="stop what submits before the renderer, or the application, is closed",
    )


def _free_now(call: Callable[..., Any], *arguments: Any) -> None:
    call(*arguments)  # no frame is in flight that could use it


def _release(gate: Any) -> None:
    # Already open where a kick came first: then the thread sees for itself that nobody is left.
    with contextlib.suppress(RuntimeError):
        gate.release()


def _place(code: CodeType | None, instruction: int) -> str:
    if code is None:
        return "an unknown place"
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end)
    return f"{code.co_filename}:{next(lines, 0)} in {code.co_qualname}"


def _render_error(failures: list[tuple[str, BaseException]]) -> RenderError:
    place, first = failures[0]
    error = RenderError(
        f"work submitted to the renderer at {place} failed: {type(first).__name__}: {first}"
        + (f" (and {len(failures) - 1} more in the same frame)" if len(failures) > 1 else ""),
        failures,
    )
    for place, other in failures[1:]:
        error.add_note(f"also, submitted at {place}: {type(other).__name__}: {other}")
    error.__cause__ = first
    return error
