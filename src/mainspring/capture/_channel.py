"""A channel of a recording: where its values come from and what they are called.

A source is looked at and never touched. It may be

- a callable without arguments, called once a step,
- a NumPy array, whose present content is copied at each step,
- an object with a `value` attribute (a graph's output) or a `read()` method (a sensor),
- a path of names from the scene on, as text: a subsystem's, a script's or an attached part's
  (`"arm.q"`, `"time.now"`), looked up when the recording starts; scene files use it.

A source that has nothing to tell yet returns None; the channel begins with its first value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from mainspring.capture import _layout
from mainspring.capture._errors import ChannelError
from mainspring.capture._layout import Layout
from mainspring.capture._schemas import TRANSFORM_ROW

__all__ = ["Channel", "Image", "resolve_source", "sensor_of", "world_rows", "world_transforms"]

ImageFormat = Literal["png", "jpeg"]


@dataclasses.dataclass(frozen=True)
class Image:
    """How a camera's frames are compressed."""

    format: ImageFormat = "png"
    quality: int = 90
    frame_id: str = "camera"


@dataclasses.dataclass
class Channel:
    """One topic of a recording, before and while it runs."""

    topic: str
    source: Any
    metadata: dict[str, str]
    declared: Layout | None = None
    """How values look, where the user said so."""
    image: Image | None = None
    prepare: Callable[[Any], Any] | None = None
    """Applied to every value before anything else."""

    layout: Layout | None = dataclasses.field(default=None, init=False)
    """How values look; None until the first value, where it is not declared."""
    bound: Any = dataclasses.field(default=None, init=False)
    """What the source is in the scene that runs: a callable or an array."""
    last_stamp_ns: int | None = dataclasses.field(default=None, init=False)
    """When the last frame was taken, where the camera says so."""

    def bind(self, root: Any) -> None:
        """Find the source, and where it is an array, how it looks."""
        sensor = sensor_of(self.source, root)
        if self.image is not None and sensor is not None:
            self.bound = lambda: sensor.reading
        else:
            self.bound = resolve_source(self.source, root, self.topic)
        if self.prepare is not None:
            self.bound = _then(_called(self.bound), self.prepare)
        self.layout = self.declared
        self.last_stamp_ns = None
        if self.layout is None and self.image is None and isinstance(self.bound, np.ndarray):
            self.layout = _layout.layout_of_value(self.bound)

    @property
    def live(self) -> bool:
        """Whether the source is memory that can be copied as it lies."""
        source, layout = self.bound, self.layout
        return (
            isinstance(source, np.ndarray)
            and layout is not None
            and layout.fetch == "array"
            and layout.adapt is None
            and source.dtype == layout.dtype
            and source.shape == layout.shape
            and source.flags.c_contiguous
        )

    def fetch(self) -> Any:
        """The present value, by a call in Python."""
        return self.bound if isinstance(self.bound, np.ndarray) else self.bound()

    def learn(self, value: Any) -> Layout:
        """The layout, from the first value where it was not declared."""
        if self.layout is None:
            try:
                self.layout = _layout.layout_of_value(value)
            except TypeError as error:
                raise ChannelError(
                    f"channel {self.topic!r} cannot record a {type(value).__name__}: {error}",
                    hint="return numbers, arrays, text, lists, dicts, dataclasses or structs",
                ) from None
        return self.layout

    def cell(self) -> tuple[str, Any, int, str, tuple[int, ...]]:
        """What the sampler needs to know; the layout is found by now."""
        layout = self.layout
        assert layout is not None
        if layout.dtype is None:
            form: tuple[str, tuple[int, ...]] = ("", ())
        else:
            view = memoryview(np.empty(layout.shape, layout.dtype))  # type: ignore[arg-type]
            form = (view.format, layout.shape)
        if self.live:
            return ("live", self.bound, layout.size, *form)
        call = _called(self.bound)
        return (
            layout.fetch,
            _then(call, layout.adapt) if layout.adapt else call,
            layout.size,
            *form,
        )


def sensor_of(source: Any, root: Any) -> Any:
    """The sensor that a source is, or whose value it looks at by name; None where it is none.

    A sensor is what has a `reading`: a value, and the time at which it was true.
    """
    if isinstance(source, str):
        source = getattr(root, "subsystems", {}).get(source.partition(".")[0])
    return source if hasattr(type(source), "reading") else None


def resolve_source(source: Any, root: Any, topic: str) -> Any:
    """A callable or an array for anything that may stand as a source."""
    if isinstance(source, str) and source:
        return _from_path(source, root, topic)
    if isinstance(source, np.ndarray) or callable(source):
        return source
    if hasattr(source, "value"):
        return lambda: source.value
    if callable(getattr(source, "read", None)):
        return source.read
    raise ChannelError(
        f"channel {topic!r} cannot look at a {type(source).__name__}",
        hint="a source is a callable, an array, something with .value or .read(), "
        "or a path of names from the scene",
    )


def _from_path(path: str, root: Any, topic: str) -> Any:
    names = path.split(".")
    # A subsystem or a script goes by its name; anything else is what the scene itself has.
    for parts in (getattr(root, "subsystems", {}), getattr(root, "scripts", {})):
        if names[0] in parts:
            root = parts
            break
    for index, name in enumerate(names[:-1]):
        root = _step(root, name, ".".join(names[: index + 1]), topic)
    owner, last = root, names[-1]
    found = _step(owner, last, path, topic)
    if callable(found):
        return found
    if len(names) == 1 and not isinstance(found, np.ndarray):
        return resolve_source(found, root, topic)  # a sensor as a whole
    # Not the array that is there now: its owner may put another in its place.
    if isinstance(owner, Mapping):
        return lambda: owner[last]
    return lambda: getattr(owner, last)


def _step(owner: Any, name: str, path: str, topic: str) -> Any:
    if isinstance(owner, Mapping) and name in owner:
        return owner[name]
    try:
        return getattr(owner, name)
    except AttributeError:
        raise ChannelError(
            f"channel {topic!r} looks at {path!r}, and a {type(owner).__name__} has no {name!r}"
        ) from None


def _called(source: Any) -> Callable[[], Any]:
    return (lambda: source) if isinstance(source, np.ndarray) else source


def _then(source: Callable[[], Any], function: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: function(source())


def world_rows(world: Any, component: str) -> np.ndarray[Any, Any]:
    """A numeric component as a table: the number of each entity that has it, and its value."""
    values, present = world.column(component), world.presence(component)
    row = np.dtype([("entity", "<i8"), (component, values.dtype, values.shape[1:])])
    rows = np.empty(int(present.sum()), row)
    rows["entity"] = world.table.numbers[present]
    rows[component] = values[present]
    return rows


def world_transforms(world: Any) -> np.ndarray[Any, Any]:
    """Position and rotation of every entity."""
    numbers = world.table.numbers
    rows = np.empty(len(numbers), TRANSFORM_ROW)
    rows["entity"] = numbers
    rows["position"] = world.column("position")
    rows["orientation"] = world.column("rotation")
    return rows
