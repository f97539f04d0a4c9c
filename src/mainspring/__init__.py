"""One clock for everything that ticks."""

from mainspring._version import __version__
from mainspring.clock import (
    CallbackError,
    ClockError,
    FixedLoop,
    FrameReport,
    FreePhase,
    Inbox,
    InboxFullError,
    Input,
    Phase,
    Rate,
    RateError,
    Registration,
    RunEnd,
    Runner,
    RunReport,
    StepContext,
    TimeManager,
    TimeMode,
)
from mainspring.errors import MainspringError, MissingExtraError, StateError

__all__ = [
    "CallbackError",
    "ClockError",
    "FixedLoop",
    "FrameReport",
    "FreePhase",
    "Inbox",
    "InboxFullError",
    "Input",
    "MainspringError",
    "MissingExtraError",
    "Phase",
    "Rate",
    "RateError",
    "Registration",
    "RunEnd",
    "RunReport",
    "Runner",
    "StateError",
    "StepContext",
    "TimeManager",
    "TimeMode",
    "__version__",
]
