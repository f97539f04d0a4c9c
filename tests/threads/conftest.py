"""Every test leaves no main thread recorded, no job running and no thread behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mainspring import threads


@pytest.fixture(autouse=True)
def _nothing_left_running() -> Iterator[None]:
    before = set(threading.enumerate())
    threads.forget_main_thread()  # tests of other layers record it too
    yield
    threads.forget_main_thread()
    left = [job.title for job in threads.active_jobs()]
    assert not left, f"jobs left running: {left}"
    behind = [t.name for t in threading.enumerate() if t not in before and t.is_alive()]
    assert not behind, f"threads left running: {behind}"


@pytest.fixture
def main_thread() -> Iterator[None]:
    """The test's thread is the recorded main thread."""
    threads.record_main_thread()
    yield
    threads.forget_main_thread()


def on_thread(call: Callable[[], Any], context: str | None = None, name: str = "other") -> Any:
    """The result of `call`, or what it raised, from a thread of that context."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            if context is None:
                outcome.append((True, call()))
            else:
                with threads.declare_context(context):
                    outcome.append((True, call()))
        except BaseException as error:
            outcome.append((False, error))

    thread = threading.Thread(target=run, name=name)
    thread.start()
    thread.join()
    fine, value = outcome[0]
    if not fine:
        raise value
    return value


@pytest.fixture(name="on_thread")
def _on_thread() -> Callable[..., Any]:
    return on_thread
