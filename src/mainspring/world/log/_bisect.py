"""`bisect`: where a run parts from its own log because the code has changed since.

`bisect_log` plays the log with the code that is there now. Each stretch between two of the
log's snapshots begins with the logged state, so one stretch that differs does not spoil the
next, and the first that differs is where the new code first does something else. Inside it
the hashes narrow it down, and the new state is compared with the old one, field by field,
where the log has it.

`bisect_commits` asks another question: which commit of a git repository changed the run? It
bisects the commits between a good and a bad one, replaying the log in a worktree of each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from mainspring.clock import format_ns
from mainspring.world.log._diff_report import Cause, when
from mainspring.world.log._errors import LogError
from mainspring.world.log._fields import FieldDifference, compare_states
from mainspring.world.log._format import Kind, Record
from mainspring.world.log._player import Player
from mainspring.world.log._reader import LogReader
from mainspring.world.log._replay import (
    Build,
    HashChecker,
    HashMismatch,
    Progress,
    build_scene,
    resumed_changes,
)
from mainspring.world.log._states import capture
from mainspring.world.log._trace import Step, steps_behind, trace_instant

__all__ = ["BisectReport", "CommitReport", "bisect_commits", "bisect_log"]


class BisectReport(msgspec.Struct, frozen=True):
    """Where the present code first does something else than the recorded one."""

    path: str
    identical: bool
    stretches: int
    """How many stretches between snapshots were played."""
    time_ns: int | None = None
    """The first instant known to differ."""
    same_ns: int | None = None
    """The last instant known to be the same."""
    cause: Cause | None = None
    parts: tuple[str, ...] = ()
    fields: tuple[FieldDifference, ...] = ()
    """a: as recorded, b: as the code does it now; at the next snapshot of the log."""
    fields_at_ns: int | None = None
    changes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.identical:
            return (
                f"identical: the code as it is does what was recorded ({self.stretches} stretches)"
            )
        assert self.time_ns is not None
        assert self.same_ns is not None
        lines = [
            f"the code does something else {when(self.same_ns, self.time_ns)}, in {self.cause}"
        ]
        if self.fields_at_ns is not None:
            lines.append(f"at {format_ns(self.fields_at_ns)}, recorded / now:")
        lines += [f"  {field}" for field in self.fields[:10]]
        return "\n".join(lines + [f"note: {change}" for change in self.changes])


class CommitReport(msgspec.Struct, frozen=True):
    """Which commit changed a run."""

    path: str
    commit: str
    subject: str
    replayed: int

    def __str__(self) -> str:
        return f"{self.commit} is the first commit that changes the run: {self.subject}"


def bisect_log(
    path: str | Path, *, build: Build | None = None, progress: Progress | None = None
) -> BisectReport:
    """Find the first place where the present code leaves the log at `path`."""
    with LogReader(path) as reader:
        for _ in reader.records():
            pass
        scene, changes = build_scene(reader, build)
        changes += resumed_changes(reader)
        player = Player(scene, reader)
        snapshots = [r for r in reader.of_kind(Kind.SNAPSHOT) if r.body is not None]
        ends = [*snapshots[1:], None]
        end_ns = reader.end_ns()
        try:
            for number, (begin, until) in enumerate(zip(snapshots, ends, strict=True), 1):
                found = _stretch(reader, player, begin, until, end_ns)
                if progress is not None:
                    progress(max(0, end_ns if until is None else until.last_ns), end_ns)
                if found is not None:
                    mismatch, fields, fields_at = found
                    cause = _cause(player, mismatch, begin)
                    return BisectReport(
                        str(path), False, number, mismatch.time_ns, mismatch.after_ns, cause,
                        mismatch.parts, fields, fields_at, tuple(changes),
                    )  # fmt: skip
        finally:
            player.release()
            scene.stop()
        return BisectReport(str(path), True, len(snapshots), changes=tuple(changes))


def _stretch(
    reader: LogReader, player: Player, begin: Record, until: Record | None, end_ns: int
) -> tuple[HashMismatch, tuple[FieldDifference, ...], int | None] | None:
    """Play from one snapshot to the next, with hashes compared on the way."""
    player.restore(begin)
    scene = player.scene
    last_ns = end_ns - 1 if until is None else until.last_ns
    checker = HashChecker(scene, reader, player.last_instant, last_ns)
    try:
        player.advance_to(last_ns + 1)
        mismatch = checker.mismatch
        if mismatch is not None:
            # On to the next snapshot, where the log has values to compare with.
            checker.detach()
            player.advance_to(last_ns + 1)
    finally:
        checker.detach()
    if until is None:
        return None if mismatch is None else (mismatch, (), None)
    logged, now = player.snapshot(until).captured, capture(scene)
    fields = compare_states(scene, logged, now)
    if mismatch is None and fields:
        parts = tuple(dict.fromkeys(field.part for field in fields))
        mismatch = HashMismatch(until.last_ns, parts, checker.same_ns, "the snapshot differs")
    return None if mismatch is None else (mismatch, fields, until.last_ns)


def _cause(player: Player, mismatch: HashMismatch, begin: Record) -> Cause:
    """What runs at that instant and belongs to the parts that differ."""
    player.restore(begin)
    player.advance_to(mismatch.time_ns)
    steps: list[Step] = trace_instant(player.scene, lambda: player.run_instant(mismatch.time_ns))
    own = steps_behind(steps, mismatch.parts)
    if not own:
        return Cause("unknown", ", ".join(mismatch.parts) or "the scene", parts=mismatch.parts)
    names = ", ".join(dict.fromkeys(step.name for step in own))
    one = own[0]
    return Cause(
        one.kind, names, one.runner, one.phase, str(one), str(one), mismatch.parts, one.seq
    )


def bisect_commits(
    path: str | Path,
    good: str,
    bad: str,
    *,
    repository: str | Path = ".",
    command: Callable[[Path, Path], list[str]] | None = None,
    progress: Callable[[str], None] | None = None,
) -> CommitReport:
    """The first commit after `good`, up to `bad`, with which the log no longer replays.

    `command(worktree, log)` is what replays; by default `mainspring replay` of this
    interpreter, run in the worktree with its sources first on the path."""
    log, root = Path(path).resolve(), Path(repository)
    commits = _git(root, "rev-list", "--reverse", "--ancestry-path", f"{good}..{bad}").split()
    if not commits:
        raise LogError(f"{bad} does not come after {good} in {root}")
    replayed = 0
    with tempfile.TemporaryDirectory(prefix="mainspring-bisect-") as folder:
        tree = Path(folder) / "tree"
        _git(root, "worktree", "add", "--detach", str(tree), good)
        try:

            def same(commit: str) -> bool:
                nonlocal replayed
                replayed += 1
                _git(tree, "checkout", "--quiet", "--detach", commit)
                result = _replays(tree, log, command)
                if progress is not None:
                    progress(f"{commit[:12]} {'is the same' if result else 'differs'}")
                return result

            if not same(good):
                raise LogError(f"the log differs with {good} already")
            if same(commits[-1]):
                raise LogError(f"the log is still the same with {bad}")
            low, high = -1, len(commits) - 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if same(commits[middle]) else (low, middle)
        finally:
            _git(root, "worktree", "remove", "--force", str(tree))
    subject = _git(root, "log", "-1", "--format=%s", commits[high]).strip()
    return CommitReport(str(path), commits[high], subject, replayed)


def _replays(tree: Path, log: Path, command: Callable[[Path, Path], list[str]] | None) -> bool:
    arguments = (
        [sys.executable, "-c", "from mainspring.cli import main; main()", "replay", str(log)]
        if command is None
        else command(tree, log)
    )
    sources = [str(tree / "src"), str(tree)]
    path = os.pathsep.join([*sources, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        arguments,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def _git(where: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(where), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LogError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
