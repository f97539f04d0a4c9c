"""Which thread am I on, how do I get back to the main one, and who does the long work.

Contexts and their checks, the main-thread dispatcher, jobs, file watchers, the renderer with
its threading policy, and the application loop that ties them together. Knows nothing of scenes.
"""

from mainspring.threads._application import Application, ApplicationReport
from mainspring.threads._camera import CameraFrame, OffscreenCamera, offscreen_missing
from mainspring.threads._console import run_in_terminal, terminable
from mainspring.threads._contexts import (
    TABLE,
    ContextRow,
    ThreadContext,
    assert_owner,
    current_context,
    declare_context,
    forbid_main_thread,
    forget_main_thread,
    is_main_thread,
    record_main_thread,
    require_main_thread,
    thread_context,
)
from mainspring.threads._dispatcher import MainThreadDispatcher
from mainspring.threads._errors import (
    DispatcherClosedError,
    DispatchError,
    JobCancelledError,
    JobError,
    RenderError,
    ThreadError,
    WatcherError,
    WrongThreadError,
)
from mainspring.threads._job import Job, active_jobs, cancel_all_jobs
from mainspring.threads._monitor import LongWork, MainThreadMonitor, debug_threads
from mainspring.threads._progress import Progress, ProgressState
from mainspring.threads._render import Renderer, ThreadingPolicy
from mainspring.threads._stop import StopSource, StopToken
from mainspring.threads._watcher import Change, ChangeKind, FileWatcher

__all__ = [
    "TABLE",
    "Application",
    "ApplicationReport",
    "CameraFrame",
    "Change",
    "ChangeKind",
    "ContextRow",
    "DispatchError",
    "DispatcherClosedError",
    "FileWatcher",
    "Job",
    "JobCancelledError",
    "JobError",
    "LongWork",
    "MainThreadDispatcher",
    "MainThreadMonitor",
    "OffscreenCamera",
    "Progress",
    "ProgressState",
    "RenderError",
    "Renderer",
    "StopSource",
    "StopToken",
    "ThreadContext",
    "ThreadError",
    "ThreadingPolicy",
    "WatcherError",
    "WrongThreadError",
    "active_jobs",
    "assert_owner",
    "cancel_all_jobs",
    "current_context",
    "debug_threads",
    "declare_context",
    "forbid_main_thread",
    "forget_main_thread",
    "is_main_thread",
    "offscreen_missing",
    "record_main_thread",
    "require_main_thread",
    "run_in_terminal",
    "terminable",
    "thread_context",
]
