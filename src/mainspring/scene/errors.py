"""The scene's errors and warnings.

SceneError
├── SettingsError     a scene file has faults; every one of them is listed
├── LifeCycleError    a script or subsystem raised while it started or stopped
└── EntryError        a scene, script or subsystem cannot be found or built
"""

from __future__ import annotations

import msgspec

from mainspring.errors import MainspringError

__all__ = ["EntryError", "Fault", "LifeCycleError", "SceneError", "SceneWarning", "SettingsError"]


class SceneError(MainspringError):
    """The root of the scene's errors."""


class LifeCycleError(SceneError):
    """A script or subsystem raised while it started or stopped; the cause is what it raised."""


class EntryError(SceneError):
    """A scene, script or subsystem cannot be found, imported or built."""


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong in a scene file."""

    key: str
    """Where: `runner[1].rate`."""
    found: str
    allowed: str
    line: int | None = None
    hint: str | None = None

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line is not None else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.key}: found {self.found}; allowed: {self.allowed}{hint}"


class SettingsError(SceneError):
    """A scene file has faults; `faults` lists every one. Nothing was loaded."""

    def __init__(self, source: str, faults: list[Fault]) -> None:
        self.source = source
        self.faults = faults
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        lines = "\n".join(f"  {fault}" for fault in faults)
        super().__init__(f"{source} has {count}; nothing was loaded\n{lines}")


class SceneWarning(UserWarning):
    """Something in a scene is probably not what was meant."""
