"""Back to the main thread: results, errors, order, budgets, shutdown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mainspring.threads import (
    DispatcherClosedError,
    DispatchError,
    MainThreadDispatcher,
    WrongThreadError,
)


class Worker:
    """Runs a call on another thread while the test's thread serves the dispatcher."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.outcome: Any = None
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.outcome = self._call()
        except BaseException as error:
            self.error = error

    def served_by(self, dispatcher: MainThreadDispatcher) -> Worker:
        while self._thread.is_alive():
            dispatcher.wait(0.001)
            dispatcher.process_pending()
        self._thread.join()
        return self


def test_execute_runs_there_and_returns_the_result() -> None:
    dispatcher = MainThreadDispatcher()
    ran_on: list[int] = []

    def double(value: int) -> int:
        ran_on.append(threading.get_ident())
        return value * 2

    worker = Worker(lambda: dispatcher.execute(double, 21)).served_by(dispatcher)
    assert worker.outcome == 42
    assert ran_on == [threading.get_ident()]


def test_execute_raises_what_the_operation_raised() -> None:
    dispatcher = MainThreadDispatcher()

    def fail() -> None:
        raise KeyError("arm")

    worker = Worker(lambda: dispatcher.execute(fail)).served_by(dispatcher)
    assert isinstance(worker.error, KeyError)
    trace = worker.error.__traceback__
    names = []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "fail" in names, "the user's traceback is kept"


def test_on_the_main_thread_itself_execute_simply_calls() -> None:
    dispatcher = MainThreadDispatcher()
    assert dispatcher.execute(lambda: dispatcher.execute(lambda: 3)) == 3


def test_operations_run_in_the_order_they_were_handed_over() -> None:
    dispatcher = MainThreadDispatcher()
    seen: list[int] = []
    for number in range(100):
        dispatcher.execute_async(seen.append, number)
    assert dispatcher.pending == 100
    assert dispatcher.process_pending(None) == 100
    assert seen == list(range(100))


def test_a_flood_cannot_stall_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget is judged between operations; one always runs, the rest waits its turn."""
    from mainspring.threads import _sync

    now_ns = [0]
    monkeypatch.setattr(_sync, "monotonic_ns", lambda: now_ns[0])
    dispatcher = MainThreadDispatcher()

    def costs_a_millisecond() -> None:
        now_ns[0] += 1_000_000
        dispatcher.execute_async(costs_a_millisecond)  # the flood feeds itself

    for _ in range(1000):
        dispatcher.execute_async(costs_a_millisecond)
    assert dispatcher.process_pending(4_000_000) == 4
    assert dispatcher.process_pending(0) == 1
    assert dispatcher.pending == 1000
    dispatcher.close()


def test_errors_nobody_waits_for_are_reported_with_their_place() -> None:
    heard: list[tuple[BaseException, str]] = []
    dispatcher = MainThreadDispatcher(on_error=lambda error, place: heard.append((error, place)))
    after: list[int] = []
    dispatcher.execute_async(lambda: 1 // 0)
    dispatcher.execute_async(after.append, 1)
    dispatcher.process_pending()
    ((error, place),) = heard
    assert isinstance(error, ZeroDivisionError)
    assert __file__ in place
    assert "test_errors_nobody_waits_for" in place
    assert after == [1], "a failure does not stop what was handed over after it"


def test_unheard_errors_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    dispatcher = MainThreadDispatcher()
    dispatcher.execute_async(lambda: 1 // 0)
    dispatcher.process_pending()
    assert "handed to the main thread" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_closing_lets_waiters_go_with_an_error() -> None:
    dispatcher = MainThreadDispatcher()
    ran: list[int] = []
    worker = Worker(lambda: dispatcher.execute(ran.append, 1))
    dispatcher.wait()  # it waits for us now
    dispatcher.close()
    worker._thread.join()
    assert isinstance(worker.error, DispatcherClosedError)
    assert ran == []
    with pytest.raises(DispatcherClosedError, match="will not run"):
        dispatcher.execute_async(ran.append, 1)
    with pytest.raises(DispatcherClosedError):
        dispatcher.execute(ran.append, 1)
    assert dispatcher.closed


def test_work_that_did_not_begin_in_time_is_withdrawn() -> None:
    dispatcher = MainThreadDispatcher()
    ran: list[int] = []
    worker = Worker(lambda: dispatcher.execute(ran.append, 1, timeout_s=0.0))
    worker._thread.join()
    assert isinstance(worker.error, DispatchError)
    assert dispatcher.process_pending() == 0
    assert ran == []


def test_only_the_main_thread_processes(on_thread: Callable[..., Any]) -> None:
    dispatcher = MainThreadDispatcher()
    with pytest.raises(WrongThreadError, match="process_pending"):
        on_thread(dispatcher.process_pending, "job")
    with pytest.raises(WrongThreadError, match="wait"):
        on_thread(dispatcher.wait, "job")


def test_a_second_caller_of_process_pending_is_an_error() -> None:
    dispatcher = MainThreadDispatcher()
    with dispatcher.claimed_by("the loop"):
        with pytest.raises(DispatchError, match="second caller"):
            dispatcher.process_pending()
        assert dispatcher.process_pending(caller="the loop") == 0
    assert dispatcher.process_pending() == 0


def test_processing_from_inside_an_operation_is_an_error() -> None:
    heard: list[BaseException] = []
    dispatcher = MainThreadDispatcher(on_error=lambda error, place: heard.append(error))
    dispatcher.execute_async(dispatcher.process_pending)
    dispatcher.process_pending()
    assert isinstance(heard[0], DispatchError)
    assert "from inside an operation" in str(heard[0])


def test_an_interrupt_stays_on_the_main_thread() -> None:
    """Ctrl-C during an operation ends main's frame; the waiter gets an error, not a hang."""
    dispatcher = MainThreadDispatcher()

    def interrupted() -> None:
        raise KeyboardInterrupt

    worker = Worker(lambda: dispatcher.execute(interrupted))
    dispatcher.wait()
    with pytest.raises(KeyboardInterrupt):
        dispatcher.process_pending()
    worker._thread.join()
    assert isinstance(worker.error, DispatchError)
    assert "KeyboardInterrupt" in str(worker.error)


