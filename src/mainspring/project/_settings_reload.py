"""Changing a scene's settings file while the scene runs.

The promise: a file with a fault changes nothing and is shown with every fault in it; a good one
becomes an input and is applied at the next instant, all of it or none. What was edited changes, to
what a scene built from the new file would have: rates, runners, bindings, mode and budgets, and a
key that was taken out goes back to its default. What a running scene cannot take over (scripts,
subsystems, seed, name) is named. Which text is in force is a part of the scene's state, so a
replay and a resumed run take over what the run took over, whatever the file says by then.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from mainspring._kernel.clock import MAX_RUNNERS
from mainspring.clock import Input
from mainspring.errors import MainspringError
from mainspring.project.errors import ReloadError
from mainspring.scene import Scene, SceneSettings
from mainspring.scene._settings import build, parse_settings
from mainspring.threads import Change, FileWatcher

__all__ = ["SETTINGS_KIND", "SettingsReload", "SettingsReloader"]

SETTINGS_KIND = "settings"

_log = logging.getLogger("mainspring.project")

_CLOCK = {
    "mode": "mode",
    "frame_budget_ms": "frame_budget_ns",
    "max_frame_delta_ms": "max_frame_delta_ns",
    "frame_rate": "frame_rate",
}
"""What `[scene]` says about time, and where the clock has it."""


class SettingsReload(msgspec.Struct, frozen=True):
    """What one change of the settings did."""

    changed: tuple[str, ...]
    needs_restart: tuple[str, ...]
    """Keys that differ and that only a scene built anew takes over."""


class SettingsReloader:
    """Takes changes of one scene's settings file over. A part of the scene's state: which text is
    in force, and the bindings it led to, is what `save` gives."""

    carries_code = True
    """A replay begins with the settings of the log, not with what the file says by then."""

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
        self._seen = self._text = self.path.read_text(encoding="utf-8")
        self._current = parse_settings(self._text, str(self.path))
        self._watcher: FileWatcher | None = None
        scene.inbox.route(SETTINGS_KIND, self._apply)
        scene.attach("settings_in_force", self)

    @property
    def watcher(self) -> FileWatcher:
        """A watcher of the file."""
        if self._watcher is None:
            self._watcher = FileWatcher(self.path, wait=False)
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
            self._watcher = None

    def save(self) -> dict[str, Any]:
        """The text in force, and where the callbacks of scripts are bound."""
        return {"text": self._text, "bindings": self.scene.bindings.save()}

    def restore(self, state: dict[str, Any]) -> None:
        """Let the text be in force that was when `state` was saved; the file may differ from it."""
        self._seen = self._text = state["text"]
        self._current = parse_settings(self._text, str(self.path))
        self.scene.bindings.restore(state["bindings"])

    # inside: at the start of an instant

    def _apply(self, given: Input) -> None:
        text = given.payload["text"]
        new = parse_settings(text, str(self.path))
        try:
            changed = self._take_over(_as_built(self._current), _as_built(new))
        except MainspringError as error:
            self._fail(error)
            return
        restart = [
            f"scene.{key}"
            for key in ("name", "seed", "seconds")
            if new.scene.get(key) != self._current.scene.get(key)
        ]
        restart += [
            key
            for key in ("script", "subsystem")
            if getattr(new, key) != getattr(self._current, key)
        ]
        self._text, self._current = text, new
        done = SettingsReload(tuple(changed), tuple(restart))
        self.reloads.append(done)
        self.on_reload(done)

    def _take_over(self, old: Scene, new: Scene) -> list[str]:
        """What differs between the two, in the running scene too; the names of what that was."""
        runners = self.scene.time.runners
        rates = {runner.name: runner.rate for runner in new.time.runners}
        before = {runner.name: runner.rate for runner in old.time.runners}
        edited = [name for name in rates if rates[name] != before.get(name)]
        gone = [name for name in before if name not in rates and name in runners]
        bound = [
            (binding.name, key, value)
            for binding in new.bindings
            for key, value in binding.as_written().items()
            if value != old.bindings[binding.name].as_written()[key]
        ]
        self._check(sum(name not in runners for name in edited), gone, bound)
        # From here on nothing can fail. order: what is new, what moves there, what is left behind
        for name in edited:
            if name in runners:
                runners.set_rate(name, rates[name])
            else:
                runners.add(name, rates[name])
        for name, key, value in bound:
            setattr(self.scene.bindings[name], key, value)
        for name in gone:  # moves take effect at the end of this instant, so this comes after them
            self.scene.time._change(functools.partial(runners.remove, name))
        clock = [
            key for key, at in _CLOCK.items() if getattr(old.time, at) != getattr(new.time, at)
        ]
        for key in clock:
            setattr(self.scene.time, _CLOCK[key], getattr(new.time, _CLOCK[key]))
        return [
            *(f"runner {name}" for name in (*edited, *gone)),
            *(f"scene.{key}" for key in clock),
            *(f"bindings.{name}.{key}" for name, key, _ in bound),
        ]

    def _check(self, added: int, gone: list[str], bound: list[tuple[str, str, Any]]) -> None:
        """Raise where the running scene has no room for the change, before anything changed."""
        runners = self.scene.time.runners
        if len(runners) + added > MAX_RUNNERS:
            raise ReloadError(
                f"{self.path}: {added} more runners and the {len(runners)} that run are more than "
                f"{MAX_RUNNERS}",
                hint="take some out and save, then add the others; nothing was changed",
            )
        moves = {name: value for name, key, value in bound if key == "runner"}
        callbacks = {place: name for (_, name), place in self.scene._places.items()}
        for registration in self.scene.time.registrations:
            now = registration.runner.name
            if moves.get(callbacks.get(registration, ""), now) in gone:
                raise ReloadError(
                    f"{self.path}: runner {now!r} cannot go while {registration.name!r} runs on it",
                    hint="move what runs on it to another runner first; nothing was changed",
                )

    def _fail(self, error: MainspringError) -> None:
        self.errors.append(error)
        self.on_error(error)


def _as_built(settings: SceneSettings) -> Scene:
    """A scene of those runners, bindings, mode and budgets: what is not said has its default."""
    return build(
        SceneSettings(scene=settings.scene, runner=settings.runner, bindings=settings.bindings)
    )
