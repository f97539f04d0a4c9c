"""Projects to work on, disks that fill up, and processes that are killed at a chosen moment."""

from __future__ import annotations

import errno
import io
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mainspring import threads
from mainspring.project import Project, _archive, _assets, _files


@pytest.fixture(autouse=True)
def _nothing_left_running() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    threads.forget_main_thread()
    assert not threads.active_jobs()
    behind = [t.name for t in threading.enumerate() if t not in before and t.is_alive()]
    assert not behind, f"threads left running: {behind}"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A small project with a bit of everything."""
    made = Project.create(tmp_path / "cell")
    (made.root / "scenes" / "main.toml").write_text('[scene]\nname = "main"\n')
    (made.root / "scripts" / "arm.py").write_text("SPEED = 1\n" * 50)
    (made.root / "assets" / "big.bin").write_bytes(os.urandom((1 << 20) + 1000))
    (made.root / "runs" / "run-000001").mkdir()
    (made.root / "runs" / "run-000001" / "log").write_text("long")
    (made.root / "scripts" / "__pycache__").mkdir()
    (made.root / "scripts" / "__pycache__" / "arm.pyc").write_text("x")
    return made


def finish(job: threads.Job[Any]) -> Any:
    """The job's result, or its failure raised."""
    job.join()
    return job.take_result()


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, hidden things too."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if path.name != "index.lock" and path.name != "registry.lock"
    }


class Disk:
    """Counts what touches the disk, and at the n-th time does something about it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at = 0
        self.action: Callable[[], None] = lambda: None
        for name in ("fsync", "link", "replace", "rename", "mkdir", "unlink"):
            monkeypatch.setattr(os, name, self._watched(getattr(os, name), name != "unlink"))
        disk = self

        class Watched(io.BufferedWriter):
            def write(self, data: Any) -> int:
                disk.touch()
                return super().write(data)

        def open_new(path: Path) -> io.BufferedWriter:
            disk.touch()
            return Watched(io.FileIO(path, "xb"))

        for module in (_files, _archive, _assets):
            monkeypatch.setattr(module, "open_new", open_new)

    def _watched(self, call: Callable[..., Any], needs_room: bool) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.touch(needs_room)
            return call(*args, **kwargs)

        return watched

    def touch(self, needs_room: bool = True) -> None:
        if threading.current_thread().name.startswith("job-"):
            self.count += 1
            if self.count == self.at and (needs_room or self.action != self._full):
                self.action()

    def full_at(self, number: int) -> None:
        self.count, self.at, self.action = 0, number, self._full

    def kills_at(self, number: int) -> None:
        self.count, self.at, self.action = 0, number, self._kill

    def mended(self) -> None:
        self.count = self.at = 0

    @staticmethod
    def _full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    @staticmethod
    def _kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


class Stops:
    """Counts the places at which work looks whether it shall stop, and asks it to at the n-th."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at = 0
        for name in ("checkpoint", "commit", "wait"):
            monkeypatch.setattr(threads.StopToken, name, self._watched(name))

    def _watched(self, name: str) -> Callable[..., Any]:
        call = getattr(threads.StopToken, name)

        def watched(token: threads.StopToken, *args: Any) -> Any:
            self.count += 1
            if self.count == self.at:
                token._source.request_stop()
            return call(token, *args)

        return watched

    def stop_at(self, number: int) -> None:
        self.count, self.at = 0, number


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> Stops:
    return Stops(monkeypatch)


def in_a_process_that_dies(work: Callable[[], Any]) -> bool:
    """Run `work` in a copy of this process; whether it was killed."""
    with warnings.catch_warnings():
        # A test runner may have threads of its own; the child touches nothing of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def on_thread(call: Callable[[], Any], context: str) -> Any:
    """The result of `call`, or what it raised, from a thread of that context."""
    outcome: list[Any] = []

    def run() -> None:
        with threads.declare_context(context):
            try:
                outcome.append((True, call()))
            except BaseException as error:
                outcome.append((False, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    fine, value = outcome[0]
    if not fine:
        raise value
    return value
