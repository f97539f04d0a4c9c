"""Scenes the log's tests record: each a function at the top of a module, as a log needs it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mainspring.clock import Input
from mainspring.scene import Scene, Script

HERE = __file__


class Walker(Script):
    """A random walk that inputs push, and that sends itself an input now and then."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain
        self.x = 0.0
        self.last_seq = 0
        self.trail = np.zeros(8)

    def on_start(self) -> None:
        self.scene.inbox.route("push", self.push)

    def push(self, given: Input) -> None:
        self.x += self.gain * given.payload["v"]
        self.last_seq = given.seq

    def on_update(self, ts: float) -> None:
        self.x += float(self.random().normal()) * ts
        self.trail[self.context.step % 8] = self.x
        if self.context.step % 40 == 7:
            self.last_seq = self.scene.inbox.put("push", {"v": 1.0}, source="walker")


class Counter(Script):
    """Counts on the other runner."""

    def __init__(self) -> None:
        self.steps = 0
        self.seen: dict[str, list[int]] = {}

    def on_late_update(self, ts: float) -> None:
        self.steps += 1
        if self.steps % 50 == 0:
            self.seen[str(self.steps)] = [self.steps, self.context.time]


def build(seed: int = 3, gain: float = 1.0) -> Scene:
    scene = Scene("walk", seed=seed)
    scene.add(Walker(gain))
    scene.add(Counter())
    return scene


def empty() -> Scene:
    return Scene("empty")


def failing(at_step: int = 25) -> Scene:
    """A scene whose script raises."""
    scene = build()

    class _Failing(Script):
        def on_update(self, ts: float) -> None:
            if self.context.step == at_step:
                raise ValueError("the arm has come off")

    scene.add(_Failing(), name="failing")
    return scene


def drive(scene: Any, seconds: float, *, every: float = 0.1, pushes: int = 2) -> None:
    """Advance with inputs in between."""
    for k in range(round(seconds / every)):
        for j in range(pushes):
            scene.inbox.put("push", {"v": 0.25 * (j + 1), "at": k}, source=f"thread {j}")
        scene.advance(every)
