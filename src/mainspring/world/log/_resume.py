"""`resume`: a run that was cut off goes on as if nothing had happened.

The promise: the run continues at the first instant that was not durable, in the state every
durable input led to, with everything acknowledged in it and nothing that was not. The same
log is continued; its chain does not break.

It begins at the newest snapshot, plays what came after it, and compares every hash on the
way: a run whose code has changed in between is refused rather than continued wrongly. Where the
code is known to have changed it begins one snapshot earlier, so that there is something to
compare; changes that came out the same are noted in the log, and in `recorder.changes`.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mainspring import state
from mainspring.clock import Input
from mainspring.world.log._cadence import Cadence, Every, parse_every
from mainspring.world.log._claim import check_unclaimed
from mainspring.world.log._errors import LogError, RunRecordingError
from mainspring.world.log._format import Kind, Row
from mainspring.world.log._player import Player
from mainspring.world.log._reader import LogReader
from mainspring.world.log._recipe import machine, versions
from mainspring.world.log._recorder import RunRecorder, position_of
from mainspring.world.log._replay import Build, HashChecker, build_scene
from mainspring.world.log._retention import Kept, Retention
from mainspring.world.log._states import check_saveable
from mainspring.world.log._writer import Durability, LogWriter

__all__ = ["resume"]


def resume(
    path: str | Path,
    *,
    build: Build | None = None,
    durability: Durability | None = None,
    hash_every: Every | Literal["as before"] = "as before",
    snapshot_every: Every | Literal["as before"] = "as before",
    keep_snapshots_bytes: int | None = 256 * 2**20,
) -> RunRecorder:
    """Bring the run in the log at `path` back and go on recording it; `recorder.scene` is it.

    What is not given is as it was when the recording began, the time mode included."""
    path = Path(path)
    check_unclaimed(path)
    with LogReader(path) as reader:
        revived = _bring_back(reader, build)
    try:
        return _go_on(
            path, revived, durability, hash_every, snapshot_every, Retention(keep_snapshots_bytes)
        )
    except BaseException:
        revived.scene.stop()
        raise


def _go_on(
    path: Path,
    revived: _Revived,
    durability: Durability | None,
    hash_every: Every | Literal["as before"],
    snapshot_every: Every | Literal["as before"],
    retention: Retention,
) -> RunRecorder:
    """Record what was brought back, into the log it came from."""
    scene = revived.scene
    captured = check_saveable(scene)
    if hash_every == "as before":
        hash_every = parse_every(revived.header["hash_every"])
    if snapshot_every == "as before":
        snapshot_every = parse_every(revived.header["snapshot_every"])
    cadence = Cadence(hash_every, snapshot_every)
    position = position_of(scene)
    writer = LogWriter(
        path,
        durability=durability or revived.header["durability"],
        position_ns=position,
        tail=revived.tail,
    )
    writer.durable_seq, writer.durable_ns = revived.last_seq, position()
    retention.adopt(revived.snapshots)
    until_ns = revived.header.get("until_ns")
    recorder = RunRecorder(scene, writer, position, cadence, retention, until_ns)
    recorder.changes = tuple(revived.changes)
    last_ns = scene.time._kernel.last_instant
    note = {
        "at_ns": scene.time.now,
        "hash_every": str(hash_every),
        "snapshot_every": str(snapshot_every),
        "versions": versions(),
        "machine": machine(),
        "changes": revived.changes,
        "resumed": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    writer.put_row(Row(Kind.RESUMED, last_ns, last_ns, 1, state.encode(note, "note")))
    recorder._own.extend(revived.own)
    recorder._tape.seek(revived.last_seq)
    recorder._put_look(last_ns, captured, False, True)
    recorder._begin()
    return recorder


class _Revived(NamedTuple):
    """A scene where its log ends, and what the writer goes on from."""

    scene: Any
    own: list[Input]
    last_seq: int
    tail: tuple[int, bytes]
    snapshots: list[Kept]
    header: dict[str, Any]
    changes: list[str]


def _bring_back(reader: LogReader, build: Build | None) -> _Revived:
    snapshot = reader.snapshot_before(2**63 - 1)
    if snapshot is None:
        raise LogError(f"{reader.path} holds no snapshot to begin from")
    header = reader.content(reader.record(0))
    scene, changes = build_scene(reader, build, watchers=True)
    if changes:
        # With nothing to compare a change would show only when the run is replayed.
        snapshot = reader.snapshot_before(snapshot.last_ns) or snapshot
    checker = None
    player = Player(scene, reader)
    try:
        for _ in reader.records(snapshot.number):
            pass  # the chain, from the snapshot on
        player.restore(snapshot)
        checker = HashChecker(scene, reader, player.last_instant)
        player.advance_to(max(reader.end_ns(), scene.time.now))
        if checker.mismatch is not None:
            raise RunRecordingError(
                f"{reader.path} cannot be continued: {checker.mismatch.message}"
                + "".join(f"\n  {change}" for change in changes),
                hint="`mainspring bisect` says where it began; `mainspring open --fork` goes on "
                "with other code, as another run",
            )
        waiting = _waiting(reader, player)
    except BaseException:
        scene.stop()
        raise
    finally:
        if checker is not None:
            checker.detach()
        player.own_waiting, own = [], player.own_waiting
        player.release()
    scene.time.inbox.feed(waiting)
    scene.time.mode = header["mode"]
    kept = [Kept(*row) for row in reader.snapshot_sizes()]
    tail = (reader.head[0] + 1, reader.head[1])
    return _Revived(scene, own, player.last_seq, tail, kept, header, changes)


def _waiting(reader: LogReader, player: Player) -> list[Input]:
    """What was accepted and not yet drained when the run ended, in the order it came."""
    own = {item.seq: item for item in player.own_waiting}
    end = reader.last(Kind.END)
    if end is not None and end.number == reader.head[0]:
        for row in reader.content(end)["waiting"]:
            own.setdefault(row[0], Input(*row))
    return [own[seq] for seq in sorted(own)]
