"""The signals that end a program: Ctrl-C, a service manager's SIGTERM, a terminal that closed.

The promise: whoever runs the outer loop hears of them in one way, and what was set before is set
again afterwards. A signal that the program was told to ignore (`nohup`, a job in the background)
stays ignored.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

__all__ = ["ENDING", "ending_signals"]

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def ending_signals(heard: Callable[[], None]) -> Iterator[None]:
    """While the block runs, each of them calls `heard()`, between two instructions of the
    interpreter's first thread; elsewhere nothing changes, for signals arrive on that one only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: handler
        for number in ENDING
        if (handler := signal.getsignal(number)) not in (signal.SIG_IGN, None)
    }
    try:
        for number in before:
            signal.signal(number, lambda number, frame: heard())
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
