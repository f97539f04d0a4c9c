"""`diff`: where two runs part, and what made them.

The promise: the report names the first instant at which the two logs differ, the callback,
skill, node or input in which it happened, the entity and field, what either side holds, and
the inputs around it. Found in three steps:

1. The logs alone: what was built, the inputs, and the first common hash that differs. That
   leaves the stretch between two hashes.
2. Both runs again, from the nearest snapshots, side by side: bisected down to one instant. Also
   what lies after the last common hash, which the logs alone say nothing about.
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
from mainspring.world.log._diff_hashes import Hashes, every_instant, first_lone
from mainspring.world.log._diff_report import (
    Cause,
    DiffReport,
    Divergence,
    InputDifference,
    Setting,
)
from mainspring.world.log._diff_sides import Side
from mainspring.world.log._fields import FieldDifference, compare_states
from mainspring.world.log._format import InputGroup, Kind, LoggedInput
from mainspring.world.log._reader import LogReader
from mainspring.world.log._replay import Build, build_scene
from mainspring.world.log._states import Captured, capture, decode_snapshot
from mainspring.world.log._trace import Step, steps_behind

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
        #: How far both go, and can be compared.
        self.common_ns = min(left.end_ns(), right.end_ns())
        #: The last instant with a hash in both logs, when all of them agree.
        self.agreed_ns = -1

    def run(self) -> DiffReport:
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
            divergence is None and (inputs is None or inputs.time_ns >= self.common_ns),
            self.common_ns,
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
        a, b = Hashes(self.left), Hashes(self.right)
        common, in_a, in_b = np.intersect1d(
            a.times, b.times, assume_unique=True, return_indices=True
        )
        odd = np.flatnonzero(a.hashes[in_a] != b.hashes[in_b])
        first_odd = int(odd[0]) if len(odd) else None
        exact = every_instant(self.left) and every_instant(self.right)
        lone = first_lone(a.times, b.times, self.begin_ns) if exact else None
        if first_odd is None and lone is None:
            self.agreed_ns = int(common[-1]) if len(common) else self.begin_ns
            if exact:
                self.agreed_ns = self.common_ns
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
        if stretch is None and self._all_compared():
            return None
        try:
            a, b = Side(self.left, self.builds[0]), Side(self.right, self.builds[1])
        except MainspringError as error:
            return self._without_running(stretch, error)
        self.notes += [
            f"{side}: {change}" for side, s in (("a", a), ("b", b)) for change in s.changes
        ]
        try:
            if stretch is None:
                return self._rest(a, b, inputs)
            return self._narrow(a, b, stretch, inputs)
        except MainspringError as error:
            return self._without_running(stretch, error)
        finally:
            a.close()
            b.close()

    def _without_running(
        self, stretch: _Stretch | None, error: MainspringError
    ) -> Divergence | None:
        self.notes.append(f"the runs cannot be run again: {error.message}")
        if stretch is not None:
            return self._from_the_logs(stretch)
        self._no_further("they have no hash in common after it")
        return None

    def _no_further(self, why: str) -> None:
        """What comes after the last common hash stays uncompared."""
        self.common_ns = max(self.agreed_ns, 0)
        self.notes.append(
            f"nothing is known of what comes after {format_ns(self.common_ns)}: {why}"
        )

    def _all_compared(self) -> bool:
        """Whether the shorter run has no instant after the last common hash."""
        if self.agreed_ns >= self.common_ns - 1:
            return True
        for reader in (self.left, self.right):
            end, last = reader.last(Kind.END), reader.last(Kind.SNAPSHOT)
            if end is None or end.number != reader.head[0] or last is None:
                continue  # only a run that ended well noted its state after its last instant
            if reader.end_ns() == self.common_ns and last.last_ns <= self.agreed_ns:
                return True
        return False

    def _rest(self, a: Side, b: Side, inputs: InputDifference | None) -> Divergence | None:
        """What lies in both runs after their last common hash: run again, and compared."""
        start = self.agreed_ns
        stretch = _Stretch(start, self.common_ns - 1)
        if a.to_after(start) != b.to_after(start):
            return self._narrow(a, b, stretch, inputs)
        found = [side.leaves_its_log(start, self.common_ns) for side in (a, b)]
        odd = [mismatch for mismatch in found if mismatch is not None]
        if not odd:
            ends = [side.to_after(self.common_ns - 1) for side in (a, b)]
            return None if ends[0] == ends[1] else self._narrow(a, b, stretch, inputs)
        if a.changes or b.changes:
            self._no_further("the code that is there now does something else than was recorded")
            return None
        first = min(odd, key=lambda mismatch: mismatch.time_ns)
        return self._contradicts(a, b, _Stretch(start, first.time_ns, first.parts))

    def _narrow(
        self, a: Side, b: Side, stretch: _Stretch, inputs: InputDifference | None
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
        a: Side,
        b: Side,
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
        # An input that only one side has meets a callback on the other.
        of_inputs = not {one.kind, other.kind} <= {"callback", "node"}
        if inputs is not None and inputs.time_ns == at_ns and of_inputs:
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

    def _agrees(self, side: Side, at_ns: int, steps: list[Step], stretch: _Stretch) -> bool:
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

    def _contradicts(self, a: Side, b: Side, stretch: _Stretch) -> Divergence:
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

    def _varying(self, side: Side, stretch: _Stretch) -> tuple[int, Step, Step, Any] | None:
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

    def _from_the_logs(self, stretch: _Stretch, side: Side | None = None) -> Divergence:
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
