"""Recordings of scenes, compared value by value with what the scene itself saw."""

from __future__ import annotations

import base64
import dataclasses
import gc
import io
import json
import math
import os
import resource
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capture_helpers import by_topic, read_with_mcap, record_demo, walk

from mainspring.capture import CaptureError, ChannelError, Recorder, Recording, RecordingError
from mainspring.capture._pipe import Pipe
from mainspring.clock.errors import CallbackError
from mainspring.scene import Scene, Script, Subsystem


@dataclasses.dataclass
class State:
    joint: float
    name: str
    ok: bool


def test_every_channel_has_its_own_rate_and_exact_times(tmp_path: Path) -> None:
    """A second of three runners: each message stands at its runner's boundary, to the ns."""
    scene = Scene(runners=(("Robot", 50), ("Capture", 30), ("Imu", "29.97")))
    array, seen = walk(scene)
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/live", array, runner="Robot", unit="rad")
    recorder.channel("/call", lambda: array * 2)
    recorder.channel("/imu", lambda: float(array[0]), runner="Imu")
    scene.add(recorder)
    scene.advance(seconds=1)
    scene.stop()
    found = by_topic(read_with_mcap(tmp_path / "run.mcap"))
    assert [(t, v["value"]) for t, v in found["/live"]] == seen
    # At each instant the last Robot step that has run, this instant's included.
    truth = {t: max(s for s in seen if s[0] <= t)[1] for t, _ in found["/call"]}
    assert [t for t, _ in found["/call"]] == [k * 10**9 // 30 for k in range(30)]
    assert all(v["value"] == [2 * x for x in truth[t]] for t, v in found["/call"])
    assert [t for t, _ in found["/imu"]] == [k * 10**9 * 100 // 2997 for k in range(30)]
    with Recording(tmp_path / "run.mcap") as recording:
        series = recording.read("/live")
        assert series["value[3]"].tolist() == [v[3] for _, v in seen]
        assert series.channel.unit == "rad"
        assert series.channel.metadata["rate_hz"] == "50"
        assert series.channel.metadata["phase"] == "Export"


def test_phase_and_priority_decide_what_is_seen(tmp_path: Path) -> None:
    """Before the controller the old value, after it the one it just wrote."""
    scene = Scene()
    array, seen = walk(scene, 1)
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/before", array, runner="Robot", phase="Acquisition")
    recorder.channel("/inside", array, runner="Robot", phase="Control", priority=1)
    recorder.channel("/earlier", array, runner="Robot", phase="Control", priority=-1)
    scene.add(recorder, runner="Robot")
    scene.advance(steps=20, runner="Robot")
    scene.stop()
    found = by_topic(read_with_mcap(tmp_path / "run.mcap"))
    after = [v for _, v in seen]
    before = [[0.0], *after[:-1]]
    assert [v["value"] for _, v in found["/inside"]] == after
    assert [v["value"] for _, v in found["/before"]] == before
    assert [v["value"] for _, v in found["/earlier"]] == before


VALUES: list[tuple[str, Any, Any]] = [
    ("float", 0.1, {"value": 0.1}),
    ("whole float", 3.0, {"value": 3.0}),
    ("int", 2**60 + 1, {"value": 2**60 + 1}),
    ("bool", True, {"value": True}),
    ("text", 'é "quoted"\n', {"value": 'é "quoted"\n'}),
    ("list", [1, 2.5], {"value": [1, 2.5]}),
    ("dict", {"a": 1, "b": [True]}, {"a": 1, "b": [True]}),
    ("dataclass", State(0.5, "arm", True), {"joint": 0.5, "name": "arm", "ok": True}),
    ("nan", math.nan, {"value": "NaN"}),
    ("inf inside", {"a": -math.inf}, {"a": "-Infinity"}),
    ("float32", np.float32(0.1), {"value": 0.1}),
    ("uint8", np.array([0, 255], np.uint8), {"value": [0, 255]}),
    ("int64", np.int64(-(2**63)), {"value": -(2**63)}),
    ("float16", np.float16(0.5), {"value": 0.5}),
    ("big endian", np.array([1.5, -2.0], ">f8"), {"value": [1.5, -2.0]}),
    ("matrix", np.arange(6.0).reshape(2, 3), {"value": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}),
    ("not contiguous", np.arange(6.0).reshape(2, 3).T, {"value": [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]}),
    ("empty", np.zeros(0), {"value": []}),
    (
        "record",
        np.array((1, [2.0, 3.0]), [("n", "i2"), ("p", "f8", 2)]),
        {"n": 1, "p": [2.0, 3.0]},
    ),
    ("table", np.array([(1,), (2,)], [("n", "i4")]), {"rows": [{"n": 1}, {"n": 2}]}),
    ("subnormal", 5e-324, {"value": 5e-324}),
    ("large", 1.7976931348623157e308, {"value": 1.7976931348623157e308}),
]


@pytest.mark.parametrize(("value", "message"), [v[1:] for v in VALUES], ids=[v[0] for v in VALUES])
def test_values_keep_their_kind_and_every_digit(tmp_path: Path, value: Any, message: Any) -> None:
    """Fetched by Python at the first step and by the kernel after it: the same message."""
    scene = Scene()
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/x", lambda: value)
    scene.add(recorder)
    scene.advance(seconds=0.1)
    scene.stop()
    found = [v for _, _, v in read_with_mcap(tmp_path / "run.mcap")]
    assert [repr(v) for v in found] == [repr(message)] * 3


def test_numbers_may_change_kind_and_tables_their_length(tmp_path: Path) -> None:
    scene = Scene()
    now = [0]
    scene.time.register(lambda context: now.__setitem__(0, context.step), runner="Capture")
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/never", lambda: None)
    recorder.channel("/number", lambda: now[0] if now[0] % 2 == 0 else now[0] + 0.5)
    recorder.channel("/table", lambda: np.zeros(now[0], [("x", "f4")]))
    recorder.channel("/late", lambda: None if now[0] < 2 else now[0])
    recorder.channel("/declared", lambda: now[0], dtype=float)
    scene.add(recorder)
    scene.advance(seconds=0.1)
    scene.stop()
    found = by_topic(read_with_mcap(tmp_path / "run.mcap"))
    assert [repr(v["value"]) for _, v in found["/number"]] == ["0", "1.5", "2"]
    assert [len(v["rows"]) for _, v in found["/table"]] == [0, 1, 2]
    assert found["/late"] == [(66_666_666, {"value": 2})]
    assert [repr(v["value"]) for _, v in found["/declared"]] == ["0.0", "1.0", "2.0"]
    assert "/never" not in found


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([np.zeros(3), np.zeros(4)], r"'/x' was given an array of float64 of shape \(4,\)"),
        ([np.zeros(3), None], "'/x' was given None after it had begun"),
        ([1.0, "text"], "'/x' was given 'text' .* where a number is expected"),
        ([np.zeros(3, np.int32), np.zeros(3)], "its first value was int32"),
        ([1, 2**70], "'/x' was given 1180591620717411303424"),
        ([object()], "'/x'|object"),
    ],
)
def test_a_value_that_does_not_fit_names_its_channel(
    tmp_path: Path, values: list[Any], words: str
) -> None:
    scene = Scene()
    source = iter(values)
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/x", lambda: next(source))
    scene.add(recorder)
    with pytest.raises(CallbackError, match=words) as caught:
        scene.advance(seconds=1)
    assert isinstance(caught.value.__cause__, (ChannelError, TypeError))
    scene.stop()
    # What was sampled before is in the file, and the file is whole.
    assert len(read_with_mcap(tmp_path / "run.mcap")) == len(values) - 1


