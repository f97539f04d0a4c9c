"""Changing a scene's settings file while the scene runs.

The promise: a file with a fault changes nothing and is shown with every fault in it; a good one
becomes an input and is applied at the next instant. Rates, runners, bindings, mode and budgets
change live; what a running scene cannot take over (scripts, subsystems, seed, name) is named.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from mainspring.clock import Input, Rate, TimeMode
from mainspring.errors import MainspringError
from mainspring.project.errors import ReloadError
from mainspring.scene import Scene, SceneSettings
from mainspring.scene._settings import parse_settings
from mainspring.threads import Change, FileWatcher

__all__ = ["SETTINGS_KIND", "SettingsReload", "SettingsReloader"]

SETTINGS_KIND = "settings"

_log = logging.getLogger("mainspring.project")


class SettingsReload(msgspec.Struct, frozen=True):
    """What one change of the settings did."""

    changed: tuple[str, ...]
    needs_restart: tuple[str, ...]
    """Keys that differ and that only a scene built anew takes over."""


class SettingsReloader:
    """Takes changes of one scene's settings file over."""

    def __init__(
        self,
        scene: Scene,
        path: str | os.PathLike[str],
        *,
        on_reload: Callable[[SettingsReload], object] | None = None,
        on_error: Callable[[MainspringError], object] | None = None,
    ) -> None:
        self.scene = scene
        self.path = Path(path).resolve()
        self.on_reload = on_reload or (lambda done: _log.info("settings: %s", done))
        self.on_error = on_error or (lambda error: _log.warning("%s", error))
        self.reloads: list[SettingsReload] = []
        self.errors: list[MainspringError] = []
        self._seen = self.path.read_text(encoding="utf-8")
        self._current = parse_settings(self._seen, str(self.path))
        self._watcher: FileWatcher | None = None
        scene.inbox.route(SETTINGS_KIND, self._apply)

    @property
    def watcher(self) -> FileWatcher:
        """A watcher of the file's folder, for editors put a new file in the place of the old."""
        if self._watcher is None:
            suffix = self.path.suffix
            self._watcher = FileWatcher(self.path.parent, suffixes=(suffix,), wait=False)
        return self._watcher

    def on_change(self, changes: Iterable[Change]) -> int | None:
        """Between two frames: put the file's text into the inbox, if it changed and is good."""
        if any(change.path.resolve() == self.path for change in changes):
            return self.reload()
        return None

    def reload(self) -> int | None:
        """Look at the file; the number of the input, if there is one."""
        try:
            text = self.path.read_text(encoding="utf-8")
            if text == self._seen:
                return None
            self._seen = text
            parse_settings(text, str(self.path))
        except MainspringError as error:
            self._fail(error)
            return None
        except (OSError, UnicodeDecodeError) as error:
            self._fail(ReloadError(f"{self.path} cannot be read: {error}"))
            return None
        return self.scene.inbox.put(SETTINGS_KIND, {"text": text}, source="reloader")

    def close(self) -> None:
        """Stop watching."""
        if self._watcher is not None:
            self._watcher.close()

    # inside: at the start of an instant

    def _apply(self, given: Input) -> None:
        new = parse_settings(given.payload["text"], str(self.path))
        try:
            changed = self._apply_clock(new) + self._apply_bindings(new)
        except MainspringError as error:
            self._fail(error)
            return
        restart = [
            f"scene.{key}"
            for key in ("name", "seed")
            if new.scene.get(key) != self._current.scene.get(key)
        ]
        restart += [
            key
            for key in ("script", "subsystem")
            if getattr(new, key) != getattr(self._current, key)
        ]
        self._current = new
        done = SettingsReload(tuple(changed), tuple(restart))
        self.reloads.append(done)
        self.on_reload(done)

    def _apply_clock(self, new: SceneSettings) -> list[str]:
        time = self.scene.time
        rows = {row["name"]: row for row in new.runner}
        gone = [row["name"] for row in self._current.runner if row["name"] not in rows]
        used = {registration.runner.name for registration in time.registrations}
        if blocked := [name for name in gone if name in used]:
            raise ReloadError(
                f"{self.path}: runner {blocked[0]!r} cannot go while something is registered with it",
                hint="move what runs on it to another runner first; nothing was changed",
            )
        changed = []
        known = {runner.name: runner for runner in time.runners}
        for name, row in rows.items():
            if name not in known:
                time.runners.add(name, row["rate"])
                changed.append(f"runner {name}")
            elif Rate(row["rate"]) != known[name].rate:
                known[name].rate = row["rate"]
                changed.append(f"runner {name}")
        for name in gone:
            time.runners.remove(name)
            changed.append(f"runner {name}")
        about, before = new.scene, self._current.scene
        setters: dict[str, Callable[[Any], None]] = {
            "mode": lambda v: setattr(time, "mode", TimeMode.parse(v)),
            "frame_budget_ms": lambda v: setattr(time, "frame_budget_ns", round(v * 1e6)),
            "max_frame_delta_ms": lambda v: setattr(time, "max_frame_delta_ns", round(v * 1e6)),
            "frame_rate": lambda v: setattr(time, "frame_rate", Rate(v)),
        }
        for key, apply in setters.items():
            if key in about and about[key] != before.get(key):
                apply(about[key])
                changed.append(f"scene.{key}")
        return changed

    def _apply_bindings(self, new: SceneSettings) -> list[str]:
        changed = []
        for name, row in new.bindings.items():
            before = self._current.bindings.get(name, {})
            for key, value in row.items():
                if before.get(key) != value:
                    setattr(self.scene.bindings[name], key, value)
                    changed.append(f"bindings.{name}.{key}")
        return changed

    def _fail(self, error: MainspringError) -> None:
        self.errors.append(error)
        self.on_error(error)
