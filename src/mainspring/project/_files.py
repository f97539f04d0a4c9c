"""Writing so that a reader sees all of it or nothing, and a failure leaves nothing.

The promise: whatever is written here is prepared beside its destination and becomes it in one
rename, after it reached the disk. A failure removes the preparation. A process that is killed
leaves one whose lock died with it, and whoever next writes into the same folder sweeps it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from mainspring.project.errors import ProjectError
from mainspring.threads import StopToken

__all__ = [
    "CHUNK_BYTES",
    "StagedFile",
    "StagedFolder",
    "lock_file",
    "open_new",
    "sweep",
    "sync_folder",
    "try_lock",
    "write_atomically",
]

CHUNK_BYTES = 1 << 20
"""How much is copied between two looks at a stop token."""

_SUFFIX = ".mainspring-partial"


def open_new(path: Path) -> IO[bytes]:
    """A new file, for writing. Everything this layer writes is opened here."""
    return open(path, "xb")


def write_atomically(path: Path, data: bytes) -> None:
    """`path` holds `data` when this returns; if it raises, what it held before (or, when only the
    folder did not reach the disk, `data`), never a part of it."""
    with StagedFile(path) as staged:
        staged.file.write(data)
        staged.publish(replace=True)


class _Staged:
    """What files and folders have in common: a name, a lock, an end."""

    def __init__(self, destination: Path) -> None:
        self.destination = destination
        if not destination.parent.is_dir():
            raise ProjectError(
                f"{destination.parent} is not a folder, so nothing can be put into it",
                hint="make the folder first",
            )
        sweep(destination.parent)
        self._ended = self._synced = False
        while True:
            self.path = destination.parent / f".{destination.name}.{secrets.token_hex(4)}{_SUFFIX}"
            handle = self._make()
            try:
                try_lock(handle, wait=True)
                # Somebody's sweep may have come between making and locking it.
                if os.path.lexists(self.path):
                    return
            except BaseException:
                self._remove()
                raise
            self._remove()

    def _make(self) -> int:
        """Make what is prepared at `.path`; the handle to lock."""
        raise NotImplementedError

    def _remove(self) -> None:
        """Take what is prepared away, and give its handle back."""
        raise NotImplementedError

    def sync(self, stop: StopToken | None = None) -> None:
        """All that was prepared reaches the disk, which takes long and can still be stopped."""
        if not self._synced:
            self._sync(stop)
            self._synced = True

    def _sync(self, stop: StopToken | None) -> None:
        raise NotImplementedError

    def discard(self) -> None:
        """Remove what was prepared; nothing happens after `publish`, nor a second time."""
        if not self._ended:
            self._ended = True
            self._remove()

    def __exit__(self, *error: object) -> None:
        self.discard()

    def _check_free(self) -> None:
        if os.path.lexists(self.destination):
            raise ProjectError(
                f"{self.destination} appeared while it was being prepared",
                hint="choose another name, or remove it and try again",
            )


class StagedFile(_Staged):
    """A file being prepared: write to `.file`, then `publish`."""

    file: IO[bytes]

    def _make(self) -> int:
        self.file = open_new(self.path)
        return self.file.fileno()

    def __enter__(self) -> StagedFile:
        return self

    def _sync(self, stop: StopToken | None) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())

    def publish(self, stop: StopToken | None = None, *, replace: bool = False) -> None:
        """It becomes the destination, in one step: the point of no return."""
        self.sync(stop)
        if stop is not None:
            stop.commit()
        if replace:
            os.replace(self.path, self.destination)
        else:
            try:
                os.link(self.path, self.destination)  # unlike a rename, refuses to overwrite
            except FileExistsError:
                self._check_free()
                raise
            with contextlib.suppress(OSError):  # it is there; its other name goes with a sweep
                os.unlink(self.path)
        self._ended = True
        self.file.close()
        try:
            sync_folder(self.destination.parent)
        except OSError:
            if not replace:
                self.destination.unlink(missing_ok=True)
            raise

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self.file.close()  # what it still buffers may not fit; it is not wanted either
        self.path.unlink(missing_ok=True)


class StagedFolder(_Staged):
    """A folder being prepared: fill `.path`, then `publish`."""

    _lock: int

    def _make(self) -> int:
        os.mkdir(self.path)
        try:
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except BaseException:
            os.rmdir(self.path)
            raise
        return self._lock

    def __enter__(self) -> StagedFolder:
        return self

    def _sync(self, stop: StopToken | None) -> None:
        for folder, _, names in os.walk(self.path):
            for name in names:
                if stop is not None:
                    stop.checkpoint()
                _sync_path(os.path.join(folder, name), os.O_RDONLY)
            _sync_path(folder, os.O_RDONLY | os.O_DIRECTORY)

    def publish(self, stop: StopToken | None = None) -> None:
        """It becomes the destination, in one step: the point of no return."""
        self.sync(stop)
        if stop is not None:
            stop.commit()
        self._check_free()
        os.rename(self.path, self.destination)
        self._ended = True
        os.close(self._lock)
        try:
            sync_folder(self.destination.parent)
        except OSError:
            shutil.rmtree(self.destination, ignore_errors=True)
            raise

    def _remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def sweep(folder: Path) -> list[Path]:
    """Remove what killed processes left half written in `folder`; what was removed."""
    removed = []
    for name in sorted(os.listdir(folder)):
        if not (name.startswith(".") and name.endswith(_SUFFIX)):
            continue
        left = folder / name
        try:
            handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            if not try_lock(handle):
                continue  # its writer lives, or nobody can tell
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
            removed.append(left)
        finally:
            os.close(handle)
    return removed


def try_lock(handle: int, *, wait: bool = False) -> bool | None:
    """Lock an open file against every other process until it is closed: whether that worked, or
    None where the file system has no such locks (NFS for folders, for one)."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise
        return None
    return True


@contextlib.contextmanager
def lock_file(path: Path) -> Iterator[int]:
    """While the block runs nobody else is inside such a block, in any process; the open file."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            try_lock(handle, wait=True)
            try:
                there = os.stat(path)
            except FileNotFoundError:
                continue
            # Whoever held it may have removed it, and then it locks nobody out.
            if os.path.samestat(os.fstat(handle), there):
                yield handle
                return
        finally:
            os.close(handle)


def sync_folder(folder: Path) -> None:
    """What was renamed in `folder` survives a power cut."""
    _sync_path(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync_path(path: str | Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
