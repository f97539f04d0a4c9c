"""Files that change: the watcher's thread raises a flag, the main thread does the rest.

The promise: between two calls of `take_changes` nothing happens because of a changed file.
`watchfiles` tells the thread; the thread remembers the paths; the application looks between two
frames. A file is watched by its name, whichever file has it: most editors save by putting a new
one in its place. A watcher that can see no more, because its thread died or its folder is gone,
says so at the next look.
"""

from __future__ import annotations

import enum
import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from mainspring.threads import _sync
from mainspring.threads._contexts import ThreadContext, declare_context
from mainspring.threads._errors import WatcherError

__all__ = ["Change", "ChangeKind", "FileWatcher"]


class ChangeKind(enum.Enum):
    """What happened to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


class Change(NamedTuple):
    """One file that changed since the last look."""

    path: Path
    kind: ChangeKind


Source = Callable[[tuple[Path, ...], threading.Event], Iterable[set[tuple[int, str]]]]
"""Yields what changed, as `watchfiles` does; first, once it has begun to look, an empty set."""


class FileWatcher:
    """Watches files and folders (with what is in them) until it is closed."""

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        suffixes: Iterable[str] = (),
        source: Source | None = None,
        wait: bool = True,
    ) -> None:
        """`wait=False` returns before it has begun to look, for a thread that must not wait."""
        self.paths = tuple(Path(path).absolute() for path in paths)
        missing = [str(path) for path in self.paths if not path.exists()]
        if missing or not self.paths:
            raise WatcherError(
                f"nothing to watch at {', '.join(missing) or 'no path at all'}",
                hint="watch a folder that exists; files that appear in it are seen",
            )
        self._suffixes = tuple(suffixes)
        # By its folder: who looks at a file itself sees nothing of the one that takes its place.
        self._files = frozenset(path for path in self.paths if not path.is_dir())
        self._folders = tuple(path for path in self.paths if path not in self._files)
        self._roots = tuple(dict.fromkeys(p.parent if p in self._files else p for p in self.paths))
        self._source = source or functools.partial(_watchfiles, recursive=bool(self._folders))
        self._lock = _sync.Lock()
        self._changes: dict[Path, ChangeKind] = {}
        self._error: BaseException | None = None
        self._stop = threading.Event()
        self._began = _sync.Latch()
        self._thread = _sync.start_thread(self._watch, name=f"watcher:{self.paths[0].name}")
        if wait:
            self._began.wait()

    @property
    def changed(self) -> bool:
        """The flag: whether `take_changes` has something to say."""
        return bool(self._changes) or self._error is not None

    def take_changes(self) -> tuple[Change, ...]:
        """What changed since the last call, sorted by path, and the flag is lowered; after the last
        of it, why there will be no more."""
        with self._lock:
            changes, self._changes = self._changes, {}
            error = None
            if not changes:
                error, self._error = self._error, None
        if error is not None:
            raise WatcherError(
                f"the watcher of {self.paths[0]} died: {error}",
                hint="changes from now on are not seen; make a new watcher",
            ) from error
        return tuple(Change(path, changes[path]) for path in sorted(changes))

    def close(self) -> None:
        """Stop watching and join the thread."""
        self._stop.set()
        self._thread.join()

    def __enter__(self) -> FileWatcher:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # on the watcher's thread

    def _watch(self) -> None:
        with declare_context(ThreadContext.WATCHER):
            try:
                for changes in self._source(self._roots, self._stop):
                    self._raise_flag(changes)
                    if not self._began.is_set:
                        self._began.set()
            except BaseException as error:
                with self._lock:
                    self._error = error
            if not self._began.is_set:
                self._began.set()

    def _raise_flag(self, changes: set[tuple[int, str]]) -> None:
        seen = [(Path(name), _KINDS[int(code)]) for code, name in changes]
        with self._lock:
            for path, kind in seen:
                if self._is_meant(path):
                    self._changes[path] = _merged(self._changes.get(path), kind)
        for path, kind in seen:
            if kind is ChangeKind.DELETED and path in self._roots:
                raise FileNotFoundError(f"{path} was removed")

    def _is_meant(self, path: Path) -> bool:
        if path in self._files:
            return True
        if self._suffixes and path.suffix not in self._suffixes:
            return False
        return any(path.is_relative_to(folder) for folder in self._folders)


_KINDS = {1: ChangeKind.ADDED, 2: ChangeKind.MODIFIED, 3: ChangeKind.DELETED}


def _merged(before: ChangeKind | None, now: ChangeKind) -> ChangeKind:
    """Several changes of one file between two looks are one."""
    if before is ChangeKind.ADDED and now is ChangeKind.MODIFIED:
        return ChangeKind.ADDED
    if before is ChangeKind.DELETED and now is ChangeKind.ADDED:
        return ChangeKind.MODIFIED  # how many editors save: a new file moved over the old one
    return now


def _watchfiles(
    paths: tuple[Path, ...], stop: threading.Event, *, recursive: bool
) -> Iterator[set[tuple[int, str]]]:
    import watchfiles

    for changes in watchfiles.watch(
        *paths,
        recursive=recursive,
        stop_event=stop,
        rust_timeout=100,  # an empty set every so often: the first one says that it looks
        yield_on_timeout=True,
        step=20,
        debounce=200,
        raise_interrupt=False,
    ):
        yield {(int(kind), name) for kind, name in changes}
