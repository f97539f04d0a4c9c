"""Which thread am I on, and the render thread's queue."""

from collections.abc import Callable
from types import CodeType
from typing import Any


def is_main_thread() -> bool:
    """Whether this is the thread that was recorded at start-up; False before that."""

def main_ident() -> int:
    """The id of the main thread, 0 before start-up."""

def set_main_ident(ident: int, /) -> None:
    """Record the main thread; 0 forgets it."""

def current_contexts() -> int:
    """The calling thread's contexts as bits."""

def declare(contexts: int, /) -> int:
    """Set the calling thread's context bits; the ones before."""


class Guard:
    """A function that runs only on threads that may call it."""

    allowed: int
    refused: int
    __wrapped__: Callable[..., Any]
    def __init__(
        self,
        call: Callable[..., Any],
        allowed: int,
        refused: int,
        on_broken: Callable[[Guard], object],
        asserts: bool = False,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class CommandQueue:
    """Calls in the order they were submitted, each with its place."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def submit(self, call: Callable[..., Any], /, *arguments: Any) -> None:
        """Remember a call, its arguments, and the place that submits it."""

    def take(self) -> list[tuple[Callable[..., Any], tuple[Any, ...], CodeType | None, int]]:
        """Everything submitted so far, in order; the queue is empty then."""

    def divert(self, call: Callable[..., object], /) -> None:
        """From now on a submission is not remembered: it calls `call` with what is submitted."""
