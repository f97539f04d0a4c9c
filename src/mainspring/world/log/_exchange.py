"""A log as text, and back: one JSON object a line, for other tools and for keeping.

The first line says what it is; each of the others is a record with its place in the chain and
its content. An import checks every record as it comes: what it writes verifies, or it writes
nothing. A name that ends in `.gz` is compressed.
"""

from __future__ import annotations

import base64
import gzip
import os
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from mainspring.world.log._archive import insert_record
from mainspring.world.log._errors import LogCorruptError, LogFormatError, LogWriteError
from mainspring.world.log._format import (
    FORMAT_VERSION,
    GENESIS,
    Kind,
    Record,
    body_digest,
    create_schema,
    follows,
)
from mainspring.world.log._reader import LogReader

__all__ = ["export_log", "import_log"]


class _Head(msgspec.Struct):
    mainspring_log: int
    records: int
    head: str
    archives: list[tuple[int, int, str, str]] = []


class _Line(msgspec.Struct):
    number: int
    kind: str
    first_ns: int
    last_ns: int
    count: int
    prior: int
    digest: str
    link: str
    body: str | None = None


def export_log(path: str | Path, target: str | Path) -> int:
    """Write the log at `path` as text to `target`; how many records there were.

    A log that turns out to be damaged leaves no text, and what was at `target` as it was."""
    target = Path(target)
    # Beside the target, and with its ending: that says whether it is compressed.
    part = target.with_name(f".{os.getpid()}.{target.name}")
    try:
        count = _export(path, part)
        part.replace(target)
    except OSError as error:
        raise LogWriteError(f"{target} cannot be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return count


def _export(path: str | Path, target: Path) -> int:
    with LogReader(path) as reader, _open(target, "wb") as file:
        archives = [(a, b, link.hex(), name) for a, b, link, name in reader.archives()]
        number, link = reader.head
        head = _Head(FORMAT_VERSION, number + 1, link.hex(), archives)
        file.write(msgspec.json.encode(head) + b"\n")
        count = 0
        for record in reader.records():
            body = record.body
            line = _Line(
                record.number, record.kind.name.lower(), record.first_ns, record.last_ns,
                record.count, record.prior, record.digest.hex(), record.link.hex(),
                None if body is None else base64.b64encode(zlib.compress(body)).decode(),
            )  # fmt: skip
            file.write(msgspec.json.encode(line) + b"\n")
            count += 1
    return count


def import_log(source: str | Path, path: str | Path) -> int:
    """Make the log at `path` out of the text at `source`; how many records there were."""
    source, path = Path(source), Path(path)
    if path.exists():
        raise LogWriteError(f"{path} exists already, and a log is never overwritten")
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        with _open(source, "rb") as file:
            count = _import(file, source, part)
        part.replace(path)
    except (OSError, EOFError, zlib.error) as error:
        raise LogFormatError(f"{source} cannot be read: {error}") from error
    except sqlite3.Error as error:
        raise LogWriteError(f"{path} cannot be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return count


def _import(file: IO[bytes], source: Path, part: Path) -> int:
    head = _decoded(file.readline(), _Head, source, 1)
    if not 1 <= head.mainspring_log <= FORMAT_VERSION:
        raise LogFormatError(f"{source} has log format {head.mainspring_log}, not known here")
    db = sqlite3.connect(part, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        create_schema(db)
        for first, last, link, name in head.archives:
            db.execute(
                "INSERT INTO archive VALUES (?, ?, ?, ?)", (first, last, bytes.fromhex(link), name)
            )
        jumps = {first: (last, bytes.fromhex(link)) for first, last, link, _ in head.archives}
        expected, link, count = 0, GENESIS, 0
        for record in _records(file, source):
            while record.number != expected and expected in jumps:
                last, link = jumps[expected]
                expected = last + 1
            _check(record, expected, link, source)
            insert_record(db, record, compress=False)
            expected, link, count = record.number + 1, record.link, count + 1
        if expected != head.records or link.hex() != head.head:
            raise LogCorruptError(
                f"{source}: record {expected} is missing: the text was cut off", record=expected
            )
        db.execute("COMMIT")
    finally:
        db.close()
    return count


def _check(record: Record, expected: int, link: bytes, source: Path) -> None:
    if record.number != expected:
        raise LogCorruptError(f"{source}: record {expected} is missing", record=expected)
    if record.body is not None and body_digest(record.body) != record.digest:
        raise LogCorruptError(
            f"{source}: {record} is damaged: its content does not match its checksum",
            record=record.number,
        )
    if not follows(record, link):
        raise LogCorruptError(
            f"{source}: {record} does not continue the chain", record=record.number
        )


def _records(file: IO[bytes], source: Path) -> Iterator[Record]:
    for number, text in enumerate(file, 2):
        line = _decoded(text, _Line, source, number)
        try:
            body = None if line.body is None else zlib.decompress(base64.b64decode(line.body))
            yield Record(
                line.number, Kind[line.kind.upper()], line.first_ns, line.last_ns, line.count,
                line.prior, bytes.fromhex(line.digest), bytes.fromhex(line.link), body,
            )  # fmt: skip
        except (ValueError, KeyError, zlib.error) as error:
            raise LogCorruptError(
                f"{source}, line {number}: {error}", record=line.number
            ) from error


def _decoded(text: bytes, kind: Any, source: Path, number: int) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise LogFormatError(
            f"{source}, line {number}: this is no exported log: {error}"
        ) from error


def _open(path: Path, mode: Any) -> Any:
    return gzip.open(path, mode) if path.suffix == ".gz" else path.open(mode)
