"""Observers that look now and then, and inputs fed in with their numbers: what a log needs."""

from __future__ import annotations

import pytest

from mainspring.clock import InboxRouteError, Input, TimeManager


def test_once_after_tells_at_the_end_of_the_first_instant_at_or_after() -> None:
    """Asked for again from within, it looks once a second, and only then."""
    time = TimeManager()
    seen: list[tuple[str, int]] = []
    time.register(lambda context: seen.append(("call", context.time)))

    def tell(time_ns: int) -> None:
        seen.append(("mark", time_ns))
        time.observers.once_after(time_ns + 30_000_000, tell)

    time.observers.once_after(10_000_000, tell)
    time.advance(ns=90_000_000)
    marks = [entry for entry in seen if entry[0] == "mark"]
    assert marks == [("mark", 20_000_000), ("mark", 60_000_000)]
    assert seen.index(("mark", 20_000_000)) == seen.index(("call", 20_000_000)) + 1


def test_marks_are_told_in_the_order_of_their_times_and_of_asking() -> None:
    """Two that come due at the same instant: the earlier time first, then the earlier asked."""
    time = TimeManager()
    seen: list[str] = []
    time.observers.once_after(5, lambda _: seen.append("b"))
    time.observers.once_after(3, lambda _: seen.append("a"))
    time.observers.once_after(5, lambda _: seen.append("c"))
    time.advance(1)
    assert seen == ["a", "b", "c"]


def test_a_cancelled_mark_is_not_told() -> None:
    """After `cancel` nothing comes, however often it was asked for."""
    time = TimeManager()
    seen: list[int] = []
    time.observers.once_after(0, seen.append)
    time.observers.once_after(50, seen.append)
    time.observers.cancel(seen.append)
    time.advance(1)
    assert seen == []


def test_fed_inputs_keep_their_numbers_and_new_ones_follow() -> None:
    """A replay feeds 5; the next input that is put gets 6."""
    time = TimeManager()
    got: list[int] = []
    time.inbox.route("a", lambda given: got.append(given.seq))
    time.inbox.feed([Input(5, "a", 1)])
    assert time.inbox.put("a", 2) == 6
    time.advance(ns=1)
    assert got == [5, 6]
    with pytest.raises(InboxRouteError):
        time.inbox.feed([Input(9, "b", 1)])


def test_a_stand_in_takes_what_is_put() -> None:
    """While a replay holds the inbox, put goes to it and nothing is queued."""
    time = TimeManager()
    taken: list[tuple[str, object, str]] = []
    time.inbox.route("a", lambda given: None)
    time.inbox.stand_in = lambda *given: taken.append(given) or 7  # type: ignore[func-returns-value]
    assert time.inbox.put("a", 1, source="me") == 7
    assert (taken, time.inbox.pending) == ([("a", 1, "me")], 0)