def test_foxglove_messages(tmp_path: Path) -> None:
    """Poses, scans and frames carry the names and fields that viewers know."""
    import PIL.Image

    scene = Scene()
    frames = iter(range(9))
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.pose("/tool", lambda: [1, 2, 3, 1, 0, 0, 0], frame_id="base")
    recorder.poses("/boxes", lambda: np.tile(np.arange(7.0), (2, 1)), quaternion="xyzw")
    recorder.scan("/scan", lambda: np.array([1.0, 2.0]), rays=2, start_angle=-1, end_angle=1)
    recorder.camera("/png", lambda: np.full((4, 6, 3), next(frames), np.uint8))
    recorder.camera("/jpeg", lambda: np.zeros((4, 6), np.uint8), format="jpeg", quality=50)
    scene.add(recorder)
    scene.advance(seconds=0.1)
    scene.stop()
    found = by_topic(read_with_mcap(tmp_path / "run.mcap"))
    stamp = {"sec": 0, "nsec": 66_666_666}
    assert found["/tool"][2] == (
        66_666_666,
        {
            "timestamp": stamp,
            "frame_id": "base",
            "pose": {
                "position": {"x": 1.0, "y": 2.0, "z": 3.0},
                "orientation": {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0},
            },
        },
    )
    assert found["/boxes"][0][1]["poses"][1]["orientation"] == {
        "x": 3.0,
        "y": 4.0,
        "z": 5.0,
        "w": 6.0,
    }
    assert found["/scan"][0][1]["ranges"] == [1.0, 2.0]
    for index, (_, frame) in enumerate(found["/png"]):
        picture = PIL.Image.open(io.BytesIO(base64.b64decode(frame["data"])))
        assert (np.asarray(picture) == index).all()
        assert picture.size == (6, 4)
        assert frame["format"] == "png"
    with PIL.Image.open(io.BytesIO(base64.b64decode(found["/jpeg"][0][1]["data"]))) as picture:
        assert picture.format == "JPEG"
    with Recording(tmp_path / "run.mcap") as recording:
        assert {c.topic: c.schema_name for c in recording.channels} == {
            "/tool": "foxglove.PoseInFrame",
            "/boxes": "foxglove.PosesInFrame",
            "/scan": "foxglove.LaserScan",
            "/png": "foxglove.CompressedImage",
            "/jpeg": "foxglove.CompressedImage",
        }
        assert {c.schema_encoding for c in recording.channels} == {"jsonschema"}


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """Again here, with a queue that is always full, and in another process under another hash seed."""
    record_demo(tmp_path / "a.mcap")
    first = (tmp_path / "a.mcap").read_bytes()
    record_demo(tmp_path / "b.mcap", queue_bytes=1)
    assert (tmp_path / "b.mcap").read_bytes() == first
    code = (
        "import sys; from pathlib import Path; from capture_helpers import record_demo;"
        "record_demo(Path(sys.argv[1]))"
    )
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "123",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "c.mcap")], check=True, env=environment
    )
    assert (tmp_path / "c.mcap").read_bytes() == first


