"""Camera frames of a MuJoCo model, drawn off the screen and, if the policy says so, off the main
thread.

The promise: a frame shows the state at the moment of `capture`, not the one at which it is
drawn, and its pixels are the same under every policy that draws. OpenGL is reached through EGL,
in software where there is no graphics card (Debian: see tools/apt-packages.txt).
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mainspring.errors import MissingExtraError
from mainspring.threads._errors import RenderError, ThreadError
from mainspring.threads._render import Renderer

__all__ = ["CameraFrame", "OffscreenCamera", "offscreen_missing"]


class CameraFrame(NamedTuple):
    """One picture: rows from the top, three bytes a pixel."""

    time_ns: int
    pixels: npt.NDArray[np.uint8]


def offscreen_missing() -> str | None:
    """Why an `OffscreenCamera` cannot work on this machine; None when it can."""
    try:
        import mujoco  # noqa: F401
    except ImportError:
        return "mujoco is not installed (pip install 'mainspring[mujoco]')"
    for library in ("libEGL.so.1", "libOpenGL.so.0"):
        try:
            ctypes.CDLL(library)
        except OSError:
            return f"{library} is missing (apt-get install $(cat tools/apt-packages.txt))"
    if os.environ.get("PYOPENGL_PLATFORM", "egl").lower() != "egl":
        return "PYOPENGL_PLATFORM is set to something else than egl"
    try:
        context = _egl_context()
    except Exception as error:
        return f"EGL gives no off-screen context: {error}"
    context.free()
    return None


class OffscreenCamera:
    """A camera that looks at a MuJoCo model through a `Renderer`'s queue.

    `capture` copies the state and submits the drawing; finished frames wait for `take_frames`
    or go to `deliver(frame)`, which is called on the thread that draws.
    """

    def __init__(
        self,
        renderer: Renderer,
        model: Any,
        *,
        width: int = 320,
        height: int = 240,
        camera: int | str = -1,
        deliver: Callable[[CameraFrame], object] | None = None,
        max_geom: int = 10_000,
    ) -> None:
        try:
            import mujoco
        except ImportError as error:
            raise MissingExtraError("the off-screen camera", "mujoco") from error
        self._mujoco = mujoco
        self._renderer = renderer
        self._model = model
        self._size = (width, height)
        self._camera = _find_camera(mujoco, model, camera)
        self._check_size(width, height)
        self._frames: deque[CameraFrame] = deque()
        self._deliver = deliver or self._frames.append
        self._max_geom = max_geom
        self._spare: deque[Any] = deque()
        self._drawing: _Drawing | None = None
        self._closed = False
        renderer.submit(self._open)

    def capture(self, data: Any, time_ns: int) -> None:
        """Picture `data` as it is now; the frame is there after the next boundaries."""
        if self._closed:
            raise ThreadError("OffscreenCamera.capture was called after close()")
        # Copies in flight are bounded by the renderer's frames, so the pool stops growing.
        copy = self._spare.popleft() if self._spare else self._mujoco.MjData(self._model)
        self._mujoco.mj_copyData(copy, self._model, data)
        self._renderer.submit(self._draw, copy, time_ns)

    def take_frames(self) -> list[CameraFrame]:
        """The frames that were finished since the last call, oldest first."""
        frames = []
        while self._frames:
            frames.append(self._frames.popleft())
        return frames

    def close(self) -> None:
        """Give the context back, after the frames that are being drawn."""
        if not self._closed:
            self._closed = True
            self._renderer.submit_resource_free(self._free)

    # on the render thread

    def _open(self) -> None:
        self._drawing = _Drawing(
            self._mujoco, self._model, self._camera, self._size, self._max_geom
        )

    def _draw(self, data: Any, time_ns: int) -> None:
        if self._drawing is None:
            raise RenderError("the camera's context could not be made, so nothing is drawn", ())
        pixels = self._drawing.draw(data)
        self._spare.append(data)
        self._deliver(CameraFrame(time_ns, pixels))

    def _free(self) -> None:
        drawing, self._drawing = self._drawing, None
        if drawing is not None:
            drawing.free()

    # on the main thread

    def _check_size(self, width: int, height: int) -> None:
        most = self._model.vis.global_.offwidth, self._model.vis.global_.offheight
        if not (0 < width <= most[0] and 0 < height <= most[1]):
            raise ThreadError(
                f"a camera of {width} x {height} does not fit the model's off-screen buffer "
                f"of {most[0]} x {most[1]}",
                hint='give the model <visual><global offwidth="..." offheight="..."/></visual>',
            )


class _Drawing:
    """A context and what it draws into; made, used and freed on one thread."""

    def __init__(
        self, mujoco: Any, model: Any, camera: Any, size: tuple[int, int], max_geom: int
    ) -> None:
        self._mujoco = mujoco
        self._model = model
        self._camera = camera
        self._gl = _egl_context()
        self._gl.make_current()
        self._scene = mujoco.MjvScene(model, max_geom)
        self._option = mujoco.MjvOption()
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._rect = mujoco.MjrRect(0, 0, *size)
        self._buffer = np.empty((size[1], size[0], 3), dtype=np.uint8)

    def draw(self, data: Any) -> npt.NDArray[np.uint8]:
        mujoco = self._mujoco
        self._gl.make_current()  # two cameras may share a thread
        mujoco.mjv_updateScene(
            self._model,
            data,
            self._option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        mujoco.mjr_render(self._rect, self._scene, self._context)
        mujoco.mjr_readPixels(self._buffer, None, self._rect, self._context)
        return np.ascontiguousarray(self._buffer[::-1])  # OpenGL's first row is the lowest

    def free(self) -> None:
        self._gl.make_current()
        self._context.free()
        self._gl.free()


def _egl_context() -> Any:
    # Not mujoco.GLContext: which one that is was decided when mujoco was imported.
    from mujoco.egl import GLContext

    return GLContext(1, 1)


def _find_camera(mujoco: Any, model: Any, camera: int | str) -> Any:
    known = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_CAMERA, i) for i in range(model.ncam)]
    index = known.index(camera) if camera in known else camera
    if isinstance(index, str) or not -1 <= index < model.ncam:
        raise ThreadError(
            f"the model has no camera {camera!r}",
            hint=f"known: {', '.join(map(repr, known)) or 'none'}, or -1 for a free one",
        )
    view = mujoco.MjvCamera()
    if index == -1:
        mujoco.mjv_defaultFreeCamera(model, view)
    else:
        view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        view.fixedcamid = index
    return view
