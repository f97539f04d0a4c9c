"""A recorded run as an object: its whole state at any instant, forward, back, or forked.

    run = open_run("run.world")
    moment = run.at("12.5s")
    moment.scene.world        # as it was
    moment.back(seconds=0.02)
    with moment.fork("other.world") as recorder:
        recorder.scene.inbox.put("push", {"v": 1.0})
        recorder.scene.advance(10)

`at(t)` means what `advance(t)` means: every instant before `t` has run, the one at `t` has not,
so an input that is put now still reaches it. `at(t, after=True)` is the state after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from mainspring.clock import ClockError, Time, format_ns, time_ns
from mainspring.world.log._errors import LogBuildError, LogError
from mainspring.world.log._format import HashChunk, InputGroup, Kind, LoggedInput, LoggedOutcome
from mainspring.world.log._player import Player
from mainspring.world.log._reader import LogReader
from mainspring.world.log._recipe import Recipe
from mainspring.world.log._recorder import RunRecorder, record
from mainspring.world.log._replay import Build, build_scene, not_in_run
from mainspring.world.log._states import capture

__all__ = ["Moment", "Run", "open_run", "play_inputs"]


class RunHeader(msgspec.Struct, frozen=True):
    """What a log says about its run."""

    run: str
    scene: str
    seed: int
    start_ns: int
    started: str
    mode: str
    durability: str
    hash_every: str
    snapshot_every: str
    versions: dict[str, str]
    machine: dict[str, Any]
    recipe: Recipe
    format: int
    until_ns: int | None = None
    parent: dict[str, Any] | None = None


def open_run(path: str | Path, *, build: Build | None = None) -> Run:
    """Open the log at `path`; `build` makes the scene when the log's own recipe should not."""
    return Run(path, build=build)


