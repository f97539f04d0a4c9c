"""One run writes to a log at a time, and the others are told so before they touch it.

A writer holds an advisory lock for as long as it has the log open. The lock lies on the
write-ahead file beside the log, which exists exactly while there is a writer or after one died,
and on which SQLite sets no lock of its own. The operating system lets go of it with the process,
however that ends, so a crash leaves nothing to be cleaned up.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import weakref
from pathlib import Path

from mainspring.world.log._errors import RunRecordingError

__all__ = ["Claim", "check_unclaimed"]

_HELD: weakref.WeakSet[Claim] = weakref.WeakSet()


class Claim:
    """The right to write to the log at `path`, whose write-ahead file exists."""

    def __init__(self, path: Path) -> None:
        file = os.open(f"{path}-wal", os.O_RDWR | os.O_CLOEXEC)
        self.release = weakref.finalize(self, os.close, file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            raise RunRecordingError(
                f"{path} is being written by a run that goes on",
                hint="one run writes to a log at a time: end that one first",
            ) from error
        _HELD.add(self)


def check_unclaimed(path: Path) -> None:
    """An error when a run is writing to the log at `path`."""
    with contextlib.suppress(FileNotFoundError):
        Claim(path).release()


def _forget() -> None:
    # A forked child shares the lock; should it outlive the run, it must not hold it.
    for claim in tuple(_HELD):
        claim.release()


os.register_at_fork(after_in_child=_forget)
