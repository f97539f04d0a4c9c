"""Intents: skills called from outside, by any thread.

`submit` puts an intent into the inbox and returns a ticket. The intent is applied at the start
of the next instant, in the order of sequence numbers, and its outcome then reaches the ticket.

A ticket knows its outcome at once. It passes it on, to those who `wait` and to callbacks, only
when it may be acknowledged: in a recorded run, once the input is on the disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container

from mainspring.world._errors import IntentError
from mainspring.world._skills import Outcome

__all__ = ["Ticket", "Tickets"]


# One for all tickets: it is held for a few assignments, and most tickets never contend for it.
_lock = threading.Lock()


class Ticket:
    """The receipt for an intent.

    `outcome` is None until the intent was decided; an intent that needs approval is decided
    when its approval is, and `request` names it meanwhile.
    """

    def __init__(self, skill: str, actor: str, may_wait: Callable[[], str | None]) -> None:
        self.skill = skill
        self.actor = actor
        self.seq = 0
        """Its place in the total order of inputs."""
        self._may_wait = may_wait
        self._acknowledged = False
        self._outcome: Outcome | None = None
        self._request: str | None = None
        # Made when somebody first waits, or asks to be called: most of the time nobody does.
        self._waited_for: threading.Event | None = None
        self._callbacks: list[Callable[[Outcome], object]] | None = None

    @property
    def done(self) -> bool:
        """Whether the intent was decided."""
        return self._outcome is not None

    @property
    def acknowledged(self) -> bool:
        """Whether it was decided and, where the run is recorded, cannot be lost any more."""
        return self._acknowledged

    @property
    def outcome(self) -> Outcome | None:
        """What became of it; None before. Not to be told to the outside until acknowledged."""
        return self._outcome

    @property
    def request(self) -> str | None:
        """The approval it waits for, or waited for."""
        return self._request

    def wait(self, timeout: float | None = None) -> Outcome:
        """Blocks until the outcome is acknowledged, at most `timeout` seconds.

        Before it was decided, an error on the thread that advances the clock: nothing would
        ever happen there.
        """
        if not self.done:
            advice = self._may_wait()
            if advice is not None:
                raise IntentError(
                    f"waiting for {self.skill!r} on the thread that advances the clock would last "
                    "for ever",
                    hint=advice,
                )
        if not self._wait(timeout):
            if self.done:
                state, hint = "not yet on the disk after", "is the log being written?"
            elif self._request is not None:
                state, hint = "not decided within", f"it waits for approval {self._request}"
            else:
                state, hint = "not decided within", "is the scene running?"
            raise IntentError(
                f"{self.skill!r} of {self.actor} (input {self.seq}) was {state} {timeout} s",
                hint=hint,
            )
        assert self._outcome is not None
        return self._outcome

    def _wait(self, timeout: float | None) -> bool:
        with _lock:
            if self._acknowledged:
                return True
            if self._waited_for is None:
                self._waited_for = threading.Event()
            waited_for = self._waited_for
        return waited_for.wait(timeout)

    def add_done_callback(self, callback: Callable[[Outcome], object]) -> None:
        """Calls `callback(outcome)` once acknowledged: now if it is, else on the clock's thread,
        or in a recorded run on the log's. It must be quick and must not raise."""
        with _lock:
            if not self._acknowledged:
                self._callbacks = [*(self._callbacks or ()), callback]
                return
        assert self._outcome is not None
        callback(self._outcome)

    def decide(self, outcome: Outcome) -> bool:
        """Takes what became of the intent; whether that was final."""
        if outcome.request is not None:
            self._request = outcome.request
        if outcome.pending or self._outcome is not None:
            return False
        self._outcome = outcome
        return True

    def acknowledge(self) -> None:
        """Passes the outcome on to everybody who waits for it."""
        outcome = self._outcome
        assert outcome is not None
        with _lock:
            self._acknowledged = True
            waited_for, callbacks, self._callbacks = self._waited_for, self._callbacks, None
        if waited_for is not None:
            waited_for.set()
        for callback in callbacks or ():
            callback(outcome)

    def __repr__(self) -> str:
        state = self._outcome.status if self._outcome else "waiting"
        return f"<ticket {self.seq}: {self.skill} by {self.actor}, {state}>"


class Tickets:
    """The tickets that wait for their outcome, by sequence number."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, Ticket] = {}
        self.when_durable: Callable[[int, Callable[[], None]], None] | None = None
        """Set by a recording: calls its second argument once the input with that number, and all
        before it, are on the disk. Without one an outcome is acknowledged as it is decided."""

    def issue(self, ticket: Ticket, put: Callable[[], int]) -> None:
        # Under the lock, so that an outcome which comes at once still finds the ticket.
        with self._lock:
            ticket.seq = put()
            self._waiting[ticket.seq] = ticket

    def decide(self, outcome: Outcome, cause: int | None) -> None:
        """Gives the ticket its outcome; `cause` is the input that led to it, which for an approved
        call is later than its own."""
        if outcome.seq is None:
            return
        with self._lock:
            ticket = self._waiting.get(outcome.seq)
            if ticket is not None and not outcome.pending:
                del self._waiting[outcome.seq]
        if ticket is None or not ticket.decide(outcome):
            return
        if self.when_durable is None:
            ticket.acknowledge()
        else:
            self.when_durable(max(outcome.seq, cause or 0), ticket.acknowledge)

    def drop_unknown(self, known: Container[int], time_ns: int) -> None:
        """After a restore: intents that the restored moment does not know are never decided."""
        with self._lock:
            lost = [ticket for seq, ticket in self._waiting.items() if seq not in known]
            for ticket in lost:
                del self._waiting[ticket.seq]
        for ticket in lost:
            ticket.decide(
                Outcome(
                    status="refused",
                    skill=ticket.skill,
                    actor=ticket.actor,
                    code="lost",
                    reason="the world was restored to a moment that does not know this intent",
                    time_ns=time_ns,
                    seq=ticket.seq,
                )
            )
            ticket.acknowledge()
