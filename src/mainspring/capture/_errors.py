"""What can go wrong in a recording, a trace or a conversion.

CaptureError
├── ChannelError      a channel's name, source or value does not fit
├── RecordingError    what was sampled could not be written
└── RecordingFormatError   a file is not what its name or its reader says
"""

from __future__ import annotations

from mainspring.errors import MainspringError

__all__ = ["CaptureError", "ChannelError", "RecordingError", "RecordingFormatError"]


class CaptureError(MainspringError):
    """Anything that goes wrong while capturing or reading what was captured."""


class ChannelError(CaptureError):
    """A channel's name, source or value does not fit."""


class RecordingError(CaptureError):
    """What was sampled could not be written; the message says up to when the file is whole."""


class RecordingFormatError(CaptureError):
    """A file is not what its name or its reader says."""
