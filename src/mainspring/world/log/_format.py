"""The file format of a run log, version 1: one SQLite file, one chain of records.

The promise: every record is bound to all records before it, so a record that is changed,
lost, doubled or moved is found, and the first one is named.

    digest = BLAKE2b-256(body)
    link   = BLAKE2b-256(previous link, number, kind, first_ns, last_ns, count, prior, digest)

The link covers the digest instead of the body. A body may therefore be dropped later (the
retention of old snapshots does that) or stored compressed, and the chain stays verifiable.

A group commit is one INSERT of a few rows, each of them a chunk: all inputs since the last
commit, all hashes, and so on. Chunks rather than a row for each input keep the writer thread
out of the simulation's way (it gives up and regains the interpreter once a commit instead
of once an input) and make a million hashes an array instead of a million rows.

`prior` is the number of the record of the same kind before this one. With it the records of one
kind are a chain of their own, so that reading only those, through an index, misses none.

The tables `head` and `tail` repeat the number and link of the last record and the number of the
last of each kind. They lie in other pages of the file than the records do, so that a damaged
page which hides the newest rows is noticed.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mainspring import state
from mainspring.world.log._errors import LogCorruptError, LogFormatError

__all__ = [
    "APPLICATION_ID",
    "FORMAT_VERSION",
    "GENESIS",
    "HashChunk",
    "InputGroup",
    "Kind",
    "LoggedInput",
    "LoggedOutcome",
    "Record",
    "Row",
    "Skip",
    "body_digest",
    "check_identity",
    "create_schema",
    "decode_hashes",
    "decode_inputs",
    "decode_list",
    "encode_hashes",
    "encode_input_group",
    "follows",
    "join_list",
    "next_link",
    "sqlite_errors",
]

#: "MSWL" in the file's header: what `file(1)` and `PRAGMA application_id` show.
APPLICATION_ID = 0x4D53574C
FORMAT_VERSION = 1
#: The link before the first record.
GENESIS = bytes(32)

RAW, ZLIB = 0, 1


class Kind(enum.IntEnum):
    """What a record holds. The numbers are part of the format: never reuse one."""

    HEADER = 0
    SNAPSHOT = 1
    INPUTS = 2
    OUTCOMES = 3
    HASHES = 4
    SKIPS = 5
    MARK = 6
    RESUMED = 7
    END = 8
    EVENTS = 9
    OWN = 10


class Row(msgspec.Struct, frozen=True):
    """A record before it has a place in the chain."""

    kind: Kind
    first_ns: int
    last_ns: int
    count: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """One link of the chain. `body` is None where retention has dropped it."""

    number: int
    kind: Kind
    first_ns: int
    last_ns: int
    count: int
    prior: int
    digest: bytes
    link: bytes
    body: bytes | None

    def __str__(self) -> str:
        return f"record {self.number} ({self.kind.name.lower()} at {self.first_ns} ns)"


@dataclass(frozen=True, slots=True)
class LoggedInput:
    """An input as the log keeps it."""

    time_ns: int
    seq: int
    kind: str
    payload: Any
    source: str


class InputGroup(NamedTuple):
    """The inputs one instant drained, in the order of their sequence numbers."""

    time_ns: int
    inputs: list[LoggedInput]


class Skip(NamedTuple):
    """Simulation time that game mode left out. `ran`: whether the instant at its start had run."""

    from_ns: int
    to_ns: int
    ran: bool


class LoggedOutcome(NamedTuple):
    """What became of an input."""

    time_ns: int
    seq: int
    outcome: Any


class HashChunk(NamedTuple):
    """State hashes at consecutive instants: the whole, and the first half of each part's."""

    times_ns: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.void]
    names: tuple[str, ...]
    parts: npt.NDArray[np.uint64]


_LINK = struct.Struct("<qqqqqq")

_SCHEMA = (
    """CREATE TABLE record (
    number   INTEGER PRIMARY KEY,
    kind     INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,
    last_ns  INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    prior    INTEGER NOT NULL,
    digest   BLOB NOT NULL,
    link     BLOB NOT NULL,
    codec    INTEGER NOT NULL,
    body     BLOB
)""",
    "CREATE INDEX record_by_kind ON record (kind, last_ns)",
    "CREATE TABLE head (one INTEGER PRIMARY KEY, number INTEGER NOT NULL, link BLOB NOT NULL)",
    "CREATE TABLE tail (kind INTEGER PRIMARY KEY, number INTEGER NOT NULL)",
    """CREATE TABLE archive (
    first INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL,
    link  BLOB NOT NULL,
    file  TEXT NOT NULL
)""",
    "INSERT INTO head VALUES (1, -1, zeroblob(32))",
    """CREATE TRIGGER record_head AFTER INSERT ON record
WHEN NEW.number > (SELECT number FROM head)
BEGIN
    UPDATE head SET number = NEW.number, link = NEW.link;
    INSERT OR REPLACE INTO tail VALUES (NEW.kind, NEW.number);
END""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
)


def create_schema(db: sqlite3.Connection) -> None:
    """Make the tables of an empty file and sign it as a run log, inside a transaction."""
    for statement in _SCHEMA:
        db.execute(statement)


def check_identity(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a run log or whose format this version cannot read."""
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise LogFormatError(
            f"{path} is a SQLite file but not a run log (application id {application:#x})",
            hint="run logs are written by `mainspring run ... --log PATH`",
        )
    if not 1 <= version <= FORMAT_VERSION:
        raise LogFormatError(
            f"{path} has log format {version}; this version reads formats 1 to {FORMAT_VERSION}",
            hint="open it with the version of mainspring that wrote it, or a later one",
        )


@contextlib.contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Whatever SQLite says about a damaged file becomes an error of ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "not a database" in text:
            raise LogFormatError(f"{path} is not a run log: {text}") from error
        if "unable to open" in text or "locked" in text:
            raise LogFormatError(f"{path} cannot be opened: {text}") from error
        raise LogCorruptError(
            f"{path} is damaged: {text}", hint="`mainspring verify` lists what can still be read"
        ) from error
    except (OverflowError, UnicodeDecodeError) as error:
        raise LogCorruptError(f"{path} is damaged: {error}") from error


def body_digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=32).digest()