def test_wake_ends_a_wait() -> None:
    """Also the next one, where nobody waited: or a loop that is told to end might sleep first."""
    dispatcher = MainThreadDispatcher()
    dispatcher.wake()
    assert dispatcher.wait() is False
    worker = threading.Thread(target=dispatcher.wake)
    dispatcher.execute_async(worker.start)
    dispatcher.process_pending()
    worker.join()
    assert dispatcher.wait(0.0) is False


class Interrupted:
    """The gate of a sleeper who is woken, and to whom Ctrl-C comes before it knows that it was."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self.shut = True
        self.meanwhile: Callable[[], None] | None = meanwhile

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if blocking and self.meanwhile is not None:
            self.meanwhile()
            self.meanwhile = None
            assert not self.shut, "nobody woke it"
            self.shut = True
            raise KeyboardInterrupt
        assert not (blocking and self.shut and timeout < 0), "nobody opens it a second time"
        was_open, self.shut = not self.shut, True
        return was_open

    def release(self) -> None:
        self.shut = False


def test_an_interrupt_as_the_wait_ends_is_an_interrupt_and_no_hang() -> None:
    dispatcher = MainThreadDispatcher()
    ran: list[int] = []
    gate = Interrupted(lambda: dispatcher.execute_async(ran.append, 1))
    dispatcher._gate = gate  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        dispatcher.wait()
    assert dispatcher.wait() is True
    dispatcher.process_pending()
    assert ran == [1]
    assert dispatcher.wait(0.0) is False


def test_a_flood_that_never_ran_is_one_line_for_each_of_its_places(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dispatcher = MainThreadDispatcher()
    for _ in range(1000):
        dispatcher.execute_async(print)
    dispatcher.execute_async(len, ())
    dispatcher.close()
    many, one = caplog.messages
    assert "print will not run" in many
    assert many.endswith(", 1000 times)")
    assert "len will not run" in one
    assert "times" not in one


def test_what_cannot_be_called_is_refused_where_it_is_handed_over() -> None:
    with pytest.raises(TypeError, match=r"execute_async\(\) takes a callable, not int"):
        MainThreadDispatcher().execute_async(5)  # type: ignore[arg-type]


def test_the_dispatcher_belongs_to_the_recorded_main_thread(
    on_thread: Callable[..., Any], main_thread: None
) -> None:
    dispatcher = on_thread(MainThreadDispatcher)
    assert dispatcher.owner == threading.get_ident()
