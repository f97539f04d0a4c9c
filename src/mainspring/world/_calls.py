"""How a call of a skill is carried out: checked, approved, run, and undone if it fails."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from mainspring.clock import Input
from mainspring.errors import MainspringError, StateError
from mainspring.world._approvals import Approvals
from mainspring.world._arguments import plain
from mainspring.world._errors import SkillError, SkillRefused
from mainspring.world._journal import Journal
from mainspring.world._skills import Outcome, Skill, SkillContext, Skills, holds

if TYPE_CHECKING:
    from mainspring.world._world import World

__all__ = ["Calls"]

# Deeper than any skill that is meant, far shallower than the interpreter's own limit: how deep that
# lies depends on who advances the clock, and a replay is advanced by somebody else.
DEPTH_MAX = 32

_log = logging.getLogger("mainspring.world")


class Calls:
    """Carries out the calls of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.skills = Skills()
        self.approvals = Approvals()
        self.watchers: list[Callable[[Outcome], object]] = []
        # Outcomes of calls that were approved inside the call under way: they are told when it
        # has succeeded, and not at all when it is undone.
        self._approved: list[Outcome] = []
        self._depth = 0

    def declare(self, skill: Skill[..., Any], *, replace: bool) -> None:
        self.skills.add(skill, replace=replace)
        if skill.approval is not None and "approval.grant" not in self.skills:
            for function, name in ((self._grant, "approval.grant"), (self._deny, "approval.deny")):
                gate = Skill(
                    function, name=name, permission=None, approval=False, description=None, scope={}
                )
                self.skills.add(gate)

    # ---- one call ----------------------------------------------------------------------------

    def call(
        self, actor: str, name: str, arguments: Any, permissions: tuple[str, ...], seq: int | None
    ) -> Outcome:
        outermost = self._world.table.journal is None
        if outermost:
            self._approved.clear()
        outcome = self._call(actor, name, arguments, permissions, seq, approved=None)
        if outermost:
            # order: what was approved, then the call that approved it
            for told in (*self._approved, outcome):
                self._tell(told, seq)
        return outcome

    def tell_malformed(self, given: Input, error: Exception) -> None:
        """An intent that does not even say who wants what."""
        self._tell(
            Outcome(
                status="refused",
                skill="",
                actor=given.source,
                code="malformed",
                reason=f"the intent is malformed: {error!r}",
                time_ns=self._world.time_ns,
                seq=given.seq,
            ),
            given.seq,
        )

    def _tell(self, outcome: Outcome, cause: int | None) -> None:
        self._world.tickets.decide(outcome, cause)
        for watch in tuple(self.watchers):
            watch(outcome)

    def _call(
        self,
        actor: str,
        name: str,
        arguments: Any,
        permissions: tuple[str, ...],
        seq: int | None,
        *,
        approved: str | None,
    ) -> Outcome:
        now = self._world.time_ns

        def refused(code: str, reason: str) -> Outcome:
            return Outcome(
                status="refused",
                skill=name,
                actor=actor,
                code=code,
                reason=reason,
                request=approved,
                time_ns=now,
                seq=seq,
            )

        skill = self.skills.get(name)
        if skill is None:
            return refused("unknown_skill", self.skills.unknown(name))
        if not holds(permissions, skill.permission):
            held = ", ".join(permissions) or "no permissions"
            return refused(
                "permission", f"it takes permission {skill.permission!r}; {actor} has {held}"
            )
        if self._depth >= DEPTH_MAX:
            return refused("depth", f"skills that call skills are {DEPTH_MAX} deep already")
        try:
            given = plain({} if arguments is None else arguments, "arguments")
            checked = skill.signature.check(given, self._world.get)
        except (msgspec.ValidationError, StateError, RecursionError) as error:
            return refused("arguments", str(error))
        if skill.approval is not None and approved is None:
            request, undo = self.approvals.ask(name, actor, given, permissions, now, seq)
            if self._world.table.journal is not None:
                self._world.table.journal.record(undo)
            return Outcome(
                status="pending", skill=name, actor=actor, request=request.id, time_ns=now, seq=seq
            )
        context = SkillContext(self._world, actor, permissions, now, seq)
        try:
            value = self._run(skill, checked, context)
        except SkillRefused as error:
            return refused("refused", error.message)
        except Exception as error:
            known = isinstance(error, MainspringError)
            reason = error.message if known else f"{type(error).__name__}: {error}"  # type: ignore[attr-defined]
            if not known:
                _log.warning("skill %r of %s raised; it was undone", name, actor, exc_info=error)
            return refused("error", reason)
        return Outcome(
            status="accepted",
            skill=name,
            actor=actor,
            value=value,
            request=approved,
            time_ns=now,
            seq=seq,
        )

    def _run(self, skill: Skill[..., Any], arguments: dict[str, Any], context: SkillContext) -> Any:
        table = self._world.table
        outer = table.journal
        journal = table.journal = Journal(outer)
        told = len(self._approved)
        self._depth += 1
        try:
            self._world.components.record_held()
            value = plain(skill.run(arguments, context), f"the result of skill {skill.name!r}")
        except BaseException:
            table.journal = None  # undoing is not recorded
            journal.roll_back()
            del self._approved[told:]
            raise
        else:
            journal.keep()
        finally:
            table.journal = outer
            self._depth -= 1
        return value

    # ---- the gate ----------------------------------------------------------------------------

    def _grant(self, context: SkillContext, request: str) -> dict[str, Any]:
        """Approve a call that waits; it runs now, as the actor who asked."""
        found, skill = self._decide(context, request, "granted", "")
        outcome = self._call(
            found.actor,
            skill.name,
            found.arguments,
            found.permissions,
            found.seq,
            approved=found.id,
        )
        self._approved.append(outcome)
        return {"status": outcome.status, "value": outcome.value, "reason": outcome.reason}

    def _deny(self, context: SkillContext, request: str, reason: str = "") -> None:
        """Refuse a call that waits, with a reason for its caller."""
        found, skill = self._decide(context, request, "denied", reason)
        self._approved.append(
            Outcome(
                status="refused",
                skill=skill.name,
                actor=found.actor,
                code="denied",
                reason=f"denied by {context.actor}" + (f": {reason}" if reason else ""),
                request=found.id,
                time_ns=context.time_ns,
                seq=found.seq,
            )
        )

    def _decide(self, context: SkillContext, request: str, status: Any, reason: str) -> Any:
        try:
            found = self.approvals.require(request)
            skill = self.skills[found.skill]
        except SkillError as error:
            raise SkillRefused(error.message, hint=error.hint) from error
        needed = skill.approval or "approval"
        if not context.may(needed):
            raise SkillRefused(
                f"deciding {request} takes permission {needed!r}, which {context.actor} lacks"
            )
        undo = self.approvals.decide(found, status, context.actor, reason)
        journal = self._world.table.journal
        if journal is not None:
            journal.record(undo)
        return found, skill
