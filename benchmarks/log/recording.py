"""What recording costs a run, and what a durable append costs beside bare SQLite.

    python -m benchmarks log

Ratios from one process: each figure is the least of several alternating rounds. Wall time is
what a run has to wait; CPU time counts the writer's thread as well.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mainspring.clock import Input
from mainspring.scene import Scene, Script
from mainspring.world import record
from mainspring.world.log._format import Kind, Row, encode_input_group
from mainspring.world.log._writer import PAGE_SIZE, LogWriter


class Robot(Script):
    """Seven joints under a proportional controller, in plain Python: a small script."""

    def __init__(self) -> None:
        self.joints = [0.0] * 7
        self.targets = [0.1 * i for i in range(7)]

    def on_start(self) -> None:
        self.scene.inbox.route("target", self.take)

    def take(self, given: Input) -> None:
        self.targets[given.payload["joint"]] = given.payload["angle"]

    def on_update(self, ts: float) -> None:
        joints, targets = self.joints, self.targets
        for i in range(7):
            joints[i] += (targets[i] - joints[i]) * 4.0 * ts


class Camera(Script):
    """Looks at the joints thirty times a second."""

    def __init__(self) -> None:
        self.seen = 0.0

    def on_late_update(self, ts: float) -> None:
        self.seen += sum(self.scene.scripts["robot"].joints)  # type: ignore[attr-defined]


def build() -> Scene:
    scene = Scene("bench")
    scene.add(Robot(), name="robot")
    scene.add(Camera(), name="camera")
    scene.bindings["on_late_update"].runner = "Capture"
    return scene


def run(per_second: int, seconds: int, log: Path | None) -> tuple[int, int]:
    """Wall and CPU time of a run of the default runners with so many inputs a simulated second."""
    scene = build()
    scene.start()
    recorder = None if log is None else record(scene, log, entry=f"{__file__}:build")
    put, advance = scene.inbox.put, scene.advance
    slices = min(per_second, 50)
    burst = per_second // slices
    step_ns = 1_000_000_000 // slices
    began, began_cpu = time.perf_counter_ns(), time.process_time_ns()
    for k in range(seconds * slices):
        for j in range(burst):
            put("target", {"joint": (k + j) % 7, "angle": k * 0.001})
        advance(ns=step_ns)
    used = time.perf_counter_ns() - began, time.process_time_ns() - began_cpu
    if recorder is not None:
        recorder.close()
    return used


def recording(per_second: int, seconds: int, rounds: int = 7) -> list[tuple[float, float]]:
    """Microseconds a simulated second, bare and recorded: wall, then CPU."""
    bare, recorded = [], []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(rounds):
            bare.append(run(per_second, seconds, None))
            recorded.append(run(per_second, seconds, Path(folder) / f"{per_second}-{i}.world"))
    return [
        (min(t[i] for t in bare) / seconds / 1e3, min(t[i] for t in recorded) / seconds / 1e3)
        for i in (0, 1)
    ]


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def appending(batch: int, batches: int, folder: Path, number: int) -> tuple[float, float]:
    """Seconds for durable batches of inputs: bare SQLite with a row an input, and the log."""
    groups = [
        [
            Input(b * batch + i + 1, "target", {"joint": i % 7, "angle": i * 0.1})
            for i in range(batch)
        ]
        for b in range(batches)
    ]
    db = sqlite3.connect(folder / f"bare-{number}.db", isolation_level=None)
    db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE input (seq INTEGER PRIMARY KEY, time_ns INTEGER, data BLOB)")
    encoded = [[(i.seq, b, encode_input_group(b, [i])) for i in g] for b, g in enumerate(groups)]

    def bare() -> None:
        for rows in encoded:
            db.execute("BEGIN")
            db.executemany("INSERT INTO input VALUES (?, ?, ?)", rows)
            db.execute("COMMIT")

    now = [0]
    writer = LogWriter(
        folder / f"log-{number}.world",
        durability="instant",
        position_ns=lambda: now[0],
        initial=[Row(Kind.HEADER, 0, 0, 1, b"\x80")],
    )

    def log() -> None:
        for b, group in enumerate(groups):
            now[0] = b
            writer.put_inputs(b, group[-1].seq, encode_input_group(b, group))
            writer.flush()

    times = timed(bare), timed(log)
    db.close()
    writer.close()
    return times


def main(rounds: int = 7) -> None:
    """Prints the table."""
    print("recording, microseconds a simulated second")
    for per_second, seconds, limit in ((10, 4000, 5), (1000, 400, 25)):
        for name, (bare, recorded) in zip(
            ("wall", "CPU"), recording(per_second, seconds, rounds), strict=True
        ):
            print(
                f"  {per_second:5} inputs/s, {name:4}: bare {bare:8.1f}, recorded {recorded:8.1f},"
                f" cost {(recorded / bare - 1) * 100:5.1f} % (limit {limit} %)"
            )
    print("durable appends, inputs a second")
    for batch, batches in ((1, 200), (100, 100), (1000, 30)):
        with tempfile.TemporaryDirectory() as name:
            pairs = [appending(batch, batches, Path(name), i) for i in range(max(3, rounds // 2))]
        bare_s, log_s = min(p[0] for p in pairs), min(p[1] for p in pairs)
        count = batch * batches
        print(
            f"  batches of {batch:5}: bare SQLite {count / bare_s:10.0f}, log {count / log_s:10.0f},"
            f" ratio {bare_s / log_s:5.2f} (at least 0.6)"
        )
