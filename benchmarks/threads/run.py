"""Threads beside the bare means: a queue round trip, a deque's append, one thread for everything.

The camera's software OpenGL is kept to the thread that calls it (`LP_NUM_THREADS=0`): with its
own threads one policy would be measured with two cores already.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from benchmarks.tools import interleaved, ratio, row, timed
from mainspring import threads
from mainspring.threads import (
    MainThreadDispatcher,
    OffscreenCamera,
    Renderer,
    offscreen_missing,
    require_main_thread,
    thread_context,
)

ROUND_TRIPS = 5_000
SUBMITS = 1_000
CHECKS = 200_000
TICKS = 6


def main() -> None:
    """Prints the table."""
    execute_beside_queues()
    submit_beside_deque()
    checks()
    os.environ["LP_NUM_THREADS"] = "0"  # before the first context, which decides it
    missing = offscreen_missing()
    if missing:
        row("camera frames under both policies", f"not measured: {missing}")
    else:
        policies()


def execute_beside_queues() -> None:
    """A worker asks and waits, this thread answers."""

    def nothing() -> None:
        return None

    def with_queues() -> float:
        asked: queue.Queue[Callable[[], None] | None] = queue.Queue()
        answered: queue.Queue[None] = queue.Queue()

        def work() -> None:
            for _ in range(ROUND_TRIPS):
                asked.put(nothing)
                answered.get()
            asked.put(None)

        worker = threading.Thread(target=work)

        def serve() -> None:
            worker.start()
            while (call := asked.get()) is not None:
                answered.put(call())
            worker.join()

        return timed(serve)

    def with_dispatcher() -> float:
        dispatcher = MainThreadDispatcher()
        ended: list[bool] = []

        def work() -> None:
            for _ in range(ROUND_TRIPS):
                dispatcher.execute(nothing)
            dispatcher.execute(ended.append, True)

        worker = threading.Thread(target=work)

        def serve() -> None:
            worker.start()
            while not ended:
                dispatcher.wait()
                dispatcher.process_pending()
            worker.join()

        return timed(serve)

    times = interleaved({"queue": with_queues, "execute": with_dispatcher})
    each = min(times["execute"]) / ROUND_TRIPS * 1e6
    row("execute from a worker / bare queue.Queue round trip", ratio(times["execute"], times["queue"]),
        f"at most 3; {each:.1f} µs each")  # fmt: skip


def submit_beside_deque() -> None:
    """A frame's worth of work, as a loop writes it; the emptying is not timed."""
    plain: deque[Callable[[], None]] = deque()
    renderer = Renderer()

    def draw() -> None:
        return None

    def appended() -> float:
        total = 0
        for _ in range(200):
            start = time.perf_counter_ns()
            for _ in range(SUBMITS):
                plain.append(draw)
            total += time.perf_counter_ns() - start
            plain.clear()
        return total / 1e9

    def submitted() -> float:
        total = 0
        for _ in range(200):
            start = time.perf_counter_ns()
            for _ in range(SUBMITS):
                renderer.submit(draw)
            total += time.perf_counter_ns() - start
            renderer._commands.take()
        return total / 1e9

    times = interleaved({"append": appended, "submit": submitted})
    each = min(times["submit"]) / (200 * SUBMITS) * 1e9
    row("submit / deque.append", ratio(times["submit"], times["append"]),
        f"at most 2; {each:.0f} ns each")  # fmt: skip
    renderer.close()


def checks() -> None:
    """What a check adds: to nothing as a call of its own, to a call as a decorator."""

    def bare() -> None:
        return None

    guarded = require_main_thread(bare)
    in_context = thread_context("main", "job")(bare)

    def loop(call: Callable[[], object] | None) -> Callable[[], float]:
        rounds = range(CHECKS)

        def empty() -> None:
            for _ in rounds:
                pass

        def calling() -> None:
            for _ in rounds:
                call()  # type: ignore[misc]

        return lambda: timed(empty if call is None else calling)

    threads.record_main_thread()
    try:
        times = interleaved(
            {
                "empty": loop(None),
                "bare": loop(bare),
                "is_main_thread()": loop(threads.is_main_thread),
                "require_main_thread()": loop(require_main_thread),
                "@require_main_thread": loop(guarded),
                "@thread_context": loop(in_context),
            }
        )
    finally:
        threads.forget_main_thread()
    best = {name: min(each) / CHECKS * 1e9 for name, each in times.items()}
    for name in ("is_main_thread()", "require_main_thread()"):
        row(name, f"{best[name] - best['empty']:.0f} ns", "at most 60")
    for name in ("@require_main_thread", "@thread_context"):
        row(f"{name}, added to a call", f"{best[name] - best['bare']:.0f} ns", "at most 60")


