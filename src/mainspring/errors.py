"""The root of every error mainspring raises, and the few that belong to no layer.

A message says what was wrong, where, and what would be right. The last part is the
`hint`; it stands on its own line so that a reader in a hurry finds it.

    MainspringError
    ├── StateError             a value cannot be saved, restored or hashed
    ├── MissingExtraError      an optional dependency is not installed
    └── one subtree per layer  ClockError, SceneError, ThreadError, GraphError, WorldError, ...

Each layer defines its own subtree beside the code that raises it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "THREAD_ROWS",
    "MainspringError",
    "MissingExtraError",
    "StateError",
    "did_you_mean",
    "nearest",
    "thread_row",
]

THREAD_ROWS: dict[int, tuple[str, str, str]] = {
    1: (
        "main",
        "scenes, worlds, assets, the window or page state",
        "anything longer than a frame",
    ),
    2: (
        "callbacks and nodes",
        "their phase's work",
        "touch what another thread owns, wait for one",
    ),
    4: (
        "job workers",
        "long files, network, subprocesses, computing",
        "touch main-thread state",
    ),
    8: (
        "network and RPC threads",
        "decode, check, put into the inbox, read the last capture",
        "change state, wait for a future instant while holding the main thread",
    ),
    16: ("watchers", "raise a flag", "do the reload"),
    32: ("render thread", "drain submitted work", "change the simulation"),
}
"""What each kind of thread may and may not do, by its bit in the kernel's threads module: the
table of docs/concepts/threads.md. It stands here because errors of every layer quote it."""


def thread_row(contexts: int) -> str:
    """The row of a thread with these bits, as an error quotes it; that of the main thread for one
    that never said what it is."""
    narrow = contexts & ~1 or 1
    name, may, may_not = THREAD_ROWS[narrow & -narrow]
    return f"{name} | may: {may} | may not: {may_not}"


class MainspringError(Exception):
    """The root of the tree: catch this to catch everything mainspring raises."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")
        self.message = message
        self.hint = hint


class StateError(MainspringError):
    """A value that is part of the state cannot be saved, restored or hashed."""


class MissingExtraError(MainspringError, ImportError):
    """A feature needs a package that only an extra installs."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs a package that is not installed",
            hint=f"pip install 'mainspring[{extra}]'",
        )
        self.extra = extra


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown `name`: the closest known one, and all of them."""
    names = list(known)
    listed = f"known: {', '.join(names) if names else 'none'}"
    guess = did_you_mean(name, names)
    return f"{guess} {listed}" if guess else listed


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or nothing when no known name is close."""
    # Case is what people get wrong most; a name that is blank helps nobody.
    by_letters = {k.lower(): k for k in reversed(list(known)) if k.strip()}
    close = difflib.get_close_matches(name.lower(), by_letters, n=1, cutoff=0.5)
    return f"did you mean {by_letters[close[0]]!r}?" if close else ""
