"""Recording beside not recording, and MCAP writing beside the `mcap` package.

What is promised: 100 channels at 500 Hz slow a run by at most 10 percent, and MCAP is written
at least as fast as with the `mcap` package used directly.

The runs are as fast as they go, which is the hardest case: a paced run has time to spare. How
much recording costs a run depends on what its steps cost, so the first table also gives the
price of a step's recording in microseconds. Where there are two processors the writer works
beside the run; with one it takes its time from it, and `until it is on the disk` shows that.
The least of the rounds is compared with the least, so that what else the machine does counts
as little as it can; `own time` is what the run's thread itself used.
"""

from __future__ import annotations

import functools
import math
import statistics
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from mcap.writer import CompressionType, Writer

from benchmarks.tools import interleaved, ratio, row
from mainspring.capture import McapWriter, Recorder, Trace
from mainspring.capture._layout import number_layout
from mainspring.scene import Scene, load_scene

CHANNELS = 100
RATE = 500
SECONDS = 4
ROUNDS = 9
CELL = Path(__file__).resolve().parents[2] / "examples" / "robot_cell" / "scene.toml"


def main() -> None:
    """Prints the tables."""
    with tempfile.TemporaryDirectory() as folder:
        slowdown(Path(folder))
        writing(Path(folder))
    tracing()


def synthetic(work_us: float) -> tuple[Scene, Any]:
    """A scene whose 500 Hz step does as much arithmetic as takes about `work_us`."""
    scene = Scene(runners=(("Robot", RATE), ("Capture", 30)))
    state = np.zeros(CHANNELS)
    # No matrices: those would bring threads of their own.
    values = np.linspace(0, 1, int(1000 * work_us / _sine_us()))
    out = np.empty_like(values)

    def work(context: Any) -> None:
        state[:] = context.time * 1e-9
        np.sin(values, out=out)

    scene.time.register(work, runner="Robot", phase="Physics")
    return scene, state


@functools.cache
def _sine_us() -> float:
    """What a thousand sines take."""
    values = np.linspace(0, 1, 1000)
    return min(timeit.repeat(lambda: np.sin(values), number=200, repeat=20)) / 200 * 1e6


def robot_cell() -> tuple[Scene, Any]:
    """The example's arm in MuJoCo; what is recorded are a hundred of its numbers."""
    scene = load_scene(CELL)
    scene.remove("recorder")
    data = scene.subsystems["arm"].data
    whole = np.resize(data.qpos, CHANNELS)
    return scene, whole


def slowdown(folder: Path) -> None:
    """The same scene with and without 100 channels."""
    scenes: dict[str, tuple[Callable[[], tuple[Scene, Any]], str]] = {
        "a step of about 100 µs": (lambda: synthetic(100), "Robot"),
    }
    try:
        robot_cell()
    except Exception as error:  # no MuJoCo here
        print(f"  (the robot cell is left out: {error})")
    else:
        scenes["the robot cell in MuJoCo"] = (robot_cell, "Physics")
    for name, (build, runner) in scenes.items():
        kinds = ("not recorded", "100 arrays in place", "100 Python callables", "1 array of 100")
        best: dict[str, list[float]] = {kind: [math.inf] * 3 for kind in kinds}
        for _ in range(ROUNDS):
            for kind in kinds:
                found = one_run(build, kind, runner, folder / "run.mcap")
                best[kind] = [min(pair) for pair in zip(best[kind], found, strict=True)]
        bare = best["not recorded"]
        steps = SECONDS * RATE
        row(f"{name}: {bare[0] / steps * 1e6:.1f} µs a step", "time with / without")
        for kind in kinds[1:]:
            run, own, closed = best[kind]
            price = (own - bare[1]) / steps * 1e6
            row(
                f"  {kind} at {RATE} Hz",
                f"{run / bare[0]:.3f}, own time {own / bare[1]:.3f}",
                f"at most 1.1; {price:.1f} µs a step",
            )
            row("    until it is on the disk", f"{closed / bare[2]:.3f}")


def one_run(
    build: Callable[[], tuple[Scene, Any]], kind: str, runner: str, path: Path
) -> tuple[float, float, float]:
    """Seconds of the run, of its own thread, and until the file is closed."""
    scene, state = build()
    if kind != "not recorded":
        scene.add(recorder(path, state, kind, runner))
    scene.start()
    scene.advance(seconds=0.2)
    start, own = time.perf_counter(), time.thread_time()
    scene.advance(seconds=SECONDS)
    ran, own = time.perf_counter() - start, time.thread_time() - own
    scene.stop()
    return ran, own, time.perf_counter() - start


def recorder(path: Path, state: Any, kind: str, runner: str) -> Recorder:
    made = Recorder(path, overwrite=True)
    if kind == "1 array of 100":
        made.channel("/all", state, runner=runner)
        return made
    for i in range(CHANNELS):
        source = state[i : i + 1] if kind == "100 arrays in place" else _item(state, i)
        made.channel(f"/c{i}", source, runner=runner)
    return made