MODEL = """
<mujoco>
  <visual><global offwidth="640" offheight="480"/></visual>
  <worldbody>
    <light pos="0 0 4"/>
    <geom type="plane" size="4 4 .1"/>
    <replicate count="40" offset="0.02 0.03 0.12">
      <body pos="-.4 -.6 .2"><freejoint/><geom size=".06" rgba="1 .4 0 1"/></body>
    </replicate>
  </worldbody>
</mujoco>
"""


def policies() -> None:
    """Ticks a second with a camera frame each, where drawing costs what stepping costs.

    Beside them, in the same rounds, the same stepping twice: one after the other, and in two bare
    threads. That is what the machine gives two threads at that moment, with whatever else it is
    doing, and no policy can give more.
    """
    import mujoco

    model = mujoco.MjModel.from_xml_string(MODEL)
    steps = _steps_as_long_as_a_frame(mujoco, model)
    processor: dict[str, list[float]] = {}

    def run(policy: str) -> float:
        data = mujoco.MjData(model)
        with Renderer(policy) as renderer:
            camera = OffscreenCamera(renderer, model, width=320, height=240)
            tick(data, renderer, camera)
            renderer.pump()

            def ticks() -> None:
                for _ in range(TICKS):
                    tick(data, renderer, camera)
                renderer.pump()

            before = time.process_time()
            seconds = timed(ticks)
            processor.setdefault(policy, []).append(time.process_time() - before)
            camera.close()
        return seconds

    def tick(data: Any, renderer: Renderer, camera: OffscreenCamera) -> None:
        mujoco.mj_step(model, data, steps)
        camera.capture(data, round(data.time * 1e9))
        renderer.end_frame()

    def bare(threads: int) -> float:
        def work() -> None:
            mujoco.mj_step(model, mujoco.MjData(model), steps * TICKS * 2 // threads)

        workers = [threading.Thread(target=work) for _ in range(threads)]

        def both() -> None:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

        return timed(both)

    times = interleaved(
        {
            "single": lambda: run("single_threaded"),
            "multi": lambda: run("multi_threaded"),
            "one thread": lambda: bare(1),
            "two threads": lambda: bare(2),
        },
        rounds=9,
    )
    row("ticks a second, MULTI_THREADED / SINGLE_THREADED",
        ratio(times["single"], times["multi"]), "at least 1.3")  # fmt: skip
    row("  what two bare threads gain in the same rounds",
        ratio(times["one thread"], times["two threads"]), "2 on two idle cores")  # fmt: skip
    row("  processor time, MULTI_THREADED / SINGLE_THREADED",
        ratio(processor["multi_threaded"], processor["single_threaded"]), "1: it costs nothing")  # fmt: skip


def _steps_as_long_as_a_frame(mujoco: Any, model: Any) -> int:
    """By the time of the thread, not of the wall: what else the machine does must not count."""
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 200)
    stepping = min(_thread_time(lambda: mujoco.mj_step(model, data, 20)) for _ in range(9)) / 20
    with Renderer() as renderer:
        camera = OffscreenCamera(renderer, model, width=320, height=240)
        renderer.end_frame()

        def frame() -> None:
            camera.capture(data, 0)
            renderer.end_frame()

        drawing = min(_thread_time(frame) for _ in range(9))
        camera.close()
    row("a camera frame, and as much physics", f"{drawing * 1e3:.1f} ms")
    return max(1, round(drawing / stepping))


def _thread_time(run: Callable[[], object]) -> float:
    start = time.thread_time()
    run()
    return time.thread_time() - start


if __name__ == "__main__":
    main()
