"""Capture: what a run leaves behind for people and their tools.

Begin with `Recorder`; `Recording` reads its files back, `convert` takes them to Parquet and
CSV, and `Trace` shows what the schedule itself did.
"""

from mainspring.capture._convert import ConvertReport, convert
from mainspring.capture._errors import (
    CaptureError,
    ChannelError,
    RecordingError,
    RecordingFormatError,
)
from mainspring.capture._mcap_writer import McapWriter
from mainspring.capture._plot import plot
from mainspring.capture._reader import Batch, ChannelInfo, Recording, Series
from mainspring.capture._recorder import Recorder, RecorderStatistics
from mainspring.capture._sync import SyncError, SyncPoint, SyncSnapshot
from mainspring.capture._trace import CallbackTime, Trace

__all__ = [
    "Batch",
    "CallbackTime",
    "CaptureError",
    "ChannelError",
    "ChannelInfo",
    "ConvertReport",
    "McapWriter",
    "Recorder",
    "RecorderStatistics",
    "Recording",
    "RecordingError",
    "RecordingFormatError",
    "Series",
    "SyncError",
    "SyncPoint",
    "SyncSnapshot",
    "Trace",
    "convert",
    "plot",
]
