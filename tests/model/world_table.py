"""A slow and obvious model of the world's entities: a list of dictionaries.

It knows nothing of rows, holes, journals or reserved memory. The world must agree with it.
"""

from __future__ import annotations

import copy
from typing import Any

BASE = {
    "position": [0.0, 0.0, 0.0],
    "rotation": [1.0, 0.0, 0.0, 0.0],
    "velocity": [0.0, 0.0, 0.0],
    "scale": [1.0, 1.0, 1.0],
}


class ModelWorld:
    """Entities are dictionaries in a list, oldest first."""

    def __init__(self, optional: dict[str, Any]) -> None:
        self.optional = optional
        """The optional components and their defaults; None for a structured one."""
        self.entities: list[dict[str, Any]] = []
        self.next = 1
        self.version = 0

    def spawn(self, tags: set[str], components: dict[str, Any]) -> str:
        entity: dict[str, Any] = {"id": f"ent_{self.next}", "tags": set(tags)}
        entity.update(copy.deepcopy(BASE))
        entity.update(copy.deepcopy(components))
        self.entities.append(entity)
        self.next += 1
        self.version += 1
        return entity["id"]

    def get(self, id: str) -> dict[str, Any] | None:
        return next((e for e in self.entities if e["id"] == id), None)

    def destroy(self, id: str) -> bool:
        found = self.get(id)
        if found is None:
            return False
        self.entities.remove(found)
        self.version += 1
        return True

    @property
    def ids(self) -> list[str]:
        return [e["id"] for e in self.entities]

    def column(self, name: str) -> list[Any]:
        return [e.get(name, self.optional.get(name)) for e in self.entities]

    def query(self, tags: set[str], has: set[str], without: set[str], lacks: set[str]) -> list[str]:
        return [
            e["id"]
            for e in self.entities
            if tags <= e["tags"]
            and not (without & e["tags"])
            and all(name in e for name in has)
            and not any(name in e for name in lacks)
        ]

    def save(self) -> Any:
        return copy.deepcopy((self.entities, self.next, self.version))

    def restore(self, saved: Any) -> None:
        self.entities, self.next, self.version = copy.deepcopy(saved)
