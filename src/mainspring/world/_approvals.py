"""The approval gate: calls that wait until somebody decides.

A call of a skill declared with `approval=` becomes a request. It is pending until it is granted,
when the call runs with the permissions the caller had when asking, or denied. Pending requests
are state: they are saved, restored and hashed with the world. Deciding is a change of the
world, so from outside it goes through two skills, `approval.grant` and `approval.deny`, which a
world has as soon as one of its skills needs approval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from mainspring.world._errors import SkillError, WorldError

__all__ = ["ApprovalRequest", "Approvals"]

# Decisions stay readable for a while; the log keeps them all.
_DECIDED_MAX = 256


class ApprovalRequest(msgspec.Struct, frozen=True):
    """A call that somebody has to approve."""

    id: str
    skill: str
    actor: str
    arguments: dict[str, Any]
    permissions: tuple[str, ...]
    time_ns: int
    seq: int | None
    status: Literal["pending", "granted", "denied"] = "pending"
    decided_by: str = ""
    reason: str = ""


class Approvals:
    """The requests of a world, oldest first."""

    def __init__(self) -> None:
        self._pending: dict[str, ApprovalRequest] = {}
        self._decided: dict[str, ApprovalRequest] = {}
        self._next = 1

    @property
    def pending(self) -> list[ApprovalRequest]:
        return list(self._pending.values())

    def __len__(self) -> int:
        return len(self._pending)

    def __iter__(self) -> Iterator[ApprovalRequest]:
        return iter(self.pending)

    def get(self, request: str) -> ApprovalRequest | None:
        """A request that is pending or was decided not long ago."""
        return self._pending.get(request) or self._decided.get(request)

    def status(self, request: str) -> Literal["pending", "granted", "denied"]:
        found = self.get(request)
        if found is None:
            raise SkillError(f"there is no approval request {request!r}", hint=self._hint())
        return found.status

    def require(self, request: str) -> ApprovalRequest:
        """A pending request, or an error that says why it is not one."""
        found = self.get(request)
        if found is None:
            raise SkillError(f"there is no approval request {request!r}", hint=self._hint())
        if found.status != "pending":
            raise SkillError(f"{request} was {found.status} by {found.decided_by} already")
        return found

    def _hint(self) -> str:
        return f"pending: {', '.join(self._pending) or 'none'}"

    # ---- changes, each of which returns how to undo it ----------------------------------------

    def ask(
        self,
        skill: str,
        actor: str,
        arguments: dict[str, Any],
        permissions: tuple[str, ...],
        time_ns: int,
        seq: int | None,
    ) -> tuple[ApprovalRequest, Callable[[], None]]:
        undo = self._undo()
        request = ApprovalRequest(
            f"req_{self._next}", skill, actor, arguments, permissions, time_ns, seq
        )
        self._next += 1
        self._pending[request.id] = request
        return request, undo

    def decide(
        self, request: ApprovalRequest, status: Literal["granted", "denied"], by: str, reason: str
    ) -> Callable[[], None]:
        undo = self._undo()
        del self._pending[request.id]
        self._decided[request.id] = msgspec.structs.replace(
            request, status=status, decided_by=by, reason=reason
        )
        while len(self._decided) > _DECIDED_MAX:
            del self._decided[next(iter(self._decided))]
        return undo

    def _undo(self) -> Callable[[], None]:
        pending, decided, following = dict(self._pending), dict(self._decided), self._next

        def undo() -> None:
            self._pending, self._decided, self._next = pending, decided, following

        return undo

    # ---- state -------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        return {
            "next": self._next,
            "pending": [msgspec.structs.asdict(r) for r in self._pending.values()],
            "decided": [msgspec.structs.asdict(r) for r in self._decided.values()],
        }

    @staticmethod
    def check(state: Any) -> None:
        try:
            for row in (*state["pending"], *state["decided"]):
                ApprovalRequest(**row)
            int(state["next"])
        except (KeyError, TypeError, ValueError) as error:
            raise WorldError(
                f"the saved approvals are not what a world saves: {error!r}"
            ) from error

    def restore(self, state: Any) -> None:
        self.check(state)
        self._pending = {row["id"]: ApprovalRequest(**row) for row in state["pending"]}
        self._decided = {row["id"]: ApprovalRequest(**row) for row in state["decided"]}
        self._next = state["next"]
