"""The clock as state: where every runner is, what is registered where, what is asked for.

Counters for people (statistics) are no state: the rest of a run does not depend on them.
Registrations that only watch are left out, so that watching does not change what is saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainspring.clock._rate import Rate
from mainspring.clock._runner import Runner
from mainspring.clock._words import Phase, TimeMode
from mainspring.clock.errors import ClockError

if TYPE_CHECKING:
    from mainspring.clock._manager import TimeManager
    from mainspring.clock._registration import Registration

__all__ = ["put_back", "restore", "save"]


def save(time: TimeManager) -> dict[str, Any]:
    """Everything the rest of the run depends on."""
    registrations = _stateful(time)
    index = {r._entry: i for i, r in enumerate(registrations)}
    return {
        "now": time.now,
        "last_instant": time._kernel.last_instant,
        "instants": time.instants,
        "mode": time.mode.value,
        "runners": [
            [r.id, r.name, r.rate.as_written(), r.origin_ns, r.step + 1] for r in time.runners
        ],
        "registrations": [
            [r.name, r.runner.id, int(r.phase), r.priority, r.enabled] for r in registrations
        ],
        "wakeups": [[time_ns, index.get(entry, -1)] for time_ns, entry in time._kernel.wakeups],
    }


def restore(time: TimeManager, state: dict[str, Any]) -> None:
    """Leaves the clock as it was when `state` was saved, or, when it is another clock's, as it is."""
    registrations = _stateful(time)
    names = [r.name for r in registrations]
    saved = [row[0] for row in state["registrations"]]
    if names != saved:
        odd = next(
            (pair for pair in zip(saved, names, strict=False) if pair[0] != pair[1]),
            (f"{len(saved)} registrations", f"{len(names)} registrations"),
        )
        raise ClockError(
            f"the saved state has {odd[0]!r} where this scene has {odd[1]!r}",
            hint="restore into a scene built in the same way",
        )
    time._failure = None
    time.mode = TimeMode.parse(state["mode"])
    _put_runners_back(time, state["runners"])
    for registration, row in zip(registrations, state["registrations"], strict=True):
        _place(time, registration, row)
    time._kernel.wakeups = [
        (time_ns, -1 if index < 0 else registrations[index]._entry)
        for time_ns, index in state["wakeups"]
    ]
    time._kernel.now = state["now"]
    time._kernel.last_instant = state["last_instant"]
    time._kernel.instants = state["instants"]


def put_back(time: TimeManager, state: dict[str, Any]) -> None:
    """Gives runners and registrations the rates and places of `state`, as far as they are still
    there; runners that were added since go, unless something was registered with them."""
    rows = {row[0]: row for row in state["runners"]}
    used = {r.runner.id for r in time.registrations}
    added = [r for r in time.runners if r.id not in rows and r.id in used]
    kept = [[r.id, r.name, r.rate.as_written(), 0, 0] for r in added]
    _put_runners_back(time, sorted([*state["runners"], *kept]))
    saved: dict[str, list[Any]] = {}
    for row in state["registrations"]:
        saved.setdefault(row[0], []).append(row)
    for registration in _stateful(time):
        if saved.get(registration.name):
            _place(time, registration, saved[registration.name].pop(0))


def _stateful(time: TimeManager) -> list[Registration]:
    return [r for r in time.registrations if not r._watching]


def _place(time: TimeManager, registration: Registration, row: list[Any]) -> None:
    _, runner, phase, priority, enabled = row
    registration._runner = registration._goes_to = time.runners[runner]
    registration._phase = Phase(phase)
    registration._priority, registration._enabled = priority, enabled
    time._kernel.place(registration._entry, runner, phase, priority)
    time._kernel.enable(registration._entry, enabled)


def _put_runners_back(time: TimeManager, rows: list[list[Any]]) -> None:
    known = time.runners._by_id
    kept: dict[int, Runner] = {}
    for runner_id, name, rate, origin, k in rows:
        runner = known.get(runner_id) or Runner(time, runner_id, name, Rate(rate))
        runner._name, runner._rate = name, Rate(rate)
        kept[runner_id] = runner
        time._set_beat(runner, origin, k)
    for runner_id in known:
        if runner_id not in kept:
            time._kernel.clear_runner(runner_id)
    time.runners._by_id = kept
