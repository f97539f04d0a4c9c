"""Jobs: start, progress, cancellation, results, clean failure, the end of the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mainspring.threads import (
    DispatchError,
    Job,
    JobCancelledError,
    JobError,
    MainThreadDispatcher,
    Progress,
    StopToken,
    ThreadContext,
    WrongThreadError,
    active_jobs,
    cancel_all_jobs,
    current_context,
    declare_context,
    run_in_terminal,
    terminable,
)
from mainspring.threads._console import JobBars


class Copying(Job[str]):
    """Writes a file in two parts, with gates the test opens."""

    def __init__(self, path: Path, *, fails: bool = False) -> None:
        super().__init__(f"copy to {path.name}")
        if path.exists():
            raise FileExistsError(path)
        self.path = path
        self.fails = fails
        self.began = threading.Event()
        self.may_go_on = threading.Event()
        self.committed = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()
        self.context: ThreadContext | None = None
        self.thread_name = ""

    def run(self, stop: StopToken, progress: Progress) -> str:
        self.context = current_context()
        self.thread_name = threading.current_thread().name
        partial = self.path.with_suffix(".partial")
        partial.write_text("half")
        progress.set("half", 0.5)
        self.began.set()
        self.may_go_on.wait()
        stop.checkpoint()
        if self.fails:
            raise OSError("disk on fire")
        stop.commit()
        self.committed.set()
        self.may_end.wait()
        partial.rename(self.path)
        return "copied"

    def clean_up(self) -> None:
        self.path.with_suffix(".partial").unlink(missing_ok=True)


def test_a_job_works_and_hands_over_its_result_once(tmp_path: Path) -> None:
    job = Copying.start(tmp_path / "a")
    job.began.wait()
    assert not job.is_done()
    assert job.cancellable
    assert job.progress.read() == ("half", 0.5)
    assert job in active_jobs()
    with pytest.raises(JobError, match="is not done, 50%"):
        job.take_result()
    job.may_go_on.set()
    assert job.join()
    assert job.is_done()
    assert job.take_result() == "copied"
    with pytest.raises(JobError, match="was taken before"):
        job.take_result()
    assert job.context is ThreadContext.JOB
    assert "Copying" in job.thread_name
    assert job not in active_jobs()


def test_bad_inputs_are_refused_at_once(tmp_path: Path) -> None:
    """On the calling thread, before a worker exists."""
    (tmp_path / "a").write_text("there")
    with pytest.raises(FileExistsError):
        Copying.start(tmp_path / "a")
    assert active_jobs() == ()


@pytest.mark.usefixtures("main_thread")
def test_the_result_is_taken_on_the_main_thread(
    tmp_path: Path, on_thread: Callable[..., Any]
) -> None:
    job = Copying.start(tmp_path / "a")
    job.may_go_on.set()
    job.join()
    with pytest.raises(WrongThreadError, match=r"Job\.take_result"):
        on_thread(job.take_result, "network")
    assert job.take_result() == "copied"


def test_cancelling_removes_what_was_half_written(tmp_path: Path) -> None:
    job = Copying.start(tmp_path / "a")
    job.began.wait()
    assert job.cancel()
    assert job.cancel(), "asking twice is asking"
    job.may_go_on.set()
    job.join()
    with pytest.raises(JobCancelledError, match="copy to a"):
        job.take_result()
    assert list(tmp_path.iterdir()) == []


def test_past_the_point_of_no_return_it_finishes(tmp_path: Path) -> None:
    job = Copying.start(tmp_path / "a")
    job.may_end.clear()
    job.may_go_on.set()
    job.committed.wait()
    assert not job.cancellable
    assert not job.cancel()
    job.may_end.set()
    job.join()
    assert job.take_result() == "copied"


def test_a_failure_is_reported_after_the_clean_up(tmp_path: Path) -> None:
    job = Copying.start(tmp_path / "a", fails=True)
    assert job.failure is None
    job.may_go_on.set()
    job.join()
    assert list(tmp_path.iterdir()) == []
    assert isinstance(job.failure, OSError)
    with pytest.raises(OSError, match="disk on fire") as caught:
        job.take_result()
    assert any("copy to a" in note for note in caught.value.__notes__)


def test_a_failed_clean_up_is_told_with_the_failure() -> None:
    class Stubborn(Job[None]):
        def run(self, stop: StopToken, progress: Progress) -> None:
            raise OSError("first")

        def clean_up(self) -> None:
            raise OSError("second")

    job = Stubborn.start("stubborn")
    job.join()
    with pytest.raises(OSError, match="first") as caught:
        job.take_result()
    assert any("second" in note for note in caught.value.__notes__)


def test_leaving_its_block_cancels_and_joins(tmp_path: Path) -> None:
    with Copying.start(tmp_path / "a") as job:
        job.began.wait()
        job.may_go_on.set()
    assert job.is_done()


def test_a_callback_may_not_wait_for_a_job(tmp_path: Path) -> None:
    job = Copying.start(tmp_path / "a")
    with declare_context("callback"), pytest.raises(WrongThreadError, match="wait for one"):
        job.join()
    job.may_go_on.set()
    job.join()


def test_cancelling_everything(tmp_path: Path) -> None:
    jobs = [Copying.start(tmp_path / name) for name in "abc"]
    for job in jobs:
        job.began.wait()
        job.may_go_on.set()
    cancel_all_jobs()
    assert all(job.is_done() for job in jobs)
    assert active_jobs() == ()


def test_waiting_work_is_stopped_at_once() -> None:
    class Waiting(Job[None]):
        def run(self, stop: StopToken, progress: Progress) -> None:
            stop.wait(0.0)
            assert not stop.stop_requested()
            stop.wait(1e6)

    job = Waiting.start("waiting")
    job.cancel()
    job.join()
    with pytest.raises(JobCancelledError):
        job.take_result()


def test_stopping_wakes_work_that_cannot_look() -> None:
    """`on_stop` is called by who asks, while its block runs, or at once when that came before."""
    ended: list[str] = []

    class Deaf(Job[None]):
        def __init__(self) -> None:
            super().__init__("deaf")
            self.waits = threading.Event()
            self.woken = threading.Event()

        def run(self, stop: StopToken, progress: Progress) -> None:
            with stop.on_stop(lambda: ended.append("never")):
                pass
            with stop.on_stop(lambda: 1 // 0), stop.on_stop(self.woken.set):
                self.waits.set()
                self.woken.wait()
            with stop.on_stop(lambda: ended.append("late")):
                ended.append("inside")
            stop.checkpoint()

    job = Deaf.start()
    job.waits.wait()
    assert job.cancel(), "and what fails in it concerns nobody"
    job.join()
    with pytest.raises(JobCancelledError):
        job.take_result()
    assert ended == ["late", "inside"]


class Asking(Job[str]):
    """A job that needs the main thread, and says when."""

    def __init__(self, dispatcher: MainThreadDispatcher, *, at_once: bool = True) -> None:
        super().__init__("ask")
        self.dispatcher = dispatcher
        self.may_ask = threading.Event()
        if at_once:
            self.may_ask.set()

    def run(self, stop: StopToken, progress: Progress) -> str:
        self.may_ask.wait()
        return self.dispatcher.execute(lambda: "asked")


def test_joining_a_job_that_waits_for_the_joiner_is_an_error_and_no_hang() -> None:
    """Whoever came first: the join, or the question."""
    dispatcher = MainThreadDispatcher()
    job = Asking.start(dispatcher)
    dispatcher.wait()  # it asks
    later = Asking.start(dispatcher, at_once=False)
    threading.Thread(target=later.may_ask.set).start()
    for each in (job, later):
        assert each.join()
        with pytest.raises(DispatchError, match="the main thread waits for the job 'ask'"):
            each.take_result()
    served = Asking.start(dispatcher)
    while not served.join(0.001):
        dispatcher.process_pending()
    assert served.take_result() == "asked", "a join with a limit may be taken turns with"
    dispatcher.close()


def test_a_cancelled_job_that_waits_for_the_joiner_was_cancelled() -> None:
    dispatcher = MainThreadDispatcher()
    with Asking.start(dispatcher) as job:
        dispatcher.wait()
    with pytest.raises(JobCancelledError):
        job.take_result()
    dispatcher.close()


def test_ctrl_c_while_a_thread_starts_leaves_no_work_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has the job then, so it must not begin; or it is among those that are cancelled."""
    from mainspring.threads import _sync

    start_thread = _sync.start_thread
    held: list[threading.Thread] = []

    def interrupted(run: Callable[[], Any], *, name: str) -> threading.Thread:
        if not held:  # before its first instruction
            held.append(threading.Thread(target=run))
        else:  # after the first of its work
            held.append(start_thread(run, name=name))
            made[-1].began.wait()
        raise KeyboardInterrupt

    made: list[Copying] = []

    class Noted(Copying):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            made.append(self)

    monkeypatch.setattr(_sync, "start_thread", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Noted.start(tmp_path / "a")
    held[0].start()
    held[0].join()
    assert not made[0].began.is_set()
    assert active_jobs() == ()
    with pytest.raises(KeyboardInterrupt):
        Noted.start(tmp_path / "b")
    assert active_jobs() == (made[1],)
    made[1].may_go_on.set()
    cancel_all_jobs()
    assert list(tmp_path.iterdir()) == []


def test_progress_is_clamped_subscribable_and_divisible() -> None:
    progress = Progress("begin")
    seen: list[tuple[str, float]] = []
    end = progress.subscribe(lambda state: seen.append(tuple(state)))
    progress.set("more", 2.0)
    progress.set(fraction=-1.0)
    progress.set("nan", float("nan"))
    part = progress.part(0.5, 1.0)
    part.set("second half", 0.5)
    end()
    progress.set("unheard", 0.1)
    assert seen == [("more", 1.0), ("more", 0.0), ("nan", 0.0), ("second half", 0.75)]
    assert (progress.text, progress.fraction) == ("unheard", 0.1)


def test_a_failing_subscriber_does_not_stop_the_work(caplog: pytest.LogCaptureFixture) -> None:
    progress = Progress()
    progress.subscribe(lambda state: 1 // 0)
    progress.set("a", 0.1)
    progress.set("b", 0.2)
    assert caplog.text.count("ZeroDivisionError") == 1
    assert progress.read() == ("b", 0.2)


def test_progress_bars_in_a_terminal(tmp_path: Path) -> None:
    import io

    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    jobs = [Copying.start(tmp_path / name) for name in ("[red]a", "b")]
    for job in jobs:
        job.may_go_on.set()
    assert run_in_terminal(*jobs, console=console) == "copied"
    assert "half" in out.getvalue()
    assert out.getvalue().count("100%") >= 2, "done is all of it, whatever the job said last"
    assert jobs[1].take_result() == "copied"
    console.print("")
    bars = JobBars(console)
    with bars, Copying.start(tmp_path / "[red]c") as job:
        bars.show([job])
        job.may_go_on.set()
    assert "[red]c" in out.getvalue(), "names are names, not markup"


SCRIPT = """
import sys, threading
from pathlib import Path
from mainspring.threads import Job, run_in_terminal

class Slow(Job[None]):
    def __init__(self, path):
        super().__init__("slow")
        self.path = Path(path)
    def run(self, stop, progress):
        self.path.write_text("half")
        while True:
            stop.wait(0.01)
    def clean_up(self):
        self.path.unlink()

job = Slow.start(sys.argv[1])
"""


def _script(tail: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT + textwrap.dedent(tail), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_cancels_and_joins(tmp_path: Path, number: int) -> None:
    """Ctrl-C, or a service manager's SIGTERM, leaves nothing behind."""
    process = _script(
        "run_in_terminal(job, poll=lambda: print('began', flush=True))", tmp_path / "half"
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "began\n"
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As under `nohup`, or in the background of a script; and what was set before is set again."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    mine = signal.signal(signal.SIGTERM, print)
    try:
        with terminable():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGTERM) is not print
        assert signal.getsignal(signal.SIGTERM) is print
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.signal(signal.SIGTERM, mine)


def test_a_second_ctrl_c_does_not_break_the_cleaning_up(tmp_path: Path) -> None:
    """The removal of what was half written goes on; the first interrupt is the one that counts."""
    tail = """
    import os, signal
    clean_up = Slow.clean_up
    def interrupted(self):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        clean_up(self)
        print("cleaned", flush=True)
    Slow.clean_up = interrupted
    run_in_terminal(job, poll=lambda: os.kill(os.getpid(), signal.SIGINT))
    """
    process = _script(tail, tmp_path / "half")
    out, errors = process.communicate(timeout=30)
    assert "cleaned" in out
    assert errors.count("\nKeyboardInterrupt") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_the_interpreter_cancels_and_joins(tmp_path: Path) -> None:
    process = _script("while not Path(sys.argv[1]).exists(): pass", tmp_path / "half")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert list(tmp_path.iterdir()) == []


def test_exit_lets_go_a_worker_that_waits_for_the_main_thread(tmp_path: Path) -> None:
    """The dispatcher is closed before the jobs are joined, or this would hang."""
    tail = """
    from mainspring.threads import MainThreadDispatcher
    dispatcher = MainThreadDispatcher()
    class Asking(Job[None]):
        def run(self, stop, progress):
            dispatcher.execute(print, "never")
    job.cancel()
    Asking.start("asking")
    dispatcher.wait()
    """
    process = _script(tail, tmp_path / "half")
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "never" not in out


@pytest.mark.parametrize(
    "tail",
    [
        "threading.Thread(target=job.join).start()",
        """
        dispatcher = MainThreadDispatcher()
        threading.Thread(target=dispatcher.execute, args=(print, "never")).start()
        while not dispatcher.pending: pass
        """,
    ],
)
def test_exit_lets_go_a_thread_of_the_programs_own(tmp_path: Path, tail: str) -> None:
    """The interpreter waits for such threads before anything else: whoever they wait for ends
    first, or this would hang."""
    begin = "import threading\nfrom mainspring.threads import MainThreadDispatcher\n"
    process = _script(begin + textwrap.dedent(tail), tmp_path / "half")
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "never" not in out
    assert list(tmp_path.iterdir()) == []


class Calling(Job[Any]):
    """Does what it is told."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__("calling")
        self.call = call

    def run(self, stop: StopToken, progress: Progress) -> Any:
        return self.call()


def test_an_exit_asked_for_in_a_job_ends_the_job_and_nothing_else() -> None:
    job = Calling.start(sys.exit)
    job.join()
    with pytest.raises(JobError, match="'calling' ended with SystemExit") as caught:
        job.take_result()
    assert isinstance(caught.value.__cause__, SystemExit)


def test_joining_what_would_never_be_done_is_an_error_and_no_hang() -> None:
    """A job that was not started, and one that waits for itself."""
    with pytest.raises(JobError, match=r"made and not started.*\n.*Calling\.start"):
        Calling(print).join()
    jobs: list[Calling] = []
    knows_itself = threading.Event()

    def join_itself() -> None:
        knows_itself.wait()
        jobs[0].join()

    jobs.append(Calling.start(join_itself))
    knows_itself.set()
    jobs[0].join()
    with pytest.raises(JobError, match="would wait for itself"):
        jobs[0].take_result()
