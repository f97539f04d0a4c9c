"""Which operators the kernel evaluates itself, for which types.

A row says: an operator, the types of its inputs, the type of its output and the code the kernel knows the
node by (the operator's name and its operands' types, see ``kernel/graph/ops_*.cpp``). Ints and floats mix:
what is not a comparison of equals takes an int as the float it is.
"""

from itertools import product
from typing import Any, NamedTuple

from mainspring.graph.operators import _names
from mainspring.graph.operators._base import TS, TSL, Param, Signature, Size, native


class Native(NamedTuple):
    """One row: the kernel's code, the types of the inputs and of the output."""

    code: str
    inputs: tuple[Any, ...]
    output: Any


_NUMBERS = (int, float)


def _of(*kinds: Any) -> str:
    return ",".join(kind.__name__ for kind in kinds)


def _row(name: str, kinds: tuple[Any, ...], output: Any) -> Native:
    return Native(f"{name}:{_of(*kinds)}", tuple(TS[kind] for kind in kinds), output)


def _wider(left: Any, right: Any) -> Any:
    return int if left is right is int else float


def rows() -> dict[str, list[Native]]:
    """Return the native overloads by operator."""
    table: dict[str, list[Native]] = {}
    for left, right in product(_NUMBERS, _NUMBERS):
        pair = (left, right)
        wide = TS[_wider(left, right)]
        for name in ("add_", "sub_", "mul_", "floordiv_", "mod_", "pow_", "min_", "max_"):
            table.setdefault(name, []).append(_row(name, pair, wide))
        for name in ("div_", "mean"):
            table.setdefault(name, []).append(_row(name, pair, TS[float]))
        table.setdefault("divmod_", []).append(_row("divmod_", pair, TSL[wide, Size[2]]))
        for name in ("eq_", "ne_", "lt_", "le_", "gt_", "ge_", "and_", "or_"):
            table.setdefault(name, []).append(_row(name, pair, TS[bool]))
    for name in ("eq_", "ne_", "and_", "or_"):
        table[name].append(_row(name, (bool, bool), TS[bool]))
    for name in ("bit_and", "bit_or", "bit_xor"):
        table[name] = [_row(name, (kind, kind), TS[kind]) for kind in (int, bool)]
    for name in ("lshift_", "rshift_"):
        table[name] = [_row(name, (int, int), TS[int])]
    for name in ("neg_", "pos_", "abs_", "sign"):
        table[name] = [_row(name, (kind,), TS[kind]) for kind in _NUMBERS]
    table["invert_"] = [_row("invert_", (kind,), TS[int]) for kind in (int, bool)]
    table["not_"] = [_row("not_", (kind,), TS[bool]) for kind in (int, float, bool)]
    table["ln"] = [_row("ln", (float,), TS[float])]
    for name in ("sum", "min", "max"):
        table.setdefault("sum_" if name == "sum" else f"{name}_", []).extend(
            Native(f"running_{name}:{kind.__name__}", (TS[kind],), TS[kind]) for kind in _NUMBERS
        )
    for name in ("mean", "std", "var"):
        table.setdefault(name, []).extend(
            Native(f"running_{name}:{kind.__name__}", (TS[kind],), TS[float]) for kind in _NUMBERS
        )
    table["diff"] = [_row("diff", (kind,), TS[kind]) for kind in _NUMBERS]
    return table


_INPUTS = {1: ("ts",), 2: ("lhs", "rhs")}


def register() -> None:
    """Make every row an overload of its operator."""
    for name, overloads in rows().items():
        for row in overloads:
            params = [
                Param(key, "ts", tp)
                for key, tp in zip(_INPUTS[len(row.inputs)], row.inputs, strict=True)
            ]
            native(
                name,
                row.code,
                Signature(name, params, row.output),
                overloads=getattr(_names, name),
            )


register()
