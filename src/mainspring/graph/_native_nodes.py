"""Nodes that the kernel evaluates itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.graph._description import NOTHING
from mainspring.graph._python_nodes import Prepared
from mainspring.graph._signature import Resolved, Signature
from mainspring.graph._wirable import Wirable
from mainspring.graph._wiring import Input, PassivePort, WiringNode, WiringPort, adapt


class NativeNode(Wirable):
    """A node implemented by the kernel."""

    kind = "native"

    def __init__(
        self,
        name: str,
        code: str,
        signature: Signature,
        *,
        need: Mapping[str, int] | None = None,
        active: frozenset[str] | None = None,
        **common: Any,
    ) -> None:
        def stand_in() -> None:
            """Implemented by the kernel."""

        stand_in.__name__ = name
        super().__init__(stand_in, signature, **common)
        self.code = code
        self.need = need or {}
        self.active = active

    def build(self, resolved: Resolved, label: str) -> Any:
        known = resolved.known
        inputs: list[Input]
        if known is not None and known.prepared is not None:
            arguments = resolved.arguments
            inputs = [
                Input(name, adapt(arguments[name], tp), active, need)
                for name, tp, active, need in known.prepared.inputs
            ]
            return self._node(inputs, (), NOTHING, resolved.output, label)
        inputs, params, scalars = [], [], {}
        for p in self.signature.open:
            value = resolved.arguments[p.name]
            if p.kind == "ts":
                if value is None:
                    continue
                inputs.append(
                    Input(
                        p.name,
                        adapt(value, resolved.types[p.name]),
                        (self.active is None or p.name in self.active)
                        and not isinstance(value, PassivePort),
                        self.need.get(p.name, 1),
                    )
                )
            else:
                params.append(value)
                scalars[p.name] = value
        if known is not None and not scalars and len(inputs) == len(self.signature.open):
            known.prepared = Prepared(
                [(i.name, resolved.types[i.name], i.active, i.need) for i in inputs]
            )
        return self._node(inputs, tuple(params), scalars, resolved.output, label)

    def _node(
        self,
        inputs: list[Input],
        params: tuple[Any, ...],
        scalars: Mapping[str, Any],
        output: Any,
        label: str,
    ) -> Any:
        node = WiringNode(
            self.signature.name,
            self.code,
            "sink" if output is None else "compute" if inputs else "source",
            output,
            inputs,
            label=label,
            scalars=scalars,
            params=params,
        )
        return None if output is None else WiringPort(node, (), output)


__all__ = [
    "NativeNode",
]
