"""One heavy operation at a time.

Fetching and storing packages saturates a disk and a line; two at once make both slow and the
frame late. So there is one slot, and who finds it taken is told by what, at once.
"""

from __future__ import annotations

import threading

from mainspring.project.errors import VaultBusyError

__all__ = ["HeavyOpGuard", "HeavyOpSlot"]


class HeavyOpGuard:
    """The slot. `current` says what has it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: HeavyOpSlot | None = None

    @property
    def current(self) -> str | None:
        """The operation that is under way."""
        holder = self._holder
        return None if holder is None else holder.title

    def claim(self, title: str) -> HeavyOpSlot:
        """Take the slot; release it, or use it as a block."""
        with self._lock:
            if self._holder is not None:
                raise VaultBusyError(
                    f"{title!r} cannot begin while {self._holder.title!r} is under way",
                    hint="one heavy operation at a time: wait for it, or cancel it",
                )
            self._holder = slot = HeavyOpSlot(self, title)
            return slot

    def _release(self, slot: HeavyOpSlot) -> None:
        with self._lock:
            if self._holder is slot:
                self._holder = None


class HeavyOpSlot:
    """The slot while it is held. Releasing it twice is releasing it once."""

    def __init__(self, guard: HeavyOpGuard, title: str) -> None:
        self._guard = guard
        self.title = title

    def release(self) -> None:
        """Let the next one in."""
        self._guard._release(self)

    def __enter__(self) -> HeavyOpSlot:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()
