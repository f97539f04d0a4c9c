"""What the capture tests share: the field's own readers, and a scene worth recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mainspring.capture import Recorder
from mainspring.scene import Scene


def read_with_mcap(path: Path) -> list[tuple[str, int, Any]]:
    """Topic, time and value of every message, by the `mcap` package, checksums checked."""
    from mcap.reader import make_reader

    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        return [
            (channel.topic, message.log_time, msgspec.json.decode(message.data))
            for _, channel, message in reader.iter_messages(log_time_order=False)
        ]


def by_topic(messages: list[tuple[str, int, Any]]) -> dict[str, list[tuple[int, Any]]]:
    found: dict[str, list[tuple[int, Any]]] = {}
    for topic, time_ns, value in messages:
        found.setdefault(topic, []).append((time_ns, value))
    return found


def walk(scene: Scene, size: int = 6) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """An array that a Robot callback moves, and every (time, content) it had after a step."""
    array, seen = np.zeros(size), []

    def move(context: Any) -> None:
        array[:] = np.sin(np.arange(size) + context.step * 0.1)
        seen.append((context.time, array.tolist()))

    scene.time.register(move, runner="Robot", name="move")
    return array, seen


def record_demo(path: Path, *, queue_bytes: int = 64 << 20) -> Scene:
    """A scene of arrays, numbers, text and frames, for two seconds."""
    scene = Scene(runners=(("Robot", 500), ("Capture", 30)), seed=7)
    array, _ = walk(scene, 40)
    noise = scene.random("noise")
    recorder = Recorder(path, chunk_bytes=20_000, queue_bytes=queue_bytes)
    recorder.channel("/array", array, runner="Robot")
    recorder.channel("/noise", lambda: array[0] + 1, runner="Robot")
    recorder.channel("/info", lambda: {"x": float(array[1]), "set": sorted({"b", "a"})})
    recorder.camera("/cam", lambda: (array[:16].reshape(4, 4) * 100).astype(np.int8).view(np.uint8))
    scene.add(recorder)
    scene.time.register(lambda context: array.__setitem__(0, noise.random()), priority=1)
    scene.advance(seconds=2)
    scene.stop()
    return scene
