"""Project archives: a zip that holds one project, the same bytes for the same project.

The promise on the way out: entries in order of their names, without times and owners, so two
exports of one project are equal, and what cannot be imported again is not exported. On the way
in: nothing is written before the whole directory of the archive was checked (see
`_archive_checks`), and what is written stays inside the folder it was told.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from mainspring.project._archive_checks import (
    ArchiveLimits,
    Entry,
    check_directory,
    checked_entries,
    is_dense,
    name_fault,
    refused,
    twins,
)
from mainspring.project._files import CHUNK_BYTES, open_new
from mainspring.project._project import SETTINGS_FILE
from mainspring.project.errors import ArchiveError
from mainspring.threads import Progress, StopToken

__all__ = ["Selection", "copy_tree", "pack", "read_settings", "unpack"]

_STORED = frozenset([".png", ".jpg", ".jpeg", ".zip", ".gz", ".zst", ".xz", ".mcap", ".mp4"])
"""What is compressed already."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of a project's files are meant. Patterns are matched against the path and every part
    of it, so `"*.mcap"` and `"scratch"` do what they look like."""

    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    runs: bool = False
    """Whether `runs/` comes along."""

    always_excluded = ("__pycache__", "*.pyc", ".git", ".venv", ".*.mainspring-partial", "*.lock")

    def files(self, root: Path) -> list[PurePosixPath]:
        """The files below `root`, sorted; what is neither file nor folder is an error."""
        found = []
        exclude = (*self.always_excluded, *self.exclude)
        for folder, folders, names in os.walk(root, onerror=_raise):
            here = PurePosixPath(Path(folder).relative_to(root).as_posix())
            there = [*names, *folders]
            skipped = {n for n in there if _matches(here / n, exclude) or self._is_runs(here / n)}
            for name in there:
                if name not in skipped:
                    _check_plain(root, here / name)
            folders[:] = [name for name in folders if name not in skipped]
            found += [
                here / name
                for name in names
                if name not in skipped
                and (_matches(here / name, self.include) or str(here / name) == SETTINGS_FILE)
            ]
        return sorted(found, key=str)

    def _is_runs(self, path: PurePosixPath) -> bool:
        return not self.runs and path == PurePosixPath("runs")


def _raise(error: OSError) -> None:
    raise error  # a folder that cannot be read would be missing without a word


def _check_plain(root: Path, name: PurePosixPath) -> None:
    mode = os.lstat(root / name).st_mode
    if stat.S_ISLNK(mode):
        raise ArchiveError(
            f"{name} in {root} is a link, which means nothing elsewhere",
            hint="put the file itself there, or leave the link out with exclude=",
        )
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ArchiveError(
            f"{str(name)!r} in {root} is a pipe, a socket or a device, and has no content",
            hint="remove it, or leave it out with exclude=",
        )


def _matches(path: PurePosixPath, patterns: Iterable[str]) -> bool:
    text = str(path)
    return any(
        fnmatch.fnmatchcase(text, pattern)
        or any(fnmatch.fnmatchcase(part, pattern) for part in path.parts)
        for pattern in (pattern.rstrip("/") for pattern in patterns)
    )


def pack(
    root: Path, selection: Selection, out: IO[bytes], stop: StopToken, progress: Progress
) -> int:
    """Write the archive of `root` to `out`; how many files it holds."""
    files = selection.files(root)
    _check_names(root, files)
    stored = {name for name in files if name.suffix.lower() in _STORED}
    while dense := _pack_once(root, files, stored, out, stop, progress):
        # Files so empty that packed they would look like a bomb: again, with them as they are.
        stored |= dense
        out.seek(0)
        out.truncate()
    return len(files)


def _check_names(root: Path, files: list[PurePosixPath]) -> None:
    """What an import would refuse is refused here, where it can be put right."""
    names = [str(name) for name in files]
    faults = [(name, fault) for name in names if (fault := name_fault(name)) is not None]
    faults += twins(names)
    if faults:
        shown = "\n".join(f"{name!r} {why}" for name, why in faults[:20])
        raise ArchiveError(
            f"{root} has files that cannot be in an archive:\n{shown}",
            hint="give them other names, or leave them out with exclude=",
        )


def _pack_once(
    root: Path,
    files: list[PurePosixPath],
    stored: set[PurePosixPath],
    out: IO[bytes],
    stop: StopToken,
    progress: Progress,
) -> set[PurePosixPath]:
    """Write all of it; the files that `unpack` would refuse for their ratio."""
    total = sum((root / name).stat().st_size for name in files) or 1
    done = 0
    dense = set()
    with zipfile.ZipFile(out, "w", allowZip64=True) as archive:
        for name in files:
            info = zipfile.ZipInfo(str(name))  # of 1980, as every zip that names no time
            executable = os.stat(root / name).st_mode & 0o100
            info.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            progress.set(f"packing {name}")
            with open(root / name, "rb") as source, archive.open(info, "w", force_zip64=True) as to:
                while chunk := source.read(CHUNK_BYTES):
                    stop.checkpoint()
                    to.write(chunk)
                    done += len(chunk)
                    progress.set(fraction=done / total)
            if is_dense(info, ArchiveLimits()):
                dense.add(name)
            stop.checkpoint()
    return dense


def copy_tree(
    root: Path, selection: Selection, into: Path, stop: StopToken, progress: Progress
) -> int:
    """Copy the selected files of `root` into the folder `into`; how many."""
    files = selection.files(root)
    total = sum((root / name).stat().st_size for name in files) or 1
    done = 0
    for name in files:
        progress.set(f"copying {name}")
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(root / name, "rb") as source, open_new(target) as to:
            while chunk := source.read(CHUNK_BYTES):
                stop.checkpoint()
                to.write(chunk)
                done += len(chunk)
                progress.set(fraction=done / total)
        shutil.copymode(root / name, target)
        stop.checkpoint()
    return len(files)


def unpack(
    archive_path: Path,
    into: Path,
    stop: StopToken,
    progress: Progress,
    limits: ArchiveLimits | None = None,
) -> int:
    """Unpack the archive into the empty folder `into`, all of it checked first; how many files."""
    limits = limits or ArchiveLimits()
    with _opened(archive_path, limits) as archive:
        entries = _project_entries(archive, archive_path, limits)
        total = sum(info.file_size for info, _ in entries)
        _check_space(into, total)
        done = 0
        for info, name in entries:
            progress.set(f"unpacking {name}")
            target = into / name
            target.parent.mkdir(parents=True, exist_ok=True)
            left = info.file_size  # what the directory says; more than that is a lie
            try:
                with archive.open(info) as source, open_new(target) as to:
                    while chunk := source.read(CHUNK_BYTES):
                        stop.checkpoint()
                        left -= len(chunk)
                        if left < 0:
                            raise refused(archive_path, info, "is larger than it says")
                        to.write(chunk)
                        done += len(chunk)
                        progress.set(fraction=done / (total or 1))
            except _DAMAGE as error:
                raise _damaged(archive_path, info, error) from None
            if left:
                raise refused(archive_path, info, "is smaller than it says")
            if info.external_attr >> 16 & 0o100:
                target.chmod(0o755)
            stop.checkpoint()
    return len(entries)


def read_settings(archive_path: Path, limits: ArchiveLimits | None = None) -> bytes:
    """The settings file of the project in an archive, and the check that it may be unpacked."""
    limits = limits or ArchiveLimits()
    with _opened(archive_path, limits) as archive:
        for info, name in _project_entries(archive, archive_path, limits):
            if str(name) == SETTINGS_FILE:
                if info.file_size > CHUNK_BYTES:
                    raise refused(archive_path, info, "is too large for settings")
                try:
                    return archive.read(info)
                except _DAMAGE as error:
                    raise _damaged(archive_path, info, error) from None
    raise AssertionError("checked archives have settings")


_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError)
"""What `zipfile` raises for bytes that are not as they should be."""


def _damaged(path: Path, info: zipfile.ZipInfo, error: Exception) -> ArchiveError:
    return ArchiveError(
        f"{path}: {info.filename!r} is damaged: {error}", hint="get the archive again"
    )


@contextlib.contextmanager
def _opened(path: Path, limits: ArchiveLimits) -> Iterator[zipfile.ZipFile]:
    with contextlib.ExitStack() as held:
        try:
            file = held.enter_context(open(path, "rb"))
            check_directory(path, file, limits)
            archive = zipfile.ZipFile(file)
        except (*_DAMAGE, OSError) as error:
            raise ArchiveError(
                f"{path} cannot be read as an archive: {error}",
                hint="a project's archive is what `mainspring export` writes",
            ) from None
        yield archive


def _project_entries(archive: zipfile.ZipFile, path: Path, limits: ArchiveLimits) -> list[Entry]:
    entries = checked_entries(archive, path, limits)
    if SETTINGS_FILE not in {str(name) for _, name in entries}:
        raise ArchiveError(
            f"{path} is no project: there is no {SETTINGS_FILE} in it",
            hint="a project's archive is what `mainspring export` writes",
        )
    return entries


def _check_space(into: Path, total: int) -> None:
    free = shutil.disk_usage(into).free
    if total > free:
        raise ArchiveError(
            f"unpacking needs {total} bytes, and {into.parent} has {free} left",
            hint="make room, or import it elsewhere",
        )
