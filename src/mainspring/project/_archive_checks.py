"""What a project's archive may hold, judged by its directory alone, before a byte is unpacked.

The promise: what passes stays inside the folder it is unpacked into, on every file system (no
two names are one where case or the form of an accent does not count), is made of plain files and
is no larger than the limits. The same rules of names hold on the way out, so that whatever can
be exported can be imported.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import unicodedata
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from mainspring.project._files import CHUNK_BYTES
from mainspring.project.errors import ArchiveError

__all__ = [
    "ArchiveLimits",
    "Entry",
    "check_directory",
    "checked_entries",
    "is_dense",
    "name_fault",
    "refused",
    "twins",
]

Entry = tuple[zipfile.ZipInfo, PurePosixPath]
"""An entry of an archive, and its name below the folder it is unpacked into."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may unpack to."""

    total_bytes: int = 8 << 30
    file_bytes: int = 4 << 30
    files: int = 100_000
    ratio: int = 200
    """Unpacked to packed, of a file above a megabyte. `pack` stores what would exceed it."""


def checked_entries(archive: zipfile.ZipFile, path: Path, limits: ArchiveLimits) -> list[Entry]:
    """Every file of the archive with its safe name; or what is wrong with it."""
    entries = []
    for info in archive.infolist():
        # `orig_filename`: zipfile itself cuts a name at its first NUL.
        fault = name_fault(info.orig_filename) or _entry_fault(info, limits)
        if fault is not None:
            raise refused(path, info, fault)
        if not info.is_dir():
            entries.append((info, PurePosixPath(info.orig_filename)))
    total = sum(info.file_size for info, _ in entries)
    if total > limits.total_bytes:
        raise ArchiveError(
            f"{path} would unpack to {total} bytes, more than {limits.total_bytes}",
            hint="if it is meant to be that large, raise ArchiveLimits.total_bytes",
        )
    _check_overlap(path, archive)
    entries = _without_top(entries)
    infos = {str(name): info for info, name in entries}
    for name, why in twins(str(name) for _, name in entries):
        raise refused(path, infos[name], why)
    return entries


def name_fault(raw: str) -> str | None:
    """Why an entry may not be called that; None if it may."""
    name = PurePosixPath(raw)
    if not raw or any(ord(c) < 32 or ord(c) == 127 for c in raw):
        return "has a name with control characters"
    if any("\ud800" <= c <= "\udfff" for c in raw):
        return "has a name that is not Unicode"
    if "\\" in raw or name.is_absolute() or re.match(r"[A-Za-z]:", raw):
        return "has an absolute name or one of Windows"
    if ".." in name.parts or raw.startswith("./") or "//" in raw or "/./" in raw:
        return "has a name that climbs or hides where it leads"
    if len(raw.encode()) > 1000 or any(len(part.encode()) > 255 for part in name.parts):
        return "has a name that is too long"
    return None


def twins(names: Iterable[str]) -> Iterable[tuple[str, str]]:
    """The names that would meet another one on some file system, each with why."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(_folded(name), name)
        if other is not name:
            yield name, f"is there twice, also as {other!r}"
    for name in seen.values():
        parents = (str(parent) for parent in PurePosixPath(name).parents)
        if any(_folded(parent) in seen for parent in parents):
            yield name, "lies in something that is a file"


def _folded(name: str) -> str:
    """One text for all names that are one name where case, or NFC and NFD, do not count."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _entry_fault(info: zipfile.ZipInfo, limits: ArchiveLimits) -> str | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link" if kind == stat.S_IFLNK else "is a device or a pipe"
    if info.flag_bits & 0x2061:  # bits 0, 6 and 13: encrypted; 5: a patch to something else
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is compressed with method {info.compress_type}"
    if info.is_dir() and info.file_size:
        return "is a folder with content"
    if info.file_size > limits.file_bytes:
        return f"would unpack to {info.file_size} bytes"
    if is_dense(info, limits):
        return f"would unpack to over {limits.ratio} times what it takes"
    return None


def is_dense(info: zipfile.ZipInfo, limits: ArchiveLimits) -> bool:
    """Whether it is packed as only a bomb is."""
    return info.file_size > CHUNK_BYTES and info.file_size > limits.ratio * info.compress_size


def _check_overlap(path: Path, archive: zipfile.ZipFile) -> None:
    """Entries that share their bytes are how a small archive unpacks to a huge one."""
    end = 0
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise refused(path, info, "overlaps another entry")
        end = info.header_offset + 30 + len(info.orig_filename.encode()) + info.compress_size
    if end > archive.start_dir:
        raise ArchiveError(f"{path} is damaged: its entries run into its directory")


def _without_top(entries: list[Entry]) -> list[Entry]:
    """Without the one folder that everything lies in, as archives made by hand have it."""
    tops = {name.parts[0] for _, name in entries}
    if len(tops) == 1 and all(len(name.parts) > 1 for _, name in entries):
        return [(info, PurePosixPath(*name.parts[1:])) for info, name in entries]
    return entries


def check_directory(path: Path, file: IO[bytes], limits: ArchiveLimits) -> None:
    """Raise if the directory lists too much, before `zipfile` makes an object of every line.

    What is no archive at all is left for `zipfile` to tell.
    """
    length = file.seek(0, os.SEEK_END)
    file.seek(max(length - _END.size - 0xFFFF, 0))
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if not 0 <= at <= len(tail) - _END.size:
        return
    (size,) = _END.unpack_from(tail, at)
    end = length - len(tail) + at
    if at >= _END64.size + _LOCATOR_BYTES and tail[at - _LOCATOR_BYTES :][:4] == b"PK\6\7":
        end -= _END64.size + _LOCATOR_BYTES
        (size,) = _END64.unpack_from(tail, at - _END64.size - _LOCATOR_BYTES)
    if size <= limits.files * _LINE.size:
        return  # too short for more
    file.seek(max(end - size, 0))
    count = 0
    while (line := file.read(_LINE.size))[:4] == b"PK\1\2" and len(line) == _LINE.size:
        count += 1
        if count > limits.files:
            raise ArchiveError(
                f"{path} holds more than {limits.files} entries",
                hint="if it is meant to hold that many, raise ArchiveLimits.files",
            )
        file.seek(sum(_LINE.unpack(line)), os.SEEK_CUR)


_END = struct.Struct("<12xI6x")
"""The end of an archive: how many bytes its directory takes."""
_END64 = struct.Struct("<40xQ8x")
_LOCATOR_BYTES = 20
_LINE = struct.Struct("<28xHHH12x")
"""A line of the directory: how long its name, its extra field and its comment are."""


def refused(path: Path, info: zipfile.ZipInfo, why: str) -> ArchiveError:
    """The error for an entry that may not be unpacked."""
    return ArchiveError(
        f"{path}: entry {info.orig_filename!r} {why}; nothing was unpacked",
        hint="do not trust where this archive came from, or have it made again with "
        "`mainspring export`",
    )
