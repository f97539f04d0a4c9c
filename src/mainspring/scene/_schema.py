"""What may stand in a scene file: one table, from which the checks, the JSON Schema that editors
complete from, and the reference page are made."""

from __future__ import annotations

from typing import Any

import msgspec

from mainspring._kernel.clock import MAX_RUNNERS
from mainspring.clock import Phase, Rate, RateError, TimeMode
from mainspring.errors import did_you_mean
from mainspring.scene._script import LIFECYCLE

__all__ = ["BINDING", "RUNNER", "SCENE", "SCRIPT", "SUBSYSTEM", "Key", "json_schema"]

PHASES = tuple(phase.name.lower() for phase in Phase)
MODES = tuple(mode.value for mode in TimeMode)
_LONGEST_MS = 1_000_000_000  # eleven days and a half
_LONGEST_S = 1_000_000_000  # more than thirty years
MODE_ALIASES = tuple(name for name in TimeMode.__members__ if name not in TimeMode._member_names_)


class Key(msgspec.Struct, frozen=True):
    """One key: what it holds, and what it is for."""

    kind: str
    """string, integer, number, boolean, rate, choice or table."""
    doc: str
    required: bool = False
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    above: float | None = None
    most: float | None = None

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        if self.kind == "choice":
            return " | ".join(self.choices)
        if self.kind == "rate":
            return 'hertz above zero: 50, 29.97 or "30000/1001"'
        article = "an" if self.kind == "integer" else "a"
        above = f" above {self.above:g}" if self.above is not None else ""
        most = f", at most {self.most:.0f}" if self.most is not None else ""
        return f"{article} {self.kind}{above}{most}"

    def fault(self, value: Any) -> str | None:
        """None when `value` is allowed; otherwise a hint, perhaps an empty one."""
        if self.kind == "rate":
            try:
                Rate(value)
            except RateError as error:
                return error.message
            return None
        kinds: dict[str, tuple[type, ...]] = {
            "string": (str,),
            "choice": (str,),
            "integer": (int,),
            "number": (int, float),
            "boolean": (bool,),
            "table": (dict,),
        }
        if not isinstance(value, kinds[self.kind]) or (
            isinstance(value, bool) and self.kind != "boolean"
        ):
            return ""
        if isinstance(value, str):
            accepted = (*self.choices, *self.aliases)
            if self.kind == "choice" and value.lower() not in [a.lower() for a in accepted]:
                return did_you_mean(value, accepted)
            if not value.strip():
                return "it is empty"
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return "it does not fit 64 bits"
        if isinstance(value, (int, float)) and not self._between(value):
            return ""
        return None

    def _between(self, value: float) -> bool:
        return (self.above is None or value > self.above) and (
            self.most is None or value <= self.most
        )

    def schema(self) -> dict[str, Any]:
        """This key in JSON Schema."""
        found: dict[str, Any] = {"description": self.doc}
        if self.kind == "choice":
            found["enum"] = [*self.choices, *self.aliases]
        elif self.kind == "rate":
            found |= {"type": ["number", "string"], "exclusiveMinimum": 0, "maximum": 10**9}
        elif self.kind == "table":
            found["type"] = "object"
        else:
            found["type"] = self.kind
        if self.above is not None:
            found["exclusiveMinimum"] = self.above
        if self.most is not None:
            found["maximum"] = self.most
        return found


_PLACE = {
    "runner": Key("string", "The runner that fires it."),
    "phase": Key("choice", "Where in a step it runs.", choices=PHASES),
    "priority": Key("integer", "Lower runs first within a phase."),
}
_PART = {
    "type": Key("string", "Its class, as module:Class.", required=True),
    "name": Key("string", "What it is called; its class by default."),
    "args": Key("table", "What its class is called with."),
}

SCENE = {
    "name": Key("string", "What the scene is called."),
    "seed": Key("integer", "What every random stream is seeded by."),
    "mode": Key(
        "choice", "How time advances against the wall clock.", choices=MODES, aliases=MODE_ALIASES
    ),
    "frame_budget_ms": Key(
        "number", "Wall time the instants of a frame may take.", above=0, most=_LONGEST_MS
    ),
    "max_frame_delta_ms": Key(
        "number", "Wall time one frame may bring in.", above=0, most=_LONGEST_MS
    ),
    "frame_rate": Key("rate", "How often a run begins a frame."),
    "seconds": Key(
        "number", "Sim time a run lasts that is not told how long.", above=0, most=_LONGEST_S
    ),
}
RUNNER = {
    "name": Key("string", "Unique among the runners.", required=True),
    "rate": Key("rate", "How often it steps, in hertz.", required=True),
}
BINDING = {**_PLACE, "enabled": Key("boolean", "Whether it runs.")}
FREE_BINDING = {key: BINDING[key] for key in ("priority", "enabled")}
SCRIPT = {**_PART}
SUBSYSTEM = {**_PART, **_PLACE}


def _table(keys: dict[str, Key], doc: str) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "description": doc,
        "properties": {name: key.schema() for name, key in keys.items()},
        "additionalProperties": False,
    }
    required = [name for name, key in keys.items() if key.required]
    return {**schema, "required": required} if required else schema


def json_schema() -> dict[str, Any]:
    """The schema of a scene file, for editors that complete and check TOML."""
    bindings = {
        name: _table(
            BINDING if isinstance(default.phase, Phase) else FREE_BINDING,
            f"Where {name} of every script runs.",
        )
        for name, default in LIFECYCLE.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Mainspring scene",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "scene": _table(SCENE, "The scene itself."),
            "runner": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_RUNNERS,
                "items": _table(RUNNER, "A fixed-rate clock."),
            },
            "bindings": {
                "type": "object",
                "additionalProperties": False,
                "properties": bindings,
            },
            "script": {"type": "array", "items": _table(SCRIPT, "A script.")},
            "subsystem": {"type": "array", "items": _table(SUBSYSTEM, "A subsystem.")},
        },
    }
