"""Watchers: the thread raises a flag, the main thread looks."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.threads import (
    Change,
    ChangeKind,
    FileWatcher,
    ThreadContext,
    WatcherError,
    current_context,
)


class Told:
    """A source of changes that the test feeds, and that can be waited for."""

    def __init__(self) -> None:
        self.queue: queue.Queue[set[tuple[int, str]] | Exception] = queue.Queue()
        self.context: ThreadContext | None = None

    def __call__(
        self, paths: tuple[Path, ...], stop: threading.Event
    ) -> Iterator[set[tuple[int, str]]]:
        self.context = current_context()
        yield set()
        while not stop.is_set():
            item = self.queue.get()
            if isinstance(item, Exception):
                raise item
            yield item
            self.queue.task_done()

    def end(self, watcher: FileWatcher) -> None:
        watcher._stop.set()
        self.queue.put(set())
        watcher.close()


def told_one_by_one(told: Told, watcher: FileWatcher, *changes: tuple[int, str]) -> None:
    """Each change on its own, in order; returns when the watcher has seen them all."""
    for change in changes:
        told.queue.put({change})
    told.queue.join()


def test_changes_raise_a_flag_that_a_look_lowers(tmp_path: Path) -> None:
    told = Told()
    watcher = FileWatcher(tmp_path, source=told)
    assert not watcher.changed
    a, b, c = (str(tmp_path / name) for name in "abc")
    told_one_by_one(told, watcher, (2, b), (1, a), (2, a), (3, c), (1, c))
    assert watcher.changed
    assert watcher.take_changes() == (
        Change(tmp_path / "a", ChangeKind.ADDED),
        Change(tmp_path / "b", ChangeKind.MODIFIED),
        Change(tmp_path / "c", ChangeKind.MODIFIED),
    )
    assert not watcher.changed
    assert watcher.take_changes() == ()
    assert told.context is ThreadContext.WATCHER
    told.end(watcher)


def test_only_the_suffixes_asked_for_raise_it(tmp_path: Path) -> None:
    told = Told()
    watcher = FileWatcher(tmp_path, suffixes=(".py",), source=told)
    told_one_by_one(told, watcher, (2, str(tmp_path / "a.pyc")), (2, str(tmp_path / "a.py")))
    assert [change.path.name for change in watcher.take_changes()] == ["a.py"]
    told.end(watcher)


def test_a_watcher_that_died_says_so(tmp_path: Path) -> None:
    told = Told()
    watcher = FileWatcher(tmp_path, source=told)
    told.queue.put(OSError("out of watches"))
    watcher._thread.join()
    assert watcher.changed
    with pytest.raises(WatcherError, match="out of watches"):
        watcher.take_changes()
    assert watcher.take_changes() == ()
    watcher.close()


def test_what_was_seen_before_it_died_is_told_first(tmp_path: Path) -> None:
    told = Told()
    watcher = FileWatcher(tmp_path, source=told)
    told_one_by_one(told, watcher, (2, str(tmp_path / "a")))
    told.queue.put(OSError("out of watches"))
    watcher._thread.join()
    assert [change.path.name for change in watcher.take_changes()] == ["a"]
    assert watcher.changed
    with pytest.raises(WatcherError, match="out of watches"):
        watcher.take_changes()
    watcher.close()


def test_a_watched_folder_that_goes_is_told(tmp_path: Path) -> None:
    """With `watchfiles` itself, which would go on without a word and see nothing of a new one."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    with FileWatcher(folder) as watcher:
        folder.rmdir()
        watcher._thread.join()
        watcher._changes.clear()  # that, and what is in it, was removed
        assert watcher.changed
        with pytest.raises(WatcherError, match="scripts was removed"):
            watcher.take_changes()


def test_a_file_is_seen_by_its_name_however_it_is_saved(tmp_path: Path) -> None:
    """Editors put a new file in the place of the old one; each time it is seen."""
    import os

    path, other = tmp_path / "main.toml", tmp_path / "other.toml"
    path.write_text("0")
    seen = threading.Semaphore(0)
    with FileWatcher(path) as watcher:
        raise_flag = watcher._raise_flag

        def noticed(changes: set[tuple[int, str]]) -> None:
            raise_flag(changes)
            if watcher.changed:
                seen.release()

        watcher._raise_flag = noticed  # type: ignore[method-assign]
        for number in range(5):
            other.write_text(str(number))
            os.replace(other, path)
            while not watcher.changed:
                assert seen.acquire(timeout=30)
            assert {change.path for change in watcher.take_changes()} == {path}


def test_nothing_to_watch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WatcherError, match="nothing to watch at"):
        FileWatcher(tmp_path / "nowhere")
    with pytest.raises(WatcherError, match="no path at all"):
        FileWatcher()


def test_real_files_are_seen_from_the_start(tmp_path: Path) -> None:
    """With `watchfiles` itself; the wait is on the watcher's own thread, not on a clock."""
    script = tmp_path / "arm.py"
    script.write_text("a = 1")
    flag = threading.Event()
    with FileWatcher(tmp_path, suffixes=(".py",)) as watcher:
        raise_flag = watcher._raise_flag

        def noticed(changes: set[tuple[int, str]]) -> None:
            raise_flag(changes)
            if watcher.changed:
                flag.set()

        watcher._raise_flag = noticed  # type: ignore[method-assign]
        script.write_text("a = 2")
        (tmp_path / "notes.txt").write_text("unwatched")
        assert flag.wait(30)
        assert {change.path for change in watcher.take_changes()} == {script}
