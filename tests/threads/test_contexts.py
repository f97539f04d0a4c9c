"""The table of contexts: who may do what, and what the error says when a row is broken."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import pickle
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import pytest

import mainspring
from mainspring import threads
from mainspring.threads import (
    TABLE,
    ThreadContext,
    ThreadError,
    WrongThreadError,
    assert_owner,
    current_context,
    declare_context,
    forbid_main_thread,
    is_main_thread,
    record_main_thread,
    require_main_thread,
    thread_context,
)

WORDS = {
    "main": ("scenes, worlds, assets, the window or page state", "anything longer than a frame"),
    "callbacks and nodes": ("their phase's work", "touch what another thread owns, wait for one"),
    "job workers": ("long files, network, subprocesses, computing", "touch main-thread state"),
    "network and RPC threads": (
        "decode, check, put into the inbox, read the last capture",
        "change state, wait for a future instant while holding the main thread",
    ),
    "watchers": ("raise a flag", "do the reload"),
    "render thread": ("drain submitted work", "change the simulation"),
}
ELSEWHERE = ("job", "network", "watcher", "render")


@require_main_thread
def change_scene(value: int = 1, *, twice: bool = False) -> int:
    """Changes a scene."""
    return value * 2 if twice else value


@forbid_main_thread
def read_archive() -> str:
    return "read"


class Scene:
    @require_main_thread
    def add(self, what: str) -> tuple[Scene, str]:
        return self, what

    @staticmethod
    @forbid_main_thread
    def load() -> str:
        return "loaded"

    @thread_context("job", "network")
    def fetch(self) -> str:
        return "fetched"


def test_the_table_has_the_words_of_the_design() -> None:
    """Six rows, word for word: an error can be looked up in the document."""
    assert {row.context.value: (row.may, row.may_not) for row in TABLE.values()} == WORDS
    assert list(TABLE) == list(ThreadContext)


def test_before_start_up_nobody_is_the_main_thread() -> None:
    """In a fresh interpreter the check answers False, on the first thread too."""
    code = (
        "import mainspring.threads as t; print(t.is_main_thread()); t.record_main_thread();"
        "print(t.is_main_thread())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_before_start_up_the_main_thread_is_refused_with_the_way_out() -> None:
    with pytest.raises(WrongThreadError, match="no main thread is recorded yet") as caught:
        change_scene()
    assert "record_main_thread" in (caught.value.hint or "")
    assert read_archive() == "read"


@pytest.mark.usefixtures("main_thread")
def test_only_the_recording_thread_is_main(on_thread: Callable[..., Any]) -> None:
    assert is_main_thread()
    assert not on_thread(is_main_thread)
    assert threads.MainThreadDispatcher.is_main_thread()


@pytest.mark.usefixtures("main_thread")
def test_a_second_main_thread_is_refused(on_thread: Callable[..., Any]) -> None:
    record_main_thread()  # again from the same thread: nothing
    with pytest.raises(ThreadError, match="cannot become the main thread"):
        on_thread(record_main_thread)


@pytest.mark.usefixtures("main_thread")
@pytest.mark.parametrize("context", ELSEWHERE)
def test_main_thread_work_elsewhere_quotes_the_row_it_breaks(
    context: str, on_thread: Callable[..., Any]
) -> None:
    """The name of the thread, the name of the call, and the row's words."""
    with pytest.raises(WrongThreadError) as caught:
        on_thread(change_scene, context, name="helper 7")
    row = ThreadContext.of(context).row
    message = str(caught.value)
    assert "change_scene" in message
    assert "'helper 7'" in message
    assert row.context.value in message
    assert row.may in message
    assert row.may_not in message
    assert "hint:" in message
    assert caught.value.call == "change_scene"
    assert caught.value.thread == "helper 7"


@pytest.mark.usefixtures("main_thread")
def test_an_undeclared_thread_is_shown_the_main_row(on_thread: Callable[..., Any]) -> None:
    with pytest.raises(WrongThreadError, match="scenes, worlds, assets"):
        on_thread(change_scene)


@pytest.mark.usefixtures("main_thread")
def test_long_work_on_the_main_thread_quotes_its_row() -> None:
    with pytest.raises(WrongThreadError, match="anything longer than a frame") as caught:
        read_archive()
    assert "read_archive" in str(caught.value)
    assert "Job" in (caught.value.hint or "")


