"""`verify`: is this log whole?

The promise: a log that verifies holds what was written, record for record; one that does not
is described by its first bad record and whatever else could be found. Never an exception for
a damaged file: the report is the answer.

Checked, in this order: SQLite's own structure, the head against the last record, every
record's number, checksum and link, every body's content, and what the contents must agree on
(times that do not run backwards, input sequence numbers that do not repeat). Archives that
compaction made are followed where their files are found.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from mainspring.world.log._errors import LogCorruptError, LogError, LogFormatError
from mainspring.world.log._format import (
    Kind,
    Record,
    decode_hashes,
    decode_inputs,
    decode_list,
    sqlite_errors,
)
from mainspring.world.log._reader import LogReader

__all__ = ["Problem", "VerifyReport", "verify"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `record` is None when it lies in the file around the records."""

    record: int | None
    message: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` found."""

    path: Path
    problems: tuple[Problem, ...]
    records: int
    inputs: int
    hashes: int
    snapshots: int
    #: Records that live in archives: (file, first, last, checked).
    archives: tuple[tuple[str, int, int, bool], ...] = ()
    #: Why the run ended; None when it was cut off (a crash, a full disk) or still runs.
    end_reason: str | None = None
    end_ns: int | None = None
    warnings: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def first_bad(self) -> int | None:
        """The number of the first bad record."""
        numbers = [p.record for p in self.problems if p.record is not None]
        return min(numbers) if numbers else None

    def __str__(self) -> str:
        if self.ok:
            return (
                f"{self.path}: whole. {self.records} records, {self.inputs} inputs, "
                f"{self.hashes} hashes, {self.snapshots} snapshots"
            )
        opened = self.records > 0 or self.first_bad is not None
        state = "damaged" if opened else "cannot be read"
        return f"{self.path}: {state}\n" + "\n".join(f"  {p.message}" for p in self.problems)


def verify(path: str | Path) -> VerifyReport:
    """Check a log from end to end."""
    path = Path(path)
    if not path.exists():
        raise LogFormatError(f"there is no log at {path}")
    try:
        reader = LogReader(path)
    except LogError as error:
        return VerifyReport(path, (_problem(error),), 0, 0, 0, 0)
    with reader:
        return _Verification(reader).run()


def _problem(error: LogError) -> Problem:
    return Problem(error.record if isinstance(error, LogCorruptError) else None, error.message)


class _Verification:
    """One pass over one log."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self.counts = dict.fromkeys(("records", "inputs", "hashes", "snapshots"), 0)
        self.last_seq = 0
        self.times: dict[Kind, int] = {}

    def run(self) -> VerifyReport:
        end_reason, end_ns = None, None
        archives: list[tuple[str, int, int, bool]] = []
        try:
            self._check_structure()
            for record in self.reader.records():
                self._check_record(record)
            archives = self._check_archives()
            end = self.reader.last(Kind.END)
            if end is not None and end.number == self.reader.head[0]:
                end_reason = str(self.reader.content(end).get("reason"))
            end_ns = self.reader.end_ns()
        except LogError as error:
            self.problems.append(_problem(error))
        return VerifyReport(
            self.reader.path,
            tuple(self.problems),
            **self.counts,
            archives=tuple(archives),
            end_reason=end_reason,
            end_ns=end_ns,
            warnings=tuple(self.warnings),
        )

    def _check_structure(self) -> None:
        found: list[str] = []
        try:
            with sqlite_errors(self.reader.path):
                rows = self.reader._db.execute("PRAGMA integrity_check(20)").fetchall()
            found = [str(row[0]) for row in rows if row[0] != "ok"]
        except (LogError, sqlite3.Error) as error:
            found = [str(error)]
        # Kept until the records have spoken: they can name the first bad one, SQLite cannot.
        self.problems += [Problem(None, f"{self.reader.path}: SQLite reports {f}") for f in found]

    def _check_record(self, record: Record) -> None:
        self.counts["records"] += 1
        if (record.number == 0) != (record.kind is Kind.HEADER):
            self._bad(record, "the header must be record 0, and only that")
        if record.body is None:
            if record.kind is not Kind.SNAPSHOT:
                self._bad(record, "its content is gone; only snapshots may be dropped")
            return
        if record.kind is Kind.INPUTS:
            self._check_inputs(record)
        elif record.kind is Kind.HASHES:
            chunk = self.reader._decoded(record, decode_hashes)
            self.counts["hashes"] += len(chunk.times_ns)
            if not len(chunk.times_ns) == len(chunk.hashes) == len(chunk.parts) == record.count:
                self._bad(record, "its columns differ in length")
        elif record.kind in (Kind.OUTCOMES, Kind.SKIPS, Kind.EVENTS, Kind.OWN):
            if len(self.reader._decoded(record, decode_list)) != record.count:
                self._bad(record, "it holds another number of entries than it says")
        elif record.kind is Kind.SNAPSHOT:
            self.counts["snapshots"] += 1
        if record.first_ns > record.last_ns:
            self._bad(record, "it ends before it begins")
        self._check_time(record)

    def _check_inputs(self, record: Record) -> None:
        groups = self.reader._decoded(record, lambda body: list(decode_inputs(decode_list(body))))
        if len(groups) != record.count:
            self._bad(record, "it holds another number of instants than it says")
        for group in groups:
            for item in group.inputs:
                if item.seq <= self.last_seq:
                    self._bad(record, f"input {item.seq} follows input {self.last_seq}")
                self.last_seq = item.seq
            self.counts["inputs"] += len(group.inputs)

    def _check_time(self, record: Record) -> None:
        before = self.times.get(record.kind)
        if before is not None and record.first_ns < before:
            self._bad(record, f"time runs backwards, from {before} ns to {record.first_ns} ns")
        self.times[record.kind] = record.last_ns

    def _check_archives(self) -> list[tuple[str, int, int, bool]]:
        listed = []
        for first, last, _, file in self.reader.archives():
            where = self.reader.path.parent / file
            if not where.is_file():
                self.warnings.append(f"records {first} to {last} are in {file}, which is not here")
                listed.append((file, first, last, False))
                continue
            problem = _archive_problem(self.reader, first, last, where)
            if problem is not None:
                self.problems.append(problem)
            listed.append((file, first, last, problem is None))
        return listed

    def _bad(self, record: Record, what: str) -> None:
        self.problems.append(Problem(record.number, f"{self.reader.path}: {record}: {what}"))


def _archive_problem(reader: LogReader, first: int, last: int, where: Path) -> Problem | None:
    """Follow the chain from the main file into an archive and back."""
    try:
        with LogReader(where) as archive:
            link = b""
            for record in archive.records(first, last):
                link = record.link
    except LogError as error:
        return _problem(error)
    expected = next(a[2] for a in reader.archives() if a[0] == first)
    if link != expected:
        return Problem(last, f"{where} does not join the chain of {reader.path}")
    return None
