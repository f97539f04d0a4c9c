"""`diff`: where two runs part, and what made them.

The promise: the report names the first instant at which the two logs differ, the callback,
skill, node or input in which it happened, the entity and field, what either side holds, and
the inputs around it. Found in three steps:

1. The logs alone: what was built, the inputs, and the first common hash that differs. That
   leaves the stretch between two hashes.
2. Both runs again, from the nearest snapshots, side by side: bisected down to one instant.
3. That instant step by step on both sides, the state encoded after every input and callback.

A run that does not come out as its own log says is not a function of its inputs. Then the
logs still say when, and in which part; what ran there is named as the cause, and where running
it again gives other values each time, the step that does so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mainspring.clock import format_ns
from mainspring.errors import MainspringError
from mainspring.state import encode
from mainspring.world.log._diff_report import (
    Cause,
    DiffReport,
    Divergence,
    InputDifference,
    Setting,
)
from mainspring.world.log._fields import FieldDifference, compare_states
from mainspring.world.log._format import InputGroup, Kind, LoggedInput
from mainspring.world.log._player import Player
from mainspring.world.log._reader import LogReader
from mainspring.world.log._replay import Build, build_scene, resumed_changes
from mainspring.world.log._states import Captured, capture, decode_snapshot, restore
from mainspring.world.log._trace import Step, steps_behind, trace_instant

__all__ = ["diff"]

#: Stretches shorter than this are walked instant by instant.
_WALK_NS = 250_000_000
#: How often a side that contradicts its own log is run again.
_TRIES = 3
_CONTEXT_GROUPS = 3


def diff(
    a: str | Path,
    b: str | Path,
    *,
    build_a: Build | None = None,
    build_b: Build | None = None,
) -> DiffReport:
    """Compare two logs; `build_a` and `build_b` make the scenes where the logs' recipes should not."""
    with LogReader(a) as left, LogReader(b) as right:
        return _Diff(left, right, build_a, build_b).run()


class _Side:
    """One of the two runs, to be run again."""

    def __init__(self, reader: LogReader, build: Build | None) -> None:
        self.reader = reader
        self.build = build
        self.scene, self.changes = build_scene(reader, build)
        self.changes += resumed_changes(reader)
        self.player = Player(self.scene, reader)

    def again(self) -> _Side:
        return _Side(self.reader, self.build)

    def restore(self, captured: Captured) -> None:
        restore(self.scene, captured, self.player._last_seq + 1)
        self.player.own_waiting = []
        self.player._seek()

    def to_after(self, time_ns: int) -> Captured:
        """The state after the instant at `time_ns`, from the nearest snapshot."""
        self.player.restore_before(time_ns + 1)
        if self.player.last_instant < time_ns:
            self.player.run_instant(time_ns)
        return capture(self.scene)

    def walk(self, until_ns: int) -> Iterator[tuple[int, Captured]]:
        """Instant by instant, with the state after each, up to and including `until_ns`."""
        while (at_ns := self.scene.time.next_instant) is not None and at_ns <= until_ns:
            self.player.run_instant(at_ns)
            yield at_ns, capture(self.scene)

    def trace(self, time_ns: int) -> list[Step]:
        """The steps of the instant at `time_ns`, which is the next one."""
        self.player.advance_to(time_ns)
        return trace_instant(self.scene, lambda: self.player.run_instant(time_ns))

    def close(self) -> None:
        self.player.release()
        self.scene.stop()


class _Stretch(msgspec.Struct):
    """What the logs alone say: the same after `same_ns`, different after `differs_ns`."""

    same_ns: int
    differs_ns: int
    parts: tuple[str, ...] = ()
    exact: bool = False


