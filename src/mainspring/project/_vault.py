"""A content vault: packages by name and version, kept under the checksum of their content.

The promise: what `get` writes is bit for bit what `put` was given, or it writes nothing. A
package is never changed, only added; its bytes are there before its name is. One heavy operation
runs at a time, in the whole program.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from mainspring.errors import nearest
from mainspring.project._files import CHUNK_BYTES, StagedFile
from mainspring.project._guard import HeavyOpGuard, HeavyOpSlot
from mainspring.project._stores import Store, open_store
from mainspring.project.errors import VaultError
from mainspring.threads import Job, Progress, StopToken, forbid_main_thread

__all__ = ["Package", "Vault", "VaultGetJob", "VaultListJob", "VaultPutJob", "fetch_into"]

T = TypeVar("T")
J = TypeVar("J", bound="_VaultJob[Any]")

FORMAT = 1
_PART = r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}"

PartName = Annotated[str, msgspec.Meta(pattern=rf"^{_PART}\Z")]


class Package(msgspec.Struct, frozen=True):
    """One package of a vault."""

    name: PartName
    version: PartName
    size: Annotated[int, msgspec.Meta(ge=0)]
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    kind: str = "file"
    """`project` for a project's archive."""
    description: str = ""

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


class _Index(msgspec.Struct):
    format: int
    packages: list[Package]


_shared_guard = HeavyOpGuard()


class Vault:
    """A vault by its folder or its address. Making one touches neither."""

    def __init__(
        self, location: str | os.PathLike[str], *, guard: HeavyOpGuard | None = None
    ) -> None:
        self.store: Store = open_store(location)
        self.guard = guard or _shared_guard

    def packages(self, stop: StopToken | None = None) -> list[Package]:
        """Every package, by name and version. Reads the index: for a worker, not for a frame."""
        forbid_main_thread("Vault.packages")
        return self._index(stop).packages

    def find(self, wanted: str, stop: StopToken | None = None) -> Package:
        """`name` (its last version) or `name==version`. Reads the index."""
        forbid_main_thread("Vault.find")
        name, version = parse_wanted(wanted)
        packages = self._index(stop).packages
        found = [p for p in packages if p.name == name and version in ("", p.version)]
        if not found:
            known = [str(p) for p in packages if p.name == name] or [p.name for p in packages]
            known = list(dict.fromkeys(known))
            raise VaultError(f"{self.store} has no {wanted!r}", hint=nearest(wanted, known))
        return max(found, key=_order)

    def heavy_operation(self, title: str) -> HeavyOpSlot:
        """Take the one slot for heavy operations, or `VaultBusyError`."""
        return self.guard.claim(title)

    def __repr__(self) -> str:
        return f"<Vault {self.store}>"

    def _index(self, stop: StopToken | None = None) -> _Index:
        data = self.store.read_index(stop)
        if data is None:
            raise VaultError(
                f"there is no vault at {self.store}",
                hint="is that its place? `mainspring vault put` makes one",
            )
        return _parse_index(data, str(self.store))


def parse_wanted(wanted: str) -> tuple[str, str]:
    """The name and the version of `name` or `name==version`."""
    name, _, version = wanted.partition("==")
    for part in (name, *([version] if "==" in wanted else [])):
        if re.fullmatch(_PART, part) is None:
            raise VaultError(
                f"{wanted!r} is no package",
                hint='"name", or "name==version", of letters, digits, _.+-',
            )
    return name, version


def fetch_into(
    vault: Vault, wanted: str, path: Path, stop: StopToken, progress: Progress
) -> Package:
    """Write a package's bytes to `path`, checked; for work that holds the slot already."""
    package = vault.find(wanted, stop)
    progress.set(f"fetching {package}")
    with StagedFile(path) as staged:
        for piece in checked_pieces(vault.store, package, stop, progress):
            staged.file.write(piece)
        staged.publish()
    return package


class _VaultJob(Job[T]):
    """A job that holds the one slot from its start to its end."""

    def __init__(self, vault: Vault, title: str) -> None:
        super().__init__(title)
        self.vault = vault
        self._slot: HeavyOpSlot | None = None

    @classmethod
    def start(cls: type[J], *args: Any, **kwargs: Any) -> J:
        job = cls(*args, **kwargs)
        job._slot = job.vault.heavy_operation(job.title)
        try:
            job._launch()
        except BaseException:
            job._slot.release()
            raise
        return job

    def run(self, stop: StopToken, progress: Progress) -> T:
        try:
            return self.work(stop, progress)
        finally:
            self.clean_up()

    def work(self, stop: StopToken, progress: Progress) -> T:
        raise NotImplementedError

    def clean_up(self) -> None:
        if self._slot is not None:
            self._slot.release()


class VaultListJob(Job[list[Package]]):
    """What a vault holds."""

    def __init__(self, vault: Vault) -> None:
        super().__init__(f"list {vault.store}")
        self.vault = vault

    def run(self, stop: StopToken, progress: Progress) -> list[Package]:
        return self.vault.packages(stop)


