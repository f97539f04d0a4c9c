"""What annotations of nodes and graphs name, as a static checker is to see it.

`TS[int]` stands for a port while a graph is wired and for a view while a node runs, and a node may
return a plain `int` for it; a parameter `_state: STATE = None` is never given None. No static type
is all of that, so to a checker these names are Any, with the parameters they take. What they are
when a program runs is in `_types` and `_injectables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = [
    "CLOCK",
    "LOGGER",
    "NODE",
    "RECORDABLE_STATE",
    "REF",
    "REF_OUT",
    "SCHEDULER",
    "SIGNAL",
    "STATE",
    "TS",
    "TSB",
    "TSB_OUT",
    "TSD",
    "TSD_OUT",
    "TSL",
    "TSL_OUT",
    "TSS",
    "TSS_OUT",
    "TSW",
    "TSW_OUT",
    "TS_OUT",
    "EvaluationClock",
    "EvaluationEngineApi",
]

if TYPE_CHECKING:
    from typing_extensions import TypeAliasType, TypeVar

    _A = TypeVar("_A", default=Any)
    _B = TypeVar("_B", default=Any)
    _C = TypeVar("_C", default=Any)

    TS = TypeAliasType("TS", Any, type_params=(_A,))
    TSS = TypeAliasType("TSS", Any, type_params=(_A,))
    TSB = TypeAliasType("TSB", Any, type_params=(_A,))
    TSL = TypeAliasType("TSL", Any, type_params=(_A, _B))
    TSD = TypeAliasType("TSD", Any, type_params=(_A, _B))
    TSW = TypeAliasType("TSW", Any, type_params=(_A, _B, _C))
    REF = TypeAliasType("REF", Any, type_params=(_A,))
    SIGNAL = TypeAliasType("SIGNAL", Any)
    TS_OUT = TypeAliasType("TS_OUT", Any, type_params=(_A,))
    TSS_OUT = TypeAliasType("TSS_OUT", Any, type_params=(_A,))
    TSB_OUT = TypeAliasType("TSB_OUT", Any, type_params=(_A,))
    TSL_OUT = TypeAliasType("TSL_OUT", Any, type_params=(_A, _B))
    TSD_OUT = TypeAliasType("TSD_OUT", Any, type_params=(_A, _B))
    TSW_OUT = TypeAliasType("TSW_OUT", Any, type_params=(_A, _B, _C))
    REF_OUT = TypeAliasType("REF_OUT", Any, type_params=(_A,))
    STATE = TypeAliasType("STATE", Any, type_params=(_A,))
    RECORDABLE_STATE = TypeAliasType("RECORDABLE_STATE", Any, type_params=(_A,))
    SCHEDULER = TypeAliasType("SCHEDULER", Any)
    CLOCK = TypeAliasType("CLOCK", Any)
    LOGGER = TypeAliasType("LOGGER", Any)
    NODE = TypeAliasType("NODE", Any)
    EvaluationClock = TypeAliasType("EvaluationClock", Any)
    EvaluationEngineApi = TypeAliasType("EvaluationEngineApi", Any)
else:
    from mainspring.graph._injectables import (
        CLOCK,
        LOGGER,
        NODE,
        RECORDABLE_STATE,
        REF_OUT,
        SCHEDULER,
        STATE,
        TS_OUT,
        TSB_OUT,
        TSD_OUT,
        TSL_OUT,
        TSS_OUT,
        TSW_OUT,
        EvaluationClock,
        EvaluationEngineApi,
    )
    from mainspring.graph._types import REF, SIGNAL, TS, TSB, TSD, TSL, TSS, TSW
