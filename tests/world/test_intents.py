"""Intents: any thread submits, the next instant applies, the ticket tells."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import world_twins

from mainspring import InboxFullError, Input, Scene, TimeMode
from mainspring.errors import StateError
from mainspring.state import decode, encode
from mainspring.world import (
    IntentError,
    Outcome,
    World,
    WorldError,
    WorldSubsystem,
    record,
    replay,
)

HERE = Path(__file__).parent


def counting(scene: Scene | None = None) -> World:
    world = World(scene)
    world.grant("*", "count")

    @world.skill(permission="count")
    def count(who: str, n: int) -> int:
        world.spawn(tags=f"{who} {n}")
        return len(world)

    return world


# ---- one intent ----------------------------------------------------------------------------


def test_an_intent_is_applied_at_the_start_of_the_next_instant() -> None:
    scene = Scene()
    world = counting(scene)
    seen: list[int] = []
    scene.time.register(lambda context: seen.append(len(world)), priority=-1000)
    ticket = world.submit("ann", "count", {"who": "ann", "n": 1})
    assert (ticket.done, ticket.outcome, ticket.seq) == (False, None, 1)
    assert len(world) == 0
    scene.advance(instants=1)
    assert seen == [1]
    assert ticket.done
    assert ticket.wait() == Outcome(
        status="accepted", skill="count", actor="ann", value=1, time_ns=0, seq=1
    )
    scene.advance(ns=25_000_000)
    late = world.submit("ann", "count", {"who": "ann", "n": 2})
    scene.advance(instants=1)
    assert late.outcome is not None
    assert late.outcome.time_ns == 33_333_333


def test_intents_are_applied_in_the_order_they_came() -> None:
    scene = Scene()
    world = counting(scene)
    tickets = [world.submit("a", "count", {"who": "a", "n": n}) for n in range(20)]
    scene.advance(instants=1)
    assert [t.outcome.value for t in tickets if t.outcome] == list(range(1, 21))
    assert [e.tags[0] for e in world] == [f"a {n}" for n in range(20)]


def test_refusals_reach_the_ticket() -> None:
    scene = Scene()
    world = counting(scene)
    bad = world.submit("a", "count", {"who": 5, "n": 1})
    unknown = world.submit("a", "cuont", {})
    poor = world.submit("a", "count", {"who": "a", "n": 1}, permissions=[])
    scene.advance(instants=1)
    assert [t.wait(0).code for t in (bad, unknown, poor)] == [
        "arguments",
        "unknown_skill",
        "permission",
    ]
    assert len(world) == 0


def test_what_cannot_be_kept_is_not_submitted() -> None:
    world = counting(Scene())
    with pytest.raises(StateError, match=r"arguments of 'count'\['who'\]"):
        world.submit("a", "count", {"who": print})
    assert world.inbox.pending == 0


def test_a_full_inbox_refuses() -> None:
    scene = Scene()
    world = counting(scene)
    scene.inbox.capacity = 3
    for n in range(3):
        world.submit("a", "count", {"who": "a", "n": n})
    with pytest.raises(InboxFullError):
        world.submit("a", "count", {"who": "a", "n": 4})
    scene.advance(instants=1)
    assert len(world) == 3


@pytest.mark.parametrize(
    "payload", [None, 5, {}, {"actor": "a"}, {"skill": "count"}, {"actor": "a", "skill": 3}, []]
)
def test_malformed_intents_end_nothing(payload: object) -> None:
    scene = Scene()
    world = counting(scene)
    told: list[Outcome] = []
    world.on_outcome(told.append)
    scene.inbox.put("intent", payload, source="net")
    scene.advance(instants=1)
    assert [o.refused for o in told] == [True]
    assert len(world) == 0


def test_a_world_without_a_scene_drains_itself() -> None:
    world = counting()
    ticket = world.submit("a", "count", {"who": "a", "n": 1})
    with pytest.raises(IntentError, match="drain"):
        ticket.wait(1)
    assert world.drain() == 1
    assert ticket.wait().value == 1
    with pytest.raises(WorldError, match="advance"):
        counting(Scene()).drain()


# ---- waiting -------------------------------------------------------------------------------


def test_waiting_where_nothing_would_happen_is_an_error_with_advice() -> None:
    scene = Scene()
    world = counting(scene)
    ticket = world.submit("a", "count", {"who": "a", "n": 1})
    with pytest.raises(IntentError, match=r"scene\.advance"):
        ticket.wait()
    scene.advance(instants=1)
    assert ticket.wait().accepted


def test_another_thread_waits_and_is_told() -> None:
    scene = Scene()
    world = counting(scene)
    submitted = threading.Event()
    got: list[object] = []

    def client() -> None:
        ticket = world.submit("a", "count", {"who": "a", "n": 1})
        submitted.set()
        got.append(ticket.wait(60))
        with pytest.raises(IntentError, match="not decided within"):
            world.submit("a", "count", {"who": "a", "n": 2}).wait(0.001)

    thread = threading.Thread(target=client)
    thread.start()
    assert submitted.wait(60)
    scene.advance(instants=1)
    thread.join()
    assert [o.accepted for o in got] == [True]


def test_callbacks_run_once_on_the_clocks_thread_or_at_once() -> None:
    scene = Scene()
    world = counting(scene)
    where: list[str] = []
    ticket = world.submit("a", "count", {"who": "a", "n": 1})
    ticket.add_done_callback(lambda outcome: where.append(f"then {outcome.value}"))
    scene.advance(instants=3)
    ticket.add_done_callback(lambda outcome: where.append(f"now {outcome.value}"))
    assert where == ["then 1", "now 1"]


def test_a_ticket_waits_for_the_approval_too() -> None:
    scene = Scene()
    world = World(scene)
    world.skill(name="launch", approval="boss")(lambda: "up")
    ticket = world.submit("a", "launch")
    other = world.submit("a", "launch")
    scene.advance(instants=1)
    assert not ticket.done
    assert (ticket.request, other.request) == ("req_1", "req_2")
    grant = world.submit("b", "approval.grant", {"request": "req_1"}, permissions=["boss"])
    world.submit("b", "approval.deny", {"request": "req_2", "reason": "no"}, permissions=["boss"])
    scene.advance(instants=1)
    assert grant.wait().accepted
    assert ticket.wait().value == "up"
    assert other.wait().reason == "denied by b: no"


def test_a_restore_settles_tickets_it_does_not_know() -> None:
    scene = Scene()
    world = counting(scene)
    kept = world.submit("a", "count", {"who": "a", "n": 1})
    saved = {name: bytes(data) for name, data in scene.save().items()}
    lost = world.submit("a", "count", {"who": "a", "n": 2})
    scene.restore(saved)
    assert lost.wait().code == "lost"
    assert not kept.done
    scene.advance(instants=1)
    assert kept.wait().accepted


def test_outcomes_are_passed_on_only_once_their_cause_is_durable() -> None:
    scene = Scene()
    world = counting(scene)
    world.skill(name="launch", approval="boss")(lambda: "up")
    waiting: list[tuple[int, Callable[[], None]]] = []
    world.tickets.when_durable = lambda seq, then: waiting.append((seq, then))
    got: list[Outcome] = []
    ticket = world.submit("a", "launch")
    ticket.add_done_callback(got.append)
    scene.advance(instants=1)
    assert waiting == []
    world.submit("b", "approval.grant", {"request": "req_1"}, permissions=["boss"])
    scene.advance(instants=1)
    assert (ticket.done, ticket.acknowledged, got) == (True, False, [])
    assert ticket.outcome is not None
    with pytest.raises(IntentError, match="not yet on the disk"):
        ticket.wait(0)
    # The call came as input 1, but what made it happen was input 2.
    assert [seq for seq, _ in waiting] == [2, 2]
    for _, then in waiting:
        then()
    assert ticket.wait(0) == ticket.outcome == got[0]


def test_a_recording_holds_acknowledgements_back(tmp_path: Path) -> None:
    scene = world_twins.build()
    world: World = scene.world
    seen: list[bool] = []
    with record(scene, tmp_path / "run.world", durability="group") as recorder:
        stop = threading.Event()

        def client() -> None:
            for n in range(20):
                ticket = world.submit("ann", "heal", {"tag": "first", "amount": n})
                ticket.wait(60)
                seen.append(recorder.durable_seq >= ticket.seq)
            stop.set()

        thread = threading.Thread(target=client)
        thread.start()
        while not stop.is_set():
            scene.advance(instants=1)
        thread.join()
    assert seen == [True] * 20
    assert world.tickets.when_durable is None
    report = replay(tmp_path / "run.world", build=world_twins.build)
    assert report.identical


def test_a_recorded_world_is_not_changed_behind_the_logs_back(tmp_path: Path) -> None:
    scene = Scene()
    world = counting(scene)
    with record(scene, tmp_path / "run.world", durability="none"):
        world.spawn()  # before the first instant: still building
        scene.advance(instants=1)
        for change in (
            world.spawn,
            lambda: world.destroy("ent_1"),
            lambda: world.invoke("a", "count", {"who": "a", "n": 1}),
            lambda: world.grant("a", "p"),
            lambda: setattr(world.entity("ent_1"), "tags", ["x"]),
        ):
            with pytest.raises(WorldError, match="between two instants"):
                change()
        scene.time.register(lambda context: world.spawn())
        world.submit("a", "count", {"who": "a", "n": 1})
        scene.advance(instants=1)
    assert len(world) == 3
    world.spawn()


# ---- many threads, and the same again ------------------------------------------------------


def test_many_threads_one_total_order_and_a_replay() -> None:
    """A live run with threads submitting at random, then the same inputs at the same instants."""
    scene = world_twins.build()
    world: World = scene.world
    record: list[tuple[int, list[Input]]] = []
    outcomes: list[Outcome] = []
    world.on_outcome(outcomes.append)

    class Tape:
        def inputs(self, time_ns: int, inputs: list[Input]) -> None:
            record.append((time_ns, list(inputs)))

    scene.time.observers.add(Tape())
    tickets: dict[str, list[object]] = {}
    ready = threading.Barrier(9)

    def client(name: str) -> None:
        rng = random.Random(name)
        mine = tickets[name] = []
        ready.wait()
        for n in range(60):
            if rng.random() < 0.5:
                call = ("push", {"entity": f"ent_{rng.randint(1, 60)}", "by": [rng.random(), 0, n]})
            else:
                call = ("heal", {"tag": "first", "amount": n})
            mine.append(world.submit(name, *call))

    threads = [threading.Thread(target=client, args=(f"client {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    ready.wait()
    while any(thread.is_alive() for thread in threads) or scene.inbox.pending:
        scene.advance(instants=1)
    for thread in threads:
        thread.join()
    until = scene.time.now

    seqs = [given.seq for _, inputs in record for given in inputs]
    assert seqs == list(range(1, 481))
    assert [o.seq for o in outcomes] == seqs
    for mine in tickets.values():
        own = [ticket.seq for ticket in mine]
        assert own == sorted(own)
        assert all(ticket.done for ticket in mine)
    assert {o.code for o in outcomes} == {"", "arguments", "error"}

    again = world_twins.build()
    told: list[Outcome] = []
    again.world.on_outcome(told.append)
    for time_ns, inputs in record:
        again.advance(ns=time_ns - again.time.now)
        again.inbox.feed(inputs)
        again.advance(instants=1)
    again.advance(ns=until - again.time.now)
    assert again.hash() == scene.hash()
    assert told == outcomes


def run_twin(hash_seed: str) -> str:
    done = subprocess.run(
        [sys.executable, str(HERE / "world_twins.py"), "2"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("mode", ["sim_realtime", "sim_high_performance", "advance"])
@pytest.mark.parametrize("frame_ns", [4_166_667, 16_666_667, 41_666_667, None])
def test_frames_and_modes_make_no_difference(mode: str, frame_ns: int | None) -> None:
    scene, plain = world_twins.build(), world_twins.build()
    rng = random.Random(5)
    for one in (scene, plain):
        one.world.submit("ann", "heal", {"tag": "first", "amount": 3})
    plain.advance(seconds=0.5)
    if mode != "advance":
        scene.time.mode = TimeMode.parse(mode)
        for _ in range(10):
            # Unpaced, a frame runs as much as its budget holds: a single instant will do.
            scene.time.frame_budget_ns = 1
            scene.frame(rng.randrange(1, 60_000_000) if frame_ns is None else frame_ns)
    assert scene.time.now <= 500_000_000
    scene.advance(ns=500_000_000 - scene.time.now)
    assert scene.part_hashes()["world"] == plain.part_hashes()["world"]


@pytest.mark.slow
def test_twins_in_other_processes_and_hash_seeds() -> None:
    first, *others = [run_twin(seed) for seed in ("0", "1", "31337", "random")]
    assert len(set(first.splitlines())) == 10
    assert all(other == first for other in others)


def test_saved_and_restored_in_the_middle_it_goes_on_the_same() -> None:
    straight, broken = world_twins.build(), world_twins.build()
    for scene in (straight, broken):
        scene.world.submit("ann", "duel", {"one": "ent_1", "two": "ent_2"})
        scene.advance(seconds=0.5)
        scene.world.submit("ann", "heal", {"tag": "first", "amount": 2})
    saved = encode(broken.save())
    fresh = world_twins.build()
    fresh.restore(decode(saved))
    assert fresh.hash() == straight.hash()
    for scene in (straight, fresh):
        scene.world.submit("eve", "approval.grant", {"request": "req_1"}, permissions=["*"])
        scene.advance(seconds=0.5)
    assert fresh.hash() == straight.hash()
    assert fresh.part_hashes() == straight.part_hashes()
    assert fresh.world.spawn().id == straight.world.spawn().id


# ---- a world from a scene file ---------------------------------------------------------------


class Yard(WorldSubsystem):
    def build(self, world: World) -> None:
        world.component("health")
        world.spawn(tags="gate", health=3)


def test_a_subsystem_brings_a_world_along() -> None:
    scene, other = Scene(), Scene()
    for one in (scene, other):
        one.add(Yard(entities_max=100))
    assert scene.world.ids == ["ent_1"]
    assert "world" in scene.parts
    scene.advance(seconds=0.1)
    scene.world.entity("ent_1").health = 9
    other.restore(scene.save())
    assert other.world.entity("ent_1").health == 9
    assert other.hash() == scene.hash()
