"""The clock beside a loop written by hand, SimPy, pydrake, and what C can do at best."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import fmean, median

from benchmarks.environments import make
from benchmarks.tools import compile_extension, interleaved, ratio, row, timed
from mainspring import TimeManager

HERE = Path(__file__).resolve().parent
SECONDS = 1000  # 70 000 instants
INSTANTS = 70 * SECONDS


def callback(context: object) -> None:
    """What every rival calls."""


def ours(seconds: int = SECONDS) -> float:
    """The default scene with seven callbacks on Robot and two on Capture."""
    time = TimeManager()
    for _ in range(7):
        time.register(callback)
    for _ in range(2):
        time.register(callback, runner="Capture")
    time.advance(seconds=1)
    return timed(lambda: time.advance(seconds=seconds))


class Context:
    """What the loop by hand tells its callbacks."""

    __slots__ = ("dt", "step", "time", "ts")


def by_hand(seconds: int = SECONDS) -> float:
    """The loop a careful user writes: rates and callbacks in lists, integer time from k, a plan for
    each set of runners that are due together, and a context with time, step, dt and ts for each."""
    rates = [50, 30]
    callbacks = [(callback, 0)] * 7 + [(callback, 1)] * 2
    contexts = [Context() for _ in rates]
    for context, rate in zip(contexts, rates, strict=True):
        context.ts = 1 / rate
    plans: dict[tuple[int, ...], list[tuple[Callable[..., object], Context]]] = {}

    def loop() -> None:
        end = seconds * 1_000_000_000
        steps = [0] * len(rates)
        boundaries = [0] * len(rates)
        while True:
            now = min(boundaries)
            if now >= end:
                break
            due = tuple([i for i, boundary in enumerate(boundaries) if boundary == now])
            for i in due:
                context = contexts[i]
                context.time, context.step = now, steps[i]
                steps[i] += 1
                boundaries[i] = steps[i] * 1_000_000_000 // rates[i]
                context.dt = boundaries[i] - now
            plan = plans.get(due)
            if plan is None:
                plan = plans[due] = [(call, contexts[i]) for call, i in callbacks if i in due]
            for call, context in plan:
                call(context)

    return timed(loop)


def written_out(seconds: int = SECONDS) -> float:
    """The same with the two rates and the three plans in the code itself: for no other schedule."""
    robot, capture = Context(), Context()
    robot.ts, capture.ts = 1 / 50, 1 / 30
    robot_plan = [(callback, robot)] * 7
    capture_plan = [(callback, capture)] * 2
    shared_plan = robot_plan + capture_plan

    def loop() -> None:
        end = seconds * 1_000_000_000
        k = j = 0
        next_robot = next_capture = 0
        while True:
            now = min(next_capture, next_robot)
            if now >= end:
                break
            if next_robot == next_capture:
                plan = shared_plan
            elif now == next_robot:
                plan = robot_plan
            else:
                plan = capture_plan
            if now == next_robot:
                robot.time, robot.step = now, k
                k += 1
                next_robot = k * 1_000_000_000 // 50
                robot.dt = next_robot - now
            if now == next_capture:
                capture.time, capture.step = now, j
                j += 1
                next_capture = j * 1_000_000_000 // 30
                capture.dt = next_capture - now
            for call, context in plan:
                call(context)

    return timed(loop)


def with_simpy(seconds: int = SECONDS // 10) -> float:
    """The same schedule as SimPy processes, scaled to the same number of instants."""
    import simpy

    env = simpy.Environment()

    def runner(period_ns: list[int], calls: int):  # type: ignore[no-untyped-def]
        k = 0
        while True:
            for _ in range(calls):
                callback(env)
            k += 1
            yield env.timeout(period_ns[k % len(period_ns)])

    env.process(runner([20_000_000], 7))
    env.process(runner([33_333_334, 33_333_333, 33_333_333], 2))
    return 10 * timed(lambda: env.run(until=seconds * 1_000_000_000))


def with_drake() -> tuple[float, float]:
    """The same schedule as pydrake periodic events, scaled to the same number of instants: with a
    system for each callback, and with one system."""
    python = make("drake", sys.executable)
    seconds = SECONDS // 20
    done = subprocess.run(
        [str(python), str(HERE / "drake_scene.py"), str(seconds)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    each, one = (20 * float(figure) for figure in done.stdout.split())
    return each, one


def from_c(bare: Callable[..., float]) -> float:
    """As many calls of the same function, from C and with nothing around them."""
    return bare(callback, object(), 410 * SECONDS) * 410 * SECONDS * 1e-9


def one_callback(bare: Callable[..., float]) -> tuple[Callable[[], float], Callable[[], float]]:
    """Seconds for a million callbacks in one plan, and for a million bare calls."""
    time = TimeManager(runners=[("one", 1000)])
    for _ in range(100):
        time.register(callback, runner="one")
    context = object()
    return (
        lambda: timed(lambda: time.advance(instants=10_000)),
        lambda: bare(callback, context, 1_000_000) * 1e-3,
    )


def many_registrations(total: int) -> Callable[[], float]:
    """Ten callbacks due at every instant, among `total` registrations on eight runners."""
    time = TimeManager(runners=[("due", 1000)] + [(f"idle{i}", "1/1000000") for i in range(7)])
    for _ in range(10):
        time.register(callback, runner="due")
    for i in range(total - 10):
        time.register(callback, runner=f"idle{i % 7}")
    time.advance(instants=10)
    return lambda: timed(lambda: time.advance(instants=50_000))


def lateness(values: list[int]) -> tuple[float, float]:
    """The 50th and 99th percentile in microseconds."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2] / 1e3, ordered[int(len(ordered) * 0.99)] / 1e3


