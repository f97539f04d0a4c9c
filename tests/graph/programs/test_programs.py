"""Every program of the corpus gives in mainspring what the record says it gave in hgraph.

The records are made by ``tools/record_programs.py``. Where mainspring means to differ, the case is in
``differences.json`` with the outcome that is right here and the reason. Where hgraph is installed beside
mainspring the record itself is checked too, so a new version of the oracle is noticed.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import logging
import sys
import types
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import _corpus

LIBRARY = "mainspring.graph"
RECORDS = {
    name: json.loads((_corpus.HERE / "record" / f"{name}.json").read_text())
    for name in _corpus.program_names()
}
DIFFERENCES: dict[str, dict[str, str]] = json.loads((_corpus.HERE / "differences.json").read_text())

pytestmark = pytest.mark.skipif(
    not hasattr(importlib.import_module(LIBRARY), "add_"),
    reason="the operators are not built yet",
)


@functools.cache
def program(name: str, library: str) -> types.ModuleType:
    return _corpus.load(name, library)


@functools.cache
def thunks(name: str, library: str) -> dict[str, object]:
    return dict(_corpus.cases(program(name, library)))


def all_cases() -> list[object]:
    return [
        pytest.param(name, case, id=f"{name}-{case}")
        for name, record in RECORDS.items()
        for case in record
    ]


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_same_ticks_as_the_record(name: str, case: str) -> None:
    """A case's ticks, or the kind of error it is refused with, are those of the record."""
    expected = RECORDS[name][case]
    difference = DIFFERENCES.get(f"{name}::{case}")
    if difference is not None:
        expected = difference["here"]
    assert _corpus.agrees(thunks(name, LIBRARY)[case], expected) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(RECORDS))
def test_the_record_has_every_case(name: str) -> None:
    """A case added to a program is recorded before it is committed."""
    assert list(thunks(name, LIBRARY)) == list(RECORDS[name])


def test_differences_name_recorded_cases() -> None:
    """The list of differences holds real cases, a reason each, and no difference that has gone away."""
    for key, difference in DIFFERENCES.items():
        name, case = key.split("::", 1)
        assert difference["because"]
        assert RECORDS[name][case] != difference["here"], key


@pytest.mark.skipif(importlib.util.find_spec("hgraph") is None, reason="hgraph is not installed")
@pytest.mark.parametrize("name", list(RECORDS))
def test_the_record_is_what_hgraph_does(name: str) -> None:
    """With the oracle at hand, its ticks are still those that were recorded."""
    logging.disable(logging.CRITICAL)
    try:
        for case, thunk in thunks(name, "hgraph").items():
            assert _corpus.outcome(thunk) == RECORDS[name][case], case  # type: ignore[arg-type]
    finally:
        logging.disable(logging.NOTSET)
