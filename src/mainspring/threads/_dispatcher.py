"""Back to the main thread: `execute` and wait, or `execute_async` and forget.

The promise: operations run on the main thread, in the order they were handed over, a few a
frame, and whoever waits gets the result, the exception, or `DispatcherClosedError`; nobody
waits for ever. The application loop, and nobody else, calls `process_pending`.

    worker                              main
    execute(f) ---- pending ---->       process_pending(): f()
    returns f's result  <------------

On the main thread itself `execute` simply calls: queueing would wait for oneself.
What it does not do: reach a scene between instants in an order that is logged. For that, put
an input into the scene's inbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import sys
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from mainspring._kernel import threads as _kernel
from mainspring.threads import _sync
from mainspring.threads._contexts import assert_owner, is_main_thread
from mainspring.threads._errors import DispatcherClosedError, DispatchError
from mainspring.threads._naming import name_of

__all__ = ["MainThreadDispatcher"]

T = TypeVar("T")

_log = logging.getLogger("mainspring.threads")

FRAME_BUDGET_NS = 4_000_000
"""What a frame gives to dispatched work unless told: a quarter of a frame at 60 Hz."""

_PENDING, _RUNNING, _WITHDRAWN = range(3)

_numbers = itertools.count()
_open: weakref.WeakValueDictionary[int, MainThreadDispatcher] = weakref.WeakValueDictionary()
"""The dispatchers that are not closed, in the order they were made."""


class MainThreadDispatcher:
    """Runs operations of other threads on the main one.

    The main thread is the recorded one; before start-up it is the thread that makes the
    dispatcher. `on_error(error, place)` hears of failures nobody waits for, on the main thread.
    """

    def __init__(self, *, on_error: Callable[[BaseException, str], object] | None = None) -> None:
        self.owner = _kernel.main_ident() or threading.get_ident()
        self.on_error = on_error or _report
        self._lock = _sync.Lock()
        self._pending: deque[_Operation] = deque()
        self._closed = False
        self._claimed_by: object | None = None
        self._processing = False
        self._refusing: str | None = None
        self._gate = _sync.Lock()  # shut, but for whoever wakes the main thread
        self._gate.acquire()
        self._waker: Callable[[], object] | None = None  # while the main thread sleeps
        self._woken = False  # while it does not
        self._number = next(_numbers)
        _open[self._number] = self

    is_main_thread = staticmethod(is_main_thread)

    # from any thread

    def execute(self, call: Callable[..., T], *args: Any, timeout_s: float | None = None) -> T:
        """Run `call(*args)` on the main thread and return its result, or raise what it raised.

        With `timeout_s`, work that has not begun by then is withdrawn (`DispatchError`); work
        that has begun is waited for, because it cannot be undone.
        """
        if threading.get_ident() == self.owner:
            self._check_open(call)
            return call(*args)
        operation = _Operation(call, args, _sync.Latch(), "")
        self._hand_over(operation)
        done = operation.done
        assert done is not None
        if not done.wait(timeout_s):
            with self._lock:
                withdrawn = operation.state == _PENDING
                if withdrawn:
                    operation.state = _WITHDRAWN
            if withdrawn:
                raise DispatchError(
                    f"{name_of(call)} did not begin on the main thread within {timeout_s} s",
                    hint="is the application loop running, or is a frame taking that long?",
                )
            done.wait()
        error = operation.error
        if error is not None:
            try:
                raise error
            finally:
                del error, operation  # the traceback holds this frame: leave no cycle
        result: T = operation.result
        return result

    def execute_async(self, call: Callable[..., Any], *args: Any) -> None:
        """Run `call(*args)` on the main thread some frame soon; a failure goes to `on_error`."""
        if not callable(call):
            raise TypeError(f"execute_async() takes a callable, not {type(call).__name__}")
        frame = sys._getframe(1)
        place = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        self._hand_over(_Operation(call, args, None, place))

    def wake(self) -> None:
        """End a `wait` of the main thread now; where it does not wait, its next one."""
        with self._lock:
            waker, self._waker = self._waker, None
            self._woken = waker is None
        if waker is not None:
            waker()

    @property
    def pending(self) -> int:
        """How many operations wait."""
        return len(self._pending)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Refuse work from now on; everybody who waits gets `DispatcherClosedError`."""
        with self._lock:
            self._closed = True
            dropped = [op for op in self._pending if op.state == _PENDING]
            self._pending.clear()
            for operation in dropped:
                operation.state = _WITHDRAWN
        _open.pop(self._number, None)
        self.wake()
        forgotten: Counter[tuple[str, str]] = Counter()
        for operation in dropped:
            if operation.done is not None:
                operation.error = self._closed_error(operation.call)
                operation.done.set()
            else:
                forgotten[name_of(operation.call), operation.place] += 1
        for (name, place), count in forgotten.items():  # a flood is one line for each of its places
            times = "" if count == 1 else f", {count} times"
            _log.warning(
                "%s will not run: the main-thread dispatcher is closed (handed over at %s%s)",
                name,
                place,
                times,
            )

    # on the main thread

    @contextlib.contextmanager
    def claimed_by(self, loop: object) -> Iterator[None]:
        """While the block runs, only `process_pending(caller=loop)` is answered."""
        self._check_caller(None, "claimed_by")
        self._claimed_by = loop
        try:
            yield
        finally:
            self._claimed_by = None

    def process_pending(
        self,
        budget_ns: int | None = FRAME_BUDGET_NS,
        *,
        caller: object | None = None,
        around: Callable[[str], contextlib.AbstractContextManager[None]] | None = None,
    ) -> int:
        """Run what waits, oldest first, and return how much was run.

        Stops when `budget_ns` is used up, judged between operations, and runs at least one; so
        a flood costs a frame its budget and no more. None means no limit. Each operation runs
        inside `around(its name)`, where somebody wants to know how long it takes.
        """
        self._check_caller(caller, "process_pending")
        # order: handed over first, run first
        self._processing = True
        count = 0
        try:
            until_ns = None if budget_ns is None else _sync.monotonic_ns() + budget_ns
            while self._run_next(around):
                count += 1
                if until_ns is not None and _sync.monotonic_ns() >= until_ns:
                    break
        finally:
            self._processing = False
        return count

    def wait(self, timeout_s: float | None = None) -> bool:
        """Sleep until an operation waits, `wake` is called or the time is up; whether one waits.

        It may end early, as any wait for a condition may: look again at what it was for."""
        assert_owner(self.owner, "MainThreadDispatcher.wait", what="dispatcher")
        # Whoever woke the last sleep as its time was up, or as Ctrl-C came, left the gate open.
        self._gate.acquire(blocking=False)
        if not self._may_sleep(self._open_gate):
            return bool(self._pending)
        try:
            self._gate.acquire(timeout=-1 if timeout_s is None else max(timeout_s, 0.0))
        finally:
            self._take_waker()
        return bool(self._pending)

    async def wait_async(self, timeout_s: float | None = None) -> bool:
        """`wait` beside an asyncio loop, which runs meanwhile."""
        assert_owner(self.owner, "MainThreadDispatcher.wait_async", what="dispatcher")
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # that loop has ended meanwhile
                loop.call_soon_threadsafe(woken.set)

        if not self._may_sleep(wake):
            return bool(self._pending)
        try:
            async with asyncio.timeout(timeout_s):
                await woken.wait()
        except TimeoutError:
            pass
        finally:
            self._take_waker()
        return bool(self._pending)

    # inside

    def _may_sleep(self, waker: Callable[[], object]) -> bool:
        """Whether there is nothing to wake for; from then on `waker` will be called for it."""
        with self._lock:
            if self._pending or self._closed or self._woken:
                self._woken = False
                return False
            self._waker = waker
            return True

    def _open_gate(self) -> None:
        # Open already where two were woken at once: this sleeper, and one whose time was up.
        with contextlib.suppress(RuntimeError):
            self._gate.release()

    def _take_waker(self) -> Callable[[], object] | None:
        with self._lock:
            waker, self._waker = self._waker, None
        return waker

    def _refuse(self, why: str | None) -> str | None:
        """Let waiters go, and take none, while the main thread waits for a worker; what was
        refused before."""
        with self._lock:
            before, self._refusing = self._refusing, why
            waiters = []
            if why is not None:
                waiters = [op for op in self._pending if op.state == _PENDING and op.done]
                for operation in waiters:
                    operation.state = _WITHDRAWN
        for operation in waiters:
            operation.error = self._refusal(operation.call)
            assert operation.done is not None
            operation.done.set()
        return before

    def _refusal(self, call: Callable[..., Any]) -> DispatchError:
        return DispatchError(
            f"{name_of(call)} will not run: the main thread {self._refusing}, and would wait for ever",
            hint="look at is_done() between two frames (Application.add_job) instead of joining, "
            "or hand over what the job needs before it is joined",
        )

    def _hand_over(self, operation: _Operation) -> None:
        with self._lock:
            if self._closed:
                raise self._closed_error(operation.call)
            if self._refusing is not None and operation.done is not None:
                raise self._refusal(operation.call)
            self._pending.append(operation)
            waker, self._waker = self._waker, None
        if waker is not None:
            waker()

    def _run_next(
        self, around: Callable[[str], contextlib.AbstractContextManager[None]] | None
    ) -> bool:
        with self._lock:
            while self._pending:
                operation = self._pending.popleft()
                if operation.state == _PENDING:
                    operation.state = _RUNNING
                    break
            else:
                return False
        try:
            if around is None:
                operation.result = operation.call(*operation.args)
            else:
                with around(str(operation)):
                    operation.result = operation.call(*operation.args)
        except Exception as error:
            if operation.done is None:
                self.on_error(error, operation.place)
            else:
                operation.error = error
        except BaseException as error:  # Ctrl-C belongs to the main thread, not to the waiter
            operation.error = DispatchError(
                f"{name_of(operation.call)} was interrupted on the main thread "
                f"by {type(error).__name__}"
            )
            raise
        finally:
            if operation.done is not None:
                operation.done.set()
        return True

    def _check_open(self, call: Callable[..., Any]) -> None:
        if self._closed:
            raise self._closed_error(call)

    def _check_caller(self, caller: object | None, name: str) -> None:
        assert_owner(self.owner, f"MainThreadDispatcher.{name}", what="dispatcher")
        if self._processing:
            raise DispatchError(
                f"{name} was called from inside an operation that it is running",
                hint="return from the operation; the rest runs after it, in order",
            )
        if self._claimed_by is not None and caller is not self._claimed_by:
            raise DispatchError(
                f"{name} was called by a second caller: {self._claimed_by!r} runs this dispatcher",
                hint="leave it to the application loop, which calls it once a frame",
            )

    def _closed_error(self, call: Callable[..., Any]) -> DispatcherClosedError:
        return DispatcherClosedError(
            f"{name_of(call)} will not run: the main-thread dispatcher is closed",
            hint="the application is ending; stop the thread that asked",
        )


