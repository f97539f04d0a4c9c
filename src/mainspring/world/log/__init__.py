"""The log of a run: recording, replay, resuming, time travel and comparison.

Public names are exported by `mainspring.world`. Begin with docs/concepts/log.md.
"""

from mainspring.world.log._archive import CompactReport, compact
from mainspring.world.log._bisect import BisectReport, CommitReport, bisect_commits, bisect_log
from mainspring.world.log._cadence import parse_every
from mainspring.world.log._diff import diff
from mainspring.world.log._diff_report import (
    Cause,
    DiffReport,
    Divergence,
    InputDifference,
    Setting,
)
from mainspring.world.log._errors import (
    LogBuildError,
    LogCorruptError,
    LogError,
    LogFormatError,
    LogWriteError,
    RunRecordingError,
)
from mainspring.world.log._exchange import export_log, import_log
from mainspring.world.log._fields import FieldDifference
from mainspring.world.log._format import InputGroup, LoggedInput, LoggedOutcome
from mainspring.world.log._history import HistoryEntry, history
from mainspring.world.log._reader import LogReader
from mainspring.world.log._recorder import RunRecorder, record
from mainspring.world.log._replay import HashMismatch, ReplayReport, replay
from mainspring.world.log._resume import resume
from mainspring.world.log._run import Moment, Run, open_run, play_inputs
from mainspring.world.log._verify import Problem, VerifyReport, verify

__all__ = [
    "BisectReport",
    "Cause",
    "CommitReport",
    "CompactReport",
    "DiffReport",
    "Divergence",
    "FieldDifference",
    "HashMismatch",
    "HistoryEntry",
    "InputDifference",
    "InputGroup",
    "LogBuildError",
    "LogCorruptError",
    "LogError",
    "LogFormatError",
    "LogReader",
    "LogWriteError",
    "LoggedInput",
    "LoggedOutcome",
    "Moment",
    "Problem",
    "ReplayReport",
    "Run",
    "RunRecorder",
    "RunRecordingError",
    "Setting",
    "VerifyReport",
    "bisect_commits",
    "bisect_log",
    "compact",
    "diff",
    "export_log",
    "history",
    "import_log",
    "open_run",
    "parse_every",
    "play_inputs",
    "record",
    "replay",
    "resume",
    "verify",
]
