"""A small plant with one fault planted in it: what `diff` must find, each at its instant.

`build(fault)` makes the plant; a fault strikes at step 60 of the 50 Hz runner, 1.2 s, in the
callback its row in FAULTS names. What a fault needs lies on classes or in this module, never
in the state: a state that differed from the start would be found there.
"""

from __future__ import annotations

import gc
import os
import random
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mainspring.clock import Input, Phase
from mainspring.scene import Scene, Script
from mainspring.world import Entity, World

STEP = 60
AT_NS = 1_200_000_000
NAMES = [f"crate {i}" for i in range(40)]
_shared: list[int] = []


class Arm(Script):
    """Moves its joints, and an entity with them."""

    fault: Callable[[Arm, float], None] | None = None

    def __init__(self) -> None:
        self.joints = np.zeros(6)
        self.heat = 20.0
        self.count = 0
        self.notes: dict[str, Any] = {"first": 1, "second": 2}
        self.spare = np.zeros(3)
        self.path: list[float] = []

    def on_update(self, ts: float) -> None:
        self.count += 1
        self.joints += ts * np.arange(6) * 0.5
        self.heat += 0.25 * ts * float(self.random().normal())
        self.path = [*self.path[-4:], self.heat]
        world: World = self.scene.world
        world.entity("ent_1").position = (self.joints[0], self.heat, 0.0)
        if self.fault is not None and self.context.step == STEP:
            self.fault(ts)


class Watcher(Script):
    """Looks at the arm and counts."""

    fault: Callable[[Watcher, float], None] | None = None

    def __init__(self) -> None:
        self.seen = 0
        self.order: list[str] = []

    def on_late_update(self, ts: float) -> None:
        self.seen += 1
        if self.fault is not None and self.context.step == STEP:
            self.fault(ts)


class Feeder(Script):
    """Takes parts that arrive as inputs."""

    fault: Callable[[Feeder, Input], None] | None = None

    def __init__(self) -> None:
        self.weight = 0.0
        self.parts: list[str] = []

    def on_start(self) -> None:
        self.scene.inbox.route("part", self.take)

    def take(self, given: Input) -> None:
        self.weight += given.payload["weight"]
        self.parts = [*self.parts[-4:], given.payload["name"]]
        if self.fault is not None and self.scene.time.now == AT_NS:
            self.fault(given)


def build(fault: str = "") -> Scene:
    planted = FAULTS.get(fault)
    scene = Scene("plant", seed=11)
    world = World(scene)
    world.component("load", np.float64)
    for i in range(4):
        world.spawn(tags=["crate"], position=(i, 0, 0), load=float(i))
    world.grant("ann", "yard.move")
    shift = 0.5 if planted is None or planted.where != "skill move" else 0.25

    @world.skill(permission="yard.move")
    def move(entity: Entity, by: float) -> None:
        """Shift an entity."""
        entity.position += (by * shift, 0, 0)

    for kind in (Arm, Watcher, Feeder):
        part = kind
        if planted is not None and planted.on is kind:
            part = type(kind.__name__, (kind,), {"fault": planted.strike, "__module__": __name__})
        scene.add(part(), name=kind.__name__)
    scene.time.register(_tidy, name="tidy", phase=Phase.EXPORT)
    return scene


def _tidy(context: Any) -> None:
    """A callback that belongs to no part."""


def drive(scene: Scene, seconds: float = 2.0) -> None:
    """The same inputs every time; one lot of each kind arrives for the instant at 1.2 s."""
    for k in range(round(seconds / 0.1)):
        scene.inbox.put("part", {"weight": 0.1 * k, "name": NAMES[k % 40]}, source="belt")
        if k == 12:
            scene.world.submit("ann", "move", {"entity": "ent_2", "by": 1.0})
        scene.advance(0.1)


# ---------------------------------------------------------------- what is planted


class Fault(NamedTuple):
    """One fault: what has it, what it does, and where `diff` must see it."""

    on: type | None
    strike: Any
    where: str
    part: str
    repeats: bool = True
    """Whether running again gives the same: False for clocks, global chance and the like."""
    both: bool = False
    """Whether both runs have the fault, and differ for that very reason."""
    processes: bool = False
    """Whether it needs two processes with different hash seeds to show."""


def _arm(strike: Any, **kind: Any) -> Fault:
    return Fault(Arm, strike, "callback Arm.on_update", "scripts/Arm", **kind)


def _watch(strike: Any, **kind: Any) -> Fault:
    return Fault(Watcher, strike, "callback Watcher.on_late_update", "scripts/Watcher", **kind)


def _feed(strike: Any, **kind: Any) -> Fault:
    return Fault(Feeder, strike, "input part", "scripts/Feeder", **kind)


def _world(strike: Any, **kind: Any) -> Fault:
    return Fault(Arm, strike, "callback Arm.on_update", "world", **kind)


def _note(name: str, value: Callable[[], Any]) -> Any:
    def strike(self: Any, ts: float) -> None:
        self.notes[name] = value()

    return strike


def _joint(change: Callable[[Arm], Any]) -> Any:
    def strike(self: Arm, ts: float) -> None:
        change(self)

    return strike


def _uninitialised() -> float:
    # The allocator hands out again what was freed: the array holds whatever lay there.
    left = np.full(64, time.perf_counter())
    del left
    return float(np.empty(64)[7])


def _thread_race() -> int:
    counted = [0]
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    threading.Event().wait(0.0005)
    seen = counted[0] * 1000 + time.perf_counter_ns() % 1000
    stop.set()
    thread.join()
    return seen


def _module_global() -> int:
    _shared.append(len(_shared))
    return len(_shared)


