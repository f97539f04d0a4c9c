"""What is recorded replays, hash for hash; what differs is reported at its instant."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import log_scenes
import pytest

from mainspring.clock import CallbackError, InboxRouteError, TimeMode
from mainspring.errors import StateError
from mainspring.scene import Scene, Script
from mainspring.world.log import (
    LogBuildError,
    LogError,
    LogFormatError,
    LogWriteError,
    RunRecordingError,
    open_run,
    record,
    replay,
    verify,
)

BUILD = f"{log_scenes.HERE}:build"


def test_a_recorded_run_replays_identically(tmp_path: Path) -> None:
    """Random walk, inputs from outside and from inside, a hash at every instant."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, hash_every="instant", entry=BUILD):
        log_scenes.drive(scene, 3)
    report = replay(path)
    assert report.identical, report
    assert (report.instants, report.hashes, report.end_ns) == (210, 210, 3_000_000_000)
    assert report.inputs == 60 + 4  # the walker's own: steps 7, 47, 87 and 127
    assert verify(path).ok


def test_replay_begins_at_a_snapshot_and_ends_where_asked(tmp_path: Path) -> None:
    """`from_snapshot` and `until` bound what is run again."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, hash_every="instant", snapshot_every=1.0, entry=BUILD):
        log_scenes.drive(scene, 3)
    report = replay(path, from_snapshot="2.5s", until="2.8s")
    assert report.identical, report
    # from the snapshot after the instant at 2 s on
    assert (report.start_ns, report.end_ns) == (2_000_000_000, 2_800_000_000)
    assert report.instants == 56 - 1


def test_a_time_the_run_does_not_have_is_refused(tmp_path: Path) -> None:
    """A replay of nothing is not called identical: the error says from when to when the run goes."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, hash_every=0.5, entry=BUILD):
        scene.advance(1)
    for bounds in ({"until": "-1s"}, {"until": "1.1s"}, {"from_snapshot": "100s"}):
        with pytest.raises(LogError, match=r"is not in .*run\.world") as refused:
            replay(path, **bounds)  # type: ignore[arg-type]
        assert refused.value.hint == "the run goes from 0 s to 1 s"
    report = replay(path, until="0s")
    assert (report.identical, report.hashes) == (True, 0)
    assert "nothing to compare" in str(report)


