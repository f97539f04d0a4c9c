"""Named random streams: the only source of chance in a simulation.

A stream is seeded by the scene's seed and its own name, so adding a stream never moves
another, and the same seed gives the same numbers in every process.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mainspring.state import digest

__all__ = ["RandomStreams"]


class RandomStreams:
    """Random number generators by name; their positions are state."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, np.random.Generator] = {}

    def __call__(self, name: str) -> np.random.Generator:
        """The stream of that name; the same object every time."""
        stream = self._streams.get(name)
        if stream is None:
            seed = int.from_bytes(digest([self.seed, name]), "little")
            stream = self._streams[name] = np.random.Generator(np.random.PCG64(seed))
        return stream

    def save(self) -> dict[str, Any]:
        """The position of every stream."""
        return {
            "seed": self.seed,
            "streams": {name: s.bit_generator.state for name, s in self._streams.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Puts every stream where it was; streams that were not there begin anew when asked for."""
        self.seed = state["seed"]
        for name in [n for n in self._streams if n not in state["streams"]]:
            fresh = RandomStreams(self.seed)(name)
            self._streams[name].bit_generator.state = fresh.bit_generator.state
        # order: as saved, so that a restored scene encodes to the same bytes
        kept = self._streams
        self._streams = {}
        for name, position in state["streams"].items():
            self._streams[name] = kept.get(name) or np.random.Generator(np.random.PCG64(0))
            self._streams[name].bit_generator.state = position
