"""Cameras: what a MuJoCo model looks like, drawn off the screen at the sensor's rate.

A frame shows the instant at which it was taken and is the same under every threading policy.
With `policy="multi_threaded"` it is drawn while the simulation goes on, and waited for only by
who needs it: a reader after the latency has passed, a snapshot, or the next frame.

Drawing needs EGL, in software where there is no graphics card (Debian: tools/apt-packages.txt).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mainspring.clock import StepContext
from mainspring.physics._errors import SensorError
from mainspring.physics._sensor import Reading, Sensor
from mainspring.physics._sensors import articulated
from mainspring.physics._solver import Solver
from mainspring.threads import OffscreenCamera, Renderer, ThreadingPolicy, offscreen_missing

__all__ = ["Camera"]


class Camera(Sensor):
    """Pictures from a camera of the model: arrays (height, width, 3) of bytes."""

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        camera: str | int = -1,
        width: int = 320,
        height: int = 240,
        policy: ThreadingPolicy | str = ThreadingPolicy.SINGLE_THREADED,
        name: str | None = None,
        latency_s: float = 0.0,
    ) -> None:
        super().__init__(solver, name=name, latency_s=latency_s)
        self.camera = camera
        self.size = (width, height)
        self.policy = ThreadingPolicy(policy)
        self._renderer: Renderer | None = None
        self._eye: OffscreenCamera | None = None
        self._waiting: list[int] = []  # times of frames that are being drawn

    def prepare(self) -> None:
        """Checks the camera; the context is made with the first frame."""
        self._model = articulated(self.solver, self.name)
        missing = offscreen_missing()
        if missing is not None:
            raise SensorError(f"camera {self.name!r} cannot draw: {missing}")

    def _open(self) -> tuple[Renderer, OffscreenCamera]:
        if self._renderer is None or self._eye is None:
            self._renderer = Renderer(self.policy)
            width, height = self.size
            self._eye = OffscreenCamera(
                self._renderer, self._model.model, width=width, height=height, camera=self.camera
            )
        return self._renderer, self._eye

    def measure(self, context: StepContext) -> None:
        """Take a frame of now; it is collected when it is drawn."""
        renderer, eye = self._open()
        self._collect()
        self._model.refresh()
        eye.capture(self._model._data, context.time)
        renderer.end_frame()
        self._waiting.append(context.time)
        if self.policy is not ThreadingPolicy.MULTI_THREADED:
            self._collect()

    def _collect(self) -> None:
        """Wait for the frames that are being drawn and put them among the readings."""
        if not self._waiting or self._renderer is None or self._eye is None:
            return
        self._renderer.block_until_complete()
        frames = {frame.time_ns: frame.pixels for frame in self._eye.take_frames()}
        for time_ns in self._waiting:
            if time_ns in frames:  # under the policy NONE nothing is drawn
                due = time_ns + self.latency_ns
                self._readings.append(Reading(time_ns, due, frames[time_ns]))
        self._waiting = []

    @property
    def reading(self) -> Reading | None:
        """The newest frame that has arrived."""
        now = self._scene.time.now if self._scene is not None else 0
        if any(time_ns + self.latency_ns <= now for time_ns in self._waiting):
            self._collect()
        return super().reading

    def forget(self) -> None:
        """Frames that are being drawn are of what was before."""
        self._collect()
        super().forget()

    def blank(self) -> npt.NDArray[np.uint8]:
        """Black: a picture has no NaN, so ask `valid`."""
        width, height = self.size
        return np.zeros((height, width, 3), dtype=np.uint8)

    def stop(self) -> None:
        """Gives the context back."""
        self._collect()
        if self._eye is not None and self._renderer is not None:
            self._eye.close()
            self._renderer.close()
        self._eye = self._renderer = None

    def save(self) -> Any:
        """With the frames that are being drawn, which it waits for."""
        self._collect()
        return super().save()

    def restore(self, saved: Any) -> None:
        """Leaves it as it was."""
        self._collect()
        super().restore(saved)