def _gc_dependent() -> int:
    _shared.append(0)
    return len(gc.get_objects()) * 1_000_003 + len(_shared)


def _swapped(self: Arm, ts: float) -> None:
    self.notes = dict(reversed(self.notes.items()))


def _set_order(self: Watcher, ts: float) -> None:
    self.order = list({*NAMES})  # the fault: a set's order reaches the state


def _hashed(self: Watcher, ts: float) -> None:
    self.seen += hash(NAMES[0]) % 1000


def _smallest_hash(self: Watcher, ts: float) -> None:
    self.order = [min(NAMES, key=hash)]


def _pid(self: Watcher, ts: float) -> None:
    self.seen = os.getpid()


def _spawn(self: Arm, ts: float) -> None:
    self.scene.world.spawn(tags=["ghost"])


def _destroy(self: Arm, ts: float) -> None:
    self.scene.world.destroy("ent_3")


def _move(self: Arm, ts: float) -> None:
    self.scene.world.entity("ent_4").position += (0.0, 0.0, 1e-12)


def _load(self: Arm, ts: float) -> None:
    self.scene.world.column("load")[2] += 1.0


def _tag(self: Arm, ts: float) -> None:
    self.scene.world.entity("ent_2").tag("marked")


def _grant(self: Arm, ts: float) -> None:
    self.scene.world.grant("bob", "yard.move")


def _drawn_twice(self: Arm, ts: float) -> None:
    self.random().normal()


def _other_stream(self: Arm, ts: float) -> None:
    self.heat += float(self.random("spare").normal())


def _wake(self: Arm, ts: float) -> None:
    self.scene.time.request_wakeup(self.context.time + 7)


def _heavier(self: Feeder, given: Input) -> None:
    self.weight += 1e-9


def _forgotten(self: Feeder, given: Input) -> None:
    self.parts = self.parts[:-1]


FAULTS: dict[str, Fault] = {
    # no function of state and inputs
    "wall clock": _arm(_note("t", time.time), repeats=False, both=True),
    "monotonic clock": _arm(_note("t", time.perf_counter_ns), repeats=False, both=True),
    "global random": _arm(_note("r", random.random), repeats=False, both=True),
    "global numpy random": _arm(
        _note("r", lambda: float(np.random.random())),
        repeats=False,
        both=True,
    ),
    "fresh generator": _arm(
        _note("r", lambda: float(np.random.default_rng().random())), repeats=False, both=True
    ),
    "urandom": _arm(_note("r", lambda: os.urandom(4)), repeats=False, both=True),
    "uuid": _arm(_note("id", lambda: str(uuid.uuid4())), repeats=False, both=True),
    "system random": _arm(
        _note("r", lambda: random.SystemRandom().random()), repeats=False, both=True
    ),
    "uninitialised array": _arm(_note("m", _uninitialised), repeats=False, both=True),
    "thread race": _arm(_note("n", _thread_race), repeats=False, both=True),
    "module global": _arm(_note("n", _module_global), repeats=False, both=True),
    "garbage collector": _arm(_note("n", _gc_dependent), repeats=False, both=True),
    "cpu time": _arm(_note("t", time.process_time_ns), repeats=False, both=True),
    "file time": _arm(
        _note("t", lambda: (Path(__file__).stat().st_atime_ns, time.time_ns())),
        repeats=False,
        both=True,
    ),
    # in two processes
    "set order": _watch(_set_order, repeats=False, both=True, processes=True),
    "hash of text": _watch(_hashed, repeats=False, both=True, processes=True),
    "smallest hash": _watch(_smallest_hash, repeats=False, both=True, processes=True),
    "process id": _watch(_pid, repeats=False, both=True, processes=True),
    # the code has changed
    "constant": _arm(_joint(lambda arm: setattr(arm, "heat", arm.heat + 1e-9))),
    "index": _arm(_joint(lambda arm: arm.joints.__setitem__(3, arm.joints[2]))),
    "sign of zero": _arm(_joint(lambda arm: arm.joints.__setitem__(0, -arm.joints[0]))),
    "not a number": _arm(_joint(lambda arm: setattr(arm, "heat", float("nan")))),
    "rounding": _arm(_joint(lambda arm: setattr(arm, "heat", float(np.float32(arm.heat))))),
    "int for float": _arm(_joint(lambda arm: setattr(arm, "heat", int(arm.heat)))),
    "dtype": _arm(_joint(lambda arm: setattr(arm, "joints", arm.joints.astype(np.float32)))),
    "shape": _arm(_joint(lambda arm: setattr(arm, "spare", np.zeros(4)))),
    "list order": _arm(_joint(lambda arm: arm.path.reverse())),
    "list length": _arm(_joint(lambda arm: arm.path.append(0.0))),
    "dict order": _arm(_swapped),
    "attribute added": _arm(_joint(lambda arm: setattr(arm, "extra", None))),
    "attribute lost": _arm(_joint(lambda arm: delattr(arm, "notes"))),
    "counted twice": _watch(_joint(lambda watcher: setattr(watcher, "seen", watcher.seen + 1))),
    "entity spawned": _world(_spawn),
    "entity destroyed": _world(_destroy),
    "entity moved": _world(_move),
    "component changed": _world(_load),
    "tag added": _world(_tag),
    "permission granted": _world(_grant),
    "stream drawn twice": Fault(Arm, _drawn_twice, "callback Arm.on_update", "random"),
    "another stream": _arm(_other_stream),
    "wake-up": Fault(Arm, _wake, "callback Arm.on_update", "clock"),
    "input weighed": _feed(_heavier),
    "input forgotten": _feed(_forgotten),
    "skill": Fault(None, None, "skill move", "world"),
}