@pytest.mark.usefixtures("main_thread")
@pytest.mark.parametrize("context", [*ThreadContext, None])
@pytest.mark.parametrize("allowed", list(ThreadContext))
def test_thread_context_lets_in_whom_it_names(
    allowed: ThreadContext, context: ThreadContext | None, on_thread: Callable[..., Any]
) -> None:
    """Every context against every check: as decorator, assertion, block and call."""

    @thread_context(allowed)
    def work() -> str:
        return "done"

    def asserted() -> str:
        assert thread_context(allowed)
        with thread_context(allowed):
            thread_context(allowed).check()
        return "done"

    def run(call: Callable[[], str]) -> str:
        if context is ThreadContext.MAIN:
            return call()
        if context is ThreadContext.CALLBACK:
            with declare_context(context):
                return call()
        return str(on_thread(call, context))

    on_main = context in (ThreadContext.MAIN, ThreadContext.CALLBACK)
    fine = context is allowed or (allowed is ThreadContext.MAIN and on_main)
    for call in (work, asserted):
        if fine:
            assert run(call) == "done"
        else:
            with pytest.raises(WrongThreadError) as caught:
                run(call)
            quoted = (context or allowed).row
            assert str(quoted) in str(caught.value)
            assert allowed.value in str(caught.value)
            assert call.__name__ in str(caught.value)


@pytest.mark.usefixtures("main_thread")
def test_assertions_name_the_function_that_asserts(on_thread: Callable[..., Any]) -> None:
    def reload() -> None:
        require_main_thread()

    def wait_for_reply() -> None:
        forbid_main_thread()

    reload()
    on_thread(wait_for_reply)
    with pytest.raises(WrongThreadError, match="reload was called"):
        on_thread(reload, "watcher")
    with pytest.raises(WrongThreadError, match="wait_for_reply was called"):
        wait_for_reply()
    with pytest.raises(WrongThreadError, match=r"Scene\.save was called"):
        on_thread(lambda: require_main_thread("Scene.save"))


@pytest.mark.usefixtures("main_thread")
def test_decorated_functions_stay_functions(on_thread: Callable[..., Any]) -> None:
    """Arguments, name, doc, signature, methods and static methods are as before."""
    assert change_scene(4, twice=True) == 8
    assert change_scene.__name__ == "change_scene"
    assert change_scene.__doc__ == "Changes a scene."
    assert list(inspect.signature(change_scene).parameters) == ["value", "twice"]
    scene = Scene()
    assert scene.add("box") == (scene, "box")
    assert Scene.add(scene, "box") == (scene, "box")
    assert on_thread(Scene.load) == "loaded"
    assert on_thread(scene.fetch, "network") == "fetched"
    with pytest.raises(WrongThreadError, match=r"Scene\.fetch"):
        scene.fetch()


@pytest.mark.usefixtures("main_thread")
def test_a_coroutine_is_checked_where_it_runs(on_thread: Callable[..., Any]) -> None:
    @require_main_thread
    async def change() -> str:
        return "changed"

    assert inspect.iscoroutinefunction(change)
    assert asyncio.run(change()) == "changed"
    with pytest.raises(WrongThreadError, match="change was called"):
        on_thread(lambda: asyncio.run(change()), "network")


@pytest.mark.usefixtures("main_thread")
def test_a_generator_is_checked_each_time_it_goes_on(on_thread: Callable[..., Any]) -> None:
    """Its body runs where somebody asks for the next item, which need not be where it was made."""
    ended: list[str] = []

    @require_main_thread
    def items() -> Generator[int, int, str]:
        try:
            got = yield 1
            yield got
        except KeyError:
            yield 3
        finally:
            ended.append("closed")
        return "end"

    assert inspect.isgeneratorfunction(items)
    running = items()
    with pytest.raises(WrongThreadError, match=r"items was called on thread"):
        on_thread(lambda: next(running), "job")
    running = items()
    assert next(running) == 1
    assert running.send(2) == 2
    assert running.throw(KeyError()) == 3
    with pytest.raises(StopIteration) as last:
        next(running)
    assert last.value.value == "end"
    begun = items()
    next(begun)
    on_thread(begun.close, "job")  # as a collector would, on whichever thread it runs
    assert ended == ["closed", "closed"]


@pytest.mark.usefixtures("main_thread")
def test_an_asynchronous_generator_is_checked_each_time_it_goes_on(
    on_thread: Callable[..., Any],
) -> None:
    ended: list[str] = []

    @require_main_thread
    async def items() -> AsyncGenerator[int, int]:
        try:
            got = yield 1
            yield got
        except KeyError:
            yield 3
        finally:
            ended.append("closed")

    async def ask() -> list[int]:
        running = items()
        told = [await anext(running), await running.asend(2), await running.athrow(KeyError())]
        told += [item async for item in running]
        begun = items()
        await anext(begun)
        await begun.aclose()
        return told

    assert inspect.isasyncgenfunction(items)
    assert asyncio.run(ask()) == [1, 2, 3]
    assert ended == ["closed", "closed"]
    with pytest.raises(WrongThreadError, match=r"items was called on thread"):
        on_thread(lambda: asyncio.run(ask()), "network")