def next_link(
    link: bytes,
    number: int,
    kind: int,
    first_ns: int,
    last_ns: int,
    count: int,
    prior: int,
    digest: bytes,
) -> bytes:
    """The link of record `number`, bound to everything before it through `link`."""
    data = link + _LINK.pack(number, kind, first_ns, last_ns, count, prior) + digest
    return hashlib.blake2b(data, digest_size=32).digest()


def record_from_row(row: Sequence[Any], path: Path) -> Record:
    """A row of the table as a record, its types and its body's digest checked."""
    number, kind, first_ns, last_ns, count, prior, digest, link, codec, body = row
    numbers = (number, kind, first_ns, last_ns, count, prior, codec)
    well_typed = all(type(value) is int for value in numbers) and (
        type(digest) is bytes and type(link) is bytes and (body is None or type(body) is bytes)
    )
    if not well_typed or len(digest) != 32 or len(link) != 32:
        raise LogCorruptError(
            f"{path}: record {number!r} is damaged: a field has the wrong type", record=_int(number)
        )
    try:
        known = Kind(kind)
    except ValueError:
        raise LogCorruptError(
            f"{path}: record {number} is damaged: there is no kind {kind}", record=number
        ) from None
    if body is not None:
        body = _unpacked(body, codec, number, path)
        if body_digest(body) != digest:
            raise LogCorruptError(
                f"{path}: record {number} ({known.name.lower()} at {first_ns} ns) is damaged: "
                "its content does not match its checksum",
                record=number,
            )
    return Record(number, known, first_ns, last_ns, count, prior, digest, link, body)


def _int(value: Any) -> int | None:
    return value if type(value) is int else None


def _unpacked(body: bytes, codec: int, number: int, path: Path) -> bytes:
    if codec == RAW:
        return body
    try:
        if codec == ZLIB:
            return zlib.decompress(body)
    except zlib.error as error:
        raise LogCorruptError(
            f"{path}: record {number} is damaged: {error}", record=number
        ) from error
    raise LogCorruptError(f"{path}: record {number} is damaged: no codec {codec}", record=number)


def follows(record: Record, link: bytes) -> bool:
    """Whether `record` continues a chain whose last link is `link`."""
    return record.link == next_link(
        link,
        record.number,
        record.kind,
        record.first_ns,
        record.last_ns,
        record.count,
        record.prior,
        record.digest,
    )


# ---------------------------------------------------------------- what the bodies hold

_LIST32 = struct.Struct(">BI")


def join_list(items: Iterable[bytes], count: int) -> bytes:
    """One encoded list out of `count` encoded items: what `decode_list` reads."""
    return _LIST32.pack(0xDD, count) + b"".join(items)


def decode_list(body: bytes) -> list[Any]:
    """The items of a chunk."""
    value = state.decode(body)
    if type(value) is not list:
        raise msgspec.DecodeError("a chunk is not a list")
    return value


def encode_input_group(time_ns: int, inputs: Iterable[Any]) -> bytes:
    """One instant's inputs. Encoded before a handler sees them, so that none can alter them."""
    return state.encode(
        [time_ns, [[item.seq, item.kind, item.payload, item.source] for item in inputs]], "input"
    )


def decode_inputs(chunk: list[Any], from_ns: int | None = None) -> Iterator[InputGroup]:
    """The groups of an INPUTS chunk at instants from `from_ns` on, in the order of their instants.

    One at a time: a chunk may hold an hour, of which a second is wanted."""
    for time_ns, items in chunk:
        if from_ns is None or time_ns >= from_ns:
            yield InputGroup(time_ns, [LoggedInput(time_ns, *item) for item in items])


def encode_hashes(
    times_ns: Sequence[int], hashes: Sequence[bytes], names: Sequence[str], parts: Sequence[bytes]
) -> bytes:
    """A HASHES chunk: columns, so that reading a million of them is a few array views."""
    table = np.array(times_ns, dtype="<i8").tobytes()
    return state.encode([list(names), table, b"".join(hashes), b"".join(parts)], "hashes")


def decode_hashes(body: bytes) -> HashChunk:
    """The columns of a HASHES chunk."""
    names, times, hashes, parts = decode_list(body)
    return HashChunk(
        np.frombuffer(times, dtype="<i8"),
        np.frombuffer(hashes, dtype="V16"),
        tuple(names),
        np.frombuffer(parts, dtype="<u8").reshape(-1, len(names)),
    )
