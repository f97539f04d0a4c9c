"""Crash rounds for the log's writer: run under the failing disk, one JSON line a round.

    LD_PRELOAD=faultdisk.so python writer_rounds.py FOLDER ROUNDS SEED

Each round forks lives that write one log until the disk strikes. A life stands for a run: a
thread submits inputs, a loop drains them at instants and folds them into a state, and every
acknowledgement goes to the parent through a pipe. After each death the parent reads the log
and checks the promise: every acknowledged input is there, none is there that was not
submitted, in order, once, and the state that follows from them has the hashes logged.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import random
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mainspring import state
from mainspring.errors import MainspringError
from mainspring.world.log import _writer
from mainspring.world.log._format import Kind, Row, encode_input_group
from mainspring.world.log._reader import LogReader
from mainspring.world.log._verify import verify
from mainspring.world.log._writer import LogWriter

MODES = ("off", "kill_before", "kill_after", "torn", "full", "sync_fails", "power")
PERIOD_NS = 20_000_000


def fold(digest: bytes, seq: int, payload: Any) -> bytes:
    return hashlib.blake2b(digest + state.encode([seq, payload]), digest_size=16).digest()


def replay(path: Path) -> tuple[bytes, int, int, dict[int, Any]]:
    """State, next instant, last sequence number and payloads of a log; hashes are compared."""
    with LogReader(path) as reader:
        hashes: dict[int, bytes] = {}
        for chunk in reader.hashes():
            hashes.update(
                zip(chunk.times_ns.tolist(), (h.tobytes() for h in chunk.hashes), strict=True)
            )
        digest, seq, payloads = bytes(16), 0, {}
        end_ns = reader.end_ns()
        groups = {group.time_ns: group for group in reader.inputs()}
        time_ns = 0
        while time_ns < end_ns:
            for item in groups.pop(time_ns).inputs if time_ns in groups else ():
                assert item.seq == seq + 1, f"input {item.seq} follows {seq}"
                seq = item.seq
                payloads[seq] = item.payload
                digest = fold(digest, seq, item.payload)
            assert hashes.get(time_ns, digest) == digest, f"hash differs at {time_ns}"
            time_ns += PERIOD_NS
        assert not groups, f"inputs beyond the end: {sorted(groups)}"
        return digest, time_ns, seq, payloads


class Life:
    """One process's share of a run."""

    def __init__(self, path: Path, rng: random.Random, pipe: int) -> None:
        self.rng = rng
        self.pipe = pipe
        self.now = 0
        durability = rng.choice(["group", "group", "instant"])
        if path.exists():
            self.digest, self.now, self.seq, _ = replay(path)
            with LogReader(path) as reader:
                head = reader.head
            tail = (head[0] + 1, head[1])
            self.writer = LogWriter(
                path, durability=durability, position_ns=lambda: self.now, tail=tail
            )
            self.writer.put_row(Row(Kind.RESUMED, self.now, self.now, 1, b"\x80"))
        else:
            self.digest, self.seq = bytes(16), 0
            header = Row(Kind.HEADER, 0, 0, 1, state.encode({"rounds": 1}))
            self.writer = LogWriter(
                path, durability=durability, position_ns=lambda: self.now, initial=[header]
            )
        self.writer.flush()
        self.writer.start()
        self.waiting: list[SimpleNamespace] = []
        self.lock = threading.Lock()

    def say(self, what: str, seq: int) -> None:
        os.write(self.pipe, f"{what} {seq}\n".encode())

    def submit(self, count: int) -> None:
        rng = random.Random(self.rng.random())
        for _ in range(count):
            with self.lock:
                self.seq += 1
                seq = self.seq
                self.say("put", seq)
                item = SimpleNamespace(
                    seq=seq,
                    kind="x",
                    payload={"v": seq, "fill": "." * rng.randrange(400)},
                    source="",
                )
                self.waiting.append(item)
            self.writer.when_durable(seq, lambda seq=seq: self.say("ack", seq))
            if rng.random() < 0.2 and self.writer.failure is None:
                self.writer.wait_durable(seq)

    def run(self, instants: int) -> None:
        writer = self.writer
        writer.put_hash_names(("all",))
        threads = [
            threading.Thread(target=self._submit_quietly, args=(instants // 4,), daemon=True)
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for k in range(instants):
            time_ns = self.now
            with self.lock:
                batch, self.waiting = self.waiting, []
            if batch:
                writer.put_inputs(time_ns, batch[-1].seq, encode_input_group(time_ns, batch))
            for item in batch:
                self.digest = fold(self.digest, item.seq, item.payload)
            writer.put_hash(time_ns, self.digest, self.digest[:8])
            if k % 16 == 7:
                writer.put_row(Row(Kind.SNAPSHOT, time_ns, time_ns, 1, self.digest * 100))
            self.now = time_ns + PERIOD_NS
            if writer.durability == "instant":
                writer.flush()
            writer.throttle()
            if self.rng.random() < 0.3:
                threading.Event().wait(self.rng.random() * 0.001)
        writer.put_row(Row(Kind.END, self.now, self.now, 1, state.encode({"reason": "done"})))
        writer.close()

    def _submit_quietly(self, count: int) -> None:
        # A log that failed refuses to wait; the run's own loop ends with the same error.
        with contextlib.suppress(MainspringError):
            self.submit(count)


def live(path: Path, mode: int, countdown: int, seed: int, pipe: int) -> None:
    """A child's whole life. Ends by the disk, by an error of ours (3), or well (0)."""
    code = 0
    try:
        disk = ctypes.CDLL(None)
        if mode:
            disk.faultdisk_arm(
                mode, ctypes.c_long(countdown), ctypes.c_ulonglong(seed), str(path).encode()
            )
        Life(path, random.Random(seed), pipe).run(40)
    except MainspringError as error:
        os.write(pipe, f"err {type(error).__name__}\n".encode())
        code = 3
    except BaseException as error:
        os.write(pipe, f"bug {type(error).__name__}: {error}\n".encode().replace(b"\r", b" "))
        code = 4
    os._exit(code)


def one_round(folder: Path, number: int, seed: int) -> dict[str, Any]:
    rng = random.Random(f"{seed}.{number}")
    path = folder / f"{number}.world"
    submitted: set[int] = set()
    acknowledged: set[int] = set()
    result: dict[str, Any] = {"round": number, "deaths": [], "bad": []}
    for life in range(rng.randrange(1, 4)):
        mode = rng.randrange(len(MODES))
        countdown = rng.randrange(1, 60)
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            live(path, mode, countdown, rng.randrange(2**60), write_end)
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
        result["deaths"].append(
            [MODES[mode], countdown, end, said[-1] if "err" in said[-1:] else ""]
        )
        if not path.exists() or path.stat().st_size == 0:
            path.unlink(missing_ok=True)
            if acknowledged:
                result["bad"].append("acknowledged inputs without a log")
            continue
        try:
            _check(path, submitted, acknowledged, result)
        except AssertionError as error:
            result["bad"].append(f"life {life}: {error}")
        if result["bad"]:
            break
        # What was submitted and not drained died with the process; its numbers are used again.
        submitted = set(acknowledged)
        if path.exists():
            submitted |= set(replay(path)[3])
    for left in folder.glob(f"{number}.world*"):
        left.unlink()
    result["inputs"] = len(submitted)
    result["acknowledged"] = len(acknowledged)
    return result


def _check(path: Path, submitted: set[int], acknowledged: set[int], result: dict[str, Any]) -> None:
    report = verify(path)
    if not report.ok:
        # A file whose creation was cut off is no log yet, and nothing was ever submitted to it.
        if submitted or acknowledged or report.first_bad is not None:
            result["bad"].append(str(report))
        path.unlink()
        return
    logged = set(replay(path)[3])
    if lost := acknowledged - logged:
        result["bad"].append(f"acknowledged and lost: {sorted(lost)}")
    if gained := logged - submitted:
        result["bad"].append(f"gained: {sorted(gained)}")


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    if sys.argv[5:] == ["unsynced"]:
        # The writer with its one promise broken: the rounds must notice.
        _writer._SYNCHRONOUS.update(instant="OFF", group="OFF")
    for number in range(first, first + rounds):
        print(json.dumps(one_round(folder, number, seed)), flush=True)


if __name__ == "__main__":
    main()
