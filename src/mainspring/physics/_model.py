"""One description of rigid bodies for every engine that has no model format of its own.

A model is a TOML file, or the same thing made in Python:

    gravity = [0, 0, -9.81]

    [[body]]
    name = "floor"
    kind = "fixed"
    size = [20, 20, 0.5]
    position = [0, 0, -0.5]

    [[body]]
    name = "crate"              # crate_0 .. crate_124
    count = [5, 5, 5]
    spacing = [1.1, 1.1, 1.1]
    position = [0, 0, 2]

    [[joint]]
    name = "door"
    kind = "hinge"
    a = "frame"
    b = "leaf"
    anchor = [0, 0, 1]
    axis = [0, 0, 1]

The promise: whatever is wrong with a file is a `ModelError` with the file, the line and the
reason. Lengths are metres, box sizes are half extents, rotations are quaternions (w, x, y, z)
or one `angle` about z; joints are placed in world coordinates at the bodies' first poses.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from mainspring import state
from mainspring.errors import nearest
from mainspring.physics._errors import ModelError
from mainspring.physics._kinds import LARGEST

__all__ = ["Body", "Joint", "Model", "find_file"]

Vector = tuple[float, float, float]
BodyKind = Literal["fixed", "kinematic", "dynamic"]
ShapeKind = Literal["box", "sphere", "capsule", "cylinder", "plane", "polygon"]
JointKind = Literal["fixed", "ball", "hinge", "slider"]

# How many numbers the size of each shape has: half extents, a radius, radius and half height.
_SIZES = {"box": 3, "sphere": 1, "capsule": 2, "cylinder": 2, "plane": 0, "polygon": None}


def find_file(path: str | Path) -> Path:
    """A model's file: where the path says, or beside the modules that Python looks for.

    The folder of a scene file is among those, so a scene file finds the models beside it from
    whatever folder it is run.
    """
    given = Path(path)
    if given.is_absolute() or given.exists():
        return given
    return next((at for folder in sys.path if (at := Path(folder) / given).is_file()), given)


class Body(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A rigid body with one shape; with `count`, a grid of them named `name_0`, `name_1`, ..."""

    name: str
    kind: BodyKind = "dynamic"
    shape: ShapeKind = "box"
    size: tuple[float, ...] = (0.5, 0.5, 0.5)
    vertices: tuple[tuple[float, float], ...] = ()
    position: Vector = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float, float] | None = None
    angle: float = 0.0
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    mass: Annotated[float, msgspec.Meta(gt=0)] | None = None
    density: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    friction: Annotated[float, msgspec.Meta(ge=0)] = 0.5
    restitution: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    sensor: bool = False
    count: tuple[int, int, int] | None = None
    spacing: Vector = (1.1, 1.1, 1.1)

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """The rotation as (w, x, y, z), of length one."""
        if self.rotation is None:
            return (math.cos(self.angle / 2), 0.0, 0.0, math.sin(self.angle / 2))
        norm = math.sqrt(sum(part * part for part in self.rotation))
        w, x, y, z = (part / norm for part in self.rotation)
        return (w, x, y, z)

    @property
    def computed_mass(self) -> float:
        """The mass given, or the density times the shape's volume."""
        if self.mass is not None:
            return self.mass
        return self.density * _volume(self)


