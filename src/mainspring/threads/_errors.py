"""What goes wrong between threads.

ThreadError
├── WrongThreadError       a row of the table of contexts was broken
├── DispatchError          the main-thread dispatcher was used wrongly
│   └── DispatcherClosedError   nothing will run it any more
├── JobError               a job was used wrongly
│   └── JobCancelledError  the job ended because it was asked to
├── WatcherError           a watcher's thread died
└── RenderError            submitted work failed; says where it was submitted
"""

from __future__ import annotations

from collections.abc import Sequence

from mainspring.errors import MainspringError

__all__ = [
    "DispatchError",
    "DispatcherClosedError",
    "JobCancelledError",
    "JobError",
    "RenderError",
    "ThreadError",
    "WatcherError",
    "WrongThreadError",
]


class ThreadError(MainspringError):
    """The root of everything this layer raises."""


class WrongThreadError(ThreadError):
    """A call on a thread that may not make it; the message quotes the broken row."""

    def __init__(self, message: str, *, call: str, thread: str, row: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.call = call
        self.thread = thread
        self.row = row


class DispatchError(ThreadError):
    """The main-thread dispatcher was used in a way that could hang or reorder work."""


class DispatcherClosedError(DispatchError):
    """The dispatcher is closed: nothing that is handed to it will ever run."""


class JobError(ThreadError):
    """A job was asked for something it cannot give: a result too early, twice, ..."""


class JobCancelledError(JobError):
    """The job was asked to stop, and did, with its partial output removed."""


class WatcherError(ThreadError):
    """A watcher can no longer see changes."""


class RenderError(ThreadError):
    """Work submitted to the renderer raised; each failure with the place of its submission."""

    def __init__(self, message: str, failures: Sequence[tuple[str, BaseException]]) -> None:
        super().__init__(message)
        self.failures = tuple(failures)
        """(place as "file:line in function", exception), in the order they were submitted."""
