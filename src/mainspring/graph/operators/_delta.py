"""Changes as values: the whole of a time series as one change, and two changes made one.

An operator that holds ticks back cannot pass on the change of the cycle in which it lets go: what it
owes its readers is everything that happened since they last heard. ``whole`` says what turns the
output into the input; ``joined`` puts two changes after one another together.
"""

from __future__ import annotations

from typing import Any

from mainspring.graph.operators._base import REMOVE, is_dict, is_group, is_set, set_delta


def whole(ts: Any, output: Any) -> Any:
    """Return the change that makes ``output`` equal to ``ts``; what it has already ticks again."""
    if is_dict(ts):
        known = output if output is not None and output.valid else None
        change = {
            key: whole(item, known[key] if known is not None and key in known else None)
            for key, item in ts.items()
            if item.valid
        }
        if known is not None:
            change.update((key, REMOVE) for key in list(known.keys()) if key not in ts)
            if not change:
                known.touch()
        return change
    if is_set(ts):
        had = list(output.values()) if output is not None and output.valid else ()
        added = [item for item in ts.values() if not had or item not in output]
        removed = [item for item in had if item not in ts]
        if not added and not removed and output is not None:
            output.touch()
        return set_delta(added=added, removed=removed)
    if is_group(ts):
        return {
            key: whole(item, output[key] if output is not None else None)
            for key, item in ts.items()
            if item.valid
        }
    if hasattr(ts, "value_times"):
        return ts.value.tolist()[-1]  # of a window, the newest
    return ts.value


def change(ts: Any, output: Any, held: bool) -> Any:
    """Return what to pass on: the change of this cycle, or all of it when some was held back."""
    return whole(ts, output) if held else ts.delta_value


def joined(first: Any, second: Any) -> Any:
    """Return the one change that does what ``first`` and then ``second`` do."""
    if hasattr(second, "added") and hasattr(first, "added"):
        added, removed = dict.fromkeys(first.came), dict.fromkeys(first.went)
        for item in second.came:
            added[item] = None
            removed.pop(item, None)
        for item in second.went:
            if item in added:
                del added[item]
            else:
                removed[item] = None
        return set_delta(added=list(added), removed=list(removed))
    if isinstance(first, dict) and isinstance(second, dict):
        result = dict(first)
        for key, item in second.items():
            result[key] = joined(result[key], item) if key in result else item
        return result
    return second
