"""Messages that viewers know by name: poses, transforms, laser scans, images.

Their names and fields are those of https://docs.foxglove.dev/docs/visualization/message-schemas,
as JSON; Foxglove and Lichtblick draw them without being told how.
"""

from __future__ import annotations

import msgspec
import numpy as np

from mainspring.capture._errors import ChannelError
from mainspring.capture._layout import Layout

__all__ = [
    "COMPRESSED_IMAGE",
    "TRANSFORM_ROW",
    "laser_scan_layout",
    "pose_layout",
    "poses_layout",
    "time_json",
    "transforms_layout",
]

_NUMBER = {"type": "number"}
_TIME = {
    "type": "object",
    "title": "time",
    "properties": {
        "sec": {"type": "integer", "minimum": 0},
        "nsec": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
    },
}
_TEXT = {"type": "string"}
_VECTOR = {"type": "object", "properties": dict.fromkeys("xyz", _NUMBER)}
_QUATERNION = {"type": "object", "properties": dict.fromkeys("xyzw", _NUMBER)}
_POSE = {"type": "object", "properties": {"position": _VECTOR, "orientation": _QUATERNION}}

COMPRESSED_IMAGE = (
    "foxglove.CompressedImage",
    msgspec.json.encode(
        {
            "title": "foxglove.CompressedImage",
            "type": "object",
            "properties": {
                "timestamp": _TIME,
                "frame_id": _TEXT,
                "data": {"type": "string", "contentEncoding": "base64"},
                "format": _TEXT,
            },
        }
    ),
)

Op = tuple[object, ...]

TRANSFORM_ROW = np.dtype([("entity", "<i8"), ("position", "<f8", 3), ("orientation", "<f8", 4)])
"""A row of a table of transforms, orientation in the order the channel declares."""


def time_json(time_ns: int) -> dict[str, int]:
    return {"sec": time_ns // 1_000_000_000, "nsec": time_ns % 1_000_000_000}


def pose_layout(frame_id: str, quaternion: str) -> Layout:
    """`foxglove.PoseInFrame` from seven float64: position, then quaternion."""
    columns = [(f"pose.position.{axis}", "d", 0) for axis in "xyz"]
    columns += [(f"pose.orientation.{axis}", "d", 0) for axis in _order(quaternion)]
    return Layout(
        fetch="array",
        size=56,
        program=(
            *_stamped(frame_id),
            ("literal", ',"pose":'),
            *_vector("position", "orientation", quaternion),
            ("literal", "}"),
        ),
        properties={"timestamp": _TIME, "frame_id": _TEXT, "pose": _POSE},
        columns=tuple(columns),
        dtype=np.dtype("<f8"),
        shape=(7,),
        schema_name="foxglove.PoseInFrame",
    )


def poses_layout(frame_id: str, quaternion: str) -> Layout:
    """`foxglove.PosesInFrame` from float64 of shape (n, 7); n may change."""
    return Layout(
        fetch="table",
        size=56,
        program=(
            *_stamped(frame_id),
            ("literal", ',"poses":'),
            ("table", list(_vector("position", "orientation", quaternion))),
            ("literal", "}"),
        ),
        properties={
            "timestamp": _TIME,
            "frame_id": _TEXT,
            "poses": {"type": "array", "items": _POSE},
        },
        columns=(),
        dtype=np.dtype("<f8"),
        shape=(7,),
        schema_name="foxglove.PosesInFrame",
    )


def transforms_layout(frame_id: str, child_prefix: str, quaternion: str) -> Layout:
    """`foxglove.FrameTransforms` from rows of `TRANSFORM_ROW`: one frame for each entity."""
    body: list[Op] = [
        ("literal", '{"timestamp":'),
        ("time",),
        (
            "literal",
            f',"parent_frame_id":{_quoted(frame_id)},"child_frame_id":"{_quoted(child_prefix)[1:-1]}',
        ),
        ("value", "q"),
        ("literal", '","translation":'),
        *_axes("xyz"),
        ("literal", ',"rotation":'),
        *_axes(_order(quaternion)),
        ("literal", "}"),
    ]
    item = {
        "type": "object",
        "properties": {
            "timestamp": _TIME,
            "parent_frame_id": _TEXT,
            "child_frame_id": _TEXT,
            "translation": _VECTOR,
            "rotation": _QUATERNION,
        },
    }
    return Layout(
        fetch="table",
        size=TRANSFORM_ROW.itemsize,
        program=(("literal", '{"transforms":'), ("table", body), ("literal", "}")),
        properties={"transforms": {"type": "array", "items": item}},
        columns=(),
        dtype=TRANSFORM_ROW,
        schema_name="foxglove.FrameTransforms",
    )


def laser_scan_layout(frame_id: str, start_angle: float, end_angle: float, rays: int) -> Layout:
    """`foxglove.LaserScan` from `rays` float64 ranges."""
    if rays < 1:
        raise ChannelError("a laser scan has at least one ray")
    identity = (
        '{"position":{"x":0.0,"y":0.0,"z":0.0},"orientation":{"x":0.0,"y":0.0,"z":0.0,"w":1.0}}'
    )
    fixed = f',"pose":{identity},"start_angle":{start_angle!r},"end_angle":{end_angle!r},"ranges":'
    ranges = {"type": "array", "items": _NUMBER}
    return Layout(
        fetch="array",
        size=8 * rays,
        program=(
            *_stamped(frame_id),
            ("literal", fixed),
            ("array", "d", rays),
            ("literal", ',"intensities":[]}'),
        ),
        properties={
            "timestamp": _TIME,
            "frame_id": _TEXT,
            "pose": _POSE,
            "start_angle": _NUMBER,
            "end_angle": _NUMBER,
            "ranges": ranges,
            "intensities": ranges,
        },
        columns=(("ranges", "d", rays),),
        dtype=np.dtype("<f8"),
        shape=(rays,),
        schema_name="foxglove.LaserScan",
    )


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _stamped(frame_id: str) -> tuple[Op, ...]:
    return (
        ("literal", '{"timestamp":'),
        ("time",),
        ("literal", f',"frame_id":{_quoted(frame_id)}'),
    )


def _order(quaternion: str) -> str:
    if sorted(quaternion) != sorted("wxyz"):
        raise ChannelError(
            f"unknown order of a quaternion: {quaternion!r}", hint="use 'wxyz' or 'xyzw'"
        )
    return quaternion


def _axes(names: str) -> tuple[Op, ...]:
    ops: list[Op] = []
    for position, name in enumerate(names):
        ops.append(("literal", ("{" if position == 0 else ",") + f'"{name}":'))
        ops.append(("value", "d"))
    return (*ops, ("literal", "}"))


def _vector(position: str, orientation: str, quaternion: str) -> tuple[Op, ...]:
    return (
        ("literal", f'{{"{position}":'),
        *_axes("xyz"),
        ("literal", f',"{orientation}":'),
        *_axes(_order(quaternion)),
        ("literal", "}"),
    )
