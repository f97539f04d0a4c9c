"""`diff` names the first instant, the cause and the field of every fault that was planted."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fault_scenes
import log_scenes
import pytest
from fault_scenes import AT_NS, FAULTS

from mainspring.scene import Scene, Script
from mainspring.scene._entry import import_entry
from mainspring.world import (
    LogBuildError,
    LoggedInput,
    World,
    bisect_log,
    diff,
    open_run,
    play_inputs,
    record,
    replay,
    resume,
)

HERE = Path(__file__).parent
ENTRY = f"{fault_scenes.__file__}:build"


def record_plant(path: Path, fault: str = "", hash_every: Any = "instant") -> Path:
    scene = fault_scenes.build(fault)
    with record(scene, path, hash_every=hash_every, entry=ENTRY, args=[fault]):
        fault_scenes.drive(scene)
    return path


def record_elsewhere(path: Path, fault: str, hash_seed: int) -> Path:
    """The same in another process with another hash seed."""
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(HERE)!r})
import test_diff
test_diff.record_plant(Path({str(path)!r}), {fault!r})
"""
    env = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    return path


def test_there_are_enough_faults() -> None:
    """At least forty, of different kinds."""
    assert len(FAULTS) >= 40


@pytest.mark.parametrize("name", [n for n, f in FAULTS.items() if not f.processes])
def test_a_planted_fault_is_found(name: str, tmp_path: Path) -> None:
    """Instant, cause, part, and a field with both values."""
    fault = FAULTS[name]
    a = record_plant(tmp_path / "a.world", name if fault.both else "")
    b = record_plant(tmp_path / "b.world", name)
    found = diff(a, b).divergence
    assert found is not None
    assert (found.time_ns, found.exact) == (AT_NS, True), found
    assert f"{found.cause.kind} {found.cause.name}" == fault.where, found
    assert fault.part in found.parts, found
    assert found.reproduced == fault.repeats, found
    assert found.fields, found
    assert {field.part for field in found.fields} <= set(found.parts)
    assert found.same_ns == 1_180_000_000 or found.same_ns == 1_166_666_666, found


@pytest.mark.parametrize("name", [n for n, f in FAULTS.items() if f.processes])
def test_a_fault_that_needs_two_processes_is_found(name: str, tmp_path: Path) -> None:
    """Runs whose hash seeds differ: the logs say when and where, even if it cannot be repeated."""
    fault = FAULTS[name]
    a = record_elsewhere(tmp_path / "a.world", name, 1)
    b = record_elsewhere(tmp_path / "b.world", name, 2)
    found = diff(a, b).divergence
    assert found is not None
    assert (found.time_ns, found.exact) == (AT_NS, True), found
    assert f"{found.cause.kind} {found.cause.name}" == fault.where, found
    assert found.parts == (fault.part,)
    assert not found.reproduced


@pytest.mark.parametrize("name", ["constant", "entity moved", "input weighed", "skill"])
def test_sparse_hashes_are_bisected_to_the_instant(name: str, tmp_path: Path) -> None:
    """With a hash a second the instant in between is found by running both again."""
    fault = FAULTS[name]
    a = record_plant(tmp_path / "a.world", "", hash_every=1.0)
    b = record_plant(tmp_path / "b.world", name, hash_every=1.0)
    found = diff(a, b).divergence
    assert found is not None
    assert (found.time_ns, found.exact, found.reproduced) == (AT_NS, True, True), found
    assert f"{found.cause.kind} {found.cause.name}" == fault.where


def test_a_fork_is_compared_from_where_it_begins(tmp_path: Path) -> None:
    """What came before is the other run's; the first other input is found, and nothing earlier."""
    scene = fault_scenes.build()
    a, b = tmp_path / "a.world", tmp_path / "b.world"
    with record(scene, a, hash_every="instant", entry=ENTRY, args=[""]):
        fault_scenes.drive(scene)
    with open_run(a) as run:
        heavier = [
            group._replace(inputs=[made_heavier(item) for item in group.inputs])
            if group.time_ns == AT_NS
            else group
            for group in run.inputs("1s", own=False)
        ]
        with run.at("1s").fork(b, hash_every="instant") as fork:
            play_inputs(fork.scene, heavier)
            fork.scene.advance(ns=run.end_ns - fork.scene.time.now)
    report = diff(a, b)
    found = report.divergence
    assert found is not None
    assert (found.time_ns, found.exact, found.reproduced) == (AT_NS, True, True), found
    assert found.cause.kind == "input"
    assert report.inputs is not None
    assert report.inputs.time_ns == AT_NS
    assert "differs at 1.2" in str(report)
    assert "in inputs that differ (part from belt)" in str(report)
    assert any("b begins after" in note for note in report.notes)