def test_other_arguments_differ_at_the_first_push(tmp_path: Path) -> None:
    """A changed constant shows at the instant it first matters, in the part it belongs to."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, hash_every="instant", entry=BUILD):
        scene.advance(0.5)
        scene.inbox.put("push", {"v": 1.0})
        scene.advance(0.5)
    report = replay(path, build=lambda: _with_gain_later(log_scenes.build()))
    assert not report.identical
    assert report.difference is not None
    assert report.difference.time_ns == 160_000_000  # the walker sends the first one itself
    assert report.difference.parts == ("scripts/Walker",)


def _with_gain_later(scene: Scene) -> Scene:
    walker = scene.scripts["Walker"]
    push = type(walker).push  # type: ignore[attr-defined]

    def heavier(given: Any) -> None:
        push(walker, given)
        walker.x += 0.001  # type: ignore[attr-defined]

    walker.on_start = lambda: scene.inbox.route("push", heavier)  # type: ignore[method-assign]
    # The stand-in is no part of the state.
    walker.save = lambda: {  # type: ignore[method-assign]
        k: v for k, v in Script.save(walker).items() if k not in ("on_start", "save")
    }
    return scene


def test_another_scene_differs_before_the_first_instant(tmp_path: Path) -> None:
    """A scene that is not the recorded one is noticed before it runs."""
    path = tmp_path / "run.world"
    scene = log_scenes.build()
    with record(scene, path, entry=BUILD):
        scene.advance(0.1)
    report = replay(path, build=lambda: log_scenes.build(seed=4))
    assert report.difference is not None
    assert report.difference.parts == ("random",)
    assert "before the first instant" in report.difference.message


def test_threads_that_submit_at_random_replay(tmp_path: Path) -> None:
    """A paced run in game mode with four threads putting inputs: the log alone has it again."""
    scene = log_scenes.build()
    scene.time.mode = TimeMode.GAME_REALTIME
    path = tmp_path / "run.world"
    stop = threading.Event()

    def submit(name: str) -> None:
        for k in range(200):
            if stop.is_set():
                return
            scene.inbox.put("push", {"v": k / 7, "by": name}, source=name)
            threading.Event().wait(0.0005)

    with record(scene, path, hash_every="instant", entry=BUILD):
        threads = [threading.Thread(target=submit, args=(f"t{i}",)) for i in range(4)]
        scene.advance(0.1)
        for thread in threads:
            thread.start()
        wall = 0
        for k in range(60):
            # Frames of unequal length; some too long for what game mode catches up with.
            elapsed = (7 + k % 5 * 9) * 1_000_000 if k % 20 else 400_000_000
            scene.frame(elapsed)
            wall += elapsed
            threading.Event().wait(0.001)
        stop.set()
        for thread in threads:
            thread.join()
    report = replay(path)
    assert report.identical, report
    with open_run(path) as run:
        assert list(run.reader.skips()), "game mode skipped nothing: the test tests too little"


def test_skips_of_game_mode_are_applied_again(tmp_path: Path) -> None:
    """A frame longer than game mode catches up with leaves simulation time out."""
    scene = log_scenes.build()
    scene.time.mode = TimeMode.GAME_REALTIME
    path = tmp_path / "run.world"
    with record(scene, path, hash_every="instant", entry=BUILD):
        for elapsed_ms in (16, 900, 16, 16, 700, 33):
            scene.inbox.put("push", {"v": 1.0})
            scene.frame(elapsed_ms * 1_000_000)
        at_end = scene.time.save()
    with open_run(path) as run:
        assert len(list(run.reader.skips())) >= 2
        moment = run.at_ns(run.end_ns)
        assert {**moment.scene.time.save(), "mode": ""} == {**at_end, "mode": ""}
    assert replay(path).identical


def test_modes_and_frame_rates_leave_the_same_hashes(tmp_path: Path) -> None:
    """One run as fast as it goes, others in frames of 3, 16 and 40 ms: the same hashes."""
    found = []
    for name, mode, frame_ms in (
        ("fast", TimeMode.SIM_HIGH_PERFORMANCE, 0),
        ("f3", TimeMode.SIM_REALTIME, 3),
        ("f16", TimeMode.SIM_REALTIME, 16),
        ("f40", TimeMode.GAME_REALTIME, 40),
    ):
        scene = log_scenes.build()
        scene.time.mode = mode
        scene.time.frame_budget_ns = 10**12  # this machine's speed is not what is tested
        path = tmp_path / f"{name}.world"
        with record(scene, path, hash_every="instant", entry=BUILD):
            if frame_ms:
                while scene.time.now < 960_000_000:
                    scene.frame(frame_ms * 1_000_000)
            else:
                scene.advance(0.96)
        with open_run(path) as run:
            found.append([(c.times_ns.tolist(), c.hashes.tobytes()) for c in run.hashes()])
    times = [[t for part, _ in chunks for t in part] for chunks in found]
    hashes = [b"".join(h for _, h in chunks) for chunks in found]
    assert all(t == times[0] for t in times)
    assert all(h == hashes[0] for h in hashes)


def test_an_error_is_recorded_and_comes_again(tmp_path: Path) -> None:
    """A callback that raises ends the run; the replay ends in the same place, identically."""
    scene = log_scenes.failing()
    path = tmp_path / "run.world"
    with (
        pytest.raises(CallbackError),
        record(scene, path, hash_every="instant", entry=f"{log_scenes.HERE}:failing"),
    ):
        scene.advance(1)
    report = replay(path)
    assert report.identical, report
    assert report.error is not None
    assert "the arm has come off" in report.error
    with open_run(path) as run:
        assert run.end_reason == "failed"
        assert [event[0] for event in run.reader.events()] == ["error"]


def test_what_cannot_be_saved_is_refused_by_name(tmp_path: Path) -> None:
    """Recording does not start, no file is left, and the error names script and attribute."""
    scene = log_scenes.build()
    scene.scripts["Walker"].handle = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(RunRecordingError, match=r"scripts/Walker\['handle'\] is a lock"):
        record(scene, tmp_path / "run.world", entry=BUILD)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_come_back_is_refused(tmp_path: Path) -> None:
    """A part whose saved form changes on its way is refused as well."""

    class Odd(Script):
        def save(self) -> Any:
            return {"time": float("nan"), "lists": {1: [2]}}

    scene = Scene()
    scene.add(Odd())
    record(scene, tmp_path / "fine.world", entry=BUILD).close()
    scene.scripts["Odd"].save = lambda: _Local()  # type: ignore[method-assign]
    with pytest.raises(RunRecordingError, match="scripts/Odd"):
        record(scene, tmp_path / "run.world", entry=BUILD)


class _Local:
    pass


def test_an_input_that_cannot_be_kept_is_refused_to_its_sender(tmp_path: Path) -> None:
    """The run goes on, and the sequence has no gap."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, entry=BUILD):
        with pytest.raises(StateError, match="the payload of 'push'"):
            scene.inbox.put("push", {"v": object()})
        with pytest.raises(InboxRouteError):
            scene.inbox.put("pull", 1)
        assert scene.inbox.put("push", {"v": 1.0}) == 1
        scene.advance(0.1)
    assert replay(path).identical


def test_a_log_is_never_overwritten(tmp_path: Path) -> None:
    """A file that is there is refused, a log or not."""
    path = tmp_path / "run.world"
    path.write_text("precious")
    with pytest.raises(RunRecordingError, match="exists already"):
        record(log_scenes.build(), path, entry=BUILD)
    assert path.read_text() == "precious"


def test_a_scene_is_recorded_once_at_a_time(tmp_path: Path) -> None:
    """A second recorder is refused while the first one runs."""
    scene = log_scenes.build()
    recorder = record(scene, tmp_path / "a.world", entry=BUILD)
    with pytest.raises(RunRecordingError, match="being recorded already"):
        record(scene, tmp_path / "b.world", entry=BUILD)
    recorder.close()
    record(scene, tmp_path / "b.world", entry=BUILD).close()