def _item(state: Any, i: int) -> Callable[[], float]:
    return lambda: state.item(i)


def writing(folder: Path) -> None:
    """Half a million messages of a number each: the same to every writer."""
    rows = CHANNELS * RATE * 10 // CHANNELS
    numbers = [[math.sin(k * 0.01 + c) for c in range(CHANNELS)] for k in range(rows)]
    messages = [
        [msgspec.json.encode({"value": number}) for number in numbers[k]] for k in range(rows)
    ]
    size = sum(len(message) for one in messages for message in one)
    tape = _tape(numbers)
    count = rows * CHANNELS

    def theirs(encode: bool, compression: CompressionType) -> float:
        start = time.perf_counter()
        with open(folder / "theirs.mcap", "wb") as file:
            writer = Writer(file, compression=compression)
            writer.start()
            schema = writer.register_schema("n", "jsonschema", b"{}")
            ids = [writer.register_channel(f"/c{c}", "json", schema) for c in range(CHANNELS)]
            for k in range(rows):
                for c, id in enumerate(ids):
                    data = (
                        msgspec.json.encode({"value": numbers[k][c]}) if encode else messages[k][c]
                    )
                    writer.add_message(id, k, data, k)
            writer.finish()
        return time.perf_counter() - start

    def ours(kind: str, compression: Any) -> float:
        start = time.perf_counter()
        path = folder / "ours.mcap"
        with McapWriter(path, compression=compression, overwrite=True, durable=False) as writer:
            schema = writer.schema("n", "jsonschema", b"{}")
            program = number_layout().program
            ids = [
                writer.channel(f"/c{c}", schema_id=schema, program=program) for c in range(CHANNELS)
            ]
            if kind == "messages":
                for k in range(rows):
                    for c, id in enumerate(ids):
                        writer.message(id, k, messages[k][c])
            else:
                writer.group(ids)
                writer.write_tape(tape)
        return time.perf_counter() - start

    for name, theirs_kind, ours_kind in (
        ("zstd", CompressionType.ZSTD, "zstd"),
        ("no compression", CompressionType.NONE, "none"),
    ):
        found = interleaved(
            {
                "mcap": lambda kind=theirs_kind: theirs(False, kind),  # type: ignore[misc]
                "mcap + encoding": lambda kind=theirs_kind: theirs(True, kind),  # type: ignore[misc]
                "messages": lambda kind=ours_kind: ours("messages", kind),  # type: ignore[misc]
                "tape": lambda kind=ours_kind: ours("tape", kind),  # type: ignore[misc]
            },
            rounds=3,
        )
        mcap = statistics.median(found["mcap"])
        row(
            f"MCAP, {count} messages, {name}",
            f"mcap: {count / mcap / 1e6:.2f} M messages/s, {size / mcap / 1e6:.0f} MB/s",
        )
        row(
            "  throughput, encoded messages, ours / mcap",
            ratio(found["mcap"], found["messages"]),
            "at least 1",
        )
        row(
            "  throughput, from numbers, ours / mcap with msgspec",
            ratio(found["mcap + encoding"], found["tape"]),
            "at least 1",
        )
        row(
            "  throughput, ours from numbers / mcap from bytes",
            ratio(found["mcap"], found["tape"]),
            "at least 1",
        )


def _tape(numbers: list[list[float]]) -> bytes:
    """What the sampler would have put down."""
    cell = np.dtype([("tag", "S1"), ("value", "<f8")])
    rows = np.zeros(
        len(numbers), np.dtype([("group", "<u2"), ("time", "<i8"), ("cells", cell, CHANNELS)])
    )
    rows["time"] = np.arange(len(numbers))
    rows["cells"]["tag"] = b"f"
    rows["cells"]["value"] = numbers
    return rows.tobytes()


def tracing() -> None:
    """A trace costs what it costs while it watches, and nothing before and after."""

    def run(kind: str) -> float:
        scene = Scene()
        for _ in range(9):
            scene.time.register(lambda context: None)
        trace = Trace(scene)
        if kind == "after":
            trace.start()
            scene.advance(seconds=0.1)
            trace.stop()
        if kind == "watched":
            trace.start()
        scene.advance(seconds=1)
        start = time.perf_counter()
        scene.advance(seconds=200)
        return time.perf_counter() - start

    found = interleaved({k: (lambda k=k: run(k)) for k in ("never", "after", "watched")}, rounds=5)  # type: ignore[misc]
    calls = 200 * 50 * 9
    each = (statistics.median(found["watched"]) - statistics.median(found["never"])) / calls
    row(
        "trace: a run that was watched before / one that never was",
        ratio(found["after"], found["never"]),
        "1",
    )
    row("trace: while watching", f"{each * 1e9:.0f} ns a callback")


if __name__ == "__main__":
    main()