def made_heavier(item: LoggedInput) -> LoggedInput:
    if item.kind != "part":
        return item
    return dataclasses.replace(item, payload={**item.payload, "weight": 99.0})


def test_a_fork_of_another_run_differs_where_it_begins(tmp_path: Path) -> None:
    """The two never were the same: said so, with the fields in which they are not."""
    a = record_plant(tmp_path / "a.world", "constant")
    other = record_plant(tmp_path / "other.world")
    with open_run(other) as run, run.at("1.5s").fork(tmp_path / "b.world") as fork:
        fork.scene.advance(0.5)
    report = diff(a, tmp_path / "b.world")
    found = report.divergence
    assert found is not None
    assert (found.exact, found.same_ns, found.cause.kind) == (False, -1, "build")
    assert "scripts/Arm.heat" in [field.path for field in found.fields]
    assert "by 1.48" in str(report)


def test_an_instant_that_only_one_run_has_does_not_blur_the_fields(tmp_path: Path) -> None:
    """An input in one run alone: the fields are those that differ once the instant is over."""
    paths = []
    for name in ("a", "b"):
        scene = fault_scenes.build()
        paths.append(tmp_path / f"{name}.world")
        with record(scene, paths[-1], hash_every="instant", entry=ENTRY, args=[""]):
            scene.advance(0.5)
            if name == "b":
                scene.world.submit("ann", "move", {"entity": "ent_2", "by": 1.0})
            scene.advance(0.5)
    found = diff(*paths).divergence
    assert found is not None
    assert found.time_ns == 500_000_000
    assert [field.path for field in found.fields] == ["world.ent_2.position[0]"]


def test_a_run_resumed_with_fewer_hashes_is_compared_all_the_same(tmp_path: Path) -> None:
    """That one log has hashes at instants where the other has none is no difference."""
    paths = [tmp_path / "a.world", tmp_path / "b.world"]
    for path in paths:
        scene = fault_scenes.build()
        with record(scene, path, hash_every="instant", entry=ENTRY, args=[""]):
            scene.advance(0.5)
    for path, every in zip(paths, ("instant", 0.25), strict=True):
        with resume(path, hash_every=every) as recorder:  # type: ignore[arg-type]
            recorder.scene.advance(0.5)
    report = diff(*paths)
    assert report.identical, report


def test_entities_and_fields_are_named(tmp_path: Path) -> None:
    """Entity, field and both values, in words a person uses."""
    a = record_plant(tmp_path / "a.world")
    b = record_plant(tmp_path / "b.world", "component changed")
    report = diff(a, b)
    assert report.divergence is not None
    (field,) = report.divergence.fields
    assert (field.part, field.entity, field.field) == ("world", "ent_3", "load")
    assert (field.a, field.b) == (2.0, 3.0)
    text = str(report)
    assert "differs at 1.2 s, in callback Arm.on_update (runner Robot, phase Control)" in text
    assert "world.ent_3.load: 2.0 / 3.0" in text
    assert "from belt" in text  # the inputs around it


def test_a_difference_from_the_beginning(tmp_path: Path) -> None:
    """Scenes that were built differently differ before the first instant, by field."""
    logs = []
    for gain in (1.0, 1.5):
        scene = log_scenes.build(gain=gain)
        path = tmp_path / f"{gain}.world"
        with record(scene, path, entry=f"{log_scenes.HERE}:build", kwargs={"gain": gain}):
            scene.advance(0.5)
        logs.append(path)
    report = diff(*logs)
    assert report.divergence is not None
    assert report.divergence.cause.kind == "build"
    assert [str(f) for f in report.divergence.fields] == ["scripts/Walker.gain: 1.0 / 1.5"]
    assert [s.name for s in report.settings] == ["recipe.kwargs"]


