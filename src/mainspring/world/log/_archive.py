"""Compaction: the older part of a log moves into an archive, and the chain still holds.

A log is cut at one of its snapshots. What lies before it moves, compressed, into a file of
its own beside the log; what is left begins with the header and that snapshot, so the run can
be resumed and opened from there on. The log keeps the number and link of the last record
that left, and the archive those of the record before its first: `verify` follows the chain
from file to file. An archive is a log in its own right and can be replayed, opened and read.

The archive is complete and on the disk before the log lets go of anything.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from pathlib import Path

import msgspec

from mainspring.clock import Time, time_ns
from mainspring.world.log._claim import check_unclaimed
from mainspring.world.log._errors import LogError, LogWriteError
from mainspring.world.log._format import ZLIB, Record, check_identity, create_schema
from mainspring.world.log._reader import LogReader

__all__ = ["CompactReport", "compact", "insert_record"]


class CompactReport(msgspec.Struct, frozen=True):
    """What a compaction did."""

    path: str
    archive: str | None
    """The file the older records went to; None when there was nothing to move."""
    first: int
    last: int
    """The records that moved."""
    cut_ns: int
    """The instant of the snapshot the log begins with now."""
    bytes_before: int
    bytes_after: int
    bytes_archive: int


def compact(path: str | Path, *, before: Time | None = None) -> CompactReport:
    """Move everything before the last snapshot at or before `before` (by default: before the
    newest snapshot) out of the log at `path`, which must not be recording."""
    path = Path(path)
    check_unclaimed(path)
    size = path.stat().st_size if path.is_file() else 0
    with LogReader(path) as reader:
        cut = reader.snapshot_before(2**63 - 1 if before is None else time_ns(before) + 1)
        if cut is None:
            raise LogError(
                f"{path} holds no snapshot at or before {before!r} to be cut at",
                hint="choose a later time",
            )
        gap = reader._archived_to(1)
        first = 1 if gap is None else gap[0] + 1
        if cut.number <= first:
            return CompactReport(str(path), None, first, first - 1, cut.last_ns, size, size, 0)
        last = cut.number - 1
        archive = path.with_name(f"{path.stem}.{first:08d}-{last:08d}.archive.world")
        link = _write_archive(reader, archive, first, last)
    _let_go(path, archive.name, first, last, link)
    return CompactReport(
        str(path), str(archive), first, last, cut.last_ns, size,
        path.stat().st_size, archive.stat().st_size,
    )  # fmt: skip


def _write_archive(reader: LogReader, archive: Path, first: int, last: int) -> bytes:
    """The records in a file of their own; the link of the last one."""
    part = archive.with_name(f"{archive.name}.part")
    part.unlink(missing_ok=True)
    link = b""
    try:
        db = sqlite3.connect(part, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            create_schema(db)
            insert_record(db, reader.record(0))
            if first > 1:
                before = reader._archived_to(1)
                assert before is not None
                db.execute("INSERT INTO archive VALUES (1, ?, ?, '')", (first - 1, before[1]))
            for record in reader.records(first, last):
                insert_record(db, record)
                link = record.link
            db.execute("COMMIT")
        finally:
            db.close()
    except sqlite3.Error as error:
        part.unlink(missing_ok=True)
        raise LogWriteError(f"the archive {archive} cannot be written: {error}") from error
    part.replace(archive)
    folder = os.open(archive.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return link


def insert_record(db: sqlite3.Connection, record: Record, *, compress: bool = True) -> None:
    """A record as it is, at its number."""
    body, codec = record.body, 0
    if compress and body is not None:
        packed = zlib.compress(body, 6)
        if len(packed) < len(body):
            body, codec = packed, ZLIB
    db.execute(
        "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.number, int(record.kind), record.first_ns, record.last_ns, record.count,
            record.prior, record.digest, record.link, codec, body,
        ),
    )  # fmt: skip


def _let_go(path: Path, file: str, first: int, last: int, link: bytes) -> None:
    try:
        db = sqlite3.connect(path, timeout=5.0, isolation_level=None)
        try:
            check_identity(db, path)
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM record WHERE number BETWEEN ? AND ?", (first, last))
            db.execute("INSERT INTO archive VALUES (?, ?, ?, ?)", (first, last, link, file))
            db.execute("COMMIT")
            db.execute("VACUUM")
        finally:
            db.close()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise LogWriteError(f"{path} cannot be compacted: {error}") from error