def test_recording_changes_nothing(tmp_path: Path) -> None:
    """With a recorder and without: every part hashes the same, and states are interchangeable."""

    def build(recorded: bool) -> Scene:
        scene = Scene()
        array, _ = walk(scene)
        if recorded:
            recorder = Recorder(tmp_path / "run.mcap")
            recorder.channel("/a", array, runner="Robot", phase="Acquisition")
            recorder.channel("/b", lambda: array.sum())
            scene.add(recorder)
        scene.advance(seconds=0.35)
        return scene

    plain, recorded = build(False), build(True)
    assert recorded.part_hashes() == plain.part_hashes()
    recorded.restore(plain.save())
    plain.restore(recorded.save())
    recorded.stop()


def test_a_restored_snapshot_begins_the_next_file(tmp_path: Path) -> None:
    scene = Scene()
    array, seen = walk(scene, 1)
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/a", array, runner="Robot")
    scene.add(recorder)
    scene.advance(seconds=0.2)
    saved = scene.save()
    scene.advance(seconds=0.2)
    scene.restore(saved)
    scene.advance(seconds=0.1)
    scene.stop()
    first = read_with_mcap(tmp_path / "run.mcap")
    second = read_with_mcap(tmp_path / "run-2.mcap")
    assert [t for _, t, _ in first] == [k * 20_000_000 for k in range(20)]
    assert [t for _, t, _ in second] == [k * 20_000_000 for k in range(10, 15)]
    assert [(t, v["value"]) for _, t, v in first + second] == seen
    assert recorder.statistics().files == (tmp_path / "run.mcap", tmp_path / "run-2.mcap")


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """Run after run takes the next free number; `overwrite` takes the name itself; a reset goes on."""

    def run(**options: Any) -> Recorder:
        scene = Scene()
        recorder = Recorder(tmp_path / "run.mcap", **options)
        recorder.channel("/t", lambda: scene.time.now)
        recorder.channel("/named", "time.now", dtype="f4")
        scene.add(recorder)
        scene.advance(seconds=0.1)
        scene.reset()
        scene.advance(seconds=0.1)
        scene.stop()
        return recorder

    assert [path.name for path in run().files] == ["run.mcap", "run-2.mcap"]
    first = (tmp_path / "run.mcap").read_bytes()
    assert (tmp_path / "run-2.mcap").read_bytes() == first
    assert [path.name for path in run().files] == ["run-3.mcap", "run-4.mcap"]
    assert [path.name for path in run(overwrite=True).files] == ["run.mcap", "run-2.mcap"]
    assert (tmp_path / "run.mcap").read_bytes() == first