@pytest.mark.parametrize("how", ["payload", "missing", "extra", "swapped", "later"])
def test_inputs_that_differ_are_the_cause(how: str, tmp_path: Path) -> None:
    """Another payload, one lost, one more, two swapped, one an instant later."""
    a = record_plant(tmp_path / "a.world")
    b = tmp_path / "b.world"

    def change(scene: Scene, groups: list[Any]) -> None:
        for group in groups:
            items = list(group.inputs)
            if group.time_ns == AT_NS:
                if how == "payload":
                    items[0].payload["weight"] += 1.0
                elif how == "missing":
                    items = items[1:]
                elif how == "extra":
                    items.append(items[0])
                elif how == "swapped":
                    items.reverse()
                else:
                    play_inputs(scene, [group._replace(inputs=items[1:])])
                    scene.advance(instants=1)
                    scene.inbox.put(items[0].kind, items[0].payload, source=items[0].source)
                    continue
            play_inputs(scene, [group._replace(inputs=items)])

    scene = fault_scenes.build()
    with (
        open_run(a) as run,
        record(scene, b, hash_every="instant", entry=ENTRY, args=[""]),
    ):
        change(scene, list(run.inputs()))
        scene.advance(ns=run.end_ns - scene.time.now)
    report = diff(a, b)
    assert report.inputs is not None
    assert report.inputs.time_ns == AT_NS
    assert not report.identical
    if how == "swapped":
        # A part and a move do not mind which comes first: the state never differs.
        assert report.divergence is None
        assert "the state never does" in str(report)
    else:
        assert report.divergence is not None
        assert report.divergence.time_ns == AT_NS
        assert report.divergence.cause.kind in ("input", "order"), report
    assert replay(b).identical


def test_callbacks_in_another_order(tmp_path: Path) -> None:
    """A callback moved while running: the first instant in the new order is named."""
    a = record_plant(tmp_path / "a.world")
    scene = fault_scenes.build()
    b = tmp_path / "b.world"
    with record(scene, b, hash_every="instant", entry=ENTRY, args=["reordered"]):
        fault_scenes.drive(scene, 1.2)
        scene.bindings["on_late_update"].priority = -5
        fault_scenes.drive(scene, 0.8)
    found = diff(a, b).divergence
    assert found is not None
    assert found.time_ns == AT_NS
    assert "clock" in found.parts or "scripts/Feeder" in found.parts


def test_identical_logs_and_one_that_is_shorter(tmp_path: Path) -> None:
    """What lies in both is the same; that one goes on is noted, not a difference."""
    a = record_plant(tmp_path / "a.world")
    b = record_plant(tmp_path / "b.world")
    assert diff(a, b).identical
    scene = fault_scenes.build()
    with record(scene, tmp_path / "c.world", hash_every="instant", entry=ENTRY, args=[""]):
        fault_scenes.drive(scene, 1.0)
    report = diff(a, tmp_path / "c.world")
    assert report.identical
    assert report.common_ns == 1_000_000_000
    assert "a goes on for longer" in report.notes


def test_logs_whose_scenes_cannot_be_built_still_say_when(tmp_path: Path) -> None:
    """Without any way to run them again the logs name instant and part."""
    logs = []
    for name in ("", "constant"):
        scene = fault_scenes.build(name)
        path = tmp_path / f"{name or 'fine'}.world"
        with record(scene, path, hash_every="instant"):
            fault_scenes.drive(scene)
        logs.append(path)
    report = diff(*logs)
    assert report.divergence is not None
    assert report.divergence.time_ns == AT_NS
    assert report.divergence.parts == ("scripts/Arm", "world") or report.divergence.parts == (
        "scripts/Arm",
    )
    assert any("cannot be run again" in note for note in report.notes)


def test_bisect_finds_where_changed_code_leaves_the_log(tmp_path: Path) -> None:
    """The recorded run against other code: instant, callback, fields at the next snapshot."""
    scene = fault_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, hash_every="instant", snapshot_every=0.5, entry=ENTRY, args=[""]):
        fault_scenes.drive(scene)
    report = bisect_log(path, build=lambda: fault_scenes.build("constant"))
    assert not report.identical
    assert report.time_ns == AT_NS
    assert report.cause is not None
    assert "Arm.on_update" in report.cause.name
    assert report.fields_at_ns == 1_500_000_000
    assert any(field.path == "scripts/Arm.heat" for field in report.fields)
    assert bisect_log(path).identical


def moving(pace: float) -> Scene:
    """A world that a script moves: what differs is the world's, what did it is the script's."""
    scene = Scene("moving")
    world = World(scene)
    world.spawn(velocity=(1, 0, 0))

    class Mover(Script):
        def on_update(self, ts: float) -> None:
            world.column("position")[:] += world.column("velocity") * ts * pace

    scene.add(Mover(), name="mover")
    return scene