class Joint(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A joint between two bodies; with `motor_force`, a hinge or a slider is a control: its
    value is the angle or the way that the motor drives it to."""

    name: str
    kind: JointKind
    a: str
    b: str
    anchor: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)
    limits: tuple[float, float] | None = None
    motor_force: Annotated[float, msgspec.Meta(gt=0)] | None = None


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    gravity: Vector = (0.0, 0.0, -9.81)
    body: list[Body] = []
    joint: list[Joint] = []


class Model:
    """Bodies, joints and gravity, checked and with its grids laid out."""

    def __init__(
        self,
        bodies: list[Body],
        joints: list[Joint] | None = None,
        *,
        gravity: Vector = (0.0, 0.0, -9.81),
        file: str = "<model>",
    ) -> None:
        self._build(_Document(gravity=gravity, body=bodies, joint=joints or []), file, text=None)

    def _build(self, document: _Document, file: str, text: str | None) -> None:
        _check(document, file, text)
        self.file = file
        self._text = text
        self.gravity = document.gravity
        self.bodies = tuple(_laid_out(document.body))
        self.joints = tuple(document.joint)
        self._written = tuple(document.body)

    @classmethod
    def of(cls, given: Model | str | Path) -> Model:
        """The model itself, or that of a TOML file."""
        if isinstance(given, Model):
            return given
        if not isinstance(given, str | Path):
            raise ModelError(
                f"a {type(given).__name__} is no model",
                file="<model>",
                hint="a Model, or the path of its TOML file",
            )
        return cls.load(given)

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a TOML file."""
        file = str(path)
        try:
            text = find_file(path).read_bytes().decode()
        except OSError as error:
            raise ModelError(
                error.strerror or str(error),
                file=file,
                hint="a relative path begins in the working folder, or beside the scene file",
            ) from error
        except UnicodeDecodeError as error:
            raise ModelError(f"is not UTF-8 text: {error.reason}", file=file) from error
        return cls.parse(text, file=file)

    @classmethod
    def parse(cls, text: str, *, file: str = "<model>") -> Model:
        """Read TOML text; `file` is what an error calls it."""
        try:
            document = msgspec.toml.decode(text, type=_Document, strict=False)
        except msgspec.ValidationError as error:
            reason, _, path = str(error).partition(" - at `")
            unknown = re.search(r"unknown field `(\w+)`", reason)
            where = path.rstrip("`") + (f".{unknown[1]}" if unknown else "")
            raise ModelError(
                reason, file=file, line=_line_of(text, where), hint=_field_hint(where, unknown)
            ) from error
        except (msgspec.DecodeError, RecursionError) as error:
            found = re.search(r"line (\d+)", str(error))
            line = int(found[1]) if found else text.count("\n") + 1
            raise ModelError(str(error), file=file, line=line) from error
        model = cls.__new__(cls)
        model._build(document, file, text)
        return model

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all bodies."""
        return tuple(body.name for body in self.bodies)

    @property
    def motors(self) -> tuple[Joint, ...]:
        """The joints that are controls."""
        return tuple(joint for joint in self.joints if joint.motor_force is not None)

    def refused(self, body: Body | None, reason: str, hint: str | None = None) -> ModelError:
        """What an engine that cannot build it raises: with the line of `body`, or of gravity."""
        path = "$.gravity"
        for index, written in enumerate(self._written):
            if body is not None and body.name in (one.name for one in _laid_out([written])):
                path = f"$.body[{index}]"
        line = None if self._text is None else _line_of(self._text, path)
        return ModelError(reason, file=self.file, line=line, hint=hint)

    @property
    def digest(self) -> bytes:
        """A hash of everything that the simulation depends on."""
        return state.digest([self.gravity, list(self.bodies), list(self.joints)], self.file)


def _laid_out(bodies: list[Body]) -> Iterator[Body]:
    """Each body, a grid as its members: x fastest, then y, then z."""
    for body in bodies:
        if body.count is None:
            yield body
            continue
        columns, rows, layers = body.count
        for index in range(columns * rows * layers):
            steps = (index % columns, index // columns % rows, index // (columns * rows))
            x, y, z = (
                start + step * gap
                for start, step, gap in zip(body.position, steps, body.spacing, strict=True)
            )
            yield msgspec.structs.replace(
                body, name=f"{body.name}_{index}", position=(x, y, z), count=None
            )


_MOST_BODIES = 1_000_000
_SMALLEST_SIZE = 1e-6
# Single precision, in which three engines count, places nothing well that is farther away.
_FARTHEST = 1e6
_LENGTHS = ("position", "size", "vertices", "spacing", "anchor", "velocity", "angular_velocity")
_SMALLEST_MASS = 1e-9


def _check(document: _Document, file: str, text: str | None) -> None:
    """What types alone cannot say. The first problem found is raised."""

    def refuse(path: str, reason: str, hint: str | None = None) -> None:
        line = None if text is None else _line_of(text, path)
        raise ModelError(reason, file=file, line=line, hint=hint)

    if trouble := _unusable("gravity", document.gravity):
        refuse("$.gravity", f"gravity is {trouble}")
    names: dict[str, None] = {}
    total = 0
    for index, body in enumerate(document.body):
        path = f"$.body[{index}]"
        if body.count is not None:
            if min(body.count) < 1:
                refuse(f"{path}.count", f"a grid of {body.count} bodies has none")
            total += math.prod(body.count)
        else:
            total += 1
        if total > _MOST_BODIES:
            refuse(f"{path}.count", f"more than {_MOST_BODIES} bodies")
        _check_body(body, path, refuse)
        laid = [body.name] if body.count is None else [body.name, f"{body.name}_0"]
        for name in laid:
            if name in names:
                refuse(f"{path}.name", f"two bodies are named {name!r}", "give each its own name")
            names[name] = None
    known = {body.name: None for body in _laid_out(document.body)}
    seen: dict[str, None] = {}
    for index, joint in enumerate(document.joint):
        path = f"$.joint[{index}]"
        if joint.name in seen:
            refuse(f"{path}.name", f"two joints are named {joint.name!r}")
        seen[joint.name] = None
        for end, name in (("a", joint.a), ("b", joint.b)):
            if name not in known:
                refuse(f"{path}.{end}", f"there is no body {name!r}", nearest(name, known))
        if joint.a == joint.b:
            refuse(f"{path}.b", f"joint {joint.name!r} joins {joint.a!r} to itself")
        numbers = {
            "anchor": joint.anchor,
            "axis": joint.axis,
            "limits": joint.limits or (),
            "motor_force": () if joint.motor_force is None else (joint.motor_force,),
        }
        for key, values in numbers.items():
            if trouble := _unusable(key, values):
                refuse(f"{path}.{key}", f"joint {joint.name!r}: its {key} is {trouble}")
        if math.hypot(*joint.axis) < 1e-9:
            refuse(f"{path}.axis", f"joint {joint.name!r} has an axis of length zero")
        if joint.limits is not None and not joint.limits[0] <= joint.limits[1]:
            refuse(f"{path}.limits", f"joint {joint.name!r} has its limits the wrong way round")
        if joint.motor_force is not None and joint.kind not in ("hinge", "slider"):
            refuse(f"{path}.motor_force", f"a {joint.kind} joint has no motor")


def _check_body(body: Body, path: str, refuse: object) -> None:
    assert callable(refuse)
    steps = (0, 0, 0) if body.count is None else [count - 1 for count in body.count]
    last = [
        start + k * gap for start, k, gap in zip(body.position, steps, body.spacing, strict=True)
    ]
    numbers = {
        "position": body.position,
        "rotation": body.rotation or (),
        "angle": (body.angle,),
        "velocity": body.velocity,
        "angular_velocity": body.angular_velocity,
        "size": body.size,
        "vertices": tuple(part for vertex in body.vertices for part in vertex),
        "spacing": (*body.spacing, *last),
        "mass": () if body.mass is None else (body.mass,),
        "density": (body.density,),
        "friction": (body.friction,),
    }
    for key, values in numbers.items():
        if trouble := _unusable(key, values):
            refuse(f"{path}.{key}", f"body {body.name!r}: its {key} is {trouble}")
    if body.rotation is not None and math.hypot(*body.rotation) < 1e-9:
        refuse(f"{path}.rotation", f"body {body.name!r} has a rotation of length zero")
    expected = _SIZES[body.shape]
    if expected is not None and expected and len(body.size) != expected:
        refuse(
            f"{path}.size",
            f"the size of a {body.shape} is {expected} numbers, not {len(body.size)}",
            "box: half extents x, y, z; sphere: radius; capsule, cylinder: radius, half height",
        )
    if expected and min(body.size) < _SMALLEST_SIZE:
        refuse(f"{path}.size", f"body {body.name!r} has a size below {_SMALLEST_SIZE:g} m")
    if body.shape == "polygon" and not 3 <= len(body.vertices) <= 8:
        refuse(f"{path}.vertices", f"a polygon has 3 to 8 vertices, not {len(body.vertices)}")
    if body.shape == "plane" and body.kind != "fixed":
        refuse(f"{path}.kind", "a plane is endless, so it is fixed", 'kind = "fixed"')
    if body.kind == "dynamic" and not _SMALLEST_MASS <= body.computed_mass < LARGEST:
        key = "density" if body.mass is None else "mass"
        refuse(f"{path}.{key}", f"body {body.name!r} would weigh {body.computed_mass:g} kg")


def _unusable(key: str, values: Collection[float]) -> str:
    """What is wrong with numbers that no engine can count with; empty where nothing is."""
    if not all(map(math.isfinite, values)):
        return "not finite"
    most = _FARTHEST if key in _LENGTHS else LARGEST
    return "" if all(abs(value) < most for value in values) else f"{most:g} or more"


def _volume(body: Body) -> float:
    size = body.size
    if body.shape == "box":
        return 8 * size[0] * size[1] * size[2]
    if body.shape == "sphere":
        return 4 / 3 * math.pi * size[0] ** 3
    if body.shape in ("capsule", "cylinder"):
        volume = 2 * math.pi * size[0] ** 2 * size[1]
        return volume + (4 / 3 * math.pi * size[0] ** 3 if body.shape == "capsule" else 0.0)
    if body.shape == "polygon":
        turned = body.vertices[1:] + body.vertices[:1]
        pairs = zip(body.vertices, turned, strict=True)
        return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairs)) / 2
    return 1.0


def _field_hint(path: str, unknown: re.Match[str] | None) -> str | None:
    if unknown is None:
        return None
    owner = (
        Body if path.startswith("$.body") else Joint if path.startswith("$.joint") else _Document
    )
    return nearest(unknown[1], owner.__struct_fields__)


def _line_of(text: str, path: str) -> int:
    """The line of `$.body[3].mass` in `text`: the key's, else its table's, else the first."""
    steps = re.match(r"\$(?:\.(\w+))?(?:\[(\d+)\])?(?:\.(\w+))?", path)
    table, number, key = steps.groups() if steps else (None, None, None)
    if number is None:
        key, table = table, None
    line_of_table, inside, count = 1, table is None, -1
    for line, content in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*([\w.]+)", content)
        if header:
            inside = False
            if header[1] == table:
                count += 1
                if count == int(number or 0):
                    inside, line_of_table = True, line
        elif inside and key is not None and re.match(rf"\s*[\"']?{key}[\"']?\s*=", content):
            return line
    return line_of_table
