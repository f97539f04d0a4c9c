"""Hot reload as a part of a scene, so that a scene file can ask for it.

    [[subsystem]]
    type = "mainspring.project:HotReload"
    args = { scripts = ["scripts"], settings = "scenes/main.toml" }

Before each frame it looks at its watchers' flags and puts what changed into the inbox; whoever
runs the scene need not know. A replay has the same inputs from the log, and watches nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from mainspring.clock import FrameContext, FreePhase
from mainspring.project._reload import ScriptReloader
from mainspring.project._settings_reload import SettingsReloader
from mainspring.scene import Scene, Subsystem

__all__ = ["HotReload"]


class HotReload(Subsystem):
    """Takes changed scripts, and a changed settings file, over while the scene runs."""

    def __init__(
        self,
        scripts: Sequence[str | os.PathLike[str]] = ("scripts",),
        settings: str | os.PathLike[str] | None = None,
    ) -> None:
        self._folders = tuple(scripts)
        self._file = settings
        self.scripts: ScriptReloader | None = None
        self.settings: SettingsReloader | None = None

    def attach(self, scene: Scene) -> None:
        """Route its inputs, and look before every frame."""
        self.scripts = ScriptReloader(scene, *self._folders)
        if self._file is not None:
            self.settings = SettingsReloader(scene, self._file)
        scene.time.register_free(self._look, FreePhase.PRE_ACQUISITION, name="hot reload")

    def stop(self) -> None:
        """Watch no longer."""
        for reloader in (self.scripts, self.settings):
            if reloader is not None:
                reloader.close()

    def save(self) -> Any:
        """Nothing: which code runs is the state of the part `reloads`."""
        return None

    def restore(self, state: Any) -> None:
        """Nothing to bring back."""

    def _look(self, frame: FrameContext) -> None:
        for reloader in (self.scripts, self.settings):
            if reloader is not None and reloader.watcher.changed:
                reloader.on_change(reloader.watcher.take_changes())
