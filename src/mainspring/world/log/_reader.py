"""The reading end of a run log.

The promise: every record handed out has matched its checksum, records read in sequence have
matched the chain, and a file that cannot be read so is an error that names the first bad
record. Reading never changes the log; a log that is being written can be read meanwhile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np

from mainspring import state
from mainspring.errors import MainspringError
from mainspring.world.log._errors import LogCorruptError, LogFormatError
from mainspring.world.log._format import (
    GENESIS,
    HashChunk,
    InputGroup,
    Kind,
    LoggedOutcome,
    Record,
    Skip,
    check_identity,
    decode_hashes,
    decode_inputs,
    decode_list,
    follows,
    record_from_row,
    sqlite_errors,
)

__all__ = ["LogReader"]

_COLUMNS = "number, kind, first_ns, last_ns, count, prior, digest, link, codec, body"


class LogReader:
    """A log opened for reading. A context manager."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise LogFormatError(f"there is no log at {self.path}")
        with sqlite_errors(self.path):
            self._db = _connect(self.path)
        try:
            with sqlite_errors(self.path):
                check_identity(self._db, self.path)
                self.format_version: int = self._db.execute("PRAGMA user_version").fetchone()[0]
                self._check_head()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> LogReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    # ------------------------------------------------------------------ records

    def _check_head(self) -> None:
        """The last record is the one the head names: no newer ones are hidden by damage."""
        head = self._db.execute("SELECT number, link FROM head").fetchall()
        last = self._db.execute(
            "SELECT number, link FROM record ORDER BY number DESC LIMIT 1"
        ).fetchall()
        if len(head) != 1 or not last:
            raise LogCorruptError(f"{self.path} is damaged: it holds no records", record=0)
        if head != last:
            raise LogCorruptError(
                f"{self.path} is damaged: its last record should be {head[0][0]!r} "
                f"and is {last[0][0]!r}, or differs from it",
                record=last[0][0] if type(last[0][0]) is int else None,
            )
        self.head: tuple[int, bytes] = last[0]

    def archives(self) -> list[tuple[int, int, bytes, str]]:
        """The stretches moved into archives: first and last record, last link, file."""
        with sqlite_errors(self.path):
            rows = self._db.execute(
                "SELECT first, last, link, file FROM archive ORDER BY first"
            ).fetchall()
        for row in rows:
            if tuple(map(type, row)) != (int, int, bytes, str):
                raise LogCorruptError(f"{self.path} is damaged: {row!r} is no archived stretch")
        return rows

    def _select(self, where: str, *values: Any) -> Iterator[Record]:
        with sqlite_errors(self.path):
            cursor = self._db.execute(f"SELECT {_COLUMNS} FROM record {where}", values)
            for row in cursor:
                yield record_from_row(row, self.path)

    def record(self, number: int) -> Record:
        """One record, checked against the link before it."""
        for record in self._select("WHERE number = ?", number):
            self._check_link(record)
            return record
        raise LogCorruptError(f"{self.path}: record {number} is missing", record=number)

    def _check_link(self, record: Record) -> None:
        if not follows(record, self._start_of_chain(record.number)[1]):
            raise LogCorruptError(
                f"{self.path}: {record} does not continue the chain", record=record.number
            )

    def records(self, first: int = 0, last: int | None = None) -> Iterator[Record]:
        """Records `first` to `last` in order; numbers, checksums and the chain are checked."""
        end = self.head[0] if last is None else last
        expected, link = self._start_of_chain(first)
        for record in self._select("WHERE number >= ? AND number <= ? ORDER BY number", first, end):
            if record.number != expected:
                gap = self._archived_to(expected)
                if gap is None or gap[0] + 1 != record.number:
                    raise LogCorruptError(
                        f"{self.path}: record {expected} is missing", record=expected
                    )
                link = gap[1]
            if not follows(record, link):
                raise LogCorruptError(
                    f"{self.path}: {record} does not continue the chain", record=record.number
                )
            yield record
            expected, link = record.number + 1, record.link
        if expected != end + 1 and end >= first:
            raise LogCorruptError(f"{self.path}: record {expected} is missing", record=expected)

    def _start_of_chain(self, first: int) -> tuple[int, bytes]:
        if first == 0:
            return 0, GENESIS
        gap = self._archived_to(first)
        if gap is not None:
            return gap[0] + 1, gap[1]
        with sqlite_errors(self.path):
            rows = self._db.execute(
                "SELECT link FROM record WHERE number = ?", (first - 1,)
            ).fetchall()
            if rows:
                return first, rows[0][0]
            ends = [a for a in self.archives() if a[1] == first - 1]
        if not ends:
            raise LogCorruptError(f"{self.path}: record {first - 1} is missing", record=first - 1)
        return first, ends[-1][2]

    def _archived_to(self, number: int) -> tuple[int, bytes] | None:
        """The end of the archived stretch that begins at `number`: its last record and link."""
        found = None
        for first, last, link, _ in self.archives():
            if first == number or (found is not None and first == found[0] + 1):
                found = (last, link)
        return found

    # ------------------------------------------------------------------ contents

    def content(self, record: Record) -> Any:
        """What a record's body says. A body that dropped out is an error that says so."""
        if record.body is None:
            raise LogCorruptError(f"{self.path}: the content of {record} is gone")
        return self._decoded(record, state.decode)

    def _decoded(self, record: Record, decode: Any) -> Any:
        try:
            return decode(record.body)
        except (msgspec.DecodeError, ValueError, TypeError, KeyError, IndexError) as error:
            raise LogCorruptError(
                f"{self.path}: {record} cannot be decoded: {error}", record=record.number
            ) from error
        except (ImportError, AttributeError) as error:
            raise LogCorruptError(
                f"{self.path}: {record} holds a value of a type that is gone: {error}",
                record=record.number,
                hint="install or restore the code the run was recorded with",
            ) from error
        except MainspringError as error:
            raise LogCorruptError(
                f"{self.path}: {record}: {error}", record=record.number
            ) from error

    def of_kind(self, kind: Kind, from_ns: int | None = None) -> Iterator[Record]:
        """Records of one kind in order, from the first that reaches `from_ns` on.

        Each says which record of its kind came before it, so that none is missed even when the
        index that finds them is damaged."""
        # A record before the start of the run lies at a time below zero: the type's least.
        since = -(2**63) if from_ns is None else from_ns
        last: int | None = None
        for record in self._select(
            "WHERE kind = ? AND last_ns >= ? ORDER BY last_ns, number", int(kind), since
        ):
            if record.kind is not kind:
                raise LogCorruptError(f"{self.path}: the index names {record} as {kind.name}")
            self._check_link(record)
            self._check_prior(record.prior, last, kind, since)
            yield record
            last = record.number
        self._check_prior(self._tail(kind), last, kind, since)

    def _check_prior(self, prior: int, seen: int | None, kind: Kind, since: int) -> None:
        """What came before is what was seen, or lies before the time that was asked for."""
        if seen is not None:
            if prior != seen:
                raise LogCorruptError(f"{self.path}: the index misses record {prior}", record=prior)
        elif prior >= 0 and not self._is_archived(prior):
            before = self.record(prior)
            if before.kind is not kind or before.last_ns >= since:
                raise LogCorruptError(f"{self.path}: the index misses record {prior}", record=prior)

    def _is_archived(self, number: int) -> bool:
        return any(first <= number <= last for first, last, _, _ in self.archives())

    def _tail(self, kind: Kind) -> int:
        """The number of the last record of a kind; -1 when there is none."""
        with sqlite_errors(self.path):
            rows = self._db.execute(
                "SELECT number FROM tail WHERE kind = ?", (int(kind),)
            ).fetchall()
        number = rows[0][0] if rows else -1
        if type(number) is not int:
            raise LogCorruptError(f"{self.path} is damaged: {number!r} is no record")
        return number

    def inputs(self, from_ns: int | None = None, to_ns: int | None = None) -> Iterator[InputGroup]:
        """The groups of inputs at instants in [`from_ns`, `to_ns`), in order."""
        for record in self.of_kind(Kind.INPUTS, from_ns):
            if to_ns is not None and record.first_ns >= to_ns:
                return
            groups = self._decoded(record, decode_list)
            try:
                for group in decode_inputs(groups, from_ns):
                    if to_ns is not None and group.time_ns >= to_ns:
                        return
                    yield group
            except (ValueError, TypeError) as error:
                raise LogCorruptError(
                    f"{self.path}: {record} cannot be decoded: {error}", record=record.number
                ) from error

    def hashes(self, from_ns: int | None = None, to_ns: int | None = None) -> Iterator[HashChunk]:
        """Chunks of hashes that touch [`from_ns`, `to_ns`), in order."""
        for record in self.of_kind(Kind.HASHES, from_ns):
            if to_ns is not None and record.first_ns >= to_ns:
                return
            yield self._decoded(record, decode_hashes)

    def hash_at(self, time_ns: int) -> bytes | None:
        """The state's hash after the instant at `time_ns`, where the log has one."""
        for chunk in self.hashes(time_ns, time_ns + 1):
            where = np.flatnonzero(chunk.times_ns == time_ns)
            if len(where):
                return bytes(chunk.hashes[int(where[0])].tobytes())
        return None

    def _items(self, kind: Kind, from_ns: int | None, to_ns: int | None) -> Iterator[Any]:
        for record in self.of_kind(kind, from_ns):
            if to_ns is not None and record.first_ns >= to_ns:
                return
            yield from self._decoded(record, decode_list)

    def skips(self, from_ns: int | None = None, to_ns: int | None = None) -> Iterator[Skip]:
        """The stretches of simulation time that were left out, in order."""
        for item in self._items(Kind.SKIPS, from_ns, to_ns):
            if (from_ns is None or item[0] >= from_ns) and (to_ns is None or item[0] < to_ns):
                yield Skip(*item)

    def own(
        self, from_ns: int | None = None, to_ns: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """Inputs that the simulation put itself: (instant, sequence number), in order."""
        for time_ns, seq in self._items(Kind.OWN, from_ns, to_ns):
            if (from_ns is None or time_ns >= from_ns) and (to_ns is None or time_ns < to_ns):
                yield time_ns, seq

    def outcomes(
        self, from_ns: int | None = None, to_ns: int | None = None
    ) -> Iterator[LoggedOutcome]:
        """What became of inputs, in the order in which it was known."""
        for item in self._items(Kind.OUTCOMES, from_ns, to_ns):
            if (from_ns is None or item[0] >= from_ns) and (to_ns is None or item[0] < to_ns):
                yield LoggedOutcome(*item)

    def events(self) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """Errors and the like: what happened, when, and details."""
        return ((kind, at_ns, what) for kind, at_ns, what in self._items(Kind.EVENTS, None, None))

    def snapshot_before(self, time_ns: int) -> Record | None:
        """The latest snapshot whose instant lies before `time_ns` and whose state is kept."""
        with sqlite_errors(self.path):
            rows = self._db.execute(
                "SELECT number FROM record WHERE kind = ? AND last_ns >= ? "
                "ORDER BY last_ns, number LIMIT 1",
                (int(Kind.SNAPSHOT), time_ns),
            ).fetchall()
        # Back from the one after it, snapshot by snapshot: the index could have lost one.
        number = self._tail(Kind.SNAPSHOT)
        if rows:
            after = self.record(rows[0][0])
            if after.kind is not Kind.SNAPSHOT or after.last_ns < time_ns:
                raise LogCorruptError(f"{self.path}: the index is wrong about {after}")
            number = after.prior
        while number >= 0 and not self._is_archived(number):
            record = self.record(number)
            if record.kind is not Kind.SNAPSHOT:
                raise LogCorruptError(f"{self.path}: {record} should be a snapshot", record=number)
            if record.body is not None and record.last_ns < time_ns:
                return record
            number = record.prior
        return None

    def snapshot_times(self) -> list[int]:
        """The instants whose whole state is kept."""
        with sqlite_errors(self.path):
            rows = self._db.execute(
                "SELECT last_ns FROM record WHERE kind = ? AND body IS NOT NULL ORDER BY last_ns",
                (int(Kind.SNAPSHOT),),
            ).fetchall()
        return [row[0] for row in rows]

    def snapshot_sizes(self) -> list[tuple[int, int, int]]:
        """Number, instant and size of the snapshots whose state is kept."""
        with sqlite_errors(self.path):
            return self._db.execute(
                "SELECT number, last_ns, length(body) FROM record "
                "WHERE kind = ? AND body IS NOT NULL ORDER BY number",
                (int(Kind.SNAPSHOT),),
            ).fetchall()

    def last(self, kind: Kind) -> Record | None:
        """The newest record of a kind; None when there is none here."""
        number = self._tail(kind)
        if number < 0 or self._is_archived(number):
            # The index has a say as well: two damages would have to agree.
            for record in self._select("WHERE kind = ? LIMIT 1", int(kind)):
                raise LogCorruptError(f"{self.path} is damaged: {record} is not accounted for")
            return None
        record = self.record(number)
        if record.kind is not kind:
            raise LogCorruptError(f"{self.path}: {record} is not of the kind that it should be")
        return record

    def end_ns(self) -> int:
        """How far the run is known to have come: every instant before this time is in the log.

        The instant of the last logged inputs counts as well, for it was under way.
        """
        reached = -(2**63)
        for kind in (Kind.MARK, Kind.END):
            record = self.last(kind)
            if record is not None:
                reached = max(reached, record.last_ns)
        for kind in (Kind.INPUTS, Kind.SNAPSHOT, Kind.HASHES):
            record = self.last(kind)
            if record is not None:
                reached = max(reached, record.last_ns + 1)
        skip = self.last(Kind.SKIPS)
        return reached if skip is None else max(reached, skip.last_ns)


def _connect(path: Path) -> sqlite3.Connection:
    """Open for reading alone, a log that a crash left with its journal included."""
    error: sqlite3.Error | None = None
    # Recovery after a crash may need to write the journal's index, which `ro` cannot make.
    for mode in ("ro", "rw"):
        try:
            db = sqlite3.connect(
                f"file:{quote(str(path))}?mode={mode}",
                uri=True,
                timeout=5.0,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                db.execute("PRAGMA query_only = ON")
                db.execute("PRAGMA cell_size_check = ON")
                db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            except BaseException:  # a damaged schema may not even be text
                db.close()
                raise
        except sqlite3.OperationalError as failed:
            error = failed
        else:
            return db
    assert error is not None
    raise error