def test_a_log_replays_without_the_recorder_of_its_scene_file(tmp_path: Path) -> None:
    """The recorder only looked: the replay is identical, and records nothing once more."""
    from mainspring.scene import load_scene
    from mainspring.world.log import record, replay

    settings = tmp_path / "scene.toml"
    settings.write_text(f"""
[scene]
name = "recorded"
[[runner]]
name = "Robot"
rate = 100
[[subsystem]]
type = "mainspring.capture:Recorder"
runner = "Robot"
args = {{ path = "{tmp_path / "run.mcap"}", channels = [{{ topic = "/now", source = "time.now" }}] }}
""")
    scene = load_scene(settings)
    with record(scene, tmp_path / "run.world", hash_every=0.1, entry=settings):
        scene.advance(seconds=0.5)
    scene.stop()
    assert replay(tmp_path / "run.world").identical
    assert len(read_with_mcap(tmp_path / "run.mcap")) == 50
    assert not (tmp_path / "run-2.mcap").exists()


def test_a_queue_that_refuses_ends_the_run_and_closes_the_file(tmp_path: Path) -> None:
    """With `when_full="error"` a disk that cannot follow is an error; the file is whole."""
    scene = Scene(runners=(("Robot", 500),))
    noise = np.random.default_rng(1).random((500, 2000))
    recorder = Recorder(tmp_path / "run.mcap", queue_bytes=1, when_full="error")
    recorder.channel("/a", lambda: noise[scene.time.now // 2_000_000 % 500], runner="Robot")
    scene.add(recorder, runner="Robot")
    with pytest.raises(CallbackError, match="bytes waiting to be written, and its limit is 1"):
        scene.advance(seconds=100)
    scene.stop()
    messages = read_with_mcap(tmp_path / "run.mcap")
    assert [t for _, t, _ in messages] == [k * 2_000_000 for k in range(len(messages))]
    assert len(messages) > 10


def test_a_full_disk_ends_the_run_and_never_leaves_a_gap(tmp_path: Path) -> None:
    """The error reaches the run; the file holds every step up to the one it names, and no other."""
    scene = Scene(runners=(("Robot", 500),))
    array, seen = walk(scene, 50)
    recorder = Recorder(
        tmp_path / "run.mcap", compression="none", chunk_bytes=10_000, queue_bytes=100_000
    )
    recorder.channel("/a", array, runner="Robot")
    scene.add(recorder, runner="Robot")
    scene.start()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(CallbackError, match="cannot be written"):
            scene.advance(seconds=100)
        with pytest.raises(RecordingError, match=r"whole up to \d\.\d+ s"):
            scene.stop()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with Recording(tmp_path / "run.mcap") as recording:
        series = recording.read("/a")
        assert recording.truncated
    assert 0 < len(series) < len(seen)
    assert (
        list(zip(series.times_ns.tolist(), (v["value"] for v in series.values), strict=True))
        == (seen[: len(series)])
    )


def test_a_full_queue_waits_or_refuses() -> None:
    """Nothing is dropped: `wait` takes everything in order, `error` says so and takes nothing."""
    gate, taken = threading.Event(), []

    def slow(item: int) -> None:
        gate.wait()
        taken.append(item)

    pipe = Pipe(slow, name="the recording x", limit_bytes=100, when_full="error")
    pipe.put(1, 90)
    with pytest.raises(RecordingError, match="90 bytes waiting"):
        pipe.put(2, 20)
    gate.set()
    pipe.close()
    assert taken == [1]

    gate.clear()
    taken.clear()
    waiting = Pipe(slow, name="the recording y", limit_bytes=100, when_full="wait")
    waiting.put(1, 90)
    opener = threading.Timer(0.01, gate.set)
    opener.start()
    for item in range(2, 30):
        waiting.put(item, 90)
    waiting.close()
    opener.join()
    assert taken == list(range(1, 30))
    assert waiting.peak_bytes <= 100
    assert waiting.waits >= 1


def test_a_failed_writer_is_heard_by_whoever_waits() -> None:
    def fail(item: int) -> None:
        raise OSError("broken")

    pipe = Pipe(fail, name="the recording", limit_bytes=10)
    pipe.put(1, 8)
    with pytest.raises(OSError, match="broken"):
        list(map(pipe.put, range(100), [8] * 100))
    with pytest.raises(OSError, match="broken"):
        pipe.close()


def test_flush_puts_everything_into_the_file(tmp_path: Path) -> None:
    """After `flush` the file opens up to the last step, though the run goes on."""
    scene = Scene()
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/t", lambda: scene.time.now, runner="Robot")
    scene.add(recorder)
    scene.advance(seconds=0.5)
    recorder.flush()
    with Recording(tmp_path / "run.mcap") as recording:
        assert recording.read("/t")["value"].tolist() == [k * 20_000_000 for k in range(25)]
        assert recording.truncated
    scene.advance(seconds=0.5)
    scene.stop()
    assert len(read_with_mcap(tmp_path / "run.mcap")) == 50


def test_a_program_that_forgets_to_stop_leaves_a_whole_file(tmp_path: Path) -> None:
    code = f"""
from mainspring.capture import Recorder
from mainspring.scene import Scene
scene = Scene()
recorder = Recorder({str(tmp_path / "run.mcap")!r})
recorder.channel("/t", lambda: scene.time.now, runner="Robot")
scene.add(recorder)
scene.advance(seconds=1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(read_with_mcap(tmp_path / "run.mcap")) == 50


def test_a_killed_run_leaves_what_was_written(tmp_path: Path) -> None:
    """A process that is killed, with more sampled than written: whole chunks open, in order."""
    code = f"""
import os, signal
from mainspring.capture import Recorder
from mainspring.scene import Scene
scene = Scene(runners=(("Robot", 500), ("Capture", 30)))
recorder = Recorder({str(tmp_path / "run.mcap")!r}, chunk_seconds=0.5)
recorder.channel("/t", lambda: scene.time.now, runner="Robot")
scene.add(recorder)
scene.advance(seconds=3)
recorder.flush()
scene.advance(seconds=0.1)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with Recording(tmp_path / "run.mcap") as recording:
        assert recording.read("/t")["value"].tolist() == [k * 2_000_000 for k in range(1500)]
        assert "without a footer" in (recording.truncated or "")


def test_a_stopped_recorder_lets_go_of_what_it_looked_at(tmp_path: Path) -> None:
    """Scene, sources and the kernel's sampler are collected, cycles through closures included."""

    def record() -> list[weakref.ref[Any]]:
        scene = Scene()
        array, _ = walk(scene)
        recorder = Recorder(tmp_path / "run.mcap")
        recorder.channel("/array", array, runner="Robot")
        recorder.channel("/scene", lambda: scene.time.now)
        recorder.channel("/recorder", lambda: len(recorder.topics))
        scene.add(recorder)
        scene.advance(seconds=0.1)
        session = recorder._session
        assert session is not None
        scene.stop()
        return [weakref.ref(scene), weakref.ref(recorder), weakref.ref(array), weakref.ref(session)]

    gone = record()
    gc.collect()
    assert [reference() for reference in gone] == [None] * 4


def test_sources_by_name_and_by_kind(tmp_path: Path) -> None:
    """Paths from the scene, objects with `value`, sensors with `read`, settings as in a file."""

    class Output:
        value = 4.5

    class Sensor:
        def read(self) -> np.ndarray[Any, Any]:
            return np.array([1.0, 2.0])

    class Arm:
        q = np.zeros(2)
        gains = {"p": 3.0}  # noqa: RUF012

    class Walker(Script):
        pace = 0.5

    class Imu(Subsystem):
        value = 9.81

    scene = Scene()
    scene.add(Walker(), name="walker")
    scene.add(Imu(), name="imu")
    arm = Arm()
    scene.attach("arm", arm)
    scene.time.register(lambda context: setattr(arm, "q", np.full(2, float(context.step))))
    recorder = Recorder(
        tmp_path / "run.mcap",
        channels=[
            {"topic": "/q", "source": "arm.q", "runner": "Robot"},
            {"topic": "/p", "source": "arm.gains.p"},
            {"topic": "/script", "source": "walker.pace"},
            {"topic": "/named", "source": "imu"},
        ],
    )
    recorder.channel("/out", Output())
    recorder.channel("/sensor", Sensor())
    scene.add(recorder)
    scene.advance(seconds=0.05)
    scene.stop()
    found = by_topic(read_with_mcap(tmp_path / "run.mcap"))
    assert [v["value"] for _, v in found["/q"]] == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert {topic: v[0][1]["value"] for topic, v in found.items() if topic != "/q"} == {
        "/p": 3.0,
        "/script": 0.5,
        "/named": 9.81,
        "/out": 4.5,
        "/sensor": [1.0, 2.0],
    }


def test_columns_of_the_world(tmp_path: Path) -> None:
    """Entities come and go; each row names the one it is of."""
    from mainspring.world import World

    scene = Scene()
    world = World(scene)
    world.component("charge", "f4")
    first = world.spawn(position=(1, 2, 3), charge=0.5)

    def live(context: Any) -> None:
        if context.step == 1:
            world.spawn(position=(4, 5, 6))
        if context.step == 2:
            world.destroy(first)

    scene.time.register(live, runner="Capture")
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.column("/charge", "charge")
    recorder.column("/position", "position")
    recorder.transforms("/tf")
    scene.add(recorder)
    scene.advance(seconds=0.1)
    scene.stop()
    found = by_topic(read_with_mcap(tmp_path / "run.mcap"))
    assert [v["rows"] for _, v in found["/charge"]] == [
        [{"entity": 1, "charge": 0.5}],
        [{"entity": 1, "charge": 0.5}],
        [],
    ]
    assert [[row["entity"] for row in v["rows"]] for _, v in found["/position"]] == [
        [1],
        [1, 2],
        [2],
    ]
    assert found["/position"][2][1]["rows"][0]["position"] == [4.0, 5.0, 6.0]
    assert [[t["child_frame_id"] for t in v["transforms"]] for _, v in found["/tf"]] == [
        ["ent_1"],
        ["ent_1", "ent_2"],
        ["ent_2"],
    ]
    assert found["/tf"][0][1]["transforms"][0]["rotation"] == {
        "w": 1.0,
        "x": 0.0,
        "y": 0.0,
        "z": 0.0,
    }


class Eye(Subsystem):
    """A camera as sensors are: a reading that arrives later than it was taken."""

    def __init__(self) -> None:
        self._reading: Reading | None = None
        self._next: Reading | None = None

    @property
    def reading(self) -> Reading | None:
        return self._reading

    @property
    def value(self) -> Any:
        return np.zeros((2, 2), np.uint8) if self._reading is None else self._reading.value

    def step(self, context: Any) -> None:
        self._reading = self._next
        self._next = Reading(context.time, np.full((2, 2), context.step, np.uint8))


@dataclasses.dataclass
class Reading:
    time_ns: int
    value: Any


def test_sensors_are_recorded_at_their_own_rate(tmp_path: Path) -> None:
    """A sensor's runner is the channel's; a frame is recorded once, with the time it was taken."""
    scene = Scene(runners=(("Robot", 50), ("Capture", 100), ("Eye", 20)))
    eye = scene.add(Eye(), name="eye", runner="Eye", phase="Acquisition")
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/value", eye)
    recorder.camera("/frames", "eye")
    recorder.camera("/often", eye, runner="Capture")
    scene.add(recorder)
    scene.advance(seconds=0.2)
    scene.stop()
    found = by_topic(read_with_mcap(tmp_path / "run.mcap"))
    assert [t for t, _ in found["/value"]] == [0, 50_000_000, 100_000_000, 150_000_000]
    for topic in ("/frames", "/often"):
        assert [(t, v["timestamp"]["nsec"]) for t, v in found[topic]] == [
            (50_000_000, 0),
            (100_000_000, 50_000_000),
            (150_000_000, 100_000_000),
        ]


def test_messages_are_valid_by_their_schemas(tmp_path: Path) -> None:
    """Every message of every kind of channel, by a JSON Schema validator."""
    import jsonschema

    record_demo(tmp_path / "run.mcap")
    scene = Scene()
    recorder = Recorder(tmp_path / "kinds.mcap")
    recorder.pose("/pose", lambda: np.arange(7.0))
    recorder.poses("/poses", lambda: np.ones((3, 7)))
    recorder.scan("/scan", lambda: np.ones(5), rays=5, start_angle=0, end_angle=1)
    recorder.channel("/record", lambda: np.array((1, 2.0), [("a", "i2"), ("b", "f8")]))
    recorder.channel("/table", lambda: np.zeros(2, [("a", "?"), ("b", "f4", 3)]))
    recorder.channel("/state", lambda: State(0.5, "x", False))
    scene.add(recorder)
    scene.advance(seconds=0.1)
    scene.stop()
    for name in ("run.mcap", "kinds.mcap"):
        with Recording(tmp_path / name) as recording:
            for channel in recording.channels:
                schema = json.loads(channel.schema_data)
                validator = jsonschema.Draft202012Validator(schema)
                assert schema["type"] == "object"
                for value in recording.read(channel.topic).values[:20]:
                    validator.validate(value)


@pytest.mark.parametrize(
    "value",
    [
        [], [[]], [[1.0]], [1, "a"], [None], [[1], [2, 3]], {"a": None, "b": []}, {"c": [{"d": []}]},
        {"e": [{"f": 1.5}, {"f": 2}], "g": {"h": [True]}}, None, {}, [True, 1],
    ],
)  # fmt: skip
def test_viewers_take_every_schema(tmp_path: Path, value: Any) -> None:
    """They refuse a property of no type, an array of no type and an array of arrays."""
    import jsonschema

    def check(schema: dict[str, Any]) -> None:
        assert schema["type"] in ("object", "array", "string", "number", "integer", "boolean")
        if schema["type"] == "object":
            for inner in schema["properties"].values():
                check(inner)
        if schema["type"] == "array":
            assert schema["items"]["type"] != "array"
            check(schema["items"])

    said = [value, {"late": 1}] if value is None else [value]
    scene = Scene()
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/x", lambda: said[0] if len(said) == 1 else said.pop(0))
    scene.add(recorder)
    scene.advance(seconds=0.1)
    scene.stop()
    with Recording(tmp_path / "run.mcap") as recording:
        schema = json.loads(recording.channel("/x").schema_data)
        check(schema)
        for message in recording.read("/x").values:
            jsonschema.validate(message, schema)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"compression": "gzip"}, "unknown compression 'gzip'"),
        ({"when_full": "drop"}, "unknown when_full 'drop'"),
        ({"queue_bytes": 0}, "queue_bytes is a positive"),
        ({"chunk_bytes": 1.5}, "chunk_bytes is a positive"),
        ({"chunk_seconds": math.nan}, "chunk_seconds is a positive"),
    ],
)
def test_mistakes_in_settings_are_told_at_once(settings: dict[str, Any], error: str) -> None:
    with pytest.raises(RecordingError, match=error):
        Recorder("run.mcap", **settings)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    scene = Scene()
    scene.add(Recorder(tmp_path / "file" / "run.mcap"))
    with pytest.raises(RecordingError, match=r"run\.mcap cannot be created"):
        scene.start()


