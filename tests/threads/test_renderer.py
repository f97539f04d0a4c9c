"""The renderer under its three policies: order, boundaries, errors with places, resources."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from mainspring.threads import (
    Renderer,
    RenderError,
    ThreadContext,
    ThreadError,
    ThreadingPolicy,
    WrongThreadError,
    current_context,
)

DRAWING = ("single_threaded", "multi_threaded")


def program(policy: str) -> list[Any]:
    """Three frames that submit, fail, submit from submitted work, and free."""
    drawn: list[Any] = []
    errors: list[str] = []

    def again(number: int) -> None:
        drawn.append(("again", number))

    with Renderer(policy) as renderer:

        def draw(number: int) -> None:
            drawn.append(number)
            if number == 1:
                raise ValueError("one")
            renderer.submit(again, number)

        for number in range(3):
            renderer.submit(draw, number)
            renderer.submit_resource_free(drawn.append, ("free", number))
            try:
                renderer.end_frame()
            except RenderError as error:
                errors.append(str(error))
        try:
            renderer.pump()
        except RenderError as error:
            errors.append(str(error))
    return [*drawn, len(errors)]


def test_the_policies_that_draw_give_the_same() -> None:
    assert program("single_threaded") == program("multi_threaded")
    assert [x for x in program("none") if not isinstance(x, int)] == [
        ("free", 0),
        ("free", 1),
        ("free", 2),
    ]


def test_single_threaded_drains_on_the_main_thread_at_the_end_of_the_frame() -> None:
    seen: list[tuple[int, ThreadContext | None]] = []
    renderer = Renderer(ThreadingPolicy.SINGLE_THREADED)
    renderer.submit(lambda: seen.append((threading.get_ident(), current_context())))
    renderer.kick()
    assert seen == [], "nobody to hand it to: it waits for the boundary"
    assert renderer.pending == 1
    renderer.end_frame()
    assert seen == [(threading.get_ident(), ThreadContext.RENDER)]
    assert renderer.is_render_thread(), "the main thread plays both"
    renderer.close()


def test_multi_threaded_draws_while_main_goes_on() -> None:
    """The first frame is still being drawn while the second one is being made."""
    second_is_made = threading.Event()
    seen: list[Any] = []

    def draw() -> None:
        second_is_made.wait()
        seen.append((threading.get_ident(), current_context(), renderer.is_render_thread()))

    renderer = Renderer(ThreadingPolicy.MULTI_THREADED)
    renderer.submit(draw)
    renderer.end_frame()
    assert seen == []
    second_is_made.set()
    renderer.end_frame()  # waits for the first
    ((ident, context, is_render),) = seen
    assert ident != threading.get_ident()
    assert context is ThreadContext.RENDER
    assert is_render
    assert not renderer.is_render_thread()
    renderer.close()


@pytest.mark.parametrize("policy", DRAWING)
def test_an_error_surfaces_at_the_boundary_with_its_place(policy: str) -> None:
    def fail() -> None:
        raise ZeroDivisionError("no lens")

    drawn: list[int] = []
    renderer = Renderer(policy)
    renderer.submit(drawn.append, 1)
    renderer.submit(fail)  # the place
    line = fail.__code__.co_firstlineno + 6
    renderer.submit(drawn.append, 2)
    with pytest.raises(RenderError, match="no lens") as caught:
        renderer.pump()
    ((place, error),) = caught.value.failures
    assert place == (f"{__file__}:{line} in test_an_error_surfaces_at_the_boundary_with_its_place")
    assert place in str(caught.value)
    assert caught.value.__cause__ is error
    assert drawn == [1, 2], "a failure costs its own command and nothing else"
    renderer.close()


@pytest.mark.parametrize("policy", DRAWING)
def test_all_failures_of_a_frame_are_told(policy: str) -> None:
    renderer = Renderer(policy)
    for key in "ab":
        renderer.submit({}.__getitem__, key)
    with pytest.raises(RenderError, match="and 1 more") as caught:
        renderer.pump()
    assert len(caught.value.failures) == 2
    assert any("KeyError: 'b'" in note for note in caught.value.__notes__)
    renderer.close()


@pytest.mark.parametrize("policy", [*DRAWING, "none"])
@pytest.mark.parametrize("frames", [1, 3])
def test_resources_outlive_the_frames_in_flight(policy: str, frames: int) -> None:
    freed_at: list[int] = []
    renderer = Renderer(policy, frames_in_flight=frames)
    renderer.pump()
    begun = renderer.frames
    renderer.submit_resource_free(lambda: freed_at.append(renderer.frames))
    for _ in range(frames + 1):
        assert freed_at == []
        renderer.pump()
    assert freed_at == [begun + frames + 1]
    renderer.close()


@pytest.mark.parametrize("policy", [*DRAWING, "none"])
def test_closing_draws_frees_and_ends(policy: str) -> None:
    done: list[str] = []
    renderer = Renderer(policy, frames_in_flight=2)
    renderer.submit(done.append, "drawn")
    renderer.submit_resource_free(done.append, "freed")
    renderer.close()
    renderer.close()
    assert done == (["freed"] if policy == "none" else ["drawn", "freed"])
    with pytest.raises(ThreadError, match=r"after close\(\)"):
        renderer.end_frame()


def test_an_error_at_closing_is_raised_after_everything_ended() -> None:
    renderer = Renderer("multi_threaded")
    renderer.submit(lambda: 1 // 0)
    with pytest.raises(RenderError, match="ZeroDivisionError"):
        renderer.close()
    assert "render" not in [thread.name for thread in threading.enumerate()]


def test_an_exit_asked_for_in_submitted_work_does_not_hang_main() -> None:
    def leave() -> None:
        raise SystemExit(3)

    renderer = Renderer("multi_threaded")
    renderer.submit(leave)
    with pytest.raises(RenderError, match="SystemExit"):
        renderer.pump()
    renderer.close()


@pytest.mark.parametrize("policy", DRAWING)
def test_submitted_work_may_not_end_frames(policy: str) -> None:
    renderer = Renderer(policy)
    renderer.submit(lambda: renderer.end_frame())
    with pytest.raises(RenderError, match=r"Renderer\.kick|submitted work|render thread"):
        renderer.pump()
    renderer.close()


def test_only_its_thread_ends_frames(on_thread: Callable[..., Any]) -> None:
    renderer = Renderer()
    with pytest.raises(WrongThreadError, match=r"Renderer\.block_until_complete"):
        on_thread(renderer.end_frame, "job")
    on_thread(lambda: renderer.submit(int))  # submitting is for everybody
    renderer.end_frame()
    renderer.close()


def test_what_cannot_be_called_is_refused_where_it_is_submitted() -> None:
    renderer = Renderer()
    with pytest.raises(TypeError, match="takes a callable, not int"):
        renderer.submit(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a callable and its arguments"):
        renderer.submit()
    with pytest.raises(ThreadError, match="frames_in_flight is 0"):
        Renderer(frames_in_flight=0)
    renderer.close()


def test_a_forgotten_renderer_ends_its_thread() -> None:
    renderer = Renderer("multi_threaded")
    thread = renderer._thread
    assert thread is not None
    ref = weakref.ref(renderer)
    renderer.pump()
    del renderer
    gc.collect()
    assert ref() is None
    thread.join()


def test_a_queue_that_holds_itself_is_collected() -> None:
    class Holder:
        pass

    holder = Holder()
    renderer = Renderer()
    holder.renderer = renderer  # type: ignore[attr-defined]
    renderer.submit(lambda kept=holder: None)
    ref = weakref.ref(holder)
    del holder, renderer
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("policy", ThreadingPolicy)
def test_nothing_gets_lost_after_the_end(policy: ThreadingPolicy) -> None:
    """What nobody would draw is refused to whoever submits it; a resource is freed at once."""
    freed: list[int] = []
    renderer = Renderer(policy)
    submit = renderer.submit
    renderer.close()
    with pytest.raises(ThreadError, match=r"append was submitted to a renderer that is closed"):
        submit(freed.append, 1)
    renderer.submit_resource_free(freed.append, 2)
    assert freed == [2]
    assert renderer.pending == 0


def test_an_unknown_policy_is_refused_with_the_nearest() -> None:
    assert Renderer("Single_Threaded").policy is ThreadingPolicy.SINGLE_THREADED
    with pytest.raises(ThreadError, match="did you mean 'multi_threaded'"):
        Renderer("multi")
