"""The asset registry: which assets a project has, written by one writer at a time.

The promise: `registry.json` lists every asset with its files and their checksums, and is the
old list or the new one at any moment. Many may read; who writes holds a lock that no other
process and no other thread gets meanwhile, and changes are made on the thread that owns the
registry.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mainspring.errors import nearest
from mainspring.project._files import (
    CHUNK_BYTES,
    StagedFolder,
    open_new,
    try_lock,
    write_atomically,
)
from mainspring.project._importers import KINDS, ParsedAsset, parse_asset
from mainspring.project.errors import AssetError, RegistryError
from mainspring.threads import Job, Progress, StopToken, assert_owner

__all__ = ["Asset", "AssetRegistry", "ImportAssetsJob", "StagedAsset"]

FORMAT = 1


class AssetFile(msgspec.Struct, frozen=True):
    """One file of an asset."""

    path: str
    """Relative to the asset's folder."""
    size: int
    sha256: str


class Asset(msgspec.Struct, frozen=True):
    """One asset: a model with what it names, a mesh, an image."""

    name: str
    kind: str
    path: str
    """The file to open, relative to the asset's folder."""
    files: tuple[AssetFile, ...]
    info: dict[str, Any] = {}
    """What its reader found: counts, bounds, sizes."""


class _Document(msgspec.Struct):
    format: int
    assets: list[Asset]


class StagedAsset:
    """An asset that was checked and copied, and waits to be registered on the main thread. Its
    folder goes with it where nobody takes it, or at the end of the program."""

    def __init__(self, asset: Asset, staged: StagedFolder) -> None:
        self.asset = asset
        self.staged = staged
        weakref.finalize(self, _discard, staged, os.getpid())


def _discard(staged: StagedFolder, owner: int) -> None:
    if os.getpid() == owner:  # and not in a process that was forked from it
        staged.discard()


