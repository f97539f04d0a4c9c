"""Which thread am I on, and may I do this here?

The promise: a call that breaks a row of the table below is an error that quotes the row and
names the thread and the call. A check costs tens of nanoseconds, so it stands in front of every
change of a scene, a world or an asset registry, in every build.

    @require_main_thread                    # as decorators
    def add_entity(): ...

    @thread_context("job", "network")
    def extract(archive): ...

    def reload():
        require_main_thread()               # as assertions
        assert thread_context("main")

Before `record_main_thread` (an `Application` calls it) there is no main thread:
`is_main_thread()` answers False and `require_main_thread` refuses everybody.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar, cast, overload

from mainspring._kernel import threads as _kernel
from mainspring.errors import THREAD_ROWS, nearest, thread_row
from mainspring.threads._errors import ThreadError, WrongThreadError
from mainspring.threads._guards import guarded

__all__ = [
    "TABLE",
    "ContextRow",
    "ThreadContext",
    "assert_owner",
    "current_context",
    "declare_context",
    "forbid_main_thread",
    "forget_main_thread",
    "is_main_thread",
    "record_main_thread",
    "require_main_thread",
    "thread_context",
]

F = TypeVar("F", bound=Callable[..., Any])


class ThreadContext(enum.Enum):
    """What a thread is there for. The value is its row in the table."""

    MAIN = "main"
    CALLBACK = "callbacks and nodes"
    JOB = "job workers"
    NETWORK = "network and RPC threads"
    WATCHER = "watchers"
    RENDER = "render thread"

    @property
    def row(self) -> ContextRow:
        """What this context may and may not do."""
        return TABLE[self]

    @classmethod
    def of(cls, context: ThreadContext | str) -> ThreadContext:
        """The context by itself, by name (`"job"`) or by the words of its row."""
        if isinstance(context, ThreadContext):
            return context
        for known in cls:
            if context in (known.value, known.name.lower(), known.name):
                return known
        names = [known.name.lower() for known in cls]
        raise ThreadError(f"there is no thread context {context!r}", hint=nearest(context, names))


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One row of the table of contexts."""

    context: ThreadContext
    may: str
    may_not: str
    instead: str
    """Where forbidden work belongs: the hint of an error."""

    def __str__(self) -> str:
        return thread_row(_BITS[self.context])


_TO_MAIN = (
    "hand it to the main thread with MainThreadDispatcher.execute or execute_async, "
    "or return it as the result of a job"
)

_INSTEAD = {
    ThreadContext.MAIN: "run it on a worker: subclass Job and call its start()",
    ThreadContext.CALLBACK: "start it from a callback and poll it in a later step or frame",
    ThreadContext.JOB: _TO_MAIN,
    ThreadContext.NETWORK: (
        "put an input into the scene's inbox: it is applied at the next instant"
    ),
    ThreadContext.WATCHER: "let the main thread see the flag between two frames and reload there",
    ThreadContext.RENDER: (
        "compute it from the submitted copy, and change the scene on the main thread"
    ),
}

TABLE: MappingProxyType[ThreadContext, ContextRow] = MappingProxyType(
    {
        context: ContextRow(context, may, may_not, _INSTEAD[context])
        for context, (_, may, may_not) in zip(ThreadContext, THREAD_ROWS.values(), strict=True)
    }
)

_BITS = dict(zip(ThreadContext, THREAD_ROWS, strict=True))
assert (_BITS[ThreadContext.MAIN], _BITS[ThreadContext.RENDER]) == (1, 32), "the kernel's bits"

is_main_thread: Callable[[], bool] = _kernel.is_main_thread

_main_name = ""


def record_main_thread() -> None:
    """Start-up: the calling thread is the main thread from now on.

    Calling it again from the same thread does nothing; from another one it is an error.
    """
    global _main_name
    ident = threading.get_ident()
    recorded = _kernel.main_ident()
    if recorded not in (0, ident):
        raise ThreadError(
            f"thread {threading.current_thread().name!r} cannot become the main thread: "
            f"{_main_name!r} already is",
            hint="start the application on one thread, and reach it from the others "
            "with MainThreadDispatcher",
        )
    _main_name = threading.current_thread().name
    _kernel.set_main_ident(ident)


def forget_main_thread() -> None:
    """Undo `record_main_thread`; for a program that starts an application on another thread next."""
    _kernel.set_main_ident(0)


def current_context() -> ThreadContext | None:
    """What the calling thread is; None for a thread that never said and is not the main one."""
    bits = _kernel.current_contexts()
    declared = bits & ~_BITS[ThreadContext.MAIN]
    for context, bit in _BITS.items():
        if declared & bit:
            return context
    return ThreadContext.MAIN if bits else None


@contextlib.contextmanager
def declare_context(context: ThreadContext | str) -> Iterator[None]:
    """Say what the calling thread is for while the block runs.

    Whoever starts a thread declares it: jobs, watchers and the render thread do, a server's
    pool should. On the main thread it narrows what may be done (an application declares
    `CALLBACK` around a scene's frame), and the thread stays the main one.
    """
    before = _kernel.declare(_BITS[ThreadContext.of(context)])
    try:
        yield
    finally:
        _kernel.declare(before)