class _Operation:
    __slots__ = ("args", "call", "done", "error", "place", "result", "state")

    def __init__(
        self,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        done: _sync.Latch | None,
        place: str,
    ) -> None:
        self.call = call
        self.args = args
        self.done = done
        self.place = place
        self.state = _PENDING
        self.result: Any = None
        self.error: BaseException | None = None

    def __str__(self) -> str:
        name = name_of(self.call)
        return f"{name}, handed over at {self.place}" if self.place else f"{name}, dispatched"


@contextlib.contextmanager
def refusing_waiters(why: str) -> Iterator[None]:
    """While the block runs, this thread waits for a worker: a worker that waits for this thread
    gets an error, or both would wait for ever."""
    ident = threading.get_ident()
    mine = [dispatcher for dispatcher in list(_open.values()) if dispatcher.owner == ident]
    before = [dispatcher._refuse(why) for dispatcher in mine]
    try:
        yield
    finally:
        for dispatcher, earlier in zip(mine, before, strict=True):
            dispatcher._refuse(earlier)


def close_all(owner: int | None = None) -> None:
    """The end of the program, or of the thread `owner`: nobody will run anything any more."""
    for dispatcher in list(_open.values()):
        if owner in (None, dispatcher.owner):
            dispatcher.close()


def _report(error: BaseException, place: str) -> None:
    _log.error("an operation handed to the main thread at %s failed", place, exc_info=error)
