"""What can go wrong with a run log, each with its own name.

LogError
├── LogFormatError    the file is not a run log, or of a format this version does not know
├── LogCorruptError   a record is damaged, missing or out of place; names the first one
├── LogWriteError     the log cannot be written any more (disk full, file gone)
├── LogBuildError     the scene of a log cannot be built again
└── RunRecordingError    a recording cannot be started or continued as asked
"""

from __future__ import annotations

from mainspring.errors import MainspringError

__all__ = [
    "LogBuildError",
    "LogCorruptError",
    "LogError",
    "LogFormatError",
    "LogWriteError",
    "RunRecordingError",
]


class LogError(MainspringError):
    """Anything about a run log: catch this to catch them all."""


class LogFormatError(LogError):
    """The file is not a run log, or its format is newer than this version."""


class LogCorruptError(LogError):
    """The log is damaged. `record` is the number of the first bad record, when it is known."""

    def __init__(self, message: str, *, record: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.record = record


class LogWriteError(LogError):
    """The log cannot be written: nothing after the last durable record is acknowledged."""


class LogBuildError(LogError):
    """The scene a log belongs to cannot be built from what the log says."""


class RunRecordingError(LogError):
    """A recording cannot be started or continued the way it was asked for."""
