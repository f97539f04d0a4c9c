"""A scene's state as a log keeps it: encoded part by part, hashed part by part.

What waits in the inbox is no part of it. Which inputs have arrived at some instant depends on
the threads that put them; what an instant drains does not, and that is in the log. Only what
the simulation itself has put (a callback that sends an input) is kept with a snapshot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from mainspring import state
from mainspring.clock import Input
from mainspring.errors import StateError
from mainspring.world.log._errors import LogBuildError, RunRecordingError

__all__ = ["Captured", "Snapshot", "capture", "check_saveable", "decode_snapshot", "restore"]

INBOX = "inbox"


class Captured(NamedTuple):
    """The parts of a scene, encoded, at one moment."""

    parts: dict[str, bytes]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.parts)

    def part_hashes(self) -> dict[str, bytes]:
        """A 16-byte hash a part."""
        return {name: state.digest(data) for name, data in self.parts.items()}

    def hashed(self) -> tuple[bytes, bytes]:
        """The hash of the whole, and the first 8 bytes of each part's, joined."""
        digests = [state.digest(data) for data in self.parts.values()]
        return state.digest(b"".join(digests)), b"".join(d[:8] for d in digests)

    def snapshot(self, waiting: list[Input], last_seq: int) -> bytes:
        """The body of a SNAPSHOT record: the parts, the inputs the simulation put itself and
        nobody has drained, and the last sequence number that was drained."""
        rows = [[item.seq, item.kind, item.payload, item.source] for item in waiting]
        return state.encode([list(self.parts.items()), rows, last_seq], "snapshot")

    def values(self) -> dict[str, Any]:
        """The parts as plain data again."""
        return {name: state.decode(data) for name, data in self.parts.items()}


def capture(scene: Any) -> Captured:
    """The scene's state now."""
    encode = state.encode
    parts: dict[str, bytes] = {}
    for name, part in scene.parts.items():
        if name == INBOX:
            continue
        saved = part.save()
        if part is scene.time:
            saved = _comparable(saved)
        parts[name] = encode(saved, name)
    return Captured(parts)


def _comparable(clock: dict[str, Any]) -> dict[str, Any]:
    """The clock's state without what depends on how the run was driven.

    The mode is how fast instants come, not what happens in them; and between two instants
    `now` stands wherever the last frame left it."""
    clock = {key: value for key, value in clock.items() if key != "mode"}
    clock["now"] = max(clock["last_instant"], 0)
    return clock


def check_saveable(scene: Any) -> Captured:
    """The scene's state, once it is certain that all of it can be kept and brought back."""
    try:
        captured = capture(scene)
    except StateError as error:
        raise RunRecordingError(
            f"scene {scene.name!r} cannot be recorded: {error.message}", hint=error.hint
        ) from error
    for name, data in captured.parts.items():
        try:
            again = state.encode(state.decode(data), name)
        except Exception as error:
            raise RunRecordingError(
                f"scene {scene.name!r} cannot be recorded: what {name} saves does not come back: "
                f"{error}"
            ) from error
        if again != data:
            raise RunRecordingError(
                f"scene {scene.name!r} cannot be recorded: what {name} saves comes back changed",
                hint="save plain data, arrays, dataclasses or msgspec structs",
            )
    return captured


class Snapshot(NamedTuple):
    """What a SNAPSHOT record holds."""

    captured: Captured
    waiting: list[Input]
    last_seq: int


def decode_snapshot(body: bytes) -> Snapshot:
    """What a SNAPSHOT record's body says."""
    parts, waiting, last_seq = state.decode(body)
    return Snapshot(Captured(dict(parts)), [Input(*row) for row in waiting], last_seq)


def restore(scene: Any, captured: Captured, next_seq: int = 1) -> None:
    """Leave `scene` in the captured state, its inbox empty."""
    saved = dict(captured.parts)
    for name, part in scene.parts.items():
        if part is scene.time and name in saved:
            clock = state.decode(saved[name])
            clock["mode"] = part.save()["mode"]
            saved[name] = state.encode(clock)
    if INBOX in scene.parts:
        saved[INBOX] = state.encode({"next_seq": next_seq, "waiting": []})
    try:
        scene.restore(saved)
    except (msgspec.DecodeError, ImportError, AttributeError, TypeError, ValueError) as error:
        raise LogBuildError(
            f"the snapshot does not fit the scene: {type(error).__name__}: {error}",
            hint="restore the code the run was recorded with, or replay from the start",
        ) from error