def paced(steps: int) -> tuple[list[int], list[int]]:
    """How late each step of a 1 kHz runner began, and the same against the first step alone."""
    time = TimeManager(runners=[("fast", 1000)])
    begun: list[int] = []
    time.register(lambda _, begun=begun, wall=time.wall: begun.append(wall()), runner="fast")
    time.run(seconds=Fraction(steps, 1000))
    after = [wall - begun[0] - i * 1_000_000 for i, wall in enumerate(begun)]
    # The clock's own percentiles are exact to one part in eight, its mean is exact: with it the
    # steps say how late they began themselves.
    shift = time.statistics().runners["fast"].lateness.mean_ns - fmean(after)
    return [round(late + shift) for late in after], after


def pacing(bare: Callable[[int, int], list[int]]) -> None:
    """A 1 kHz runner beside a bare clock_nanosleep loop, in turns of half a second, so that a
    stall of the machine is as likely to hit either."""
    p50s: tuple[list[float], list[float]] = ([], [])
    p99s: tuple[list[float], list[float]] = ([], [])
    for _ in range(7):
        ours: list[int] = []
        theirs: list[int] = []
        for _ in range(4):
            theirs += bare(1_000_000, 500)
            ours += paced(500)[0]
        for i, late in enumerate((ours, theirs)):
            fifty, ninety_nine = lateness(late)
            p50s[i].append(fifty)
            p99s[i].append(ninety_nine)
    row("1 kHz lateness p50, ours / clock_nanosleep in C", ratio(*p50s), "at most 1.3")
    row("1 kHz lateness p99, ours / clock_nanosleep in C", ratio(*p99s), "at most 1.5")
    row("  absolute, ours p50 and p99", f"{median(p50s[0]):.0f} µs, {median(p99s[0]):.0f} µs")
    # Of the steps that were hardly delayed: the machine's delays come and go, drift moves them all.
    after = paced(5000)[1]
    drift = abs(sorted(after[-500:])[50] - sorted(after[:500])[50])
    row("  drift over 5 s, last half second against the first", f"{drift / 1e3:.1f} µs", "none")


def import_time() -> None:
    """`import mainspring` beside importing what it is built on."""
    core = "import numpy, msgspec, typer, rich, rich.console, tomlkit, xxhash"

    def seconds(code: str) -> float:
        return timed(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    found = interleaved(
        {
            "ours": lambda: seconds("import mainspring"),
            "core": lambda: seconds(core),
            "none": lambda: seconds("pass"),
        },
        rounds=9,
    )
    nothing = min(found["none"])
    row(
        "import mainspring / importing its dependencies",
        ratio([t - nothing for t in found["ours"]], [t - nothing for t in found["core"]]),
        "at most 1.5",
    )


def main() -> None:
    """Prints the table."""
    sys.path.insert(0, str(compile_extension(HERE / "bare.c")))
    import bare  # type: ignore[import-not-found]

    alone: list[float] = []  # pydrake with one system, beside the one with a system for each

    def drake() -> float:
        each, one = with_drake()
        alone.append(one)
        return each

    rivals = {"ours": ours, "c": lambda: from_c(bare.call), "hand": by_hand, "written": written_out}
    found = interleaved({**rivals, "simpy": with_simpy, "drake": drake}, rounds=5)
    row("default scene, one instant", f"{min(found['ours']) / INSTANTS * 1e9:.0f} ns")
    row("  ours / its callbacks alone, from C", ratio(found["ours"], found["c"]))
    row("  loop by hand / ours", ratio(found["hand"], found["ours"]), "at least 3.3")
    row("    with the schedule written into its code", ratio(found["written"], found["ours"]))
    row("  SimPy / ours", ratio(found["simpy"], found["ours"]), "at least 6")
    row(
        "  pydrake, a system for each callback / ours",
        ratio(found["drake"], found["ours"]),
        "at least 20",
    )
    row("    with all callbacks in one system", ratio(alone, found["ours"]))
    callbacks, calls = one_callback(bare.call)
    found = interleaved({"ours": callbacks, "bare": calls}, rounds=9)
    row("a callback", f"{min(found['ours']) * 1e3:.1f} ns")
    row("  a callback / a bare call from C", ratio(found["ours"], found["bare"]), "at most 1.4")
    found = interleaved({"many": many_registrations(1000), "ten": many_registrations(10)})
    row("1000 registrations, ten due / ten registrations", ratio(found["many"], found["ten"]), "1")
    pacing(bare.sleep_loop)
    import_time()
