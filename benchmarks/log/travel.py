"""How long it takes to open any instant of a long log, and to find where two long logs part.

    python -m benchmarks log

Records a day at 50 Hz with ten inputs a second and default snapshots, opens instants all over it; then two runs of a
million instants with a hash at each that differ late, and compares them.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

from mainspring.clock import Input
from mainspring.scene import Scene, Script
from mainspring.world import diff, open_run, record


class Plant(Script):
    """A little state that every step changes."""

    fault_at = -1

    def __init__(self) -> None:
        self.level = 0.0
        self.count = 0

    def on_start(self) -> None:
        self.scene.inbox.route("feed", self.feed)

    def feed(self, given: Input) -> None:
        self.level += given.payload

    def on_update(self, ts: float) -> None:
        self.level *= 0.999
        self.count += 1
        if self.count == self.fault_at:
            self.level += 1e-9


def build(fault_at: int = -1) -> Scene:
    scene = Scene("plant", runners=[("Robot", 50)])
    kind = type("Plant", (Plant,), {"fault_at": fault_at, "__module__": __name__})
    scene.add(kind(), name="plant")
    return scene


ENTRY = f"{Path(__file__).resolve()}:build"


def opening(hours: float, folder: Path) -> None:
    scene = build()
    path = folder / "day.world"
    began = time.perf_counter()
    with record(scene, path, entry=ENTRY) as recorder:
        for second in range(round(hours * 3600)):
            for i in range(10):
                scene.inbox.put("feed", 1.0 + (second + i) % 3, source="client")
            scene.advance(1)
        recorder.flush()
    print(
        f"recorded {hours} h at 50 Hz in {time.perf_counter() - began:.1f} s, "
        f"{path.stat().st_size / 1e6:.1f} MB"
    )
    rng = random.Random(1)
    with open_run(path) as run:
        print(f"  {len(run.snapshots)} snapshots")
        moment = run.at("0s")
        taken = []
        for _ in range(40):
            at_ns = rng.randrange(run.end_ns)
            began = time.perf_counter()
            moment.goto_ns(at_ns)
            taken.append(time.perf_counter() - began)
    taken.sort()
    print(
        f"  opening an instant: median {taken[20] * 1e3:.1f} ms, worst {taken[-1] * 1e3:.1f} ms "
        f"(at most 200 ms)"
    )


def comparing(instants: int, folder: Path) -> None:
    logs = []
    for name, fault in (("a", -1), ("b", instants * 9 // 10)):
        scene = build(fault)
        path = folder / f"{name}.world"
        with record(scene, path, hash_every="instant", entry=ENTRY, args=[fault]):
            scene.advance(instants=instants)
        logs.append(path)
    size = logs[0].stat().st_size / 1e6
    began = time.perf_counter()
    report = diff(*logs)
    taken = time.perf_counter() - began
    assert report.divergence is not None
    print(
        f"two logs of {instants} instants, {size:.0f} MB each, compared in {taken:.2f} s (at most 5)"
    )
    print(f"  {str(report).splitlines()[0]}")