def test_an_integer_beyond_64_bits_is_named(tmp_path: Path) -> None:
    scene = Scene()
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/big", lambda: 2**63)
    scene.add(recorder)
    with pytest.raises(CallbackError, match=r"'/big' was given 9223372036854775808.* 64 bits"):
        scene.advance(seconds=0.1)


def test_mistakes_in_channels_are_told_at_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/a", lambda: 1)
    with pytest.raises(ChannelError, match="'/a' already"):
        recorder.channel("/a", lambda: 2)
    with pytest.raises(ChannelError, match="unknown image format"):
        recorder.camera("/c", lambda: None, format="gif")  # type: ignore[arg-type]
    with pytest.raises(ChannelError, match="'/u' has the unit 5"):
        recorder.channel("/u", lambda: 1, unit=5)  # type: ignore[arg-type]
    with pytest.raises(ChannelError, match="'/t' cannot be recorded as 'words'"):
        recorder.channel("/t", lambda: 1, dtype="words")
    with pytest.raises(ChannelError, match="quaternion"):
        recorder.pose("/p", lambda: None, quaternion="abcd")
    with pytest.raises(CaptureError, match=r"not 'run\.txt'"):
        Recorder("run.txt")
    with pytest.raises(ChannelError, match="unknown kind of channel 'film'"):
        Recorder("x.mcap", channels=[{"kind": "film", "topic": "/x"}])
    with pytest.raises(ChannelError, match=r"'/x'.*sorce"):
        Recorder("x.mcap", channels=[{"topic": "/x", "sorce": "y"}])
    scene = Scene()
    scene.add(recorder)
    recorder.channel("/b", "arm.q")
    with pytest.raises(ChannelError, match="'/b' looks at 'arm'"):
        scene.start()
    assert not (tmp_path / "run.mcap").exists()
    # A start that fails leaves nothing behind; another may work.
    scene = Scene()
    recorder = Recorder(tmp_path / "new" / "run.mcap")
    recorder.channel("/a", lambda: 1, runner="Robot")
    recorder.channel("/b", "arm.q")
    scene.add(recorder)
    with pytest.raises(ChannelError):
        scene.start()
    assert [r.name for r in scene.time.registrations] == ["recorder"]
    scene.attach("arm", np.zeros(1))
    with pytest.raises(ChannelError, match="has no 'q'"):
        scene.start()
    assert not (tmp_path / "new").exists()


