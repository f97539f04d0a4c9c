"""Project archives: a zip that holds one project, the same bytes for the same project.

The promise on the way out: entries in order of their names, without times and owners, so two
exports of one project are equal. On the way in: nothing is written before the whole directory
of the archive was checked, and what is written stays inside the folder it was told. Refused are
absolute and climbing paths, links and devices, names that collide where case does not count,
encrypted and overlapping entries, and archives that would unpack to more than they may.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from mainspring.project._files import CHUNK_BYTES, open_new
from mainspring.project._project import SETTINGS_FILE
from mainspring.project.errors import ArchiveError
from mainspring.threads import Progress, StopToken

__all__ = ["ArchiveLimits", "Selection", "copy_tree", "pack", "read_settings", "unpack"]

_STORED = frozenset([".png", ".jpg", ".jpeg", ".zip", ".gz", ".zst", ".xz", ".mcap", ".mp4"])
"""What is compressed already."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may unpack to."""

    total_bytes: int = 8 << 30
    file_bytes: int = 4 << 30
    files: int = 100_000
    ratio: int = 200
    """Unpacked to packed, of a file above a megabyte. `pack` stores what would exceed it."""


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
        """The files below `root`, sorted; a link among them is an error."""
        found = []
        exclude = (*self.always_excluded, *self.exclude)
        for folder, folders, names in os.walk(root):
            here = PurePosixPath(Path(folder).relative_to(root).as_posix())
            there = [*names, *folders]
            skipped = {n for n in there if _matches(here / n, exclude) or self._is_runs(here / n)}
            for name in there:
                if name not in skipped and os.path.islink(os.path.join(folder, name)):
                    raise ArchiveError(
                        f"{here / name} in {root} is a link, which means nothing elsewhere",
                        hint="put the file itself there, or leave the link out with exclude=",
                    )
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
    stored = {name for name in files if name.suffix.lower() in _STORED}
    while dense := _pack_once(root, files, stored, out, stop, progress):
        # Files so empty that packed they would look like a bomb: again, with them as they are.
        stored |= dense
        out.seek(0)
        out.truncate()
    return len(files)


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
            if _is_dense(info, ArchiveLimits()):
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
    with _opened(archive_path) as archive:
        entries = _checked(archive, archive_path, limits)
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
                            raise _refused(archive_path, info, "is larger than it says")
                        to.write(chunk)
                        done += len(chunk)
                        progress.set(fraction=done / (total or 1))
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise ArchiveError(
                    f"{archive_path}: {info.filename!r} is damaged: {error}",
                    hint="get the archive again",
                ) from None
            if left:
                raise _refused(archive_path, info, "is smaller than it says")
            if info.external_attr >> 16 & 0o100:
                target.chmod(0o755)
            stop.checkpoint()
    return len(entries)


def read_settings(archive_path: Path, limits: ArchiveLimits | None = None) -> str:
    """The settings file of the project in an archive, and the check that it may be unpacked."""
    with _opened(archive_path) as archive:
        for info, name in _checked(archive, archive_path, limits or ArchiveLimits()):
            if str(name) == SETTINGS_FILE:
                if info.file_size > CHUNK_BYTES:
                    raise _refused(archive_path, info, "is too large for settings")
                try:
                    return archive.read(info).decode("utf-8", errors="replace")
                except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                    raise ArchiveError(f"{archive_path}: {SETTINGS_FILE}: {error}") from None
    raise AssertionError("checked archives have settings")


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ArchiveError(
            f"{path} cannot be read as an archive: {error}",
            hint="a project's archive is what `mainspring export` writes",
        ) from None


