"""Those who only look: no part of the clock's state, and told of all that happens."""

from __future__ import annotations

from mainspring.clock import FreePhase, TimeManager
from mainspring.clock._registration import FreeRegistration
from mainspring.scene import Scene, Subsystem
from mainspring.state import digest


def test_a_watching_registration_leaves_the_state_as_it_is() -> None:
    """With a watcher and without one the saved state is the same, and fits both."""
    plain, watched = TimeManager(), TimeManager()
    seen: list[int] = []
    watched.register(lambda context: seen.append(context.time), runner="Capture", watching=True)
    for time in (plain, watched):
        time.register(lambda context: None, name="work")
        time.advance(seconds=0.1)
    assert seen == [0, 33_333_333, 66_666_666]
    assert digest(watched.save()) == digest(plain.save())
    watched.restore(plain.save())
    plain.restore(watched.save())
    assert watched.advance(seconds=0.1).steps == {"Robot": 5, "Capture": 3}
    assert len(seen) == 6


def test_a_wakeup_finds_its_registration_past_a_watcher() -> None:
    """The index of a wake-up's registration counts what is saved, not what is there."""
    times: list[int] = []

    def build(watching: bool) -> TimeManager:
        time = TimeManager(runners=(("Slow", 1),))
        if watching:
            time.register(lambda context: None, runner="Slow", watching=True)
        work = time.register(lambda c: times.append(c.time), runner="Slow", name="work")
        time.advance(ns=1)
        if watching:
            time.request_wakeup(500, work)
        return time

    saved = build(True).save()
    other = build(False)
    other.restore(saved)
    times.clear()
    other.advance(ns=1000)
    assert times == [500]


class Watcher(Subsystem):
    watching = True
    looked = 0

    def step(self, context: object) -> None:
        self.looked += 1


def test_a_watching_subsystem_is_no_part_of_the_scene() -> None:
    """A scene with a watcher hashes like one without."""
    plain, watched = Scene(), Scene()
    watcher = watched.add(Watcher())
    for scene in (plain, watched):
        scene.advance(seconds=0.1)
    assert watcher.looked == 5
    assert watched.part_hashes() == plain.part_hashes()
    watched.restore(plain.save())
    watched.remove(watcher)
    watched.advance(seconds=0.1)
    assert watcher.looked == 5


def test_observers_see_where_a_frame_begins_and_its_free_updates() -> None:
    """In the order of F1 to F5: begin, free update, instants, free update, end."""
    told: list[object] = []

    class Sees:
        def begin_frame(self, elapsed_ns: int) -> None:
            told.append(("frame", elapsed_ns))

        def called_free(self, registration: FreeRegistration) -> None:
            told.append(registration.name)

        def end_instant(self, time_ns: int) -> None:
            told.append(time_ns)

        def frame(self, report: object) -> None:
            told.append("end")

    time = TimeManager()
    time.register_free(lambda frame: None, FreePhase.PRE_ACQUISITION, name="before")
    time.register_free(lambda frame: None, FreePhase.POST_EXPORT, name="after")
    time.observers.add(Sees())
    time.frame(20_000_000)
    assert told == [("frame", 20_000_000), "before", 0, "after", "end"]
