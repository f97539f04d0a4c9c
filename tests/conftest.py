"""What every test shares: Hypothesis profiles that print their seed and keep no clock."""

from __future__ import annotations

import os
import signal
import threading

from hypothesis import HealthCheck, settings

if threading.current_thread() is threading.main_thread():
    # A shell lets what it starts with `&` ignore Ctrl-C, and so what that starts: tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", settings.get_profile("default"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
