"""Reading one asset: what kind it is, whether it is whole, which files belong to it.

The promise: what is registered was read to its end. Each reader bounds what it allocates by the
file's size, looks at a stop token, and says in which line or at which byte something is wrong.
Runs on workers; touches nothing but the files it reads.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from mainspring.errors import nearest
from mainspring.project._mjcf import find_mjcf_files
from mainspring.project._models import read_xml
from mainspring.project._urdf import find_urdf_files
from mainspring.project.errors import AssetError
from mainspring.threads import StopToken

__all__ = ["KINDS", "ParsedAsset", "parse_asset"]

KINDS = {
    ".xml": "mjcf",
    ".mjcf": "mjcf",
    ".urdf": "urdf",
    ".obj": "obj",
    ".stl": "stl",
    ".png": "png",
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
}

_MOST_PIXELS = 1 << 28


@dataclass(slots=True)
class ParsedAsset:
    """What a reader found."""

    kind: str
    path: Path
    files: list[Path] = field(default_factory=list)
    """Everything that belongs to it, itself first."""
    info: dict[str, Any] = field(default_factory=dict)


def parse_asset(
    path: Path, stop: StopToken, *, packages: dict[str, Path] | None = None
) -> ParsedAsset:
    """Read one file, and for a model everything it names."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise AssetError(
            f"{path} is no kind of asset that can be imported",
            hint=nearest(path.suffix, KINDS),
        )
    path = path.resolve()

    def check(dependency: Path) -> None:
        reader = _READERS.get(KINDS.get(dependency.suffix.lower(), ""))
        if reader is not None:
            reader(dependency, stop)

    if kind == "mjcf" and read_xml(path, stop).tag == "robot":
        kind = "urdf"  # the suffix says XML, and that is what both are
    if kind == "mjcf":
        files, info = find_mjcf_files(path, check, stop)
    elif kind == "urdf":
        files, info = find_urdf_files(path, check, stop, packages or {})
    else:
        files, info = [path], _READERS[kind](path, stop)
    return ParsedAsset(kind, path, files, info)


def _read_obj(path: Path, stop: StopToken) -> dict[str, Any]:
    vertices, normals, texture, faces = 0, 0, 0, 0
    low, high = [math.inf] * 3, [-math.inf] * 3
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if number % 4096 == 0:
                stop.checkpoint()
            words = line.split()
            if not words:
                continue
            if words[0] == "v":
                point = _numbers(path, number, words[1:4], 3)
                low = [min(a, b) for a, b in zip(low, point, strict=True)]
                high = [max(a, b) for a, b in zip(high, point, strict=True)]
                vertices += 1
            elif words[0] == "vn":
                normals += 1
            elif words[0] == "vt":
                texture += 1
            elif words[0] == "f":
                faces += 1
                if len(words) < 4:
                    raise AssetError(f"{path}:{number}: a face of {len(words) - 1} corners")
                for corner in words[1:]:
                    _check_corner(path, number, corner, (vertices, texture, normals))
    if not vertices or not faces:
        raise AssetError(f"{path}: {vertices} vertices and {faces} faces are no mesh")
    return {"vertices": vertices, "faces": faces, "bounds": [low, high]}


def _check_corner(path: Path, line: int, corner: str, counts: tuple[int, int, int]) -> None:
    """`v`, `v/vt`, `v//vn` or `v/vt/vn`; negative ones count back from the last."""
    parts = corner.split("/")
    for part, count in zip(parts, counts, strict=False):
        if not part and part is not parts[0]:
            continue
        try:
            index = int(part)
        except ValueError:
            index = 0
        if not (1 <= index <= count or -count <= index <= -1):
            raise AssetError(f"{path}:{line}: corner {corner!r} names nothing that came before")


def _read_stl(path: Path, stop: StopToken) -> dict[str, Any]:
    size = path.stat().st_size
    with open(path, "rb") as source:
        head = source.read(84)
        if len(head) == 84:
            (count,) = struct.unpack("<I", head[80:])
            if size == 84 + 50 * count:
                return _read_binary_stl(path, source, count, stop)
    if head[:5] != b"solid":
        raise AssetError(f"{path}: {size} bytes are neither a binary nor a text STL; cut off?")
    return _read_text_stl(path, stop)


_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])


def _read_binary_stl(path: Path, source: IO[bytes], count: int, stop: StopToken) -> dict[str, Any]:
    if not count:
        raise AssetError(f"{path} has no facet")
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    at = 0
    while at < count:
        stop.checkpoint()
        facets = np.frombuffer(source.read(50 * min(1 << 16, count - at)), dtype=_FACET)
        corners = facets["corners"].reshape(-1, 3)
        if not np.isfinite(corners).all():
            bad = at + int(np.nonzero(~np.isfinite(corners))[0][0]) // 3
            raise AssetError(f"{path}: facet {bad} has a corner that is not finite")
        low, high = np.minimum(low, corners.min(axis=0)), np.maximum(high, corners.max(axis=0))
        at += len(facets)
    return {"vertices": 3 * count, "faces": count, "bounds": [low.tolist(), high.tolist()]}


def _read_text_stl(path: Path, stop: StopToken) -> dict[str, Any]:
    points: list[list[float]] = []
    ended = False
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if number % 4096 == 0:
                stop.checkpoint()
            words = line.split()
            if words[:1] == ["vertex"]:
                points.append(_numbers(path, number, words[1:], 3))
            ended = ended or words[:1] == ["endsolid"]
    if not points or len(points) % 3 or not ended:
        raise AssetError(f"{path}: {len(points)} vertices without a proper end; cut off?")
    array = np.array(points)
    bounds = [array.min(axis=0).tolist(), array.max(axis=0).tolist()]
    return {"vertices": len(points), "faces": len(points) // 3, "bounds": bounds}


def _numbers(path: Path, line: int, words: list[str], count: int) -> list[float]:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise AssetError(f"{path}:{line}: {' '.join(words)!r} is not {count} finite numbers")
    return numbers


_PNG_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))  # fmt: skip


