"""Reports of finished runs, on their way to an HTTP endpoint.

The promise: a report that `put` accepted is on disk until the endpoint said that it has it, over
any number of restarts. It is sent in order, again and again if need be, with its id as
`Idempotency-Key`, so that an endpoint that got it twice can tell. What the endpoint will never
take is moved to `rejected/` with the reason, and does not hold up the others. An endpoint that
stays away for days fills the outbox up to its bound and no further: then `put` says so.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mainspring.project._files import try_lock, write_atomically
from mainspring.project._http import Unreachable, check_url, request
from mainspring.project.errors import OutboxError
from mainspring.threads import Job, Progress, StopToken

__all__ = ["Delivery", "Outbox", "Retry", "StreamReportsJob"]

_TRY_AGAIN = frozenset({408, 425, 429, *range(500, 600)})
"""The endpoint is in trouble."""
_REFUSED = frozenset({400, 409, 413, 415, 422})
"""The report is. Whatever else is answered speaks of the address or of who asks, and costs no
report its place."""


class Outbox:
    """A folder of reports that wait, `most_reports` of them with the rejected ones, each of at
    most `most_report_bytes`. Safe from any thread and process."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        most_reports: int = 10_000,
        most_report_bytes: int = 16 << 20,
    ) -> None:
        self.folder = Path(folder).absolute()
        self.most_reports = most_reports
        self.most_report_bytes = most_report_bytes

    def put(self, report: Any, *, id: str | None = None) -> str:
        """Keep a report until it is delivered; its id. A report is a mapping, or a struct or a
        dataclass such as the `RunReport` that a run returns. It arrives with its id as `id`."""
        id = id or uuid.uuid4().hex
        if not id.replace("-", "").replace("_", "").isalnum() or len(id) > 100:
            raise OutboxError(f"{id!r} cannot be a report's id", hint="letters, digits, - and _")
        try:
            plain = msgspec.to_builtins(report, str_keys=True, enc_hook=str)
            data = msgspec.json.encode({**plain, "id": id})
        except (TypeError, ValueError, OverflowError) as error:
            raise OutboxError(f"report {id} cannot be written as JSON: {error}") from None
        if len(data) > self.most_report_bytes:
            raise OutboxError(
                f"report {id} has {len(data)} bytes, more than {self.most_report_bytes}",
                hint="put what is large into a file and its name into the report, or raise "
                "most_report_bytes",
            )
        waiting, rejected = self.pending(), self.rejected()
        if len(waiting) + len(rejected) >= self.most_reports:
            raise OutboxError(
                f"{self.folder} is full: {len(waiting)} reports wait and {len(rejected)} were "
                f"rejected, of at most {self.most_reports}",
                hint="send them with StreamReportsJob (`mainspring reports send`), look at the "
                "reasons in rejected/ and remove those, or raise most_reports",
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        number = 1 + max(map(_number, waiting), default=0)
        # Two at once may get the same number: the id keeps their names apart.
        write_atomically(self.folder / f"{number:08d}.{id}.json", data)
        return id

    def pending(self) -> list[Path]:
        """The reports that wait, oldest first."""
        return sorted(p for p in self.folder.glob("[0-9]*.json"))

    def rejected(self) -> list[Path]:
        """The reports that the endpoint refused."""
        return sorted((self.folder / "rejected").glob("[0-9]*.json"))

    def __len__(self) -> int:
        return len(self.pending())

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """While the block runs nobody else sends from this outbox; `OutboxError` if somebody
        does already."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # Where nobody can tell it goes on: what is sent twice has the same id both times.
            if try_lock(handle) is False:
                raise OutboxError(
                    f"the reports in {self.folder} are being sent already",
                    hint="one sender at a time: wait for the other one, or stop it",
                )
            yield
        finally:
            os.close(handle)

    def reject(self, path: Path, reason: str) -> None:
        """Put a report aside, with the reason beside it."""
        aside = self.folder / "rejected"
        aside.mkdir(exist_ok=True)
        write_atomically(aside / f"{path.stem}.reason.txt", reason.encode())
        os.replace(path, aside / path.name)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often (None: until it works), and how long between two attempts: `first_s`, twice that,
    ..., up to `most_s`."""

    attempts: int | None = 8
    first_s: float = 0.5
    most_s: float = 60.0

    def pause_s(self, attempt: int, asked_s: float | None) -> float:
        """The pause after the `attempt`-th failure; what the endpoint asks for, if it does."""
        doublings = min(attempt - 1, 60)  # days of attempts must not leave the range of a float
        pause = min(self.first_s * 2.0**doublings, self.most_s)
        return pause if asked_s is None else min(max(asked_s, 0.0), self.most_s)


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a stream went."""

    sent: int
    rejected: int
    attempts: int


class StreamReportsJob(Job[Delivery]):
    """Sends what waits in an outbox, oldest first, until it is empty.

    When an endpoint does not answer after all attempts the job fails, and the reports stay.
    `sleep(seconds)` makes the pauses; without it they pass in real time, and a cancellation ends
    them at once.
    """

    def __init__(
        self,
        outbox: Outbox | str | os.PathLike[str],
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        retry: Retry | None = None,
        timeout_s: float = 10.0,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self.outbox = outbox if isinstance(outbox, Outbox) else Outbox(outbox)
        super().__init__(f"send reports to {url}")
        self.url = check_url(url)
        self.headers = dict(headers or {})
        self.retry = retry or Retry()
        self.timeout_s = timeout_s
        self.sleep = sleep

    def run(self, stop: StopToken, progress: Progress) -> Delivery:
        with self.outbox.sending():
            return self._send_all(stop, progress)

    def _send_all(self, stop: StopToken, progress: Progress) -> Delivery:
        sent = rejected = attempts = 0
        while waiting := self.outbox.pending():
            path = waiting[0]
            progress.set(f"sending {path.name}", sent / (sent + len(waiting)))
            refusal, tries = self._send(path, stop)
            attempts += tries
            # Delivered or refused for good: either way it is the endpoint's word, so it is kept
            # even if somebody asks to stop meanwhile.
            if refusal is None:
                path.unlink()
                sent += 1
            else:
                self.outbox.reject(path, refusal)
                rejected += 1
            stop.checkpoint()
        progress.set("all sent", 1.0)
        return Delivery(sent, rejected, attempts)

    def _send(self, path: Path, stop: StopToken) -> tuple[str | None, int]:
        """Why the endpoint refused it (None: it has it), and how many attempts that took."""
        data = path.read_bytes()
        id = path.name.split(".")[1]
        try:
            msgspec.json.decode(data)
        except (ValueError, RecursionError) as error:
            return f"not JSON: {error}", 0
        headers = {"Content-Type": "application/json", "Idempotency-Key": id, **self.headers}
        for attempt in itertools.count(1):
            stop.checkpoint()
            asked_s = None
            try:
                with request(
                    "POST",
                    self.url,
                    stop=stop,
                    data=data,
                    headers=headers,
                    timeout_s=self.timeout_s,
                ) as answer:
                    if answer.fine:
                        return None, attempt
                    why = str(answer)
                    if answer.status not in _TRY_AGAIN | _REFUSED:
                        raise OutboxError(
                            f"{self.url} did not take {path.name}: it answered with {why}",
                            hint="is the address right, and may you send there? All reports stay",
                        )
                    asked_s = _seconds(answer.headers.get("Retry-After"))
                    why += f": {answer.explanation()}"
                    if answer.status in _REFUSED:
                        return why, attempt
            except Unreachable as error:
                why = error.message
            if attempt == self.retry.attempts:
                break
            (self.sleep or stop.wait)(self.retry.pause_s(attempt, asked_s))
        raise OutboxError(
            f"{self.url} did not take {path.name} in {attempt} attempts; the last: {why}",
            hint=f"{len(self.outbox)} reports stay in {self.outbox.folder}; start the job again later",
        )


def _number(path: Path) -> int:
    head = path.name.split(".")[0]
    return int(head) if head.isdigit() else 0


def _seconds(text: str | None) -> float | None:
    """A `Retry-After` in seconds; a date is taken as not said."""
    try:
        seconds = math.nan if text is None else float(text)
    except ValueError:
        return None
    return None if math.isnan(seconds) else seconds
