"""Changing an asset's files while a scene runs.

The promise: a changed file is read to its end on a worker before anything hears of it; what is
damaged is shown with its place, and the registry keeps what it had. A good one is written into
the registry on the main thread and becomes an input, which the scene's subscribers get at the
next instant.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from mainspring.clock import Input
from mainspring.errors import MainspringError
from mainspring.project._assets import Asset, AssetFile, AssetRegistry
from mainspring.project._importers import parse_asset
from mainspring.scene import Scene
from mainspring.threads import Change, FileWatcher, Job, Progress, StopToken

__all__ = ["ASSET_KIND", "AssetReloader", "ReadAssetsJob"]

ASSET_KIND = "asset"

_log = logging.getLogger("mainspring.project")


class ReadAssetsJob(Job[list[Asset]]):
    """Reads registered assets again from the disk; the result is how they are now."""

    def __init__(self, registry: AssetRegistry, names: Iterable[str]) -> None:
        self.folder = registry.folder
        self.assets = [registry[name] for name in names]
        super().__init__(f"read {', '.join(asset.name for asset in self.assets)} again")

    def run(self, stop: StopToken, progress: Progress) -> list[Asset]:
        now = []
        for number, asset in enumerate(self.assets):
            progress.set(f"reading {asset.name}", number / len(self.assets))
            root = self.folder / asset.name
            parsed = parse_asset(root / asset.path, stop, packages={})
            files = []
            for path in parsed.files:
                stop.checkpoint()
                with open(path, "rb") as data:
                    digest = hashlib.file_digest(data, "sha256").hexdigest()
                relative = path.relative_to(root.resolve()).as_posix()
                files.append(AssetFile(relative, path.stat().st_size, digest))
            now.append(Asset(asset.name, parsed.kind, asset.path, tuple(files), parsed.info))
        progress.set("read", 1.0)
        return now


class AssetReloader:
    """Takes changed assets of one registry over, for one scene."""

    def __init__(
        self,
        scene: Scene,
        registry: AssetRegistry,
        *,
        on_error: Callable[[MainspringError], object] | None = None,
    ) -> None:
        self.scene = scene
        self.registry = registry
        self.on_error = on_error or (lambda error: _log.warning("%s", error))
        self.errors: list[MainspringError] = []
        self._subscribers: dict[str, list[Callable[[dict[str, Any]], object]]] = {}
        self._job: ReadAssetsJob | None = None
        self._waiting: dict[str, None] = {}
        self._watcher: FileWatcher | None = None
        scene.inbox.route(ASSET_KIND, self._tell)

    @property
    def watcher(self) -> FileWatcher:
        """A watcher of the assets folder."""
        if self._watcher is None:
            self._watcher = FileWatcher(self.registry.folder, wait=False)
        return self._watcher

    def subscribe(self, name: str, call: Callable[[dict[str, Any]], object]) -> None:
        """Call `call(asset)`, plain data, at the start of an instant when the asset changed."""
        self.registry[name]
        self._subscribers.setdefault(name, []).append(call)

    def on_change(self, changes: Iterable[Change]) -> None:
        """Between two frames: read again what changed, when nothing else is being read."""
        folder = self.registry.folder.resolve()
        for change in changes:
            try:
                name = change.path.resolve().relative_to(folder).parts[0]
            except (ValueError, IndexError):
                continue
            if name in self.registry:
                self._waiting[name] = None
        self.poll()

    def poll(self) -> bool:
        """Once a frame: take what was read, begin what waits; whether something is being read."""
        job = self._job
        if job is not None and job.is_done():
            self._job = None
            try:
                self._take(job.take_result())
            except MainspringError as error:
                self.errors.append(error)
                self.on_error(error)
        if self._job is None and self._waiting:
            names, self._waiting = list(self._waiting), {}
            self._job = ReadAssetsJob.start(self.registry, names)
        return self._job is not None

    def close(self) -> None:
        """Stop watching, and stop what is being read."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None
        if self._job is not None:
            self._job.cancel()
            self._job.join()

    def _take(self, assets: list[Asset]) -> None:
        changed = [asset for asset in assets if asset != self.registry[asset.name]]
        if not changed:
            return
        with self.registry.writing() as registry:
            for asset in changed:
                registry.update(asset)
        for asset in changed:
            self.scene.inbox.put(ASSET_KIND, msgspec.to_builtins(asset), source="reloader")

    def _tell(self, given: Input) -> None:
        # order: as they subscribed
        for call in self._subscribers.get(given.payload["name"], ()):
            call(given.payload)
