"""A run that was cut off goes on; any instant opens, forward, back and forked."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import log_scenes
import pytest

from mainspring.scene._entry import import_entry
from mainspring.world import (
    LogError,
    LogReader,
    RunRecordingError,
    compact,
    history,
    open_run,
    play_inputs,
    record,
    replay,
    resume,
    verify,
)

BUILD = f"{log_scenes.HERE}:build"


def crashed_copy(path: Path, to: Path) -> Path:
    """The log as a process that died at this moment would leave it."""
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{to}{suffix}")
    return to


def test_resume_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """Cut off after 2 s, resumed, and driven on: the same state as the run that was not."""
    scene = log_scenes.build()
    recorder = record(scene, tmp_path / "a.world", hash_every="instant", entry=BUILD)
    log_scenes.drive(scene, 2)
    recorder.flush()
    copy = crashed_copy(tmp_path / "a.world", tmp_path / "b.world")
    log_scenes.drive(scene, 1)
    recorder.close()
    revived = resume(copy, hash_every="instant")
    assert revived.scene.time.now == 2_000_000_000
    log_scenes.drive(revived.scene, 1)
    assert revived.scene.save() == scene.save()
    revived.close()
    for path in (tmp_path / "a.world", copy):
        assert verify(path).ok
        assert replay(path).identical


def test_resume_after_a_clean_end_keeps_what_waits(tmp_path: Path) -> None:
    """Inputs that were accepted and not drained are drained first when the run goes on."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, entry=BUILD):
        scene.advance(0.15)  # the walker's own input from step 7 waits
        outside = scene.inbox.put("push", {"v": 4.0})
    with resume(path) as recorder:
        waiting = [given.seq for given in recorder.scene.inbox.waiting]
        assert waiting == [1, outside]
        recorder.scene.advance(0.1)
        scene.advance(0.1)
        assert recorder.scene.save() == scene.save()
    report = replay(path)
    assert report.identical, report
    assert report.inputs == 2
    with open_run(path) as run:
        assert run.end_reason == "finished"