def test_parquet_straight_from_a_run(tmp_path: Path) -> None:
    """One table, a row for each moment; the recording it was made from is gone."""
    import pyarrow.parquet as parquet

    scene = Scene()
    array, seen = walk(scene, 2)
    recorder = Recorder(tmp_path / "run.parquet")
    recorder.channel("/q", array, runner="Robot")
    recorder.channel("/n", lambda: len(seen))
    scene.add(recorder)
    scene.advance(seconds=0.1)
    scene.stop()
    table = parquet.read_table(tmp_path / "run.parquet").to_pylist()
    assert [(row["time_ns"], row["/q.value"]) for row in table if row["/q.value"]] == seen
    assert [row["/n.value"] for row in table] == [1, None, 2, None, None, 4, None]
    assert os.listdir(tmp_path) == ["run.parquet"]


def test_channels_side_by_side_in_memory_stay_apart_in_the_file(tmp_path: Path) -> None:
    """Slices of one array, next to each other and not, in any order, with a callable between."""
    scene = Scene(runners=(("Robot", 100),))
    state = np.arange(12, dtype=np.float64)
    scene.time.register(lambda context: state.__iadd__(1.0), runner="Robot", phase="Physics")
    recorder = Recorder(tmp_path / "run.mcap")
    slices = {"/b": state[3:6], "/a": state[0:3], "/c": state[6:7], "/d": state[7:9],
              "/none": state[9:9], "/e": state[9:12]}  # fmt: skip
    for topic, source in slices.items():
        recorder.channel(topic, source, runner="Robot")
        if topic == "/c":
            recorder.channel("/sum", lambda: float(state.sum()), runner="Robot")
    scene.add(recorder, runner="Robot")
    scene.advance(seconds=1)
    scene.stop()
    found = by_topic(read_with_mcap(tmp_path / "run.mcap"))
    for topic, source in slices.items():
        first = (source - 100.0).tolist()
        wanted = [[value + k + 1 for value in first] for k in range(100)]
        assert [message["value"] for _, message in found[topic]] == wanted, topic
    start = sum(range(12))
    assert [m["value"] for _, m in found["/sum"]] == [start + 12.0 * (k + 1) for k in range(100)]


