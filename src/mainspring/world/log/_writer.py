"""The writing end of a run log: a queue in front, a thread with group commit behind.

The promise: what `durable_seq` covers is on the disk (`fsync` returned), in order and without
gaps; nothing beyond it is ever acknowledged; and the simulation waits for the disk only in
`durability="instant"`.

The simulation thread appends events to a list, which costs a tuple and no lock. The writer
takes everything that has gathered, makes at most a handful of rows of it and commits them
with one statement, so that it holds the interpreter a few microseconds a commit. While the
disk works, the next group gathers: that is the whole of group commit.

How far the run had come is read *before* the events are taken. Every instant before that time
is over, so its events are among those taken; the log therefore never claims an instant whose
inputs it does not hold.

A commit that fails ends the log: `failure` is set, waiters are told, nothing more is written.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mainspring import state
from mainspring._kernel.log import Tape
from mainspring.clock import format_ns
from mainspring.world.log._claim import Claim
from mainspring.world.log._errors import LogWriteError, RunRecordingError
from mainspring.world.log._format import (
    GENESIS,
    Kind,
    Row,
    body_digest,
    check_identity,
    create_schema,
    encode_hashes,
    join_list,
    next_link,
)

__all__ = ["Durability", "LogWriter"]

Durability: TypeAlias = Literal["instant", "group", "none"]

_SYNCHRONOUS = {"instant": "FULL", "group": "FULL", "none": "OFF"}

# A group waits this long for company unless somebody waits for it. It bounds how often the
# disk is asked to sync, and how often the writer interrupts the simulation.
GROUP_INTERVAL_S = 0.05
# With nothing to write, how far the run has come is still noted this often.
HEARTBEAT_S = 1.0
# Hashes are for later comparison, nobody waits for them: they gather into longer chunks.
HASH_CHUNK = 4096
HASH_HOLD_S = 1.0
# Larger than SQLite's own choice: a commit is a few large chunks, and costs by the page.
PAGE_SIZE = 8192
# More than this waiting for the disk, and the simulation waits too: memory is bounded.
QUEUE_MAX = 200_000
TAPE_MAX_BYTES = 64 * 2**20

# A damaged schema makes SQLite's own messages undecodable.
_DISK_ERRORS = (sqlite3.Error, UnicodeDecodeError)

# The queue's entries: (event, time_ns, ...).
_INPUTS, _HASH, _ROW, _OUTCOME, _SKIP, _OWN, _EVENT, _CHUNK = range(8)

_CHUNKS = {
    _INPUTS: Kind.INPUTS,
    _OWN: Kind.OWN,
    _OUTCOME: Kind.OUTCOMES,
    _SKIP: Kind.SKIPS,
    _EVENT: Kind.EVENTS,
}

_REACHING = frozenset({Kind.INPUTS, Kind.SNAPSHOT, Kind.HASHES, Kind.END})


class LogWriter:
    """Appends to one log file. One thread calls the `put_*` methods; any thread may wait."""

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability,
        position_ns: Callable[[], int],
        initial: Sequence[Row] = (),
        tail: tuple[int, bytes] = (0, GENESIS),
        page_size: int = PAGE_SIZE,
    ) -> None:
        if durability not in _SYNCHRONOUS:
            raise RunRecordingError(
                f"there is no durability {durability!r}",
                hint='use "instant", "group" or "none"',
            )
        self.path = path
        self.durability: Durability = durability
        #: The highest sequence number of an input that is durable; 0 before the first.
        self.durable_seq = 0
        #: Every instant before this time is durable.
        self.durable_ns = -1
        self.failure: LogWriteError | None = None
        #: Called once, on the thread that noticed, when the log cannot be written any more.
        self.on_failure: Callable[[], None] | None = None
        #: Called after each commit, with the connection, the first number and the rows.
        self.after_commit: Callable[[sqlite3.Connection, int, list[Row]], None] | None = None
        self._position_ns = position_ns
        self._next_number, self._link = tail
        self._priors: dict[int, int] = {}
        #: Where a recording's inputs gather; None for those who use `put_inputs`.
        self.tape: Tape | None = None
        self._events: list[Any] = []
        self.append: Callable[[tuple[Any, ...]], None] = self._events.append
        self._names: tuple[str, ...] = ()
        self._held = _HeldHashes()
        self._commit_lock = threading.Lock()
        self._durable = threading.Condition()
        self._callbacks: list[tuple[int, Callable[[], None]]] = []
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._idle = False
        self._closing = False
        self._thread: threading.Thread | None = None
        self._db = self._connect(initial, page_size)

    # ------------------------------------------------------------------ opening

    def _connect(self, initial: Sequence[Row], page_size: int) -> sqlite3.Connection:
        """A new log with its `initial` records, or an existing one to be continued at its tail."""
        if initial and self.path.exists() and self.path.stat().st_size > 0:
            raise RunRecordingError(
                f"{self.path} exists already, and a log is never overwritten",
                hint="choose another name, or continue it with `mainspring resume`",
            )
        db = None
        try:
            db = sqlite3.connect(
                self.path, timeout=5.0, isolation_level=None, check_same_thread=False
            )
            self._db = db
            if initial:
                db.execute(f"PRAGMA page_size = {page_size}")
            (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise LogWriteError(
                    f"{self.path} cannot be written: this file system has no room for shared memory",
                    hint="record onto a local disk",
                )
            db.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[self.durability]}")
            if initial:
                self._create(db, initial)
            else:
                check_identity(db, self.path)
                self._priors = dict(db.execute("SELECT kind, number FROM tail"))
            self._claim = Claim(self.path)
        except _DISK_ERRORS as error:
            if db is not None:
                db.close()
            raise LogWriteError(
                f"{self.path} cannot be {'created' if initial else 'continued'}: {error}",
                hint=_remedy(error),
            ) from error
        except BaseException:
            if db is not None:
                db.close()
            raise
        return db

    def _create(self, db: sqlite3.Connection, initial: Sequence[Row]) -> None:
        # One transaction: a file without a header and a beginning is no log at all.
        db.execute("BEGIN IMMEDIATE")
        create_schema(db)
        self._insert(initial)
        db.execute("COMMIT")
        _sync_folder(self.path)

    def start(self) -> None:
        """Start the writer thread. Until then, and in "instant", commits happen in `flush`."""
        if self.durability == "instant" or self._thread is not None:
            return
        self._thread = threading.Thread(
            target=self._loop, name=f"mainspring-log {self.path.name}", daemon=True
        )
        self._thread.start()
        # A run that ends without close() still gets its last group onto the disk.
        atexit.register(_close_at_exit, weakref.ref(self))

    # ------------------------------------------------------------------ the simulation's side

    def put_inputs(self, time_ns: int, last_seq: int, encoded: bytes) -> None:
        """One instant's inputs, encoded by `encode_input_group`."""
        self.append((_INPUTS, time_ns, last_seq, encoded))
        if self._idle:
            self._wake.set()

    def nudge(self) -> None:
        """The tape has inputs again, or far too many."""
        if self.tape is not None and self.tape.waiting_bytes > TAPE_MAX_BYTES:
            self.flush()
        elif self._idle:
            self._wake.set()

    def _cut_tape(self) -> None:
        """What is on the tape so far comes before what is put next."""
        taken = None if self.tape is None else self.tape.take()
        if taken is not None:
            self.append((_CHUNK, *taken))

    def put_hash(self, time_ns: int, digest: bytes, parts: bytes) -> None:
        """The state's hash after an instant, and those of its parts (see `put_hash_names`)."""
        self.append((_HASH, time_ns, digest, parts))

    def put_hash_names(self, names: Sequence[str]) -> None:
        """What the parts in the hashes from here on are called."""
        self.append((_HASH, None, tuple(names), b""))

    def put_outcome(self, time_ns: int, encoded: bytes) -> None:
        """What became of an input."""
        self.append((_OUTCOME, time_ns, encoded))

    def put_skip(self, from_ns: int, to_ns: int, encoded: bytes) -> None:
        """Simulation time that a run in game mode left out."""
        self.append((_SKIP, from_ns, to_ns, encoded))
        if self._idle:
            self._wake.set()

    def put_own(self, time_ns: int, seq: int) -> None:
        """A sequence number that an input from inside the simulation was given."""
        self.append((_OWN, time_ns, state.encode([time_ns, seq], "own input")))

    def put_event(self, time_ns: int, encoded: bytes) -> None:
        """Something worth knowing that a replay does not need, such as an error."""
        self.append((_EVENT, time_ns, encoded))

    def put_row(self, row: Row) -> None:
        """A record of its own: a snapshot, an end."""
        self._cut_tape()
        self.append((_ROW, row.first_ns, row))
        if self._idle:
            self._wake.set()

    def throttle(self) -> None:
        """Wait while more is queued than memory should hold, and raise when the log has failed."""
        if self.failure is not None:
            raise self.failure
        if len(self._events) > QUEUE_MAX:
            self.flush()

    # ------------------------------------------------------------------ waiting

    def flush(self) -> None:
        """Commit, on this thread, everything that was put before the call."""
        with self._commit_lock:
            self._commit(everything=True)
        if self.failure is not None:
            raise self.failure

    def wait_durable(self, seq: int, timeout_s: float | None = None) -> bool:
        """Wait until the input `seq` is durable. False after `timeout_s` seconds."""
        with self._durable:
            self._hurry.set()
            self._wake.set()
            settled = self._durable.wait_for(
                lambda: self.durable_seq >= seq or self.failure is not None or self._closing,
                timeout_s,
            )
            if self.durable_seq >= seq:
                return True
            if settled and self.failure is not None:
                raise self.failure
            if settled:
                raise LogWriteError(f"{self.path} was closed before input {seq} was drained")
            return False

    def when_durable(self, seq: int, callback: Callable[[], None]) -> None:
        """Call `callback` once the input `seq` is durable: at once, or from the writer thread."""
        with self._durable:
            if self.durable_seq < seq:
                self._callbacks.append((seq, callback))
                self._hurry.set()
                return
        callback()

    # ------------------------------------------------------------------ the writer's side

    def _loop(self) -> None:
        while not self._closing and self.failure is None:
            self._idle = True
            if not self._events and (self.tape is None or not self.tape.waiting_bytes):
                self._wake.wait(HEARTBEAT_S)
            self._idle = False
            self._wake.clear()
            with self._commit_lock:
                if not self._closing:
                    self._commit(everything=False)
            self._hurry.wait(GROUP_INTERVAL_S)
            self._hurry.clear()

    def _commit(self, *, everything: bool) -> None:
        if self.failure is not None:
            return
        position_ns = self._position_ns()  # before the events are taken: see the module's promise
        events = self._events
        taken = len(events)
        batch = events[:taken]
        # After the events: what is on the tape now came later than they did, or beside them.
        tape = None if self.tape is None else self.tape.take()
        if tape is not None:
            batch.append((_CHUNK, *tape))
        rows, last_seq = self._rows(batch, everything)
        if position_ns > self.durable_ns and self._needs_mark(rows, position_ns):
            rows.insert(0, Row(Kind.MARK, position_ns, position_ns, 1, b""))
        if rows:
            try:
                first = self._next_number
                self._insert(rows)
                if self.after_commit is not None:
                    self.after_commit(self._db, first, rows)
            except _DISK_ERRORS as error:
                self._fail(error)
                return
        del events[:taken]
        self._settle(last_seq, position_ns if rows else self.durable_ns)

    @staticmethod
    def _needs_mark(rows: list[Row], position_ns: int) -> bool:
        # What was drained or looked at in an instant says as much as a mark after it would.
        return not any(row.kind in _REACHING and row.last_ns + 1 >= position_ns for row in rows)

    def _rows(self, batch: list[Any], everything: bool) -> tuple[list[Row], int]:
        # A record of its own divides: chunks before it hold what came before it, so that a log
        # can be cut there. order: chunks by kind as in _CHUNKS, then hashes, then the record
        rows: list[Row] = []
        chunks: dict[int, list[Any]] = {}
        last_seq = 0
        for event in batch:
            code = event[0]
            if code == _HASH:
                self._held.add(event, rows)
            elif code == _CHUNK:
                _, first_ns, last_ns, count, last_seq, body = event
                rows.append(Row(Kind.INPUTS, first_ns, last_ns, count, body))
            elif code == _ROW:
                self._close_chunks(chunks, rows, everything=True)
                chunks = {}
                rows.append(event[2])
            else:
                chunks.setdefault(code, []).append(event)
                if code == _INPUTS:
                    last_seq = event[2]
        self._close_chunks(chunks, rows, everything)
        return rows, last_seq

    def _close_chunks(
        self, chunks: dict[int, list[Any]], rows: list[Row], everything: bool
    ) -> None:
        for code, kind in _CHUNKS.items():
            events = chunks.get(code)
            if events is not None:
                first_ns, last = events[0][1], events[-1]
                last_ns = last[2] if code == _SKIP else last[1]
                body = join_list([event[-1] for event in events], len(events))
                rows.append(Row(kind, first_ns, last_ns, len(events), body))
        if self._held.due(everything):
            rows.append(self._held.take())

    def _insert(self, rows: Sequence[Row]) -> None:
        number, link, priors = self._next_number, self._link, dict(self._priors)
        values: list[Any] = []
        for row in rows:
            digest = body_digest(row.body)
            kind = int(row.kind)
            prior = priors.get(kind, -1)
            link = next_link(
                link, number, kind, row.first_ns, row.last_ns, row.count, prior, digest
            )
            values += (
                number, kind, row.first_ns, row.last_ns, row.count, prior, digest, link, 0, row.body,
            )  # fmt: skip
            priors[kind] = number
            number += 1
        marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * len(rows))
        # One statement is one transaction: begun, written, synced without the interpreter.
        self._db.execute(f"INSERT INTO record VALUES {marks}", values)
        self._next_number, self._link, self._priors = number, link, priors

    def _settle(self, last_seq: int, position_ns: int) -> None:
        with self._durable:
            self.durable_seq = max(self.durable_seq, last_seq)
            self.durable_ns = max(self.durable_ns, position_ns)
            ready = [call for seq, call in self._callbacks if seq <= self.durable_seq]
            if ready:
                self._callbacks = [c for c in self._callbacks if c[0] > self.durable_seq]
            self._durable.notify_all()
        for call in ready:
            call()

    def _fail(self, error: Exception) -> None:
        reason = str(error)
        if isinstance(error, sqlite3.IntegrityError):
            reason = "another process is writing to it"
        holds = f"every instant before {format_ns(self.durable_ns)}"
        with self._durable:
            self.failure = LogWriteError(
                f"{self.path} cannot be written any more: {reason}; "
                f"it holds {holds if self.durable_ns >= 0 else 'what it held before'}",
                hint=_remedy(error),
            )
            self._durable.notify_all()
        if self.on_failure is not None:
            self.on_failure()

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Write what is left and let go of the file. Raises when the log has failed."""
        if self._closing:
            return
        thread, self._thread = self._thread, None
        with self._commit_lock:
            self._commit(everything=True)
            self._closing = True
        self._wake.set()
        self._hurry.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        with self._durable:
            self._durable.notify_all()
        try:
            if self.failure is None:
                # A finished log is one file that also opens from a read-only folder.
                self._db.execute("PRAGMA busy_timeout = 50")
                self._db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error:
            pass  # somebody reads it right now; the next one to close it tidies up
        finally:
            self._db.close()
            self._claim.release()
        if self.failure is not None:
            raise self.failure


def _remedy(error: Exception) -> str:
    """What helps against an error of the disk or of the file."""
    name = getattr(error, "sqlite_errorname", "")
    if isinstance(error, sqlite3.IntegrityError):
        return "one run writes to a log at a time"
    if isinstance(error, UnicodeDecodeError) or name.startswith(("SQLITE_CORRUPT", "SQLITE_ERROR")):
        return "`mainspring verify` says what is damaged"
    if name.startswith("SQLITE_FULL"):
        return "free some space and continue with `mainspring resume`"
    return "see that disk and file can be written, and continue with `mainspring resume`"


class _HeldHashes:
    """Hashes on their way into a chunk."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._times: list[int] = []
        self._hashes: list[bytes] = []
        self._parts: list[bytes] = []
        self._since_s = 0.0

    def add(self, event: tuple[Any, ...], rows: list[Row]) -> None:
        _, time_ns, digest, parts = event
        if time_ns is None:
            if self._times:
                rows.append(self.take())
            self._names = digest
            return
        if not self._times:
            self._since_s = time.monotonic()
        self._times.append(time_ns)
        self._hashes.append(digest)
        self._parts.append(parts)

    def due(self, everything: bool) -> bool:
        if not self._times:
            return False
        return (
            everything
            or len(self._times) >= HASH_CHUNK
            or time.monotonic() - self._since_s >= HASH_HOLD_S
        )

    def take(self) -> Row:
        body = encode_hashes(self._times, self._hashes, self._names, self._parts)
        row = Row(Kind.HASHES, self._times[0], self._times[-1], len(self._times), body)
        self._times, self._hashes, self._parts = [], [], []
        return row


def _sync_folder(path: Path) -> None:
    # A new file survives a power cut only when its folder's entry does.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _close_at_exit(writer: weakref.ref[LogWriter]) -> None:
    live = writer()
    if live is not None and not live._closing and live.failure is None:
        live.close()
