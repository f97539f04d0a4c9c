"""What `diff` found, as data."""

from __future__ import annotations

from typing import Any

import msgspec

from mainspring.clock import format_ns
from mainspring.world.log._fields import FieldDifference
from mainspring.world.log._format import InputGroup, LoggedInput

__all__ = ["Cause", "DiffReport", "Divergence", "InputDifference", "Setting", "when"]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


class Setting(msgspec.Struct, frozen=True):
    """Something about how the runs were made that is not the same."""

    name: str
    a: Any
    b: Any

    def __str__(self) -> str:
        return f"{self.name}: {_short(self.a)} / {_short(self.b)}"


class InputDifference(msgspec.Struct, frozen=True):
    """The first instant whose inputs are not the same."""

    time_ns: int
    a: tuple[LoggedInput, ...]
    b: tuple[LoggedInput, ...]


class Cause(msgspec.Struct, frozen=True):
    """In what it happened."""

    kind: str
    """"callback", "skill", "node", "input", "order" (other callbacks, or in another order),
    "build" (the scene itself), "instant" (the clock) or "unknown"."""
    name: str
    """The callback, skill or node; with several candidates, all of them."""
    runner: str = ""
    phase: str = ""
    step_a: str = ""
    step_b: str = ""
    parts: tuple[str, ...] = ()
    seq: int | None = None
    """The input that was being applied."""

    def __str__(self) -> str:
        if self.kind == "callback":
            return f"callback {self.name} (runner {self.runner}, phase {self.phase})"
        if self.kind == "unknown":
            return f"{self.name}, by what is not known"
        if self.kind in ("build", "order") or (self.kind == "input" and self.seq is None):
            return self.name
        return f"{self.kind} {self.name}"


class Divergence(msgspec.Struct, frozen=True):
    """Where two runs part."""

    time_ns: int
    """The first instant that differs; -1 before the first instant."""
    same_ns: int
    """The last time known to be the same in both logs."""
    exact: bool
    """Whether `time_ns` is that very instant, and not merely the first hash that differs."""
    reproduced: bool
    """Whether running both again gives what the logs say. If not, the values in `fields` come
    from running it again, and will be others next time."""
    cause: Cause
    parts: tuple[str, ...] = ()
    fields: tuple[FieldDifference, ...] = ()
    inputs_a: tuple[InputGroup, ...] = ()
    inputs_b: tuple[InputGroup, ...] = ()


class DiffReport(msgspec.Struct, frozen=True):
    """What `diff` found."""

    a: str
    b: str
    identical: bool
    """Whether everything that lies in both logs is the same."""
    common_ns: int
    """How far both go."""
    divergence: Divergence | None
    inputs: InputDifference | None
    settings: tuple[Setting, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = []
        if self.divergence is None and self.inputs is None:
            lines.append(f"identical up to {format_ns(self.common_ns)}")
        elif self.divergence is None:
            assert self.inputs is not None
            lines.append(
                f"the inputs differ at {format_ns(self.inputs.time_ns)}, the state never does"
            )
        else:
            found = self.divergence
            since_ns = found.time_ns if found.exact else found.same_ns
            lines.append(f"differs {when(since_ns, found.time_ns)}, in {found.cause}")
            lines += [f"  {field}" for field in found.fields[:10]]
            if len(found.fields) > 10:
                lines.append(f"  and {len(found.fields) - 10} more fields")
            if not found.fields and found.parts:
                lines.append(f"  parts: {', '.join(found.parts)}")
            lines += _inputs("a", found.inputs_a) + _inputs("b", found.inputs_b)
        lines += [f"setting {setting}" for setting in self.settings]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


def when(same_ns: int, differs_ns: int) -> str:
    """Where two runs part, of which is known that they are the same after `same_ns` and not after
    `differs_ns`; the two are equal where that very instant is known."""
    if differs_ns < 0:
        return "before the first instant"
    if same_ns == differs_ns or differs_ns == 0:
        return f"at {format_ns(differs_ns)}"
    if same_ns < 0:
        return f"by {format_ns(differs_ns)}"
    return f"between {format_ns(same_ns)} and {format_ns(differs_ns)}"


def _inputs(side: str, groups: tuple[InputGroup, ...]) -> list[str]:
    return [
        f"  input in {side} at {format_ns(group.time_ns)}: {item.seq} {item.kind} "
        f"{item.payload!r} from {item.source or 'unnamed'}"
        for group in groups
        for item in group.inputs
    ]
