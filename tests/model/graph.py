"""The reactive graph as one would write it down: slow, obvious, and the kernel's judge.

A program is a list of nodes, each a tuple of its kind and the indices of what it reads. Every
cycle looks at every node in order; what it modifies is seen by those after it in the same cycle.
Time is the number of the cycle.
"""

from __future__ import annotations

from typing import Any

Program = list[tuple[Any, ...]]
Ticks = dict[int, list[tuple[int, int]]]
LIMIT = 1009


class Evaluator:
    """One run of a program."""

    def __init__(self, program: Program, inputs: list[list[int | None]]) -> None:
        self.program = program
        self.inputs = inputs
        self.value: list[int | None] = [None] * len(program)
        self.modified = [-1] * len(program)
        self.state: list[Any] = [None] * len(program)
        self.due: dict[int, set[int]] = {}
        self.ticks: Ticks = {i: [] for i in range(len(program))}

    def run(self) -> Ticks:
        pending = {t for series in self.inputs for t, v in enumerate(series) if v is not None}
        while pending or self.due:
            now = min([*pending, *self.due])
            pending.discard(now)
            scheduled = self.due.pop(now, set())
            for i, node in enumerate(self.program):
                result = getattr(self, f"eval_{node[0]}")(i, node, now, i in scheduled)
                if result is not None:
                    self.value[i], self.modified[i] = result % LIMIT, now
                    self.ticks[i].append((now, result % LIMIT))
        return self.ticks

    def schedule(self, node: int, time: int) -> None:
        self.due.setdefault(time, set()).add(node)

    def ticked(self, now: int, *nodes: int) -> bool:
        return any(self.modified[n] == now for n in nodes)

    def valid(self, *nodes: int) -> bool:
        return all(self.value[n] is not None for n in nodes)

    def v(self, node: int) -> int:
        found = self.value[node]
        assert found is not None
        return found

    def eval_input(self, i: int, node: Any, now: int, due: bool) -> int | None:
        series = self.inputs[node[1]]
        return series[now] if now < len(series) else None

    def eval_add(self, i: int, node: Any, now: int, due: bool) -> int | None:
        _, a, b = node
        return self.v(a) + self.v(b) if self.ticked(now, a, b) and self.valid(a, b) else None

    def eval_even(self, i: int, node: Any, now: int, due: bool) -> int | None:
        _, a = node
        return self.v(a) if self.ticked(now, a) and self.v(a) % 2 == 0 else None

    def eval_sample(self, i: int, node: Any, now: int, due: bool) -> int | None:
        _, trigger, a = node
        return self.v(a) if self.ticked(now, trigger) and self.valid(trigger, a) else None

    def eval_either(self, i: int, node: Any, now: int, due: bool) -> int | None:
        _, a, b = node
        return self.v(a) if self.ticked(now, a) else self.v(b) if self.ticked(now, b) else None

    def eval_count(self, i: int, node: Any, now: int, due: bool) -> int | None:
        if not self.ticked(now, node[1]):
            return None
        self.state[i] = (self.state[i] or 0) + 1
        return int(self.state[i])

    def eval_later(self, i: int, node: Any, now: int, due: bool) -> int | None:
        _, a, delay = node
        fires = due and self.state[i] == now
        if self.ticked(now, a):  # the tag is one: a new tick moves the old appointment
            self.state[i] = now + delay
            self.schedule(i, now + delay)
        return self.v(a) if fires else None

    def eval_last(self, i: int, node: Any, now: int, due: bool) -> int | None:
        # What its source was in the cycle before; the source may come later in the program.
        return self.state[i] if due else None

    def eval_back(self, i: int, node: Any, now: int, due: bool) -> int | None:
        _, a, last = node
        if self.ticked(now, a):
            self.state[last] = self.v(a)
            self.schedule(last, now + 1)
        return None


def keyed(changes: list[dict[str, int | None] | None]) -> list[tuple[dict[str, Any] | None, int]]:
    """`map_` of "how often it ticked, plus the value" over keys, and the sum over all keys: the
    change and the sum for each cycle. None for a key removes it if it is there."""
    counts: dict[str, int] = {}
    values: dict[str, int] = {}
    found: list[tuple[dict[str, Any] | None, int]] = []
    for change in changes:
        delta: dict[str, Any] = {}
        for key, value in (change or {}).items():
            if value is not None:
                counts[key] = counts.get(key, 0) + 1
                values[key] = delta[key] = counts[key] + value
            elif key in counts:
                del counts[key], values[key]
                delta[key] = "removed"
        found.append((delta or None, sum(values.values())))
    return found


def switched(keys: list[int | None], values: list[int | None]) -> list[int | None]:
    """`switch_`: case k counts its ticks and adds them to (k + 1) times the value."""
    key = value = None
    count = 0
    found: list[int | None] = []
    for k, v in zip(keys, values, strict=True):
        changed = k is not None and k != key
        if changed:
            key, count = k, 0
        if v is not None:
            value = v
        ticked = key is not None and value is not None and (changed or v is not None)
        count += ticked
        found.append(count + (key + 1) * value if ticked else None)  # type: ignore[operator]
    return found
