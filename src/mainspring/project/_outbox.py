"""Reports of finished runs, on their way to an HTTP endpoint.

The promise: a report that `put` accepted is on disk until the endpoint said that it has it. It
is sent in order, again and again if need be, with its id as `Idempotency-Key`, so that an
endpoint that got it twice can tell. What the endpoint will never take is moved to `rejected/`
with the reason, and does not hold up the others.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mainspring.project._files import write_atomically
from mainspring.project._http import Unreachable, check_url, request
from mainspring.project.errors import OutboxError
from mainspring.threads import Job, Progress, StopToken

__all__ = ["Delivery", "Outbox", "Retry", "StreamReportsJob"]

_TRY_AGAIN = frozenset({408, 425, 429, *range(500, 600)})


class Outbox:
    """A folder of reports that wait. Safe from any thread and process."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()

    def put(self, report: Any, *, id: str | None = None) -> str:
        """Keep a report until it is delivered; its id. A report is a mapping, or a struct or a
        dataclass such as the `RunReport` that a run returns."""
        id = id or uuid.uuid4().hex
        if not id.replace("-", "").replace("_", "").isalnum() or len(id) > 100:
            raise OutboxError(f"{id!r} cannot be a report's id", hint="letters, digits, - and _")
        try:
            plain = msgspec.to_builtins(report, str_keys=True, enc_hook=str)
            data = msgspec.json.encode({"id": id, **plain})
        except (TypeError, ValueError, OverflowError) as error:
            raise OutboxError(f"report {id} cannot be written as JSON: {error}") from None
        self.folder.mkdir(parents=True, exist_ok=True)
        number = 1 + max((_number(path) for path in self.pending()), default=0)
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

    def reject(self, path: Path, reason: str) -> None:
        """Put a report aside, with the reason beside it."""
        aside = self.folder / "rejected"
        aside.mkdir(exist_ok=True)
        write_atomically(aside / f"{path.stem}.reason.txt", reason.encode())
        os.replace(path, aside / path.name)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, and how long between two attempts: `first_s`, twice that, ..., up to `most_s`."""

    attempts: int = 8
    first_s: float = 0.5
    most_s: float = 60.0

    def pause_s(self, attempt: int, asked_s: float | None) -> float:
        """The pause after the `attempt`-th failure; what the endpoint asks for, if it does."""
        pause = min(self.first_s * 2 ** (attempt - 1), self.most_s)
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
    """

    def __init__(
        self,
        outbox: Outbox | str | os.PathLike[str],
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        retry: Retry | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        self.outbox = outbox if isinstance(outbox, Outbox) else Outbox(outbox)
        super().__init__(f"send reports to {url}")
        self.url = check_url(url)
        self.headers = dict(headers or {})
        self.retry = retry or Retry()
        self.timeout_s = timeout_s

    def run(self, stop: StopToken, progress: Progress) -> Delivery:
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
            json.loads(data)
        except ValueError as error:
            return f"not JSON: {error}", 0
        headers = {"Content-Type": "application/json", "Idempotency-Key": id, **self.headers}
        for attempt in range(1, self.retry.attempts + 1):
            stop.checkpoint()
            asked_s = None
            try:
                with request(
                    "POST", self.url, data=data, headers=headers, timeout_s=self.timeout_s
                ) as answer:
                    if answer.fine:
                        return None, attempt
                    why = f"{answer.status}: {answer.body.read(1000).decode(errors='replace')}"
                    if answer.status not in _TRY_AGAIN:
                        return why, attempt
                    asked_s = _seconds(answer.headers.get("Retry-After"))
            except Unreachable as error:
                why = error.message
            if attempt < self.retry.attempts:
                stop.wait(self.retry.pause_s(attempt, asked_s))
        raise OutboxError(
            f"{self.url} did not take {path.name} in {self.retry.attempts} attempts; the last: {why}",
            hint=f"{len(self.outbox)} reports stay in {self.outbox.folder}; start the job again later",
        )


def _number(path: Path) -> int:
    head = path.name.split(".")[0]
    return int(head) if head.isdigit() else 0


def _seconds(text: str | None) -> float | None:
    """A `Retry-After` in seconds; a date is taken as not said."""
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
