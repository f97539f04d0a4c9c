"""The page of operators says what the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import mainspring.graph
from mainspring.graph.operators._catalogue import GROUPS, rows

ROOT = Path(__file__).parents[3]
# Exported beside the operators: what they take and give, and what they are wired in.
TYPES = {"BoolResult", "CmpResult", "DebugContext", "DivideByZero", "KeyValue", "WindowResult"}


def table_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "operator_table", ROOT / "tools" / "operator_table.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_code_says() -> None:
    """`python tools/operator_table.py` has been run since the operators changed."""
    tool = table_tool()
    assert tool.PAGE.read_text() == tool.page()


def test_every_operator_has_a_place_on_the_map() -> None:
    """What the operators export stands in a group; a name is in one group alone."""
    placed = [name for names in GROUPS.values() for name in names]
    assert len(placed) == len(set(placed))
    exported = set(mainspring.graph.operators.__all__) - TYPES
    assert exported <= set(placed), sorted(exported - set(placed))


def test_what_is_there_says_what_it_does() -> None:
    """Every operator that exists has a line on the page."""
    silent = [name for _, name, exists, text in rows(mainspring.graph) if exists and not text]
    assert silent == []
