"""Crash rounds for whole runs: run under the failing disk, one JSON line a round.

    LD_PRELOAD=faultdisk.so python scene_rounds.py FOLDER ROUNDS SEED [FIRST]

Like writer_rounds.py, with everything in it: a scene with scripts and random streams, threads
that put inputs, a script that puts its own, `record` in the first life and `resume` in each
later one. Resuming compares every instant's hash on its way, and at the end of a round the
whole log is replayed.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from mainspring.clock import Input
from mainspring.errors import MainspringError
from mainspring.scene import Scene, Script
from mainspring.world import open_run, record, replay, resume, verify

MODES = ("off", "kill_before", "kill_after", "torn", "full", "sync_fails", "power")
ENTRY = f"{Path(__file__).resolve()}:build"


class Ledger(Script):
    """Adds up what it is given, with chance in it, and sends itself a note now and then."""

    def __init__(self) -> None:
        self.total = 0.0
        self.given = 0
        self.notes = 0

    def on_start(self) -> None:
        self.scene.inbox.route("give", self.give)
        self.scene.inbox.route("note", self.note)

    def give(self, given: Input) -> None:
        self.given += 1
        self.total += given.payload["id"] * float(self.random().random())

    def note(self, given: Input) -> None:
        self.notes = self.notes * 31 + given.seq

    def on_update(self, ts: float) -> None:
        self.total *= 0.99
        if self.context.step % 7 == 3:
            self.scene.inbox.put("note", {"step": self.context.step})


def build() -> Scene:
    scene = Scene("ledger", seed=1)
    scene.add(Ledger(), name="ledger")
    return scene


def live(path: Path, seed: int, mode: int, countdown: int, first_id: int, pipe: int) -> None:
    """A child's whole life. Ends by the disk, by an error of ours (3), or well (0)."""
    code = 0
    try:
        if mode:
            ctypes.CDLL(None).faultdisk_arm(
                mode, ctypes.c_long(countdown), ctypes.c_ulonglong(seed), str(path).encode()
            )
        _run(path, random.Random(seed), first_id, pipe)
    except MainspringError as error:
        os.write(pipe, f"err {type(error).__name__}\n".encode())
        code = 3
    except BaseException as error:
        os.write(pipe, f"bug {type(error).__name__}: {error}\n".encode())
        code = 4
    os._exit(code)


def _run(path: Path, rng: random.Random, first_id: int, pipe: int) -> None:
    durability: Any = rng.choice(["group", "group", "instant"])
    if path.exists():
        recorder = resume(path, durability=durability, hash_every="instant", snapshot_every=0.3)
    else:
        recorder = record(
            build(), path, durability=durability, hash_every="instant", snapshot_every=0.3,
            entry=ENTRY,
        )  # fmt: skip
    scene = recorder.scene
    os.write(pipe, b"begun 0\n")

    def submit(thread: int) -> None:
        own = random.Random(f"{first_id}.{thread}")
        with suppress(MainspringError):
            for k in range(12):
                id = first_id + thread * 100 + k
                os.write(pipe, f"put {id}\n".encode())
                seq = scene.inbox.put("give", {"id": id, "fill": "." * own.randrange(300)})
                recorder.when_durable(seq, lambda id=id: os.write(pipe, f"ack {id}\n".encode()))  # type: ignore[misc]
                threading.Event().wait(own.random() * 0.002)

    threads = [threading.Thread(target=submit, args=(i,), daemon=True) for i in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        scene.advance(ns=20_000_000)
        threading.Event().wait(rng.random() * 0.001)
    recorder.close()


def one_round(folder: Path, number: int, seed: int) -> dict[str, Any]:
    rng = random.Random(f"{seed}.{number}")
    path = folder / f"{number}.world"
    submitted: set[int] = set()
    acknowledged: set[int] = set()
    result: dict[str, Any] = {"round": number, "deaths": [], "bad": []}
    for life in range(rng.randrange(1, 4)):
        mode, countdown = rng.randrange(len(MODES)), rng.randrange(1, 60)
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            live(path, rng.randrange(2**60), mode, countdown, (life + 1) * 1000, write_end)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as pipe:
            said = pipe.read().decode().splitlines()
        _, status = os.waitpid(pid, 0)
        for line in said:
            what, _, rest = line.partition(" ")
            if what == "put":
                submitted.add(int(rest))
            elif what == "ack":
                acknowledged.add(int(rest))
            elif what == "bug":
                result["bad"].append(f"life {life}: {rest}")
        died = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        end = "killed" if died else f"exit {os.waitstatus_to_exitcode(status)}"
        result["deaths"].append([MODES[mode], countdown, end, said[-1] if said else ""])
        if path.exists() and not verify(path).ok and not submitted:
            path.unlink()  # its very creation was cut off, before anything was accepted
        if not path.exists():
            if submitted or acknowledged:
                result["bad"].append(f"life {life}: the log is gone")
            continue
        _check(path, life, submitted, acknowledged, result)
        if result["bad"]:
            break
    if path.exists() and not result["bad"]:
        try:
            report = replay(path)
            if not report.identical:
                result["bad"].append(str(report))
        except MainspringError as error:
            result["bad"].append(f"replay: {error}")
    result["acknowledged"] = len(acknowledged)
    for left in folder.glob(f"{number}.world*"):
        left.unlink()
    return result


def _check(
    path: Path, life: int, submitted: set[int], acknowledged: set[int], result: dict[str, Any]
) -> None:
    report = verify(path)
    if not report.ok:
        result["bad"].append(f"life {life}: {report}")
        return
    with open_run(path) as run:
        ids = [i.payload["id"] for g in run.inputs() for i in g.inputs if i.kind == "give"]
        end = run.reader.content(run.reader.record(run.reader.head[0])) if run.end_reason else {}
    ids += [row[2]["id"] for row in end.get("waiting", []) if row[1] == "give"]
    if len(ids) != len(set(ids)):
        result["bad"].append(f"life {life}: an input came twice")
    if lost := acknowledged - set(ids):
        result["bad"].append(f"life {life}: acknowledged and lost: {sorted(lost)}")
    if gained := set(ids) - submitted:
        result["bad"].append(f"life {life}: gained: {sorted(gained)}")


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    for number in range(first, first + rounds):
        print(json.dumps(one_round(folder, number, seed)), flush=True)


if __name__ == "__main__":
    main()
