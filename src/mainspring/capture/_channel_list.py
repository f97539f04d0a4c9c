"""What a recorder records: its channels, and where each is sampled.

The promise: a mistake in a channel is told when it is declared, with the channel's name, or at
the start where it depends on the scene; never in the middle of a run if it could be known
before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mainspring.capture import _layout, _schemas
from mainspring.capture._channel import Channel, Image, ImageFormat, world_rows, world_transforms
from mainspring.capture._errors import ChannelError
from mainspring.capture._images import require_pillow
from mainspring.capture._layout import Layout
from mainspring.clock import Phase, Runner

if TYPE_CHECKING:
    from mainspring.scene import Scene

__all__ = ["ChannelList"]

Place = tuple[str | int | None, Phase | None, int | None]


class ChannelList:
    """The part of a recorder that declares channels."""

    def __init__(self) -> None:
        self._channels: dict[str, tuple[Channel, Place]] = {}
        self._scene: Scene | None = None
        self._begun = False

    def channel(
        self,
        topic: str,
        source: Any,
        *,
        runner: str | int | Runner | None = None,
        phase: Phase | int | str | None = None,
        priority: int | None = None,
        dtype: Any = None,
        unit: str = "",
    ) -> None:
        """Record what `source` says: a callable, an array, a sensor, a graph's output, or a
        path of names from the scene.

        The type is that of the first value. `dtype` declares it: with `float`, say, a source
        that begins with the integer 0 is recorded as floats from the start.
        """
        prepare: Callable[[Any], Any] | None = None
        layout: Layout | None = None
        if dtype is float:
            layout = _layout.number_layout("float")
        elif dtype is not None:
            declared = _dtype(dtype, topic)

            def prepare(value: Any) -> Any:
                return None if value is None else np.asarray(value, declared)

        self._add(topic, source, runner, phase, priority, unit, layout=layout, prepare=prepare)

    def pose(
        self,
        topic: str,
        source: Any,
        *,
        frame_id: str = "world",
        quaternion: str = "wxyz",
        runner: str | int | Runner | None = None,
        phase: Phase | int | str | None = None,
        priority: int | None = None,
    ) -> None:
        """Record a pose, seven numbers (position, then quaternion), as `foxglove.PoseInFrame`."""
        layout = _schemas.pose_layout(frame_id, quaternion)
        self._add(topic, source, runner, phase, priority, layout=layout, prepare=_float64)

    def poses(
        self,
        topic: str,
        source: Any,
        *,
        frame_id: str = "world",
        quaternion: str = "wxyz",
        runner: str | int | Runner | None = None,
        phase: Phase | int | str | None = None,
        priority: int | None = None,
    ) -> None:
        """Record n poses, an array of shape (n, 7), as `foxglove.PosesInFrame`; n may change."""
        layout = _schemas.poses_layout(frame_id, quaternion)
        self._add(topic, source, runner, phase, priority, layout=layout, prepare=_float64)

    def scan(
        self,
        topic: str,
        source: Any,
        *,
        rays: int,
        start_angle: float,
        end_angle: float,
        frame_id: str = "laser",
        runner: str | int | Runner | None = None,
        phase: Phase | int | str | None = None,
        priority: int | None = None,
    ) -> None:
        """Record the ranges of a planar scan in metres as `foxglove.LaserScan`; angles in radians."""
        layout = _schemas.laser_scan_layout(frame_id, float(start_angle), float(end_angle), rays)
        self._add(topic, source, runner, phase, priority, layout=layout, prepare=_float64)

    def camera(
        self,
        topic: str,
        source: Any,
        *,
        format: ImageFormat = "png",
        quality: int = 90,
        frame_id: str = "camera",
        runner: str | int | Runner | None = None,
        phase: Phase | int | str | None = None,
        priority: int | None = None,
    ) -> None:
        """Record frames, uint8 of shape (height, width[, 3 or 4]), as `foxglove.CompressedImage`.

        They are compressed off the main thread. A source that returns None has no new frame; of a
        camera sensor each frame is recorded once, stamped with the time at which it was taken.
        """
        if format not in ("png", "jpeg"):
            raise ChannelError(f"unknown image format {format!r}", hint="use 'png' or 'jpeg'")
        require_pillow()
        image = Image(format, quality, frame_id)
        self._add(topic, source, runner, phase, priority, image=image)

    def column(
        self,
        topic: str,
        component: str,
        *,
        runner: str | int | Runner | None = None,
        phase: Phase | int | str | None = None,
        priority: int | None = None,
        unit: str = "",
    ) -> None:
        """Record a numeric component of the world: a row for each entity that has it."""
        self._add(
            topic,
            lambda: world_rows(self._world(topic), component),
            runner,
            phase,
            priority,
            unit,
        )

    def transforms(
        self,
        topic: str = "/tf",
        *,
        frame_id: str = "world",
        runner: str | int | Runner | None = None,
        phase: Phase | int | str | None = None,
        priority: int | None = None,
    ) -> None:
        """Record where the world's entities are as `foxglove.FrameTransforms`: frames `ent_1`, ..."""
        layout = _schemas.transforms_layout(frame_id, "ent_", "wxyz")
        self._add(
            topic,
            lambda: world_transforms(self._world(topic)),
            runner,
            phase,
            priority,
            layout=layout,
        )

    @property
    def topics(self) -> list[str]:
        return list(self._channels)

    def _world(self, topic: str) -> Any:
        try:
            return self._scene.world  # type: ignore[union-attr]
        except AttributeError:
            raise ChannelError(
                f"channel {topic!r} looks at the world, and the scene has none",
                hint="make a World(scene) before the scene starts",
            ) from None

    def _add(
        self,
        topic: str,
        source: Any,
        runner: str | int | Runner | None,
        phase: Phase | int | str | None,
        priority: int | None,
        unit: str = "",
        *,
        layout: Layout | None = None,
        image: Image | None = None,
        prepare: Callable[[Any], Any] | None = None,
    ) -> None:
        if not topic or not isinstance(topic, str):
            raise ChannelError(f"a channel's topic is a text, not {topic!r}")
        if topic in self._channels:
            raise ChannelError(f"there is a channel {topic!r} already")
        if self._begun:
            raise ChannelError(
                f"channel {topic!r} comes too late, the recording has begun",
                hint="add channels before the scene starts",
            )
        if not isinstance(unit, str):
            raise ChannelError(f"channel {topic!r} has the unit {unit!r}, which is no text")
        place = (
            runner.name if isinstance(runner, Runner) else runner,
            None if phase is None else Phase.parse(phase),
            priority,
        )
        channel = Channel(
            topic,
            source,
            {"unit": unit} if unit else {},
            declared=layout,
            image=image,
            prepare=prepare,
        )
        self._channels[topic] = (channel, place)

    _KINDS: ClassVar[tuple[str, ...]] = (
        "channel", "pose", "poses", "scan", "camera", "column", "transforms",
    )  # fmt: skip

    def _add_from_settings(self, settings: dict[str, Any]) -> None:
        kind = settings.pop("kind", "channel")
        if kind not in self._KINDS:
            raise ChannelError(f"unknown kind of channel {kind!r}", hint=", ".join(self._KINDS))
        topic = settings.get("topic", "?")
        try:
            getattr(self, kind)(**settings)
        except TypeError as error:
            raise ChannelError(f"channel {topic!r}: {error}") from None


def _dtype(dtype: Any, topic: str) -> np.dtype[Any]:
    found: np.dtype[Any] | None = None
    with contextlib.suppress(TypeError):
        found = np.dtype(dtype)
    if found is None or _layout.packed_dtype(found) is None:
        raise ChannelError(
            f"channel {topic!r} cannot be recorded as {dtype!r}",
            hint="a dtype is float, or a NumPy type of numbers or truths",
        )
    return found


def _float64(value: Any) -> Any:
    return None if value is None else np.asarray(value, np.float64)
