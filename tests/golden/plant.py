"""The run in the golden logs. It never changes: a log that was written once must always replay.

Plain arithmetic only, and nothing that another version of NumPy or Python could do otherwise.
"""

from __future__ import annotations

from typing import Any

from mainspring.clock import Input
from mainspring.scene import Scene, Script


class Tank(Script):
    """Fills from inputs, drains by itself, and sends a reading to itself now and then."""

    def __init__(self) -> None:
        self.level = 100.0
        self.readings: list[float] = []
        self.marks: dict[str, Any] = {"start": (1, "a"), "seen": frozenset({3, 1, 2})}

    def on_start(self) -> None:
        self.scene.inbox.route("fill", self.fill)
        self.scene.inbox.route("reading", self.read)

    def fill(self, given: Input) -> None:
        self.level += given.payload["amount"]

    def read(self, given: Input) -> None:
        self.readings = [*self.readings[-3:], given.payload["level"]]

    def on_update(self, ts: float) -> None:
        self.level -= self.level * 0.125 * ts
        if self.context.step % 25 == 24:
            self.scene.inbox.put("reading", {"level": self.level}, source="tank")


def build() -> Scene:
    scene = Scene("tank", seed=5)
    scene.add(Tank(), name="tank")
    return scene


def drive(scene: Scene) -> None:
    for k in range(20):
        scene.inbox.put(
            "fill", {"amount": 0.5 * k, "tags": ["a", k], "blob": bytes([k])}, source="pump"
        )
        scene.advance(ns=100_000_000)
