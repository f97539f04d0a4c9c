"""The off-screen camera: the same pixels under both policies, drawn while the next tick runs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from mainspring.threads import (
    OffscreenCamera,
    Renderer,
    RenderError,
    ThreadError,
    offscreen_missing,
)

mujoco = pytest.importorskip("mujoco", reason="needs the extra mainspring[mujoco]")
_missing = offscreen_missing()
pytestmark = pytest.mark.skipif(_missing is not None, reason=f"no off-screen OpenGL: {_missing}")

MODEL = """
<mujoco>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="side" pos="0 -2 1" xyaxes="1 0 0 0 0.4 1"/>
    <geom type="plane" size="2 2 .1" rgba=".2 .5 .2 1"/>
    <body pos="0 0 .8"><freejoint/><geom size=".2" rgba="1 0 0 1"/></body>
  </worldbody>
</mujoco>
"""


def film(policy: str, frames: int = 5) -> list[tuple[int, bytes]]:
    """A falling ball, a picture a frame."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    seen = []
    with Renderer(policy) as renderer:
        camera = OffscreenCamera(renderer, model, width=64, height=48, camera="side")
        for _ in range(frames):
            for _ in range(20):
                mujoco.mj_step(model, data)
            camera.capture(data, round(data.time * 1e9))
            renderer.end_frame()
            seen += camera.take_frames()
        camera.close()
        renderer.pump()
        seen += camera.take_frames()
    return [(frame.time_ns, frame.pixels.tobytes()) for frame in seen]


def test_the_pixels_are_the_same_under_both_policies() -> None:
    single = film("single_threaded")
    assert len(single) == 5
    assert single == film("multi_threaded")
    assert len({pixels for _, pixels in single}) == 5, "the ball falls"
    assert film("none") == []


def test_a_picture_shows_the_moment_of_its_capture_with_its_top_row_first() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with Renderer("multi_threaded") as renderer:
        camera = OffscreenCamera(renderer, model, width=64, height=48, camera="side")
        camera.capture(data, 1)
        data.qpos[2] = 50.0  # gone before it is drawn
        mujoco.mj_forward(model, data)
        camera.capture(data, 2)
        renderer.pump()
        first, second = camera.take_frames()
        camera.close()
    assert first.pixels.shape == (48, 64, 3)
    red = (first.pixels[..., 0] > 80) & (first.pixels[..., 1] < 60)
    assert red.any()
    assert not ((second.pixels[..., 0] > 80) & (second.pixels[..., 1] < 60)).any()
    assert np.nonzero(red)[0].mean() < 24, "the ball is above the middle of the picture"


def test_a_frame_is_drawn_while_the_next_tick_runs() -> None:
    """The frame is delivered on the render thread while main has not come back to it."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    delivered = threading.Event()
    idents: list[int] = []

    def deliver(frame: Any) -> None:
        idents.append(threading.get_ident())
        delivered.set()

    with Renderer("multi_threaded") as renderer:
        camera = OffscreenCamera(renderer, model, width=64, height=48, deliver=deliver)
        camera.capture(data, 0)
        renderer.end_frame()
        mujoco.mj_step(model, data)  # the next tick
        assert delivered.wait(30)
        camera.close()
    assert idents != [threading.get_ident()]


def test_two_cameras_share_a_thread() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with Renderer() as renderer:
        side = OffscreenCamera(renderer, model, width=64, height=48, camera=0)
        free = OffscreenCamera(renderer, model, width=32, height=32)
        for camera in (side, free, side):
            camera.capture(data, 0)
        renderer.pump()
        first, again = side.take_frames()
        (other,) = free.take_frames()
        side.close()
        free.close()
    assert first.pixels.tobytes() == again.pixels.tobytes()
    assert other.pixels.shape == (32, 32, 3)


def test_what_does_not_fit_is_refused_at_once() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    with Renderer() as renderer:
        with pytest.raises(ThreadError, match="off-screen buffer of 640 x 480"):
            OffscreenCamera(renderer, model, width=641)
        with pytest.raises(ThreadError, match=r"no camera 'top'.*\n.*'side'"):
            OffscreenCamera(renderer, model, camera="top")
        camera = OffscreenCamera(renderer, model)
        camera.close()
        with pytest.raises(ThreadError, match=r"after close\(\)"):
            camera.capture(mujoco.MjData(model), 0)


def test_a_context_that_cannot_be_made_surfaces_at_the_boundary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mainspring.threads import _camera

    def no_context() -> Any:
        raise RuntimeError("no EGL here")

    monkeypatch.setattr(_camera, "_egl_context", no_context)
    model = mujoco.MjModel.from_xml_string(MODEL)
    with Renderer() as renderer:
        camera = OffscreenCamera(renderer, model, width=8, height=8)
        camera.capture(mujoco.MjData(model), 0)
        with pytest.raises(RenderError, match="no EGL here"):
            renderer.end_frame()