class VaultGetJob(_VaultJob[Path]):
    """Fetches a package into a file; into a folder as `name-version`, with `.zip` for projects."""

    def __init__(
        self,
        vault: Vault,
        wanted: str,
        destination: str | os.PathLike[str],
        *,
        overwrite: bool = False,
    ) -> None:
        self.wanted = wanted
        self.destination = Path(destination).absolute()
        super().__init__(vault, f"get {wanted} from {vault.store}")
        parse_wanted(wanted)
        self.overwrite = overwrite
        if not self.destination.parent.is_dir():
            raise VaultError(
                f"{self.destination.parent} is not a folder", hint="make the folder first"
            )
        if not self.destination.is_dir():
            self._check_free(self.destination)

    def work(self, stop: StopToken, progress: Progress) -> Path:
        package = self.vault.find(self.wanted, stop)
        destination = self.destination
        if destination.is_dir():
            suffix = ".zip" if package.kind == "project" else ""
            destination /= f"{package.name}-{package.version}{suffix}"
            self._check_free(destination)
        # Fetched beside the destination: what was there stays until the new one is whole.
        with StagedFile(destination) as staged:
            progress.set(f"fetching {package}")
            for piece in checked_pieces(self.vault.store, package, stop, progress):
                staged.file.write(piece)
            progress.set("writing to the disk")
            staged.publish(stop, replace=self.overwrite)
        return destination

    def _check_free(self, path: Path) -> None:
        if os.path.lexists(path) and not self.overwrite:
            raise VaultError(
                f"{path} exists already",
                hint="give another name, or overwrite it (overwrite=True, --overwrite)",
            )


class VaultPutJob(_VaultJob[Package]):
    """Stores a file as a package."""

    def __init__(
        self,
        vault: Vault,
        source: str | os.PathLike[str],
        name: str,
        version: str,
        *,
        kind: str = "file",
        description: str = "",
    ) -> None:
        self.source = Path(source).absolute()
        super().__init__(vault, f"put {name}=={version} into {vault.store}")
        parse_wanted(f"{name}=={version}")
        if not self.source.is_file():
            raise VaultError(f"{self.source} is not a file", hint="name an existing one")
        self.name, self.version = name, version
        self.kind, self.description = kind, description

    def work(self, stop: StopToken, progress: Progress) -> Package:
        store = self.vault.store
        progress.set(f"reading {self.source.name}")
        package = self._describe(stop)
        self._check_new(_parse_index(store.read_index(stop), str(store)), package)
        added = not store.has(package.sha256, stop)
        try:
            if added:
                progress.set(f"storing {package}")
                store.write(package.sha256, self.source, stop, progress)
            stop.commit()
            store.change_index(lambda data: self._with_package(data, package))
        except BaseException:
            if added and not self._is_referred_to(package):
                store.delete(package.sha256)
            raise
        progress.set("done", 1.0)
        return package

    def _describe(self, stop: StopToken) -> Package:
        sha256, size = hashlib.sha256(), 0
        with open(self.source, "rb") as data:
            while chunk := data.read(CHUNK_BYTES):
                stop.checkpoint()
                sha256.update(chunk)
                size += len(chunk)
        return Package(
            self.name, self.version, size, sha256.hexdigest(), self.kind, self.description
        )

    def _check_new(self, index: _Index, package: Package) -> None:
        for known in index.packages:
            if str(known) == str(package) and known.sha256 != package.sha256:
                raise VaultError(
                    f"{self.vault.store} has {package} already, with other content",
                    hint="a package never changes: give it a new version",
                )

    def _with_package(self, data: bytes | None, package: Package) -> bytes:
        index = _parse_index(data, str(self.vault.store))
        self._check_new(index, package)
        packages = [known for known in index.packages if str(known) != str(package)]
        packages.append(package)
        packages.sort(key=_order)
        encoded = msgspec.json.encode(_Index(FORMAT, packages))
        return msgspec.json.format(encoded, indent=2) + b"\n"

    def _is_referred_to(self, package: Package) -> bool:
        """Whether somebody else put the same content meanwhile; if in doubt, yes."""
        try:
            store = self.vault.store
            index = _parse_index(store.read_index(), str(store))
        except Exception:
            return True
        return any(known.sha256 == package.sha256 for known in index.packages)


def checked_pieces(
    store: Store, package: Package, stop: StopToken, progress: Progress
) -> Iterator[bytes]:
    """A package's bytes; raises at their end, or before, if they are not the right ones."""
    sha256, size = hashlib.sha256(), 0
    for piece in store.read(package.sha256, stop):
        size += len(piece)
        if size > package.size:
            break
        sha256.update(piece)
        yield piece
        progress.set(fraction=size / package.size)
    if size != package.size or sha256.hexdigest() != package.sha256:
        raise VaultError(
            f"{package} of {store} is damaged: {size} bytes of {package.size}, "
            f"checksum {sha256.hexdigest()[:12]}, expected {package.sha256[:12]}",
            hint="nothing was kept; have it put again where it came from",
        )


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """Order of versions: numbers as numbers, words before numbers (`1.0rc1` before `1.0.1`)."""
    parts = re.findall(r"\d+|[A-Za-z]+", version)
    return tuple((1, int(p), "") if p.isdigit() else (0, 0, p) for p in parts)


def _order(package: Package) -> tuple[str, tuple[tuple[int, int, str], ...], str]:
    return package.name, version_key(package.version), package.version


def _parse_index(data: bytes | None, source: str) -> _Index:
    if data is None:
        return _Index(FORMAT, [])
    try:
        index = msgspec.json.decode(data, type=_Index)
    except (msgspec.DecodeError, RecursionError) as error:
        raise VaultError(
            f"the index of {source} is damaged: {error}",
            hint="is this a vault? Its index.json is written by `mainspring vault put`",
        ) from None
    if index.format > FORMAT:
        raise VaultError(
            f"{source} has format {index.format}, newer than {FORMAT}", hint="upgrade mainspring"
        )
    return index
