"""Hot reload as a part of a scene, so that a scene file can ask for it.

    [[subsystem]]
    type = "mainspring.project:HotReload"
    args = { scripts = ["scripts"], settings = "scenes/main.toml", assets = "assets" }

Before each frame it looks at its watchers' flags and puts what changed into the inbox; whoever
runs the scene need not know. A replay has the same inputs from the log, and watches nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mainspring.clock import FrameContext, FreePhase
from mainspring.project._asset_reload import AssetReloader
from mainspring.project._assets import AssetRegistry
from mainspring.project._project import find_root
from mainspring.project._reload import ScriptReloader
from mainspring.project._settings_reload import SettingsReloader
from mainspring.scene import Scene, Subsystem
from mainspring.threads import WatcherError

__all__ = ["HotReload"]

_log = logging.getLogger("mainspring.project")


class HotReload(Subsystem):
    """Takes changed scripts, and a changed settings file and assets where they are named, over
    while the scene runs. Paths are relative to the project that the scene's file is in."""

    def __init__(
        self,
        scripts: Sequence[str | os.PathLike[str]] = ("scripts",),
        settings: str | os.PathLike[str] | None = None,
        assets: str | os.PathLike[str] | None = None,
    ) -> None:
        self._folders = tuple(scripts)
        self._file = settings
        self._assets = assets
        self.scripts: ScriptReloader | None = None
        self.settings: SettingsReloader | None = None
        self.assets: AssetReloader | None = None
        self._watched: list[ScriptReloader | SettingsReloader | AssetReloader] = []

    def attach(self, scene: Scene) -> None:
        """Route its inputs, and look before every frame."""
        root = (find_root(scene.source) if scene.source else None) or Path()
        self.scripts = ScriptReloader(scene, *(root / folder for folder in self._folders))
        if self._file is not None:
            self.settings = SettingsReloader(scene, root / self._file)
        if self._assets is not None:
            self.assets = AssetReloader(scene, AssetRegistry(root / self._assets))
        scene.time.register_free(self._look, FreePhase.PRE_ACQUISITION, name="hot reload")

    def start(self) -> None:
        """Watch, from the first frame on."""
        self._watched = [r for r in (self.scripts, self.settings, self.assets) if r is not None]

    def stop(self) -> None:
        """Watch no longer."""
        for reloader in self._watched:
            reloader.close()

    def save(self) -> Any:
        """Nothing: the reloaders are parts of the scene where they have state."""
        return None

    def restore(self, state: Any) -> None:
        """Nothing to bring back."""

    def _look(self, frame: FrameContext) -> None:
        for reloader in tuple(self._watched):
            try:
                if reloader.watcher.changed:
                    reloader.on_change(reloader.watcher.take_changes())
            except WatcherError as error:  # of comfort, so the run goes on without it
                _log.warning("%s", error)
                self._watched.remove(reloader)
        if self.assets is not None:
            self.assets.poll()