class _Diff:
    def __init__(
        self, left: LogReader, right: LogReader, build_a: Build | None, build_b: Build | None
    ) -> None:
        self.left, self.right = left, right
        self.builds = build_a, build_b
        self.header_a = left.content(left.record(0))
        self.header_b = right.content(right.record(0))
        self.notes: list[str] = []
        #: Where both have begun: after this instant there is something to compare.
        self.begin_ns = -1

    def run(self) -> DiffReport:
        common_ns = min(self.left.end_ns(), self.right.end_ns())
        divergence = self._at_the_beginning()
        inputs = self._first_input()
        if divergence is None:
            divergence = self._later(inputs)
        if divergence is None and self.left.end_ns() != self.right.end_ns():
            longer = "b" if self.right.end_ns() > self.left.end_ns() else "a"
            self.notes.append(f"{longer} goes on for longer")
        return DiffReport(
            str(self.left.path),
            str(self.right.path),
            divergence is None and (inputs is None or inputs.time_ns >= common_ns),
            common_ns,
            divergence,
            inputs,
            tuple(self._settings()),
            tuple(self.notes),
        )

    # ------------------------------------------------------------------ 1: the logs alone

    def _settings(self) -> Iterator[Setting]:
        for name in ("scene", "seed", "mode", "versions", "machine", "hash_every", "parent"):
            if self.header_a.get(name) != self.header_b.get(name):
                yield Setting(name, self.header_a.get(name), self.header_b.get(name))
        recipe_a, recipe_b = self.header_a["recipe"], self.header_b["recipe"]
        for name in recipe_a:
            if recipe_a[name] != recipe_b.get(name):
                yield Setting(f"recipe.{name}", recipe_a[name], recipe_b.get(name))

    def _first_snapshot(self, reader: LogReader) -> tuple[int, Captured] | None:
        record = next(reader.of_kind(Kind.SNAPSHOT), None)
        if record is None or record.body is None:
            return None
        return record.last_ns, reader._decoded(record, decode_snapshot).captured

    def _at_the_beginning(self) -> Divergence | None:
        """The scenes as they were built."""
        first_a, first_b = self._first_snapshot(self.left), self._first_snapshot(self.right)
        if first_a is None or first_b is None or first_a == first_b:
            return None
        self.begin_ns = max(first_a[0], first_b[0])
        if first_a[0] != first_b[0]:
            later = "b" if first_b[0] > first_a[0] else "a"
            self.notes.append(
                f"{later} begins after the instant at {format_ns(self.begin_ns)}; "
                "what comes then is compared"
            )
            return None
        try:
            scene = build_scene(self.left, self.builds[0])[0]
        except MainspringError as error:
            self.notes.append(f"a cannot be built: {error.message}")
            fields: tuple[FieldDifference, ...] = ()
        else:
            fields = compare_states(scene, first_a[1], first_b[1])
        parts = _odd_parts(first_a[1], first_b[1])
        cause = Cause("build", "the scene as it was built", parts=parts)
        return Divergence(first_a[0], first_a[0], True, True, cause, parts, fields)

    def _first_input(self) -> InputDifference | None:
        """The first instant whose inputs are not the same."""
        since = self.begin_ns + 1
        groups_a, groups_b = self.left.inputs(since), self.right.inputs(since)
        while True:
            a, b = next(groups_a, None), next(groups_b, None)
            if a is None and b is None:
                return None
            if a is not None and b is not None and _same_group(a, b):
                continue
            times = [group.time_ns for group in (a, b) if group is not None]
            at_ns = min(times)
            # A log that simply ends earlier does not differ in what it could not have.
            ends = min(self.left.end_ns(), self.right.end_ns())
            if at_ns >= ends:
                return None
            return InputDifference(
                at_ns,
                tuple(a.inputs) if a is not None and a.time_ns == at_ns else (),
                tuple(b.inputs) if b is not None and b.time_ns == at_ns else (),
            )

    def _stretch(self) -> _Stretch | None:
        """Between the last common hash that is the same and the first that is not."""
        a, b = _Hashes(self.left), _Hashes(self.right)
        common, in_a, in_b = np.intersect1d(
            a.times, b.times, assume_unique=True, return_indices=True
        )
        odd = np.flatnonzero(a.hashes[in_a] != b.hashes[in_b])
        first_odd = int(odd[0]) if len(odd) else None
        exact = _every_instant(self.left) and _every_instant(self.right)
        lone = _first_lone(a.times, b.times, self.begin_ns) if exact else None
        if first_odd is None and lone is None:
            return None
        differs_ns = int(common[first_odd]) if first_odd is not None else 2**63 - 1
        if lone is not None and lone < differs_ns:
            before = common[common < lone]
            same_ns = int(before[-1]) if len(before) else self.begin_ns
            return _Stretch(same_ns, lone, ("clock",), True)
        assert first_odd is not None
        same_ns = int(common[first_odd - 1]) if first_odd else self.begin_ns
        parts = a.odd_parts(int(in_a[first_odd]), b, int(in_b[first_odd]))
        return _Stretch(same_ns, differs_ns, parts, exact)

    # ------------------------------------------------------------------ 2: down to an instant

    def _later(self, inputs: InputDifference | None) -> Divergence | None:
        stretch = self._stretch()
        if stretch is None:
            return None
        try:
            a, b = _Side(self.left, self.builds[0]), _Side(self.right, self.builds[1])
        except MainspringError as error:
            self.notes.append(f"the runs cannot be run again: {error.message}")
            return self._from_the_logs(stretch)
        self.notes += [
            f"{side}: {change}" for side, s in (("a", a), ("b", b)) for change in s.changes
        ]
        try:
            return self._narrow(a, b, stretch, inputs)
        except MainspringError as error:
            self.notes.append(f"the runs cannot be run again: {error.message}")
            return self._from_the_logs(stretch)
        finally:
            a.close()
            b.close()

    def _narrow(
        self, a: _Side, b: _Side, stretch: _Stretch, inputs: InputDifference | None
    ) -> Divergence:
        start = stretch.same_ns
        state_a, state_b = a.to_after(start), b.to_after(start)
        if state_a != state_b and start == self.begin_ns >= 0:
            # They met here for the first time, and what parted them lies before.
            parts = _odd_parts(state_a, state_b)
            cause = Cause("build", "the state in which the later one begins", parts=parts)
            fields = compare_states(a.scene, state_a, state_b)
            return Divergence(start, -1, False, True, cause, parts, fields)
        if state_a != state_b:
            return self._contradicts(a, b, stretch)
        low, state, high = start, state_a, stretch.differs_ns
        while high - low > _WALK_NS:
            middle = (low + high) // 2
            for side in (a, b):
                side.restore(state)
                side.player.advance_to(middle + 1)
            at_a, at_b = capture(a.scene), capture(b.scene)
            if at_a == at_b:
                low, state = middle, at_a
            else:
                high = middle
        a.restore(state)
        b.restore(state)
        last = state
        for (time_a, after_a), (time_b, after_b) in zip(a.walk(high), b.walk(high), strict=False):
            if time_a != time_b or after_a != after_b:
                at_ns = min(time_a, time_b)
                if stretch.exact and at_ns < stretch.differs_ns and inputs is None:
                    break  # the logs say that this instant was the same in both runs
                return self._step(a, b, last, at_ns, stretch, inputs)
            last = after_a
        return self._contradicts(a, b, stretch)

    # ------------------------------------------------------------------ 3: down to a step

    def _step(
        self,
        a: _Side,
        b: _Side,
        before: Captured,
        at_ns: int,
        stretch: _Stretch,
        inputs: InputDifference | None,
    ) -> Divergence:
        a.restore(before)
        b.restore(before)
        steps_a, steps_b = a.trace(at_ns), b.trace(at_ns)
        found = _first_odd_step(steps_a, steps_b)
        if found is None:
            return self._contradicts(a, b, stretch)
        one, other, reordered = found
        if one.kind == "node" and not reordered:
            # The state shows it only when the graph's callback has returned: at the end.
            after_a, after_b = steps_a[-1].after, steps_b[-1].after
            output = FieldDifference(
                str(one.owner), None, f"{one.name}.output", one.value, other.value
            )
            fields = (output, *compare_states(a.scene, after_a, after_b))
        else:
            after_a, after_b = one.after, other.after
            ends = steps_a[-1].after, steps_b[-1].after
            if reordered and ends[0] != ends[1]:
                # After two steps that are not the same one, everything they do differs.
                after_a, after_b = ends
            fields = compare_states(a.scene, after_a, after_b)
        parts = _odd_parts(after_a, after_b)
        if inputs is not None and inputs.time_ns == at_ns and one.kind not in ("callback", "node"):
            cause = Cause(
                "input", f"inputs that differ ({_names(inputs)})", step_a=str(one), step_b=str(other),
                parts=parts,
            )  # fmt: skip
        elif reordered:
            cause = Cause(
                "order", f"{one} ran in a where {other} ran in b", step_a=str(one),
                step_b=str(other), parts=parts,
            )  # fmt: skip
        else:
            cause = Cause(
                one.kind, one.name, one.runner, one.phase, str(one), str(other), parts, one.seq
            )
        agree_a = self._agrees(a, at_ns, steps_a, stretch)
        if not (agree_a and self._agrees(b, at_ns, steps_b, stretch)):
            return self._contradicts(a, b, stretch)
        return Divergence(
            at_ns, stretch.same_ns, True, True, cause, parts, fields, *self._around(at_ns),
        )  # fmt: skip

    def _agrees(self, side: _Side, at_ns: int, steps: list[Step], stretch: _Stretch) -> bool:
        """Whether a side that was run again is the run its log has: by the hash at this instant,
        or else by the next one that is known to differ."""
        logged = side.reader.hash_at(at_ns)
        if logged is not None:
            return bool(logged == steps[-1].after.hashed()[0])
        logged = side.reader.hash_at(stretch.differs_ns)
        if logged is None:
            return True
        side.player.run_instant(stretch.differs_ns)
        return bool(logged == capture(side.scene).hashed()[0])

    # ------------------------------------------------------------------ when it does not repeat

    def _contradicts(self, a: _Side, b: _Side, stretch: _Stretch) -> Divergence:
        """A side does not come out as its own log says: find the step that varies, if one does."""
        self.notes.append(
            "running it again does not give what the log says: something there is no function of "
            "state and inputs (a clock, a global random generator, the order of a set, memory "
            "that was never written, a thread)"
        )
        varying = self._varying(a, stretch) or self._varying(b, stretch)
        if varying is None:
            return self._from_the_logs(stretch, a)
        at_ns, one, other, scene = varying
        if stretch.exact:
            at_ns = stretch.differs_ns
        fields = compare_states(scene, one.after, other.after)
        parts = stretch.parts or _odd_parts(one.after, other.after)
        cause = Cause(
            one.kind, one.name, one.runner, one.phase, str(one), str(other), parts, one.seq
        )
        return Divergence(
            at_ns, stretch.same_ns, stretch.exact, False, cause, parts, fields,
            *self._around(at_ns),
        )  # fmt: skip

    def _varying(self, side: _Side, stretch: _Stretch) -> tuple[int, Step, Step, Any] | None:
        """The first step that gives other values when the same instant is run again."""
        start = stretch.same_ns
        for _ in range(_TRIES):
            twin = side.again()
            try:
                state = side.to_after(start)
                twin.restore(state)
                side.restore(state)
                last = state
                pairs = zip(
                    side.walk(stretch.differs_ns), twin.walk(stretch.differs_ns), strict=False
                )
                for (at_ns, one), (_, other) in pairs:
                    if one != other:
                        side.restore(last)
                        twin.restore(last)
                        found = _first_odd_step(side.trace(at_ns), twin.trace(at_ns))
                        if found is not None:
                            return at_ns, found[0], found[1], side.scene
                        break
                    last = one
            finally:
                twin.close()
        return None

    def _from_the_logs(self, stretch: _Stretch, side: _Side | None = None) -> Divergence:
        """What the logs alone can say: the parts, and what belongs to them and ran there."""
        at_ns, parts = stretch.differs_ns, stretch.parts
        cause = Cause("unknown", ", ".join(parts) or "the scene", parts=parts)
        if side is not None:
            side.to_after(stretch.same_ns)
            side.player.advance_to(at_ns)
            steps = steps_behind(side.trace(at_ns), parts)
            if steps:
                one = steps[0]
                names = ", ".join(dict.fromkeys(step.name for step in steps))
                cause = Cause(
                    one.kind, names, one.runner, one.phase, str(one), str(one), parts, one.seq
                )
        return Divergence(
            at_ns, stretch.same_ns, stretch.exact, False, cause, parts, (), *self._around(at_ns)
        )

    def _around(self, at_ns: int) -> tuple[tuple[InputGroup, ...], tuple[InputGroup, ...]]:
        """The last few groups of inputs up to an instant, on either side."""
        return _last_groups(self.left, at_ns), _last_groups(self.right, at_ns)