def _read_png(path: Path, stop: StopToken) -> dict[str, Any]:
    with open(path, "rb") as source:
        if source.read(8) != b"\x89PNG\r\n\x1a\n":
            raise AssetError(f"{path} does not begin like a PNG")
        kind, header = _png_chunk(path, source)
        if kind != b"IHDR" or len(header) != 13:
            raise AssetError(f"{path}: the first chunk is {kind!r}, and should be IHDR")
        width, height, depth, colour, packing, filtering, interlace = struct.unpack(
            ">IIBBBBB", header
        )
        if not (0 < width * height <= _MOST_PIXELS) or depth not in _PNG_DEPTHS.get(colour, ()):
            raise AssetError(
                f"{path}: {width} x {height}, depth {depth}, colour {colour} is no image"
            )
        if packing or filtering or interlace > 1:
            raise AssetError(f"{path}: an unknown packing, filter or interlacing")
        left = _png_bytes(width, height, depth * _PNG_CHANNELS[colour], interlace)
        unpacker = zlib.decompressobj()
        while kind != b"IEND":
            stop.checkpoint()
            kind, data = _png_chunk(path, source)
            if kind == b"IDAT":
                left -= _unpacked_length(path, unpacker, data, left, stop)
        if left or not unpacker.eof:
            raise AssetError(f"{path}: the image data ends too early")
    return {"width": width, "height": height, "channels": _PNG_CHANNELS[colour], "depth": depth}


def _png_chunk(path: Path, source: IO[bytes]) -> tuple[bytes, bytes]:
    at = source.tell()
    head = source.read(8)
    length = int.from_bytes(head[:4], "big")
    if len(head) < 8 or length >= 1 << 31:
        raise AssetError(f"{path}: cut off, or damaged, at byte {at}")
    body = source.read(min(length, _size(source) - at))  # a length that lies must cost nothing
    check = source.read(4)
    if len(check) < 4 or zlib.crc32(head[4:] + body) != int.from_bytes(check, "big"):
        raise AssetError(f"{path}: chunk {head[4:]!r} at byte {at} is damaged")
    return head[4:], body


def _size(source: IO[bytes]) -> int:
    return os.fstat(source.fileno()).st_size


def _png_bytes(width: int, height: int, bits: int, interlace: int) -> int:
    """What the image data unpacks to: a filter byte and the pixels, a row."""
    passes = _ADAM7 if interlace else ((0, 0, 1, 1),)
    total = 0
    for x, y, step_x, step_y in passes:
        columns, rows = -(-(width - x) // step_x), -(-(height - y) // step_y)
        if columns > 0 and rows > 0:
            total += rows * (1 + -(-columns * bits // 8))
    return total


def _unpacked_length(path: Path, unpacker: Any, data: bytes, left: int, stop: StopToken) -> int:
    """How many bytes `data` unpacks to, never holding more than a megabyte of them."""
    length = 0
    try:
        while data:
            stop.checkpoint()
            length += len(unpacker.decompress(data, 1 << 20))
            if length > left:
                raise AssetError(f"{path}: more image data than the image has")
            data = unpacker.unconsumed_tail
    except zlib.error as error:
        raise AssetError(f"{path}: the image data is damaged: {error}") from None
    return length


_JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def _read_jpeg(path: Path, stop: StopToken) -> dict[str, Any]:
    data = path.read_bytes()
    if data[:2] != b"\xff\xd8":
        raise AssetError(f"{path} does not begin like a JPEG")
    info: dict[str, Any] = {}
    at, scans = 2, 0
    while True:
        stop.checkpoint()
        if at + 2 > len(data) or data[at] != 0xFF:
            raise AssetError(f"{path}: cut off, or damaged, at byte {at}")
        marker = data[at + 1]
        at += 1 if marker == 0xFF else 2  # markers may be filled up with 0xFF
        if marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD7:
            continue
        if marker == 0xD9:
            break
        length = int.from_bytes(data[at : at + 2], "big")
        if length < 2 or at + length > len(data):
            raise AssetError(f"{path}: a segment at byte {at - 2} runs over the end")
        if marker in _JPEG_FRAMES and length >= 8:
            depth, height, width, channels = struct.unpack(">BHHB", data[at + 2 : at + 8])
            info = {"width": width, "height": height, "channels": channels, "depth": depth}
        at += length
        if marker == 0xDA:
            scans += 1
            at = _end_of_scan(data, at)
    if not info or not scans or not 0 < info["width"] * info["height"] <= _MOST_PIXELS:
        raise AssetError(f"{path} holds no image")
    return info


def _end_of_scan(data: bytes, at: int) -> int:
    """The next marker after entropy-coded data, in which 0xFF is followed by 0 or a restart."""
    while True:
        at = data.find(b"\xff", at)
        if at < 0 or at + 1 >= len(data):
            return len(data)
        if data[at + 1] == 0 or 0xD0 <= data[at + 1] <= 0xD7:
            at += 2
        else:
            return at


_READERS: dict[str, Callable[[Path, StopToken], dict[str, Any]]] = {
    "obj": _read_obj,
    "stl": _read_stl,
    "png": _read_png,
    "jpeg": _read_jpeg,
}
