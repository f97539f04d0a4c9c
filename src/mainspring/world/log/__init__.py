"""The log of a run: recording, replay, resuming, time travel and comparison.

Public names are exported by `mainspring.world`. Begin with docs/concepts/log.md.
"""

from mainspring.world.log._errors import (
    LogBuildError,
    LogCorruptError,
    LogError,
    LogFormatError,
    LogWriteError,
    RecordingError,
)
from mainspring.world.log._format import InputGroup, LoggedInput, Outcome
from mainspring.world.log._reader import LogReader
from mainspring.world.log._recorder import Recorder, record
from mainspring.world.log._replay import HashMismatch, ReplayReport, replay
from mainspring.world.log._resume import resume
from mainspring.world.log._run import Moment, Run, open_run, play_inputs
from mainspring.world.log._verify import Problem, VerifyReport, verify

__all__ = [
    "HashMismatch",
    "InputGroup",
    "LogBuildError",
    "LogCorruptError",
    "LogError",
    "LogFormatError",
    "LogReader",
    "LogWriteError",
    "LoggedInput",
    "Moment",
    "Outcome",
    "Problem",
    "Recorder",
    "RecordingError",
    "ReplayReport",
    "Run",
    "VerifyReport",
    "open_run",
    "play_inputs",
    "record",
    "replay",
    "resume",
    "verify",
]