def test_a_run_goes_on_the_way_it_was_recorded(tmp_path: Path) -> None:
    """Mode, hashes, snapshots and how far it was meant to go come from the log, unless given."""
    scene = log_scenes.build()
    scene.time.mode = "GAME_REALTIME"
    path = tmp_path / "run.world"
    with record(
        scene, path, durability="instant", hash_every="instant", snapshot_every=0.125, until="3s",
        entry=BUILD,
    ):  # fmt: skip
        scene.advance(0.5)
    with resume(path) as recorder:
        assert recorder.until_ns == 3_000_000_000
        assert (recorder.durability, recorder.scene.time.mode) == ("instant", scene.time.mode)
        recorder.scene.advance(0.5)
    report = replay(path)
    assert report.hashes == report.instants == 70
    with open_run(path) as run:
        assert {ns // 125_000_000 for ns in run.snapshots} >= {1, 2, 3, 5, 6, 7}
    with resume(path, durability="none", hash_every=None, snapshot_every=None) as recorder:
        assert recorder.durability == "none"
        recorder.scene.advance(0.5)
    assert replay(path).hashes == 70 + 1  # the last instant is hashed always


def test_resume_twice_and_with_nothing_in_between(tmp_path: Path) -> None:
    """Each life adds to the one log; a life that did nothing changes nothing."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, entry=BUILD):
        log_scenes.drive(scene, 0.5)
    resume(path).close()
    with resume(path) as recorder:
        log_scenes.drive(recorder.scene, 0.5)
    log_scenes.drive(scene, 0.5)
    assert verify(path).ok
    assert replay(path).identical
    with open_run(path) as run:
        assert run.at("1s").hash() == _hash_of(scene)


def _hash_of(scene: Any) -> bytes:
    from mainspring.world.log._states import capture

    return capture(scene).hashed()[0]


def test_a_run_whose_code_has_changed_is_not_continued(tmp_path: Path) -> None:
    """Resuming compares the hashes on the way and refuses with the first that differs."""
    scene = log_scenes.build()
    recorder = record(
        scene, tmp_path / "a.world", hash_every="instant", snapshot_every=None, entry=BUILD
    )
    log_scenes.drive(scene, 1)
    recorder.flush()
    copy = crashed_copy(tmp_path / "a.world", tmp_path / "b.world")
    recorder.close()

    def changed() -> Any:
        other = log_scenes.build()
        other.bindings["on_late_update"].runner = "Capture"
        counter = other.scripts["Counter"]
        other.time.register(
            lambda context: setattr(counter, "steps", 7), runner="Capture", name="x"
        )
        return other

    with pytest.raises((RunRecordingError, LogError)):
        resume(copy, build=changed)
    assert verify(copy).ok  # and the log is as it was
    resume(copy).close()


def test_any_instant_opens_with_its_whole_state(tmp_path: Path) -> None:
    """At every frame of the run, forward and back, in any order, with sparse snapshots."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    states: dict[int, dict[str, bytes]] = {}
    with record(scene, path, snapshot_every=0.7, entry=BUILD):
        for _ in range(30):
            states[scene.time.now] = _without_inbox(scene.save())
            log_scenes.drive(scene, 0.1)
    with open_run(path) as run:
        moment = run.at("0s")
        order = sorted(states, key=lambda ns: (ns * 7919) % 31)
        for ns in order:
            moment.goto_ns(ns)
            assert moment.time_ns == ns
            assert _without_inbox(moment.scene.save()) == states[ns], ns
        fresh = run.at("1.3s")
        assert _without_inbox(fresh.scene.save()) == states[1_300_000_000]
        fresh.forward("0.5s").back("0.2s")
        assert _without_inbox(fresh.scene.save()) == states[1_600_000_000]


def _without_inbox(saved: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in saved.items() if name != "inbox"}


def test_moving_by_instants(tmp_path: Path) -> None:
    """Back by instants undoes the last ones, forward runs the next ones."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, entry=BUILD):
        scene.advance(1)
    with open_run(path) as run:
        moment = run.at("0.1s")
        there = moment.hash()
        moment.back(instants=2)
        assert moment.time_ns == 66_666_666
        moment.forward(instants=1)
        assert moment.scene.time._kernel.last_instant == 66_666_666
        moment.goto("0.1s")
        assert moment.hash() == there
        after = run.at("0.1s", after=True)
        assert after.time_ns == 100_000_000
        assert after.hash() != there
        with pytest.raises(LogError, match="the run goes from 0 s to 1 s"):
            moment.goto("1.5s")


def test_a_fork_is_a_run_of_its_own(tmp_path: Path) -> None:
    """Forked with the same inputs it is the same run; with others it is another."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, hash_every="instant", entry=BUILD):
        scene.advance(1)
        scene.inbox.put("push", {"v": 2.0})
        scene.advance(1)
    with open_run(path) as run:
        outside = list(run.inputs("0.5s", own=False))
        assert [g.inputs[0].source for g in outside] == [""]
        with run.at("0.5s").fork(tmp_path / "same.world", hash_every="instant") as same:
            play_inputs(same.scene, outside)
            same.scene.advance(ns=run.end_ns - same.scene.time.now)
            assert _without_inbox(same.scene.save()) == _without_inbox(scene.save())
        moment = run.at("0.5s")
        with moment.fork(tmp_path / "other.world") as other:
            other.scene.inbox.put("push", {"v": -1.0})
            other.scene.advance(1)
        with pytest.raises(LogError, match="was forked"):
            moment.back("0.1s")
    for name in ("same", "other"):
        with open_run(tmp_path / f"{name}.world") as fork:
            assert fork.header.parent is not None
            assert fork.header.parent["at_ns"] == 500_000_000
            assert fork.start_ns == 500_000_000
        assert replay(tmp_path / f"{name}.world").identical
        assert verify(tmp_path / f"{name}.world").ok


def test_snapshots_are_thinned_beyond_their_budget(tmp_path: Path) -> None:
    """Old ones go first, the first and the newest stay, the chain holds, every instant opens."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(
        scene, path, snapshot_every=0.1, keep_snapshots_bytes=40_000, entry=BUILD
    ) as recorder:
        for _ in range(100):
            log_scenes.drive(scene, 0.1)
            recorder.flush()
    assert verify(path).ok
    with open_run(path) as run:
        kept = run.snapshots
        sizes = sum(size for _, _, size in run.reader.snapshot_sizes())
        assert sizes <= 60_000
        assert kept[0] == -1
        assert 9_900_000_000 in kept
        gaps = [b - a for a, b in itertools.pairwise(kept)]
        assert max(gaps[: len(gaps) // 2]) > max(gaps[-5:])
        # Thinned, not cut off: some are left all the way back.
        assert len([time_ns for time_ns in kept if 0 < time_ns < 5_000_000_000]) >= 2
        assert run.at("3.33s").time_ns == 3_330_000_000
    assert replay(path).identical


def test_compaction_keeps_the_chain_and_the_run(tmp_path: Path) -> None:
    """The older records move to an archive: both verify, the run resumes, the archive replays."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, snapshot_every=0.5, hash_every="instant", entry=BUILD) as recorder:
        for _ in range(4):
            log_scenes.drive(scene, 0.5)
            recorder.flush()
    first = compact(path, before="1.2s")
    assert first.archive is not None
    assert first.cut_ns == 1_000_000_000
    second = compact(path)
    assert second.archive is not None
    assert second.first == first.last + 1
    report = verify(path)
    assert report.ok, report
    assert [entry[1:] for entry in report.archives] == [
        (first.first, first.last, True),
        (second.first, second.last, True),
    ]
    for archive in (first.archive, second.archive):
        assert verify(archive).ok
        assert replay(archive).identical
    with open_run(first.archive) as run:
        assert run.at("0.3s").time_ns == 300_000_000
    with resume(path) as again:
        log_scenes.drive(again.scene, 0.5)
    log_scenes.drive(scene, 0.5)
    assert again.scene.save() == scene.save()
    assert verify(path).ok
    Path(first.archive).unlink()
    report = verify(path)
    assert report.ok
    assert any("is not here" in warning for warning in report.warnings)


def test_an_archive_of_another_run_is_noticed(tmp_path: Path) -> None:
    """An archive that does not join the chain is named."""
    archives = []
    for name in ("a", "b"):
        scene = log_scenes.build()
        path = tmp_path / f"{name}.world"
        with record(scene, path, snapshot_every=0.5, entry=BUILD) as recorder:
            log_scenes.drive(scene, 1)
            recorder.flush()
        archives.append(compact(path).archive)
    assert archives[0] is not None
    assert archives[1] is not None
    shutil.copy(archives[1], archives[0])
    report = verify(tmp_path / "a.world")
    assert not report.ok
    assert "archive" in str(report)


def test_a_log_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    """Resuming or compacting it is refused with a reason, and the run that writes goes on."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, hash_every="instant", entry=BUILD) as recorder:
        log_scenes.drive(scene, 0.5)
        recorder.flush()
        for attempt in (resume, compact):
            with pytest.raises(RunRecordingError, match="is being written by a run that goes on"):
                attempt(path)
        with open_run(path) as run:  # looking is free
            assert run.at("0.4s").time_ns == 400_000_000
        log_scenes.drive(scene, 0.5)
    assert replay(path).identical
    assert verify(path).ok
    resume(path).close()


def test_a_forked_child_does_not_hold_the_log(tmp_path: Path) -> None:
    """A run that dies while a child of it lives on can be resumed at once."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    read_end, write_end = os.pipe()
    run = os.fork()
    if run == 0:
        os.close(read_end)
        record(scene, path, entry=BUILD).flush()
        if os.fork() == 0:
            os.write(write_end, f"{os.getpid()}\n".encode())
            signal.pause()
        signal.pause()
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        child = int(pipe.readline())
        try:
            os.kill(run, signal.SIGKILL)
            os.waitpid(run, 0)
            with resume(path) as recorder:
                recorder.scene.advance(0.1)
        finally:
            os.kill(child, signal.SIGKILL)
    assert replay(path).identical


VESSEL = """
from mainspring import Scene, Script


class Vessel(Script):
    def __init__(self):
        self.level = 1.0

    def on_update(self, ts):
        self.level *= 1.0 + ts


def build():
    scene = Scene("vessel")
    scene.add(Vessel(), name="vessel")
    return scene
"""


def resume_elsewhere(log: Path) -> subprocess.CompletedProcess[str]:
    """`mainspring resume` in another process, which has never seen the scene's code."""
    code = "from mainspring.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "resume", str(log), "-s", "1", "--mode", "SIM_HIGH_PERFORMANCE"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_code_that_changed_after_the_end_is_compared_before_it_goes_on(tmp_path: Path) -> None:
    """A run that ended well leaves nothing after its last snapshot; the stretch before it counts."""
    source = tmp_path / "vessel_of_a_test.py"
    source.write_text(VESSEL)
    log = tmp_path / "run.world"
    scene = import_entry(f"{source}:build")()
    with record(scene, log, entry=f"{source}:build"):
        scene.advance(1)

    source.write_text(VESSEL.replace("1.0 + ts", "1.0 - ts"))
    done = resume_elsewhere(log)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "cannot be continued: at 0 s the state of scripts/vessel differs" in done.stderr
    assert "has changed" in done.stderr
    assert replay(log, build=scene_of(VESSEL)).identical

    source.write_text(VESSEL + "# the same, with a remark\n")
    done = resume_elsewhere(log)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "note: the code of" in done.stderr
    with LogReader(log) as reader:
        ended, resumed, again = history(reader, kinds=["end", "resumed"])
    assert [e.what for e in (ended, resumed, again)] == ["end", "resumed", "end"]
    assert [e.time_ns for e in (ended, resumed, again)] == [10**9, 10**9, 2 * 10**9]
    assert "has changed" in resumed.detail["changes"][0]
    assert any("when it went on at 1 s: the code of" in c for c in replay(log).changes)


def scene_of(text: str) -> Any:
    """What builds the scene of a module's text."""
    names: dict[str, Any] = {"__name__": "vessel"}
    exec(text, names)
    return names["build"]


def test_a_log_that_cannot_be_gone_on_with_is_let_go_of(tmp_path: Path) -> None:
    """An error while a run is resumed leaves no lock on its log, and says what is wrong."""
    path = tmp_path / "run.world"
    scene = log_scenes.build()
    with record(scene, path, entry=BUILD):
        log_scenes.drive(scene, 0.2)
    whole = path.read_bytes()
    # A letter of the schema that is no letter any more: SQLite cannot even say so in words.
    for word, hint in ((b"NEW.kind", "verify"), (b"number = NEW.number", "verify")):
        path.write_bytes(whole.replace(word, word[:-2] + b"\x96" + word[-1:], 1))
        with pytest.raises(LogError) as raised:
            resume(path)
        assert hint in str(raised.value)
        gc.collect()
        path.write_bytes(whole)
        for beside in ("-wal", "-shm"):
            Path(f"{path}{beside}").unlink(missing_ok=True)
    resume(path).close()
    assert replay(path).identical


def test_what_was_durable_before_is_durable_after_a_resume(tmp_path: Path) -> None:
    """The recorder of a run that goes on knows it at once."""
    path = tmp_path / "run.world"
    scene = log_scenes.build()
    with record(scene, path, entry=BUILD) as recorder:
        log_scenes.drive(scene, 0.2)
        recorder.flush()
        before = recorder.durable_seq
    assert before > 0
    with resume(path) as recorder:
        assert recorder.durable_seq == before
        assert recorder.durable_ns == 200_000_000
        assert recorder.wait_durable(before, 0)