def _checked(
    archive: zipfile.ZipFile, path: Path, limits: ArchiveLimits
) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Every file of the archive with its safe name inside the project; or what is wrong."""
    infos = archive.infolist()
    if len(infos) > limits.files:
        raise ArchiveError(f"{path} holds {len(infos)} entries, more than {limits.files}")
    entries = []
    for info in infos:
        name = _safe_name(path, info)
        _check_entry(path, info, limits)
        if not info.is_dir():
            entries.append((info, name))
    total = sum(info.file_size for info, _ in entries)
    if total > limits.total_bytes:
        raise ArchiveError(
            f"{path} would unpack to {total} bytes, more than {limits.total_bytes}",
            hint="if it is meant to be that large, raise ArchiveLimits.total_bytes",
        )
    _check_overlap(path, archive, infos)
    entries = _without_top(entries)
    seen: dict[str, zipfile.ZipInfo] = {}
    files = {str(name).casefold() for _, name in entries}
    for info, name in entries:
        folded = str(name).casefold()
        if folded in seen:
            raise _refused(path, info, f"is there twice, also as {seen[folded].filename!r}")
        seen[folded] = info
        if any(str(parent).casefold() in files for parent in name.parents):
            raise _refused(path, info, "lies in something that is a file")
    if SETTINGS_FILE not in {str(name) for _, name in entries}:
        raise ArchiveError(
            f"{path} is no project: there is no {SETTINGS_FILE} in it",
            hint="a project's archive is what `mainspring export` writes",
        )
    return entries


def _safe_name(path: Path, info: zipfile.ZipInfo) -> PurePosixPath:
    # `orig_filename`: zipfile itself cuts a name at its first NUL.
    raw = info.orig_filename
    name = PurePosixPath(raw)
    if not raw or "\0" in raw or any(ord(c) < 32 for c in raw):
        raise _refused(path, info, "has a name with control characters")
    if "\\" in raw or name.is_absolute() or re.match(r"[A-Za-z]:", raw):
        raise _refused(path, info, "has an absolute name or one of Windows")
    if ".." in name.parts or raw.startswith("./") or "//" in raw or "/./" in raw:
        raise _refused(path, info, "has a name that climbs or hides where it leads")
    if len(raw.encode()) > 1000 or any(len(part.encode()) > 255 for part in name.parts):
        raise _refused(path, info, "has a name that is too long")
    return name


def _check_entry(path: Path, info: zipfile.ZipInfo, limits: ArchiveLimits) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        what = "a link" if kind == stat.S_IFLNK else "a device or a pipe"
        raise _refused(path, info, f"is {what}")
    if info.flag_bits & 0x1:
        raise _refused(path, info, "is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(path, info, f"is compressed with method {info.compress_type}")
    if info.is_dir() and info.file_size:
        raise _refused(path, info, "is a folder with content")
    if info.file_size > limits.file_bytes:
        raise _refused(path, info, f"would unpack to {info.file_size} bytes")
    if _is_dense(info, limits):
        raise _refused(path, info, f"would unpack to over {limits.ratio} times what it takes")


def _is_dense(info: zipfile.ZipInfo, limits: ArchiveLimits) -> bool:
    return info.file_size > CHUNK_BYTES and info.file_size > limits.ratio * info.compress_size


def _check_overlap(path: Path, archive: zipfile.ZipFile, infos: list[zipfile.ZipInfo]) -> None:
    """Entries that share their bytes are how a small archive unpacks to a huge one."""
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise _refused(path, info, "overlaps another entry")
        end = info.header_offset + 30 + len(info.orig_filename.encode()) + info.compress_size
    if end > archive.start_dir:
        raise ArchiveError(f"{path} is damaged: its entries run into its directory")


def _without_top(
    entries: list[tuple[zipfile.ZipInfo, PurePosixPath]],
) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Without the one folder that everything lies in, as archives made by hand have it."""
    tops = {name.parts[0] for _, name in entries}
    if len(tops) == 1 and all(len(name.parts) > 1 for _, name in entries):
        return [(info, PurePosixPath(*name.parts[1:])) for info, name in entries]
    return entries


def _check_space(into: Path, total: int) -> None:
    free = shutil.disk_usage(into).free
    if total > free:
        raise ArchiveError(
            f"unpacking needs {total} bytes, and {into.parent} has {free} left",
            hint="make room, or import it elsewhere",
        )


def _refused(path: Path, info: zipfile.ZipInfo, why: str) -> ArchiveError:
    return ArchiveError(
        f"{path}: entry {info.orig_filename!r} {why}; nothing was unpacked",
        hint="do not trust where this archive came from, or have it made again with "
        "`mainspring export`",
    )