class Run:
    """A log, and the run in it. A context manager."""

    def __init__(self, path: str | Path, *, build: Build | None = None) -> None:
        self.path = Path(path)
        self.reader = LogReader(path)
        self._build = build
        self._moments: list[Moment] = []
        try:
            content = self.reader.content(self.reader.record(0))
            self.header = msgspec.convert(
                {**content, "recipe": Recipe(**content["recipe"])}, RunHeader
            )
        except (msgspec.ValidationError, KeyError, TypeError) as error:
            self.close()
            raise LogError(f"{path}: the header is not one this version knows: {error}") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file and of every moment that was opened and not forked."""
        for moment in self._moments:
            moment.close()
        self._moments.clear()
        self.reader.close()

    # ------------------------------------------------------------------ what it holds

    @property
    def start_ns(self) -> int:
        """Where the run begins."""
        return self.header.start_ns

    @property
    def end_ns(self) -> int:
        """How far it came: every instant before this time is in the log."""
        return self.reader.end_ns()

    @property
    def end_reason(self) -> str | None:
        """Why it ended; None when it was cut off, or goes on."""
        end = self.reader.last(Kind.END)
        if end is None or end.number != self.reader.head[0]:
            return None
        return str(self.reader.content(end)["reason"])

    @property
    def snapshots(self) -> list[int]:
        """The instants whose whole state is kept."""
        return self.reader.snapshot_times()

    def inputs(
        self, start: Time | None = None, end: Time | None = None, *, own: bool = True
    ) -> Iterator[InputGroup]:
        """The inputs by instant, in order, of the instants in [`start`, `end`).

        Without `own` those that the simulation put itself are left out: a scene that is given the
        others again puts them again."""
        groups = self.reader.inputs(*_span(start, end))
        if own:
            yield from groups
            return
        left_out = {seq for _, seq in self.reader.own()}
        for group in groups:
            outside = [item for item in group.inputs if item.seq not in left_out]
            if outside:
                yield InputGroup(group.time_ns, outside)

    def outcomes(
        self, start: Time | None = None, end: Time | None = None
    ) -> Iterator[LoggedOutcome]:
        """What became of inputs."""
        return self.reader.outcomes(*_span(start, end))

    def hashes(self, start: Time | None = None, end: Time | None = None) -> Iterator[HashChunk]:
        """The state hashes, in columns."""
        return self.reader.hashes(*_span(start, end))

    def build(self) -> Any:
        """The scene of the run, as it was before its first instant."""
        return build_scene(self.reader, self._build)[0]

    # ------------------------------------------------------------------ any instant

    def at(self, time: Time, *, after: bool = False) -> Moment:
        """The whole state at `time`: seconds, or text such as "12.5s" or "80ms"."""
        return self.at_ns(time_ns(time), after=after)

    def at_ns(self, ns: int, *, after: bool = False) -> Moment:
        """The whole state at a time in nanoseconds."""
        self._check(ns)
        moment = Moment(self, self.build())
        self._moments.append(moment)
        moment.goto_ns(ns, after=after)
        return moment

    def _check(self, ns: int) -> None:
        if not self.start_ns <= ns <= self.end_ns:
            raise not_in_run(self.path, ns, self.start_ns, self.end_ns)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, {format_ns(self.start_ns)} to {format_ns(self.end_ns)})"


class Moment:
    """The scene of a run at one instant of it. It moves; `scene` stays the same object."""

    def __init__(self, run: Run, scene: Any) -> None:
        self.run = run
        self.scene = scene
        self._player: Player | None = Player(scene, run.reader)
        self._fresh = True

    @property
    def time_ns(self) -> int:
        """Where it is: every instant before this time has run."""
        now: int = self.scene.time.now
        return now

    def hash(self) -> bytes:
        """The state's hash, as the log's hashes are made."""
        return capture(self.scene).hashed()[0]

    def part_hashes(self) -> dict[str, bytes]:
        """A hash a part."""
        return capture(self.scene).part_hashes()

    def state(self) -> dict[str, Any]:
        """Every part of the state as plain data."""
        return capture(self.scene).values()

    # ------------------------------------------------------------------ moving

    def goto(self, time: Time, *, after: bool = False) -> Moment:
        """Go to any time of the run."""
        return self.goto_ns(time_ns(time), after=after)

    def forward(self, seconds: Time = 0, *, instants: int = 0) -> Moment:
        """Go forward by a time, or by a number of instants."""
        self.goto_ns(min(self.time_ns + time_ns(seconds), self.run.end_ns))
        for _ in range(instants):
            following = self.scene.time.next_instant
            if following is None or following >= self.run.end_ns:
                break
            self.goto_ns(following, after=True)
        return self

    def back(self, seconds: Time = 0, *, instants: int = 0) -> Moment:
        """Go back by a time, or by a number of instants."""
        self.goto_ns(max(self.time_ns - time_ns(seconds), self.run.start_ns))
        for _ in range(instants):
            last: int = self.scene.time._kernel.last_instant
            if last < self.run.start_ns:
                break
            self.goto_ns(last)
        return self

    def goto_ns(self, ns: int, *, after: bool = False) -> Moment:
        """Go to a time in nanoseconds: the nearest snapshot before it, then the instants after."""
        self.run._check(ns)
        player = self._held()
        until = ns + 1 if after else ns
        snapshot = self.run.reader.snapshot_before(until)
        going_back = self._fresh or self.scene.time.now > ns or player.last_instant >= until
        if snapshot is None:
            raise LogError(f"{self.run.path} holds no snapshot before {format_ns(ns)}")
        if going_back or snapshot.last_ns > player.last_instant:
            try:
                player.restore(snapshot)
            except (LogBuildError, ClockError):
                # A scene that has grown since its beginning cannot take a later snapshot: it
                # must grow again.
                if not self._fresh:
                    self._rebuild()
                    player = self._held()
                first = self.run.reader.snapshot_before(self.run.start_ns)
                if first is None:
                    raise
                player.restore(first)
        self._fresh = False
        player.advance_to(ns)
        if after:
            player.run_instant(ns)
        return self

    def _rebuild(self) -> None:
        self.close()
        self.scene = self.run.build()
        self._player = Player(self.scene, self.run.reader)

    def _held(self) -> Player:
        if self._player is None:
            raise LogError(
                "this moment was forked into a run of its own and cannot move in the log"
            )
        return self._player

    # ------------------------------------------------------------------ leaving

    def fork(self, path: str | Path, **options: Any) -> RunRecorder:
        """A new run from here on, recorded into `path`, with none of the inputs that came after.

        `options` are those of `record`. The scene is live: put inputs, advance it, or give it
        the recorded inputs again, changed, with `play_inputs`."""
        player = self._held()
        parent = {
            "run": self.run.header.run,
            "path": str(self.run.path.resolve()),
            "at_ns": self.time_ns,
            "record": self.run.reader.head[0],
            "link": self.run.reader.head[1].hex(),
        }
        recorder = record(self.scene, path, recipe=self.run.header.recipe, parent=parent, **options)
        self._player = None
        player.release()
        return recorder

    def close(self) -> None:
        """Stop the scene, unless it was forked."""
        if self._player is not None:
            self._player.release()
            self._player = None
            self.scene.stop()


def play_inputs(
    scene: Any,
    groups: Iterable[InputGroup],
    change: Callable[[LoggedInput], LoggedInput | None] | None = None,
) -> None:
    """Put recorded inputs into a live scene, each at its instant; `change` alters or drops them."""
    clock = scene.time
    for group in groups:
        if group.time_ns > clock.now:
            scene.advance(ns=group.time_ns - clock.now)
        for item in group.inputs:
            given = item if change is None else change(item)
            if given is not None:
                clock.inbox.put(given.kind, given.payload, source=given.source)


def _span(start: Time | None, end: Time | None) -> tuple[int | None, int | None]:
    return (
        None if start is None else time_ns(start),
        None if end is None else time_ns(end),
    )