class _Hashes:
    """All hashes of a log, in columns."""

    def __init__(self, reader: LogReader) -> None:
        chunks = list(reader.hashes())
        self.times = _joined([c.times_ns for c in chunks], np.dtype("<i8"))
        # As two integers each: comparing a million of them is one instruction a word.
        self.hashes = _joined([c.hashes.view("<c16") for c in chunks], np.dtype("<c16")).view("V16")
        self._chunks = chunks
        self._ends = np.cumsum([len(c.times_ns) for c in chunks])

    def part_row(self, index: int) -> dict[str, int]:
        chunk = int(np.searchsorted(self._ends, index, side="right"))
        row = index - (int(self._ends[chunk - 1]) if chunk else 0)
        found = self._chunks[chunk]
        return dict(zip(found.names, found.parts[row].tolist(), strict=True))

    def odd_parts(self, index: int, other: _Hashes, other_index: int) -> tuple[str, ...]:
        a, b = self.part_row(index), other.part_row(other_index)
        return tuple(n for n in [*a, *(m for m in b if m not in a)] if a.get(n) != b.get(n))


def _joined(columns: list[Any], dtype: np.dtype[Any]) -> Any:
    return np.concatenate(columns) if columns else np.empty(0, dtype)


def _every_instant(reader: LogReader) -> bool:
    """Whether the log has a hash for each of its instants, in all of its lives."""
    begun = reader.content(reader.record(0))
    resumed = (reader.content(record) for record in reader.of_kind(Kind.RESUMED))
    return all(life.get("hash_every") == "instant" for life in (begun, *resumed))


