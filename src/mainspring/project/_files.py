"""Writing so that a reader sees all of it or nothing, and a failure leaves nothing.

The promise: whatever is written here is prepared beside its destination and becomes it in one
rename, after it reached the disk. A failure removes the preparation. A process that is killed
leaves one whose lock died with it, and whoever next writes to the same destination sweeps it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from mainspring.project.errors import ProjectError

__all__ = [
    "CHUNK_BYTES",
    "StagedFile",
    "StagedFolder",
    "open_new",
    "sweep",
    "sync_folder",
    "write_atomically",
]

CHUNK_BYTES = 1 << 20
"""How much is copied between two looks at a stop token."""

_SUFFIX = ".partial"


def open_new(path: Path) -> IO[bytes]:
    """A new file, for writing. Everything this layer writes is opened here."""
    return open(path, "xb")


def write_atomically(path: Path, data: bytes) -> None:
    """`path` holds `data` when this returns, and what it held before if it raises."""
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
        sweep(destination)
        self.path = destination.parent / f".{destination.name}.{secrets.token_hex(4)}{_SUFFIX}"
        self._published = False

    def discard(self) -> None:
        """Remove what was prepared; nothing happens after `publish`."""
        raise NotImplementedError

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.discard()

    def _check_free(self) -> None:
        if os.path.lexists(self.destination):
            raise ProjectError(
                f"{self.destination} appeared while it was being prepared",
                hint="choose another name, or remove it and try again",
            )


class StagedFile(_Staged):
    """A file being prepared: write to `.file`, then `publish`."""

    def __init__(self, destination: Path) -> None:
        super().__init__(destination)
        self.file = open_new(self.path)
        try:
            fcntl.flock(self.file.fileno(), fcntl.LOCK_EX)
        except BaseException:
            self.discard()
            raise

    def __enter__(self) -> StagedFile:
        return self

    def publish(self, *, replace: bool = False) -> None:
        """It becomes the destination, in one step."""
        self.file.flush()
        os.fsync(self.file.fileno())
        if replace:
            os.replace(self.path, self.destination)
        else:
            try:
                os.link(self.path, self.destination)  # unlike a rename, refuses to overwrite
            except FileExistsError:
                self._check_free()
                raise
            os.unlink(self.path)
        self._published = True
        self.file.close()
        sync_folder(self.destination.parent)

    def discard(self) -> None:
        if not self._published:
            with contextlib.suppress(OSError):
                self.file.close()  # what it still buffers may not fit; it is not wanted either
            self.path.unlink(missing_ok=True)


class StagedFolder(_Staged):
    """A folder being prepared: fill `.path`, then `publish`."""

    def __init__(self, destination: Path) -> None:
        super().__init__(destination)
        os.mkdir(self.path)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def __enter__(self) -> StagedFolder:
        return self

    def publish(self) -> None:
        """It becomes the destination, in one step, after all of it reached the disk."""
        for folder, _, names in os.walk(self.path):
            for name in names:
                _sync(os.path.join(folder, name), os.O_RDONLY)
            _sync(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._check_free()
        os.rename(self.path, self.destination)
        self._published = True
        os.close(self._lock)
        sync_folder(self.destination.parent)

    def discard(self) -> None:
        if not self._published:
            shutil.rmtree(self.path, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.close(self._lock)


def sweep(destination: Path) -> list[Path]:
    """Remove what killed processes left beside `destination`; what was removed."""
    removed = []
    for left in _left_behind(destination):
        try:
            handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its writer lives
        else:
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
            removed.append(left)
        finally:
            os.close(handle)
    return removed


def sync_folder(folder: Path) -> None:
    """What was renamed in `folder` survives a power cut."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _left_behind(destination: Path) -> Iterator[Path]:
    start = f".{destination.name}."
    for name in sorted(os.listdir(destination.parent)):
        token = name[len(start) : -len(_SUFFIX)]
        if name.startswith(start) and name.endswith(_SUFFIX) and len(token) == 8:
            yield destination.parent / name


def _sync(path: str | Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