def test_a_source_cannot_flush_its_own_recording(tmp_path: Path) -> None:
    """Half a row never reaches the file: the run ends, and the file is whole."""
    scene = Scene(runners=(("Robot", 100),))
    recorder = Recorder(tmp_path / "run.mcap")
    steps = iter(range(1000))

    def source() -> float:
        if next(steps) == 50:
            recorder.flush()
        return 1.0

    recorder.channel("/before", lambda: 0.0, runner="Robot")
    recorder.channel("/flushes", source, runner="Robot")
    scene.add(recorder, runner="Robot")
    with pytest.raises(Exception, match="flushed by one of its sources"):
        scene.advance(seconds=1)
    recorder.stop()
    found = by_topic(read_with_mcap(tmp_path / "run.mcap"))
    assert len(found["/before"]) == len(found["/flushes"]) == 50


def test_a_writer_that_fails_ends_the_run_at_the_next_step(tmp_path: Path) -> None:
    """Not at the next tape: the short way through the kernel is closed at once."""
    scene = Scene(runners=(("Robot", 100),))
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.channel("/x", np.zeros(1), runner="Robot")
    scene.add(recorder, runner="Robot")
    scene.advance(seconds=0.5)
    session = recorder._session
    assert session is not None
    session.put(object(), 0)  # nothing the writer knows: it flushes
    session.pipe.drain()
    session.put({"scene": 3}, 0)  # metadata that is no text: it fails
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the writer died of
        session.pipe.drain()
    before = scene.time.now
    with pytest.raises(Exception, match="recorder"):
        scene.advance(seconds=0.5)
    assert scene.time.now - before <= 10_000_000
    with pytest.raises(Exception):  # noqa: B017, PT011
        recorder.stop()