class AssetRegistry:
    """The assets of one project, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "registry.json"
        self._owner = threading.get_ident()
        self._writing = False
        self._assets: dict[str, Asset] = {}
        self.reload()

    def reload(self) -> None:
        """Read the list again, as another process may have changed it."""
        if not self._file.exists():
            self._assets = {}
            return
        try:
            document = msgspec.json.decode(self._file.read_bytes(), type=_Document)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RegistryError(
                f"{self._file} cannot be read: {error}",
                hint="take it from a copy; or remove it, and import the assets again",
            ) from None
        if document.format > FORMAT:
            raise RegistryError(
                f"{self._file} has format {document.format}, newer than {FORMAT}",
                hint="upgrade mainspring",
            )
        self._assets = {asset.name: asset for asset in document.assets}

    def __getitem__(self, name: str) -> Asset:
        try:
            return self._assets[name]
        except KeyError:
            raise AssetError(
                f"there is no asset {name!r}", hint=nearest(name, self._assets)
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._assets

    def __iter__(self) -> Iterator[Asset]:
        return iter(self._assets.values())

    def __len__(self) -> int:
        return len(self._assets)

    def path(self, name: str) -> Path:
        """The file of an asset to open."""
        return self.folder / name / self[name].path

    def verify(self) -> list[str]:
        """What differs between the list and the disk."""
        wrong = []
        for asset in self:
            for file in asset.files:
                path = self.folder / asset.name / file.path
                if not path.is_file():
                    wrong.append(f"{asset.name}: {file.path} is missing")
                elif _digest(path) != file.sha256:
                    wrong.append(f"{asset.name}: {file.path} was changed")
        return wrong

    @contextlib.contextmanager
    def writing(self) -> Iterator[AssetRegistry]:
        """While the block runs this is the one writer; at its end the list is written."""
        assert_owner(self._owner, "AssetRegistry.writing", what="asset registry")
        if self._writing:
            raise RegistryError("this registry is being written by the block around this one")
        self.folder.mkdir(exist_ok=True)
        lock = self.folder / "registry.lock"
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            locked = try_lock(handle)
            if locked is None:
                raise RegistryError(
                    f"{self._file} is on a file system without locks, so nobody can be its one "
                    "writer",
                    hint="keep the project on a local disk, or on NFS with its lock service",
                )
            if not locked:
                writer = os.pread(handle, 100, 0).decode(errors="replace") or "somebody"
                raise RegistryError(
                    f"{self._file} is being written by {writer}",
                    hint="one writer at a time: try again when that is done",
                )
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()}".encode(), 0)
            self.reload()
            before = dict(self._assets)
            self._writing = True
            try:
                yield self
                if self._assets != before:
                    self._write()
            except BaseException:
                self._assets = before
                raise
            finally:
                self._writing = False
                os.ftruncate(handle, 0)
        finally:
            os.close(handle)

    def register(self, staged: StagedAsset) -> Asset:
        """Take in what was staged: its folder and its entry."""
        self._check_writing("register")
        asset = staged.asset
        if asset.name in self._assets:
            raise AssetError(
                f"there is an asset {asset.name!r} already", hint="give the new one another name"
            )
        folder = self.folder / asset.name
        if folder.exists():  # of an earlier import that registered nothing: nobody refers to it
            shutil.rmtree(folder)
        staged.staged.publish()
        self._assets[asset.name] = asset
        return asset

    def update(self, asset: Asset) -> None:
        """Take in how the files of an asset are now."""
        self._check_writing("update")
        self[asset.name]
        self._assets[asset.name] = asset

    def remove(self, name: str) -> None:
        """Take an asset out, and its files away."""
        self._check_writing("remove")
        asset = self[name]
        del self._assets[name]
        self._write()  # first: an entry without files is worse than files without an entry
        shutil.rmtree(self.folder / asset.name, ignore_errors=True)

    def _write(self) -> None:
        document = _Document(FORMAT, sorted(self._assets.values(), key=lambda asset: asset.name))
        data = msgspec.json.format(msgspec.json.encode(document), indent=2)
        write_atomically(self._file, data + b"\n")

    def _check_writing(self, call: str) -> None:
        assert_owner(self._owner, f"AssetRegistry.{call}", what="asset registry")
        if not self._writing:
            raise RegistryError(
                f"AssetRegistry.{call} outside `with registry.writing():`",
                hint="one writer at a time, and it says so",
            )


class ImportAssetsJob(Job[list[Asset]]):
    """Reads, checks and copies assets on a worker; `take_result` registers them, all or none."""

    def __init__(
        self,
        registry: AssetRegistry,
        *sources: str | os.PathLike[str],
        names: dict[str, str] | None = None,
        packages: dict[str, str | os.PathLike[str]] | None = None,
    ) -> None:
        """`names` gives other names than the files' stems; `packages` says where the packages of
        `package://` names in URDF are."""
        self.registry = registry
        self.sources: dict[str, Path] = {}
        self.packages = {name: Path(path) for name, path in (packages or {}).items()}
        self._staged: list[StagedAsset] = []
        names = names or {}
        super().__init__(f"import {len(sources)} asset{'' if len(sources) == 1 else 's'}")
        for source in map(Path, sources):
            name = names.get(source.name, source.stem)
            if not source.is_file():
                raise AssetError(f"{source} is not a file", hint="name an existing one")
            if source.suffix.lower() not in KINDS:
                hint = nearest(source.suffix, KINDS)
                raise AssetError(f"{source} is no kind of asset that can be imported", hint=hint)
            if name in registry or name in self.sources:
                raise AssetError(
                    f"there is an asset {name!r} already",
                    hint=f"import it under another name: names={{{source.name!r}: ...}}",
                )
            if not name or name.startswith(".") or "/" in name or name == "registry":
                raise AssetError(f"{name!r} cannot be an asset's name")
            self.sources[name] = source.absolute()

    def run(self, stop: StopToken, progress: Progress) -> list[Asset]:
        self.registry.folder.mkdir(exist_ok=True)
        count = len(self.sources)
        for number, (name, source) in enumerate(self.sources.items()):
            progress.set(f"reading {source.name}", number / count)
            parsed = parse_asset(source, stop, packages=self.packages)
            staged = StagedFolder(self.registry.folder / name)
            try:
                asset = _copy_in(name, parsed, staged.path, stop)
                staged.sync(stop)  # here, for the main thread has no time for it
            except BaseException:
                staged.discard()
                raise
            self._staged.append(StagedAsset(asset, staged))
        progress.set("checked", 1.0)
        return [staged.asset for staged in self._staged]

    def clean_up(self) -> None:
        for staged in self._staged:
            staged.staged.discard()

    def take_result(self) -> list[Asset]:
        """Register them: on the main thread, as one writer."""
        assets = super().take_result()
        done: list[str] = []
        try:
            with self.registry.writing() as registry:
                for staged in self._staged:
                    registry.register(staged)
                    done.append(staged.asset.name)
        except BaseException:
            self.clean_up()
            for name in done:
                shutil.rmtree(self.registry.folder / name, ignore_errors=True)
            raise
        return assets


def _copy_in(name: str, parsed: ParsedAsset, into: Path, stop: StopToken) -> Asset:
    """Copy an asset's files as they lie to each other, so that their references still hold."""
    root = Path(os.path.commonpath([file.parent for file in parsed.files]))
    files = []
    for source in parsed.files:
        relative = source.relative_to(root)
        target = into / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        sha256, size = hashlib.sha256(), 0
        with open(source, "rb") as data, open_new(target) as to:
            while chunk := data.read(CHUNK_BYTES):
                stop.checkpoint()
                to.write(chunk)
                sha256.update(chunk)
                size += len(chunk)
        files.append(AssetFile(relative.as_posix(), size, sha256.hexdigest()))
    path = parsed.path.relative_to(root).as_posix()
    return Asset(name, parsed.kind, path, tuple(files), parsed.info)


def _digest(path: Path) -> str:
    with open(path, "rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