@overload
def _require_main_thread(call: F) -> F: ...
@overload
def _require_main_thread(call: str | None = None) -> None: ...
def _require_main_thread(call: Any = None) -> Any:
    """Only on the main thread: a decorator, or an assertion that may be given the call's name."""
    if call is not None and not isinstance(call, str):
        return guarded(call, _BITS[ThreadContext.MAIN], 0, _raise_broken)
    if not is_main_thread():
        raise _not_on_main(call or _caller())
    return None


@overload
def _forbid_main_thread(call: F) -> F: ...
@overload
def _forbid_main_thread(call: str | None = None) -> None: ...
def _forbid_main_thread(call: Any = None) -> Any:
    """Never on the main thread: a decorator, or an assertion that may be given the call's name."""
    if call is not None and not isinstance(call, str):
        return guarded(call, 0, _BITS[ThreadContext.MAIN], _raise_broken)
    if is_main_thread():
        raise _on_main(call or _caller())
    return None


def _asserting(function: F, allowed: int, refused: int) -> F:
    """`function`, entered only to decorate or to complain: the kernel answers the usual case."""
    guard: Any = _kernel.Guard(function, allowed, refused, _raise_broken, True)
    functools.update_wrapper(guard, function)
    guard.__name__ = guard.__qualname__ = function.__name__.lstrip("_")
    return cast(F, guard)


class thread_context:
    """Only in the contexts named: `@thread_context("job")`, `with ...:`, `assert ...`, `.check()`.

    The main thread counts as `main` also while it runs callbacks, for those touch scenes too.
    """

    __slots__ = ("_allowed", "check", "contexts")

    def __init__(self, *contexts: ThreadContext | str) -> None:
        if not contexts:
            raise ThreadError(
                "thread_context() names no context",
                hint="known: " + ", ".join(known.name.lower() for known in ThreadContext),
            )
        self.contexts = tuple(ThreadContext.of(context) for context in contexts)
        self._allowed = functools.reduce(lambda bits, c: bits | _BITS[c], self.contexts, 0)
        self.check: Callable[..., None] = _asserting(self._check, self._allowed, 0)
        """`check()` or `check("Scene.add")`: raise unless the calling thread is in one of the
        contexts. Kept and called, it is the cheapest form."""

    def __call__(self, function: F) -> F:
        return cast(F, guarded(function, self._allowed, 0, _raise_broken))

    def _check(self, call: str | None = None) -> None:
        if not _kernel.current_contexts() & self._allowed:
            raise _not_in(self.contexts, call or _caller())

    def __enter__(self) -> None:
        if not _kernel.current_contexts() & self._allowed:
            raise _not_in(self.contexts, _caller())

    def __exit__(self, *error: object) -> None:
        return None

    def __bool__(self) -> bool:
        if not _kernel.current_contexts() & self._allowed:
            raise _not_in(self.contexts, _caller())
        return True


def assert_owner(owner: int, call: str, *, what: str = "object") -> None:
    """Raise unless the calling thread is `owner` (a `threading.get_ident()`).

    For what belongs to the thread that made it, before start-up too: a scene in a plain script
    belongs to that script's thread, one that a job makes for itself belongs to the job.
    """
    if threading.get_ident() == owner:
        return
    context = current_context()
    row = (context or ThreadContext.MAIN).row
    name = next((t.name for t in threading.enumerate() if t.ident == owner), "one that ended")
    raise _broken(call, row, f"this {what} belongs to thread {name!r}", _TO_MAIN)


def _raise_broken(guard: Any) -> None:
    call = getattr(guard.__wrapped__, "__qualname__", repr(guard.__wrapped__))
    if guard.refused:
        raise _on_main(call)
    if guard.allowed == _BITS[ThreadContext.MAIN]:
        raise _not_on_main(call)
    contexts = tuple(context for context, bit in _BITS.items() if guard.allowed & bit)
    raise _not_in(contexts, call)


def _caller() -> str:
    """The name of the function that asserts."""
    return sys._getframe(2).f_code.co_qualname


def _not_on_main(call: str) -> WrongThreadError:
    if not _kernel.main_ident():
        return _broken(
            call,
            ThreadContext.MAIN.row,
            "no main thread is recorded yet",
            "make the Application first, or call mainspring.threads.record_main_thread()",
        )
    context = current_context()
    row = (context or ThreadContext.MAIN).row
    return _broken(call, row, f"only the main thread ({_main_name!r}) may", _TO_MAIN)


def _on_main(call: str) -> WrongThreadError:
    row = ThreadContext.MAIN.row
    return _broken(call, row, "it may not run on the main thread", row.instead)


def _not_in(contexts: tuple[ThreadContext, ...], call: str) -> WrongThreadError:
    context = current_context()
    row = (context or contexts[0]).row
    wanted = " or ".join(known.value for known in contexts)
    hint = row.instead if context is not None else f"call it in: {wanted}"
    return _broken(call, row, f"it belongs to: {wanted}", hint)


def _broken(call: str, row: ContextRow, why: str, hint: str) -> WrongThreadError:
    thread = threading.current_thread().name
    context = current_context()
    label = context.value if context is not None else "no context of mainspring"
    return WrongThreadError(
        f"{call} was called on thread {thread!r} ({label}), but {why}\nthe row: {row}",
        call=call,
        thread=thread,
        row=str(row),
        hint=hint,
    )


require_main_thread = _asserting(_require_main_thread, _BITS[ThreadContext.MAIN], 0)
forbid_main_thread = _asserting(_forbid_main_thread, 0, _BITS[ThreadContext.MAIN])
