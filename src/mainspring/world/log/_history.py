"""What happened in a run, entry by entry, in the order of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from mainspring.clock import Time, time_ns
from mainspring.world.log._errors import LogError
from mainspring.world.log._format import Kind, Record
from mainspring.world.log._reader import LogReader

__all__ = ["KINDS", "HistoryEntry", "history"]

#: What `history` can show.
KINDS = ("start", "input", "outcome", "skip", "error", "snapshot", "hash", "end", "resumed")
_DEFAULT = tuple(kind for kind in KINDS if kind != "hash")


class HistoryEntry(msgspec.Struct, frozen=True):
    """One thing that happened."""

    time_ns: int
    what: str
    seq: int | None = None
    name: str = ""
    """The kind of input, the skill, the callback, the reason."""
    source: str = ""
    detail: Any = None


def history(
    reader: LogReader,
    *,
    kinds: Collection[str] = _DEFAULT,
    start: Time | None = None,
    end: Time | None = None,
    source: str | None = None,
    name: str | None = None,
) -> Iterator[HistoryEntry]:
    """The entries of a log, filtered, in the order of time.

    `name` is a kind of input, a skill, a callback or a reason; an intent goes by its skill too."""
    for kind in kinds:
        if kind not in KINDS:
            raise LogError(f"there is no kind {kind!r}", hint=f"known: {', '.join(KINDS)}")
    since = None if start is None else time_ns(start)
    until = None if end is None else time_ns(end)
    streams: dict[str, Callable[[], Iterator[HistoryEntry]]] = {
        "start": lambda: _notes(reader, Kind.HEADER, "start"),
        "input": lambda: _inputs(reader, since, until),
        "outcome": lambda: _outcomes(reader, since, until),
        "skip": lambda: (
            HistoryEntry(skip.from_ns, "skip", detail={"to_ns": skip.to_ns})
            for skip in reader.skips(since, until)
        ),
        "error": lambda: (
            HistoryEntry(at_ns, what, name=str(details.get("callback")), detail=details["error"])
            for what, at_ns, details in reader.events()
        ),
        "snapshot": lambda: (HistoryEntry(max(t, 0), "snapshot") for t in reader.snapshot_times()),
        "hash": lambda: _hashes(reader, since, until),
        "end": lambda: _notes(reader, Kind.END, "end"),
        "resumed": lambda: _notes(reader, Kind.RESUMED, "resumed"),
    }
    # order: time, then the order of KINDS
    chosen = [streams[kind]() for kind in KINDS if kind in kinds]
    for entry in heapq.merge(*chosen, key=lambda entry: entry.time_ns):
        if since is not None and entry.time_ns < since:
            continue
        if until is not None and entry.time_ns >= until:
            continue
        if source is not None and entry.source != source:
            continue
        if name is not None and name not in (entry.name, _skill(entry)):
            continue
        yield entry


def _skill(entry: HistoryEntry) -> str | None:
    """The skill that an intent asks for."""
    asks = entry.what == "input" and entry.name == "intent" and isinstance(entry.detail, dict)
    return entry.detail.get("skill") if asks else None


def _inputs(reader: LogReader, since: int | None, until: int | None) -> Iterator[HistoryEntry]:
    for group in reader.inputs(since, until):
        for item in group.inputs:
            yield HistoryEntry(
                group.time_ns, "input", item.seq, item.kind, item.source, item.payload
            )


def _outcomes(reader: LogReader, since: int | None, until: int | None) -> Iterator[HistoryEntry]:
    for outcome in reader.outcomes(since, until):
        found = outcome.outcome if isinstance(outcome.outcome, dict) else {}
        yield HistoryEntry(
            outcome.time_ns,
            "outcome",
            outcome.seq,
            str(found.get("skill", "")),
            str(found.get("actor", "")),
            outcome.outcome,
        )


def _hashes(reader: LogReader, since: int | None, until: int | None) -> Iterator[HistoryEntry]:
    for chunk in reader.hashes(since, until):
        for at_ns, digest in zip(chunk.times_ns.tolist(), chunk.hashes, strict=True):
            yield HistoryEntry(at_ns, "hash", detail=digest.tobytes().hex())


def _notes(reader: LogReader, kind: Kind, what: str) -> Iterator[HistoryEntry]:
    for record in reader.of_kind(kind):
        content = reader.content(record)
        # A run ends, and goes on, between two instants: later than the last one.
        at_ns = max(content.get("at_ns", record.last_ns), 0)
        yield HistoryEntry(at_ns, what, name=_name(kind, content), detail=_plain(record, content))


def _name(kind: Kind, content: dict[str, Any]) -> str:
    if kind is Kind.HEADER:
        return str(content["scene"])
    return str(content["reason"]) if kind is Kind.END else ""


def _plain(record: Record, content: dict[str, Any]) -> dict[str, Any]:
    if record.kind is Kind.HEADER:
        return {key: content[key] for key in ("run", "seed", "started", "mode", "durability")}
    if record.kind is Kind.END:
        return {
            "error": content["error"],
            "instants": content["instants"],
            "ended": content["ended"],
        }
    return {"resumed": content["resumed"], "changes": content.get("changes") or None}
