"""Putting a function behind a check, whatever kind of function it is.

The promise: the check stands where the body runs. A plain function is checked when it is called,
a coroutine when it is first awaited, a generator each time it goes on, for each of these may
happen on another thread than the call. What is decorated stays what it was: a method, a class
method, a property, a coroutine function, a generator function.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from mainspring._kernel import threads as _kernel
from mainspring.threads._errors import ThreadError

__all__ = ["guarded"]


def guarded(function: Any, allowed: int, refused: int, on_broken: Callable[[Any], None]) -> Any:
    """`function`, which runs only where the calling thread has one of the `allowed` contexts (0 is
    any) and none of the `refused`; else `on_broken(guard)` raises."""

    def guard(inner: Any) -> Any:
        return guarded(inner, allowed, refused, on_broken)

    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(guard(function.__func__))
    if isinstance(function, property):
        for name in ("getter", "setter", "deleter"):
            call = getattr(function, f"f{name[:3]}")
            if call is not None:
                function = getattr(function, name)(guard(call))
        return function
    if isinstance(function, functools.cached_property):
        return type(function)(guard(function.func))
    if isinstance(function, type) or not callable(function):
        what = f"class {function.__name__}" if isinstance(function, type) else repr(function)
        raise ThreadError(
            f"{what} cannot be put behind a check of the thread",
            hint="decorate a function, a method or a property: of a class, its __init__",
        )
    for kind, checked in _LATER:
        if kind(function):
            gate = _kernel.Guard(_pass, allowed, refused, on_broken)
            gate.__wrapped__ = function
            return functools.update_wrapper(checked(function, gate), function)
    made = _kernel.Guard(function, allowed, refused, on_broken)
    return functools.update_wrapper(made, function)


def _pass() -> None:
    return None


Gate = Callable[[], None]


def _coroutine(function: Callable[..., Any], gate: Gate) -> Callable[..., Any]:
    async def checked(*args: Any, **kwargs: Any) -> Any:
        gate()
        return await function(*args, **kwargs)

    return checked


def _generator(function: Callable[..., Any], gate: Gate) -> Callable[..., Any]:
    def checked(*args: Any, **kwargs: Any) -> Any:
        return (yield from _Checked(function(*args, **kwargs), gate))

    return checked


class _Checked(Generator[Any, Any, Any]):
    """A generator that passes the gate whenever it goes on. Closing it does not ask: that is what
    a collector does, on any thread."""

    def __init__(self, running: Generator[Any, Any, Any], gate: Gate) -> None:
        self._running = running
        self._gate = gate

    def send(self, value: Any) -> Any:
        self._gate()
        return self._running.send(value)

    def throw(self, *error: Any) -> Any:
        self._gate()
        return self._running.throw(*error)

    def close(self) -> None:
        self._running.close()


def _async_generator(function: Callable[..., Any], gate: Gate) -> Callable[..., Any]:
    async def checked(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        running = function(*args, **kwargs)
        go_on, told = running.asend, None
        while True:
            gate()
            try:
                item = await go_on(told)
            except StopAsyncIteration:
                return
            try:
                go_on, told = running.asend, (yield item)
            except GeneratorExit:
                await running.aclose()
                raise
            except BaseException as error:
                go_on, told = running.athrow, error

    return checked


_LATER = (
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isgeneratorfunction, _generator),
    (inspect.isasyncgenfunction, _async_generator),
)
"""Functions whose body does not run in the call."""