def _first_lone(times_a: Any, times_b: Any, begin_ns: int) -> int | None:
    """The first instant after `begin_ns` that only one of two logs with a hash an instant has."""
    times_a, times_b = times_a[times_a > begin_ns], times_b[times_b > begin_ns]
    if not len(times_a) or not len(times_b):
        return None
    end = min(int(times_a[-1]), int(times_b[-1]))
    lone = np.setxor1d(times_a[times_a <= end], times_b[times_b <= end], assume_unique=True)
    return int(lone[0]) if len(lone) else None


def _first_odd_step(steps_a: list[Step], steps_b: list[Step]) -> tuple[Step, Step, bool] | None:
    """The first steps that differ in what they are or in what they leave behind."""
    for one, other in zip(steps_a, steps_b, strict=False):
        if one.label != other.label:
            return one, other, True
        if not one.same_as(other):
            return one, other, False
    return None


def _odd_parts(a: Captured, b: Captured) -> tuple[str, ...]:
    names = [*a.parts, *(n for n in b.parts if n not in a.parts)]
    return tuple(n for n in names if a.parts.get(n) != b.parts.get(n))


def _same_group(a: InputGroup, b: InputGroup) -> bool:
    return a.time_ns == b.time_ns and list(map(_row, a.inputs)) == list(map(_row, b.inputs))


def _row(item: LoggedInput) -> bytes:
    """An input as bytes that are the same exactly when it is."""
    return encode([item.seq, item.kind, item.payload, item.source])


def _last_groups(reader: LogReader, at_ns: int) -> tuple[InputGroup, ...]:
    window_ns = 1_000_000_000
    while True:
        since = at_ns - window_ns
        groups = list(reader.inputs(since, at_ns + 1))
        if len(groups) >= _CONTEXT_GROUPS or since < 0:
            return tuple(groups[-_CONTEXT_GROUPS:])
        window_ns *= 8


def _names(inputs: InputDifference) -> str:
    """The inputs that one side has and the other has not; all of them when it is their order."""
    in_a, in_b = set(map(_row, inputs.a)), set(map(_row, inputs.b))
    everything = [*inputs.a, *inputs.b]
    odd = [item for item in everything if _row(item) in in_a ^ in_b] or everything
    # order: a, then b, as they came
    return ", ".join(dict.fromkeys(f"{item.kind} from {item.source or 'unnamed'}" for item in odd))