class Window:
    title = "window"

    @require_main_thread
    @classmethod
    def open(cls) -> str:
        return cls.title

    @require_main_thread
    @staticmethod
    def screens() -> int:
        return 2

    @require_main_thread
    @property
    def size(self) -> int:
        """How large."""
        return 3

    @size.setter
    @require_main_thread
    def size(self, size: int) -> None:
        self.title = str(size)

    @thread_context("main")
    @functools.cached_property
    def area(self) -> int:
        return 9


@pytest.mark.usefixtures("main_thread")
def test_a_check_stands_before_whatever_a_class_has(on_thread: Callable[..., Any]) -> None:
    """Class methods, static methods and properties, whichever decorator is the outer one."""
    window = Window()
    calls: dict[str, Callable[[], Any]] = {
        "open": window.open,
        "screens": Window.screens,
        "size": lambda: window.size,
        "size again": lambda: setattr(window, "size", 4),
        "area": lambda: window.area,
    }
    for name, call in calls.items():
        with pytest.raises(WrongThreadError, match=rf"Window\.{name.split()[0]} was called"):
            on_thread(call, "job")
    assert [call() for call in calls.values()] == ["window", 2, 3, None, 9]
    assert window.title == "4"
    assert Window.size.__doc__ == "How large."


def test_what_cannot_be_checked_is_refused_with_the_way() -> None:
    with pytest.raises(ThreadError, match=r"class Window cannot be .*\n.*its __init__"):
        require_main_thread(Window)
    with pytest.raises(ThreadError, match="5 cannot be put behind a check"):
        thread_context("job")(5)  # type: ignore[type-var]


def test_guards_are_copied_and_sent_like_functions() -> None:
    assert copy.deepcopy(change_scene) is change_scene
    assert pickle.loads(pickle.dumps(change_scene)) is change_scene
    assert "guarded <function change_scene" in repr(change_scene)


def test_contexts_nest_and_end_with_their_block(on_thread: Callable[..., Any]) -> None:
    def nest() -> list[ThreadContext | None]:
        seen = [current_context()]
        with declare_context("job"):
            seen.append(current_context())
            with declare_context("render thread"):
                seen.append(current_context())
            seen.append(current_context())
        return [*seen, current_context()]

    job, render = ThreadContext.JOB, ThreadContext.RENDER
    assert on_thread(nest) == [None, job, render, job, None]


def test_an_unknown_context_is_refused_with_the_nearest() -> None:
    with pytest.raises(ThreadError, match="did you mean 'render'"):
        thread_context("rendr")
    with pytest.raises(ThreadError, match="names no context"):
        thread_context()


def test_what_belongs_to_a_thread_is_refused_to_others(on_thread: Callable[..., Any]) -> None:
    """Before start-up too: the owner is the thread that made the object."""
    owner = threading.get_ident()
    assert_owner(owner, "Scene.add", what="scene")
    with pytest.raises(WrongThreadError, match="this scene belongs to thread") as caught:
        on_thread(lambda: assert_owner(owner, "Scene.add", what="scene"), "network", "rpc-1")
    assert str(ThreadContext.NETWORK.row) in str(caught.value)
    assert "'rpc-1'" in str(caught.value)


def test_guards_can_be_collected() -> None:
    """A guard holds its function and nothing holds the guard."""
    import gc
    import weakref

    def work() -> None: ...

    guarded = require_main_thread(work)
    work.cycle = guarded  # type: ignore[attr-defined]
    ref = weakref.ref(guarded)
    del guarded, work
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("context", ELSEWHERE)
def test_scenes_and_worlds_are_refused_to_other_threads_with_the_row(
    context: str, on_thread: Callable[..., Any]
) -> None:
    """What a scene or a world is made of changes on its own thread; the error quotes the row."""
    from mainspring.world import World

    scene = mainspring.Scene()
    world = World(scene)
    calls: list[Callable[[], Any]] = [
        lambda: scene.add(Mover()),
        lambda: scene.advance(ns=1),
        lambda: setattr(scene.time.runners["Robot"], "rate", 60),
        lambda: world.spawn(),
    ]
    for call in calls:
        with pytest.raises(mainspring.MainspringError) as caught:
            on_thread(call, context, name="helper 7")
        assert str(ThreadContext.of(context).row) in str(caught.value)
        assert "'helper 7'" in str(caught.value)


class Mover(mainspring.Script):
    def on_update(self, ts: float) -> None: ...
