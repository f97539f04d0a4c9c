"""Fixtures of the physics tests: each engine in turn."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from physics_worlds import ENGINES, build, needs

from mainspring.physics import Solver


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    name: str = request.param
    needs(name)
    return name


@pytest.fixture
def make(engine: str) -> Callable[[], Solver]:
    """Builds the same world again and again, fitted to 60 steps a second."""

    def make() -> Solver:
        solver = build(engine, **({"substeps": 8} if engine == "mujoco" else {}))
        solver.fit(Fraction(1, 60))
        return solver

    return make