def test_the_cause_is_what_wrote_to_the_part_that_differs(tmp_path: Path) -> None:
    """Not only what belongs to it; and times are written as people write them."""
    path = tmp_path / "run.world"
    with record(moving(1.0), path) as recorder:
        recorder.scene.advance(1)
    report = bisect_log(path, build=lambda: moving(2.0))
    assert report.cause is not None
    assert (report.cause.kind, report.cause.name) == ("callback", "mover.on_update")
    assert str(report).startswith(
        "the code does something else at 0 s, in callback mover.on_update (runner Robot, "
    )
    assert "at 0.98 s, recorded / now:" in str(report)


LATE = """
from mainspring import Scene, Script


class Counting(Script):
    odd = -1

    def __init__(self):
        self.count = 0.0

    def on_start(self):
        self.scene.inbox.route("add", self.add)

    def add(self, given):
        self.count += given.payload

    def on_update(self, ts):
        self.count += 1.0
        if self.context.step == self.odd:
            self.count += 0.5


def build(odd=-1):
    scene = Scene("late")
    scene.add(type("Counting", (Counting,), {"odd": odd, "__module__": __name__})(), name="counting")
    return scene
"""


@pytest.fixture
def late(tmp_path: Path) -> str:
    """An entry point: a count, with a step that may be odd, which is no part of the state."""
    (tmp_path / "late_of_a_test.py").write_text(LATE)
    return f"{tmp_path / 'late_of_a_test.py'}:build"


def record_late(path: Path, entry: str, seconds: float, odd: int = -1, add_at: int = -1) -> Path:
    scene = import_entry(entry)(odd)
    with record(scene, path, hash_every=2, snapshot_every=1, entry=entry, args=[odd]):
        for second in range(10):
            if second == add_at:
                scene.inbox.put("add", 2.0, source="ann")
            scene.advance(min(1, seconds - second))
    return path


def test_what_comes_after_the_last_common_hash_is_compared(late: str, tmp_path: Path) -> None:
    """Runs of other lengths have none at their ends; the logs alone would call them the same."""
    a = record_late(tmp_path / "a.world", late, 9.5)
    same = diff(a, record_late(tmp_path / "same.world", late, 9.9))
    assert same.identical
    assert str(same).startswith("identical up to 9.5 s")

    found = diff(a, record_late(tmp_path / "b.world", late, 9.9, odd=450)).divergence
    assert found is not None
    assert (found.time_ns, found.exact, found.reproduced) == (9_000_000_000, True, True)
    assert found.cause.name == "counting.on_update"
    assert [(field.field, field.b - field.a) for field in found.fields] == [("count", 0.5)]

    report = diff(a, record_late(tmp_path / "c.world", late, 9.9, add_at=9))
    assert report.divergence is not None
    assert report.divergence.time_ns == 9_000_000_000
    assert report.divergence.cause.kind == "input"


def test_a_late_step_that_is_no_function_of_the_state_is_noticed(late: str, tmp_path: Path) -> None:
    """Between the last common hash and the end, where only running again can tell."""
    a = record_late(tmp_path / "a.world", late, 9.5)
    b = record_late(tmp_path / "b.world", late, 9.9, odd=450)
    report = diff(a, b, build_b=import_entry(late))
    assert report.divergence is not None
    assert not report.divergence.reproduced
    assert (report.divergence.same_ns, report.divergence.time_ns) == (8 * 10**9, 9_880_000_000)
    assert report.divergence.parts == ("scripts/counting",)
    assert "differs between 8 s and 9.88 s, in callback counting.on_update" in str(report)


def test_what_cannot_be_run_again_is_not_called_the_same(late: str, tmp_path: Path) -> None:
    """Identical as far as the logs agree, and no further."""
    a = record_late(tmp_path / "a.world", late, 9.5)
    b = record_late(tmp_path / "b.world", late, 9.9, odd=450)

    def gone() -> Scene:
        raise LogBuildError("the yard is no more")

    report = diff(a, b, build_a=gone)
    assert report.identical
    assert report.common_ns == 8 * 10**9
    assert any("nothing is known of what comes after 8 s" in note for note in report.notes)

    source = tmp_path / "late_of_a_test.py"
    source.write_text(LATE.replace("+= 1.0", "+= 2.0"))
    done = mainspring_diff(a, b)
    assert "identical up to 8 s" in done
    assert "the code that is there now does something else than was recorded" in done


def mainspring_diff(a: Path, b: Path) -> str:
    """What `mainspring diff` says in a process of its own."""
    code = "from mainspring.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "diff", str(a), str(b)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr
