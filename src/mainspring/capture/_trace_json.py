"""A trace as the JSON that ui.perfetto.dev and chrome://tracing open.

Two processes: `wall time`, where frames, instants, phases and callbacks nest as they ran, and
`sim time`, a track for each runner, where every step lies at its sim time and is as long as
the step. Times there are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from mainspring.capture._trace import Span, Trace

__all__ = ["trace_json"]

_WALL, _SIM = 1, 2
_MAIN = 1


def trace_json(trace: Trace) -> bytes:
    """The whole document."""
    document = {
        "displayTimeUnit": "ns",
        "otherData": {
            "scene": trace.name,
            "instants": str(len(trace.instants)),
            "late": str(len(trace.late())),
            "dropped": str(trace.dropped),
        },
        "traceEvents": list(_events(trace)),
    }
    return msgspec.json.encode(document)


def _events(trace: Trace) -> Iterator[dict[str, Any]]:
    yield _named("process_name", _WALL, 0, f"wall time: {trace.name}")
    yield _named("thread_name", _WALL, _MAIN, "main")
    yield from _wall(trace)
    yield _named("process_name", _SIM, 0, "sim time")
    yield from _sim(trace)


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _slice(
    name: str, category: str, begin_ns: int, end_ns: int, **arguments: Any
) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": _WALL,
        "tid": _MAIN,
        "ts": begin_ns / 1000,
        "dur": (end_ns - begin_ns) / 1000,
        "args": arguments,
    }


def _mark(name: str, category: str, at_ns: int, **arguments: Any) -> dict[str, Any]:
    return {
        "ph": "i",
        "s": "t",
        "name": name,
        "cat": category,
        "pid": _WALL,
        "tid": _MAIN,
        "ts": at_ns / 1000,
        "args": arguments,
    }


def _wall(trace: Trace) -> Iterator[dict[str, Any]]:
    for frame in trace.frames:
        yield _slice(
            f"frame {frame.number}",
            "frame",
            frame.begin_ns,
            frame.end_ns,
            instants=frame.instants,
            forgiven_ns=frame.forgiven_ns,
            skipped_ns=frame.skipped_ns,
        )
    late = {id(one): by for one, by in trace.late()}
    for index, one in enumerate(trace.instants):
        by = late.get(id(one), 0)
        yield _slice(
            f"instant {one.sim_ns / 1e9:.9f} s",
            "instant",
            one.begin_ns,
            one.end_ns,
            sim_ns=one.sim_ns,
            late_ns=by,
        )
        if by:
            yield _mark(f"late by {by / 1e6:.3f} ms", "late", one.begin_ns, sim_ns=one.sim_ns)
        yield from _phases(trace.spans_of(index))
        if trace.paced:
            yield {
                "ph": "C",
                "name": "late (ms)",
                "pid": _WALL,
                "tid": _MAIN,
                "ts": one.begin_ns / 1000,
                "args": {"late": one.late_ns / 1e6},
            }
    for span in trace.spans:
        if span.kind == "free update":
            yield _slice(span.name, "free update", span.begin_ns, span.end_ns)
    for at_ns, from_ns, to_ns in trace.skips:
        yield _mark("skipped", "skip", at_ns, from_ns=from_ns, to_ns=to_ns)
    for at_ns, text in trace.errors:
        yield _mark("error", "error", at_ns, message=text)


def _phases(spans: list[Span]) -> Iterator[dict[str, Any]]:
    """Each phase around its callbacks. order: a phase's callbacks follow one another."""
    begin = 0
    for end in range(1, len(spans) + 1):
        if end < len(spans) and spans[end].kind == spans[begin].kind:
            continue
        inside = spans[begin:end]
        yield _slice(inside[0].kind, "phase", inside[0].begin_ns, inside[-1].end_ns)
        for span in inside:
            yield _slice(
                span.name,
                "callback",
                span.begin_ns,
                span.end_ns,
                runner=span.runner,
                sim_ns=span.sim_ns,
            )
        begin = end


def _sim(trace: Trace) -> Iterator[dict[str, Any]]:
    steps: dict[str, dict[int, int]] = {}
    for span in trace.spans:
        if span.runner:
            taken = steps.setdefault(span.runner, {})
            taken[span.sim_ns] = taken.get(span.sim_ns, 0) + span.end_ns - span.begin_ns
    for thread, (runner, taken) in enumerate(steps.items(), start=1):
        yield _named("thread_name", _SIM, thread, runner)
        times = list(taken)
        for position, sim_ns in enumerate(times):
            after = times[position + 1] if position + 1 < len(times) else trace.sim_end_ns
            yield {
                "ph": "X",
                "name": runner,
                "cat": "step",
                "pid": _SIM,
                "tid": thread,
                "ts": sim_ns / 1000,
                "dur": max(after - sim_ns, 0) / 1000,
                "args": {"sim_ns": sim_ns, "wall_ns": taken[sim_ns]},
            }