def test_resetting_ends_the_recording(tmp_path: Path) -> None:
    """Time begins again, so another log would have to: the first ends with its reason."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    recorder = record(scene, path, hash_every="instant", entry=BUILD)
    scene.advance(0.5)
    scene.reset()
    assert recorder.closed
    scene.advance(0.1)
    with open_run(path) as run:
        assert (run.end_reason, run.end_ns) == ("reset", 500_000_000)
    assert replay(path).identical


@pytest.mark.parametrize("durability", ["instant", "group", "none"])
def test_every_durability_records_the_same(tmp_path: Path, durability: Any) -> None:
    """They differ in when they wait, never in what they hold."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, durability=durability, hash_every=0.1, entry=BUILD) as recorder:
        log_scenes.drive(scene, 0.5)
        if durability == "instant":
            # Nothing is ever behind: the last instant is on the disk before it is over.
            assert recorder.durable_ns >= 480_000_001
    report = replay(path)
    assert report.identical
    assert report.inputs == 10 + 1


def test_unknown_words_are_refused(tmp_path: Path) -> None:
    """Each message says which words there are."""
    with pytest.raises(RunRecordingError, match='"group"'):
        record(log_scenes.build(), tmp_path / "a.world", durability="later", entry=BUILD)  # type: ignore[arg-type]
    with pytest.raises(RunRecordingError, match="number of seconds"):
        record(log_scenes.build(), tmp_path / "b.world", hash_every="often", entry=BUILD)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir()), "a refused recording leaves no file"


def test_acknowledgement_waits_for_the_disk(tmp_path: Path) -> None:
    """`wait_durable` returns once the input is in the file, read by somebody else."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    told: list[int] = []
    with record(scene, path, entry=BUILD) as recorder:
        seq = scene.inbox.put("push", {"v": 1.0})
        recorder.when_durable(seq, lambda: told.append(seq))
        assert not recorder.wait_durable(seq, timeout_s=0.0)
        assert told == []
        scene.advance(0.1)
        assert recorder.wait_durable(seq, timeout_s=30)
        with open_run(path) as run:
            assert [item.seq for group in run.inputs() for item in group.inputs] == [seq]
        assert told == [seq]


def test_a_log_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    """The file's folder is full: nothing more is acknowledged, the error says how far it got."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    recorder = record(scene, path, entry=BUILD)
    scene.advance(0.1)
    recorder.flush()
    recorder.writer._db.execute("PRAGMA max_page_count = 1")
    seq = scene.inbox.put("push", {"v": 1.0, "much": "x" * 2_000_000})
    with pytest.raises((LogWriteError, CallbackError)) as failed:  # noqa: PT012
        while True:
            scene.advance(0.1)
            recorder.wait_durable(seq, timeout_s=10)
    assert "full" in str(failed.value)
    assert recorder.durable_seq == 0
    with pytest.raises(LogWriteError):
        recorder.close()
    assert verify(path).ok
    with open_run(path) as run:
        assert run.end_ns == 100_000_000
        assert list(run.inputs()) == []


def test_a_scene_without_a_recipe_needs_build(tmp_path: Path) -> None:
    """Recorded without an entry point, a log says so, and `build=` helps."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path):
        scene.advance(0.1)
    with pytest.raises(LogBuildError, match="does not say how"):
        replay(path)
    assert replay(path, build=log_scenes.build).identical


def test_entry_points_in_many_forms(tmp_path: Path) -> None:
    """A function, its name in a module, a script file with arguments: each builds the scene."""
    for number, entry in enumerate((log_scenes.build, "log_scenes:build", BUILD)):
        scene = log_scenes.build(5, gain=2.0)
        path = tmp_path / f"{number}.world"
        with record(scene, path, entry=entry, args=[5], kwargs={"gain": 2.0}):
            log_scenes.drive(scene, 0.3)
        assert replay(path).identical
    with pytest.raises(RunRecordingError, match="no module"):
        record(log_scenes.build(), tmp_path / "x.world", entry="no.such.thing:build")
    with pytest.raises(RunRecordingError, match="cannot be found again"):
        record(log_scenes.build(), tmp_path / "y.world", entry=lambda: log_scenes.build())
    with pytest.raises(RunRecordingError, match="plain data"):
        record(log_scenes.build(), tmp_path / "z.world", entry=BUILD, args=[object()])


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    """Missing, empty, text, another database, a format from the future: each says what it is."""
    import sqlite3

    with pytest.raises(LogFormatError, match="there is no log"):
        open_run(tmp_path / "none.world")
    text = tmp_path / "text.world"
    text.write_text("not a database at all, but long enough to look at" * 100)
    with pytest.raises(LogFormatError, match="not a run log"):
        open_run(text)
    other = tmp_path / "other.world"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE t (x)")
    db.commit()
    db.close()
    with pytest.raises(LogFormatError, match="not a run log"):
        open_run(other)
    path = tmp_path / "run.world"
    record(log_scenes.build(), path, entry=BUILD).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(LogFormatError, match="format 99"):
        open_run(path)
