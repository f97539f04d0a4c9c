"""The clock: rates, runners, phases, instants and frames on one nanosecond timeline.

Begin with `TimeManager`; docs/concepts/instant.md says what happens when.
"""

from mainspring._kernel.clock import StepContext
from mainspring.clock._free import FrameContext
from mainspring.clock._inbox import Handler, Inbox, Input
from mainspring.clock._loop import FixedLoop, LoopFrame
from mainspring.clock._manager import DEFAULT_RUNNERS, TimeManager
from mainspring.clock._observers import Observer, Observers
from mainspring.clock._rate import Rate, RateLike
from mainspring.clock._registration import FreeRegistration, OnError, Registration
from mainspring.clock._reports import (
    CallbackStatistics,
    Costs,
    FrameReport,
    Instant,
    OrderEntry,
    RunnerStatistics,
    RunReport,
    Statistics,
)
from mainspring.clock._runner import Runner, Runners
from mainspring.clock._times import Time, duration, format_ns, time_ns
from mainspring.clock._words import FreePhase, Phase, RunEnd, TimeMode
from mainspring.clock.errors import (
    CallbackError,
    ClockError,
    InboxError,
    InboxFullError,
    InboxRouteError,
    IncompleteError,
    NestedAdvanceError,
    OwnerThreadError,
    RateError,
    RegistrationError,
    RunnerError,
    TimeError,
    WordError,
)

__all__ = [
    "DEFAULT_RUNNERS",
    "CallbackError",
    "CallbackStatistics",
    "ClockError",
    "Costs",
    "FixedLoop",
    "FrameContext",
    "FrameReport",
    "FreePhase",
    "FreeRegistration",
    "Handler",
    "Inbox",
    "InboxError",
    "InboxFullError",
    "InboxRouteError",
    "IncompleteError",
    "Input",
    "Instant",
    "LoopFrame",
    "NestedAdvanceError",
    "Observer",
    "Observers",
    "OnError",
    "OrderEntry",
    "OwnerThreadError",
    "Phase",
    "Rate",
    "RateError",
    "RateLike",
    "Registration",
    "RegistrationError",
    "RunEnd",
    "RunReport",
    "Runner",
    "RunnerError",
    "RunnerStatistics",
    "Runners",
    "Statistics",
    "StepContext",
    "Time",
    "TimeError",
    "TimeManager",
    "TimeMode",
    "WordError",
    "duration",
    "format_ns",
    "time_ns",
]
